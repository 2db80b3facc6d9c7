"""Corpora: laws of the generator, and the real corpus to the last bit."""

import hashlib
import sys

import numpy as np
import pytest
from scipy import special, stats
from sklearn.model_selection import GroupKFold

from sklearn_attnstump import Contexts
from sklearn_attnstump.datasets import load_browser_support, make_stump_tasks


def clean_labels(contexts, thresholds, direction="<="):
    x = contexts.values[:, 0]
    cuts = np.repeat(thresholds, contexts.sizes)
    return x <= cuts if direction == "<=" else x >= cuts


def within_standard_errors(share, probability, n, bound=4.0):
    """Whether a share of n draws agrees with its probability."""
    return abs(share - probability) <= bound * np.sqrt(
        probability * (1 - probability) / n
    )


class TestMakeStumpTasks:
    def test_one_size(self):
        contexts, thresholds = make_stump_tasks(7, 11, random_state=0)
        assert isinstance(contexts, Contexts)
        assert contexts.sizes.tolist() == [11] * 7
        assert contexts.n_features == 1
        assert thresholds.shape == (7,)
        assert thresholds.dtype == np.float64

    def test_ragged_sizes_are_uniform_with_both_ends(self):
        contexts, _ = make_stump_tasks(3000, (3, 5), random_state=0)
        sizes, counts = np.unique(contexts.sizes, return_counts=True)
        assert sizes.tolist() == [3, 4, 5]
        assert stats.chisquare(counts).pvalue > 1e-3

    def test_pair_of_equal_sizes_is_the_size(self):
        one, pair = (make_stump_tasks(4, n, random_state=3) for n in (6, (6, 6)))
        np.testing.assert_array_equal(one[0].values, pair[0].values)
        np.testing.assert_array_equal(one[1], pair[1])

    @pytest.mark.parametrize("direction", ["<=", ">="])
    def test_clean_labels_follow_the_rule(self, direction):
        contexts, thresholds = make_stump_tasks(
            50, (1, 40), direction=direction, random_state=1
        )
        expected = clean_labels(contexts, thresholds, direction)
        assert 0 < expected.mean() < 1
        np.testing.assert_array_equal(contexts.labels, expected)

    @pytest.mark.parametrize("direction", ["<=", ">="])
    @pytest.mark.parametrize("noise", ["flip", "logistic"])
    def test_value_at_the_threshold_has_label_1(self, direction, noise):
        contexts, _ = make_stump_tasks(
            5,
            20,
            threshold_range=(2, 2),
            feature_distribution=stats.randint(0, 5),
            noise=noise,
            direction=direction,
            random_state=0,
        )
        at_threshold = contexts.values[:, 0] == 2
        assert at_threshold.sum() > 5
        assert contexts.labels[at_threshold].all()

    def test_thresholds_are_uniform_on_their_range(self):
        _, thresholds = make_stump_tasks(
            2000, 1, threshold_range=(-3.0, 5.0), random_state=0
        )
        assert stats.kstest(thresholds, stats.uniform(-3, 8).cdf).pvalue > 1e-3

    @pytest.mark.parametrize(
        ("distribution", "law"),
        [
            ("uniform", stats.uniform()),
            ("normal", stats.norm()),
            (stats.expon(2.0, 3.0), stats.expon(2.0, 3.0)),
        ],
    )
    def test_feature_follows_its_distribution(self, distribution, law):
        contexts, _ = make_stump_tasks(
            20, 100, feature_distribution=distribution, random_state=0
        )
        assert stats.kstest(contexts.values[:, 0], law.cdf).pvalue > 1e-3

    def test_flips_are_frequent_as_said_and_independent_of_the_side(self):
        contexts, thresholds = make_stump_tasks(
            200, 200, label_noise=0.2, random_state=0
        )
        clean = clean_labels(contexts, thresholds)
        flipped = contexts.labels ^ clean
        for side in (clean, ~clean):
            assert within_standard_errors(flipped[side].mean(), 0.2, side.sum())

    @pytest.mark.parametrize("direction", ["<=", ">="])
    def test_label_noise_1_flips_every_label(self, direction):
        contexts, thresholds = make_stump_tasks(
            10, 10, label_noise=1.0, direction=direction, random_state=0
        )
        np.testing.assert_array_equal(
            contexts.labels, ~clean_labels(contexts, thresholds, direction)
        )

    @pytest.mark.parametrize(("direction", "sign"), [("<=", 1), (">=", -1)])
    def test_logistic_labels_follow_the_curve(self, direction, sign):
        scale = 0.15
        contexts, thresholds = make_stump_tasks(
            300,
            300,
            label_noise=scale,
            noise="logistic",
            direction=direction,
            random_state=0,
        )
        distance = np.repeat(thresholds, contexts.sizes) - contexts.values[:, 0]
        probability = special.expit(sign * distance / scale)
        for low in np.arange(0.0, 1.0, 0.1):
            here = (probability >= low) & (probability < low + 0.1)
            assert here.sum() > 500
            assert within_standard_errors(
                contexts.labels[here].mean(), probability[here].mean(), here.sum()
            )

    @pytest.mark.parametrize("scale", [0.0, 5e-324])
    def test_logistic_labels_of_vanishing_scale_are_clean(self, scale):
        contexts, thresholds = make_stump_tasks(
            20, 20, label_noise=scale, noise="logistic", random_state=0
        )
        np.testing.assert_array_equal(
            contexts.labels, clean_labels(contexts, thresholds)
        )

    @pytest.mark.parametrize(
        "change",
        [
            {"label_noise": 0.3},
            {"label_noise": 0.3, "noise": "logistic"},
            {"direction": ">="},
        ],
    )
    def test_labels_alone_depend_on_noise_and_direction(self, change):
        contexts, thresholds = make_stump_tasks(20, (5, 30), random_state=4)
        others, same = make_stump_tasks(20, (5, 30), random_state=4, **change)
        np.testing.assert_array_equal(others.values, contexts.values)
        np.testing.assert_array_equal(others.offsets, contexts.offsets)
        np.testing.assert_array_equal(same, thresholds)
        assert (others.labels != contexts.labels).any()

    def test_random_state(self):
        def draw(random_state):
            return make_stump_tasks(3, 4, random_state=random_state)[1]

        np.testing.assert_array_equal(draw(0), draw(0))
        np.testing.assert_array_equal(draw(0), draw(np.random.RandomState(0)))
        assert (draw(0) != draw(1)).all()
        source = np.random.RandomState(0)
        assert (draw(source) != draw(source)).all()

    def test_global_random_state_is_left_alone(self):
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        make_stump_tasks(
            3,
            (2, 9),
            label_noise=0.1,
            feature_distribution=stats.norm(),
            random_state=0,
        )
        after = np.random.get_state()[1]  # noqa: NPY002
        np.testing.assert_array_equal(after, before)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"n_tasks": 0}, "'n_tasks' parameter"),
            ({"n_tasks": 2.5}, "'n_tasks' parameter"),
            ({"n_examples": 0}, "'n_examples' parameter"),
            ({"n_examples": (0, 3)}, "1 <= low <= high"),
            ({"n_examples": (5, 3)}, "1 <= low <= high"),
            ({"n_examples": (1, 2, 3)}, "1 <= low <= high"),
            ({"n_examples": (1.0, 3.5)}, "1 <= low <= high"),
            ({"threshold_range": 0.5}, "'threshold_range' parameter"),
            ({"threshold_range": (1.0, 0.0)}, "finite numbers with low <= high"),
            ({"threshold_range": (0.0,)}, "finite numbers with low <= high"),
            ({"threshold_range": (0.0, np.nan)}, "finite numbers with low <= high"),
            ({"threshold_range": (0.0, np.inf)}, "finite numbers with low <= high"),
            ({"threshold_range": (np.inf, np.inf)}, "finite numbers with low <= high"),
            ({"threshold_range": ("0", "1")}, "finite numbers with low <= high"),
            ({"label_noise": -0.1}, "'label_noise' parameter"),
            ({"label_noise": np.nan}, "'label_noise' parameter"),
            ({"label_noise": 1.1}, "is a probability and must be at most 1"),
            ({"noise": "probit"}, "'noise' parameter"),
            ({"feature_distribution": "beta"}, "'feature_distribution' parameter"),
            ({"feature_distribution": stats.norm.cdf}, "'feature_distribution' param"),
            ({"direction": "<"}, "'direction' parameter"),
            ({"random_state": "seed"}, "'random_state' parameter"),
            (
                {"feature_distribution": stats.multivariate_normal([0.0, 0.0])},
                r"must give an array of shape \(n,\).* Got shape \(20, 2\)",
            ),
        ],
    )
    def test_bad_parameters_are_refused(self, change, message):
        with pytest.raises(ValueError, match=message):
            make_stump_tasks(**{"n_tasks": 2, "n_examples": 10, **change})

    def test_distribution_that_draws_nan_is_refused(self):
        class Faulty:
            def rvs(self, size, random_state):
                return np.full(size, np.nan)

        with pytest.raises(ValueError, match=r"(?i)nan"):
            make_stump_tasks(2, 3, feature_distribution=Faulty())


@pytest.fixture(scope="module")
def corpus():
    return load_browser_support(as_frame=True)


def digest(array, dtype):
    return hashlib.sha256(np.ascontiguousarray(array, dtype).tobytes()).hexdigest()


class TestLoadBrowserSupport:
    def test_content_to_the_last_bit(self, corpus):
        """Digests of the corpus as it was before it was packed."""
        contexts = corpus.contexts
        assert digest(contexts.values[:, 0], "<f8") == (
            "01525d75fec2699536d65a5c2af44966b8592c80bf89aa98daab76c5b7e8e579"
        )
        assert digest(contexts.labels, "u1") == (
            "250c4da2b493971a5da8501b4b794e3cb1ed2522a260a4b662bdc70127b71598"
        )
        assert digest(contexts.sizes, "<i8") == (
            "c07d0d5b4f74b1e7dc662ec13d0447002a832b51d3fabe29bdb9e2b5c79958e1"
        )
        assert digest(corpus.thresholds, "<f8") == (
            "6b9966a00bafcfec756a48004f0674e8f01cf89a71a8501e39885bb726bace23"
        )

    def test_first_task(self, corpus):
        """Chrome supports ::marker since version 86 of October 20, 2020."""
        first = corpus.contexts[0]
        x, labels = first.values[:, 0], first.labels
        assert corpus.task_ids[0] == "css-marker-pseudo/chrome"
        assert corpus.thresholds[0] == 2020.801
        assert x[~labels].max() == 2020.648
        assert x[labels].min() == 2020.801

    def test_arrays_are_parallel_and_names_unique(self, corpus):
        n_tasks = len(corpus.contexts)
        assert n_tasks == 391
        for name in ("thresholds", "groups", "task_ids", "browser", "in_gap"):
            assert corpus[name].shape == (n_tasks,)
        assert np.unique(corpus.task_ids).size == n_tasks
        np.testing.assert_array_equal(corpus.contexts.task_ids, corpus.task_ids)
        built = [f"{g}/{b}" for g, b in zip(corpus.groups, corpus.browser, strict=True)]
        assert corpus.task_ids.tolist() == built

    def test_counts_that_the_description_states(self, corpus):
        browsers, counts = np.unique(corpus.browser, return_counts=True)
        assert dict(zip(browsers.tolist(), counts.tolist(), strict=True)) == {
            "chrome": 104,
            "edge": 76,
            "firefox": 108,
            "safari": 103,
        }
        assert np.unique(corpus.groups).size == 120
        assert corpus.contexts.sizes.sum() == 44_677
        assert (~corpus.in_gap).sum() == 82
        assert (corpus.thresholds == corpus.thresholds_frame["gap_hi"]).sum() == 301
        for number in ("391", "44,677", "120", "309", "301", "82"):
            assert number in corpus.DESCR
        assert corpus.contexts.values.min() == 2006.811
        assert corpus.contexts.values.max() == 2026.838
        assert corpus.thresholds.min() == 2003.474
        assert corpus.thresholds.max() == 2026.701

    def test_labels_rise_and_the_gap_is_where_they_do(self, corpus):
        """In all tasks but five a single cut explains the labels: the recorded gap."""
        noisy = []
        frame = corpus.thresholds_frame
        for context, lo, hi in zip(
            corpus.contexts, frame["gap_lo"], frame["gap_hi"], strict=True
        ):
            x, labels = context.values[:, 0], context.labels
            assert 0 < labels.sum() < labels.size
            gap = x[~labels].max(), x[labels].min()
            if gap[0] < gap[1]:
                assert gap == (lo, hi)
            else:
                noisy.append(context.task_ids[0])
        assert noisy == [
            "mathml/chrome",
            "input-event/safari",
            "hardwareconcurrency/safari",
            "sharedworkers/safari",
            "css-backgroundblendmode/chrome",
        ]

    def test_in_gap_is_what_it_says(self, corpus):
        frame = corpus.thresholds_frame
        inside = (frame["gap_lo"] < frame["threshold"]) & (
            frame["threshold"] <= frame["gap_hi"]
        )
        np.testing.assert_array_equal(corpus.in_gap, inside)

    def test_groups_keep_a_feature_on_one_side(self, corpus):
        for train, test in GroupKFold(5).split(corpus.contexts, groups=corpus.groups):
            assert not set(corpus.groups[train]) & set(corpus.groups[test])
            assert len(corpus.contexts[test]) == test.size

    def test_frame_is_the_same_corpus(self, corpus):
        contexts = Contexts.from_frame(
            corpus.frame, task="task", feature="x", label="label"
        )
        np.testing.assert_array_equal(contexts.task_ids, corpus.task_ids)
        np.testing.assert_array_equal(contexts.values, corpus.contexts.values)
        np.testing.assert_array_equal(contexts.labels, corpus.contexts.labels)
        frame = corpus.thresholds_frame
        assert frame.shape == (391, 9)
        np.testing.assert_array_equal(frame["task"], corpus.task_ids)
        np.testing.assert_array_equal(frame["threshold"], corpus.thresholds)
        assert frame["version_added"][0] == "86"

    def test_pandas_is_needed_for_frames_only(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        arrays = load_browser_support()
        assert arrays.frame is None
        assert arrays.thresholds_frame is None
        assert len(arrays.contexts) == 391
        with pytest.raises(ImportError, match="needs pandas: pip install pandas"):
            load_browser_support(as_frame=True)

    def test_description_credits_every_source(self, corpus):
        for source, licence in [
            ("caniuse-db 1.0.30001813", "CC-BY-4.0"),
            ("@mdn/browser-compat-data 8.1.9", "CC0-1.0"),
            ("web-features 3.40.0", "Apache-2.0"),
        ]:
            for text in (corpus.DESCR, load_browser_support.__doc__):
                assert source in text
                assert licence in text

    def test_as_frame_must_be_boolean(self):
        with pytest.raises(ValueError, match="'as_frame' parameter"):
            load_browser_support(as_frame="yes")
