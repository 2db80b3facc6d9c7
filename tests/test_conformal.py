"""Conformal intervals: ranks, scores, and coverage over random splits.

Over calibration and fresh tasks drawn alike, coverage is a promise in finite samples:
its mean over 200 splits may fall below the nominal value by chance alone, so by two
standard errors of that mean at most. Above, it can exceed the nominal value by no more
than ``1 / (n + 1)`` for ``n`` calibration tasks.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupShuffleSplit

from sklearn_attnstump import GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.conformal import conformity_scores, intervals, score_quantile
from sklearn_attnstump.datasets import load_browser_support, make_stump_tasks

HEADS = ["single", "reflected", "gibbs"]


def fit(head, X, y, **settings):
    """A fit whose warnings of noisy contexts are beside the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return PretrainedAttentionStump(head, **settings).fit(X, y)


def frozen(coef=(2.2, 1.0), head="gibbs", **settings):
    return PretrainedAttentionStump.from_coef(
        coef, head, **{"feature_range": (0, 1), **settings}
    )


def tasks(n_tasks=60, **laws):
    return make_stump_tasks(
        n_tasks, (1, 12), **{"label_noise": 0.1, "random_state": 0, **laws}
    )


# Scores and their quantile.


def test_scores_are_sorted_distances_in_units_of_the_spread():
    scores = conformity_scores(
        np.array([1.0, 2.0, 3.0]), np.array([1.5, 2.0, 1.0]), np.array([0.5, 1.0, 4.0])
    )
    assert_allclose(scores, [0.0, 0.5, 1.0])


@pytest.mark.parametrize(
    ("n", "coverage", "rank"),
    [
        (9, 0.9, 9),  # the least number that can promise 90 %
        (10, 0.9, 10),
        (19, 0.9, 18),
        (99, 0.9, 90),
        (9, 0.8, 8),
        (1, 0.5, 1),
        (999, 0.999, 999),
        (100, 0.01, 2),
    ],
)
def test_rank(n, coverage, rank):
    # Products such as 10 * 0.9 must not be rounded up past their integer.
    assert score_quantile(np.arange(1.0, n + 1), coverage) == rank


@pytest.mark.parametrize(
    ("n", "coverage", "needed"), [(8, 0.9, 9), (0, 0.5, 1), (18, 0.95, 19)]
)
def test_too_few_scores(n, coverage, needed):
    with pytest.raises(ValueError, match=f"needs at least {needed} .* found {n}"):
        score_quantile(np.arange(float(n)), coverage)
    score_quantile(np.arange(float(needed)), coverage)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 2])
def test_coverage_is_a_probability(coverage):
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        score_quantile(np.arange(100.0), coverage)


def test_intervals_reach_the_score_times_the_spread():
    ends = intervals(np.array([1.0, 2.0]), np.array([0.5, 2.0]), 3.0)
    assert_allclose(ends, [[-0.5, 2.5], [-4.0, 8.0]])


# The estimator's part.


def test_scores_of_the_gibbs_head_are_in_units_of_its_deviation():
    X, y = tasks()
    stump = frozen().conformalize(X, y)
    prediction, std = stump.predict(X, return_std=True)
    assert_allclose(
        stump.conformity_scores_, np.sort(np.abs(y - prediction) / std), rtol=1e-14
    )
    lower, upper = stump.predict_interval(X[:5], coverage=0.7).T
    reach = score_quantile(stump.conformity_scores_, 0.7) * std[:5]
    assert_allclose(lower, np.maximum(prediction[:5] - reach, 0), rtol=1e-12)
    assert_allclose(upper, np.minimum(prediction[:5] + reach, 1), rtol=1e-12)


def test_intervals_of_the_other_heads_have_one_width():
    X, y = make_stump_tasks(60, 20, threshold_range=(0.4, 0.6), random_state=1)
    stump = frozen((40.0, 47.0), "reflected").conformalize(X, y)
    ends = stump.predict_interval(X)
    assert_allclose(np.ptp(ends[:, 1] - ends[:, 0]), 0, atol=1e-14)


@pytest.mark.parametrize("scaling", ["range", "rank"])
def test_direction(scaling):
    X, y = tasks()
    mirrored = X.with_values(1 - X.values)
    left = frozen(scaling=scaling).conformalize(X, y)
    right = frozen(scaling=scaling, direction=">=").conformalize(mirrored, 1 - y)
    assert_allclose(left.conformity_scores_, right.conformity_scores_, rtol=1e-8)
    assert_allclose(
        right.predict_interval(mirrored)[:, ::-1],
        1 - left.predict_interval(X),
        rtol=0,
        atol=1e-10,
    )


def test_intervals_are_cut_to_a_given_range_only():
    X, y = tasks()
    cut = frozen().conformalize(X, 1 - y).predict_interval(X)  # far too wide
    assert cut.min() == 0
    assert cut.max() == 1
    learned = fit("gibbs", X, y).conformalize(X, y.mean() + 3 * (y - y.mean()))
    free = learned.predict_interval(X, coverage=0.95)
    assert free.min() < 0
    assert free.max() > 1


def test_calibration_comes_first():
    with pytest.raises(ValueError, match=r"Call conformalize\(X, y\)"):
        frozen().predict_interval([([0.3], [1])])


def test_too_few_calibration_tasks():
    X, y = tasks(8)
    stump = frozen().conformalize(X, y)
    with pytest.raises(ValueError, match=r"at least 9 calibration tasks, found 8\. P"):
        stump.predict_interval(X, coverage=0.9)
    assert stump.predict_interval(X, coverage=0.8).shape == (8, 2)


def test_a_new_fit_drops_the_scores():
    X, y = tasks()
    stump = fit("gibbs", X, y).conformalize(X, y)
    assert_array_equal(np.sort(stump.conformity_scores_), stump.conformity_scores_)
    stump.fit(X, y)
    assert not hasattr(stump, "conformity_scores_")
    with pytest.raises(ValueError, match="conformalize"):
        stump.predict_interval(X)


def test_new_scores_replace_the_old():
    X, y = tasks()
    stump = frozen().conformalize(X, y).conformalize(X[:20], y[:20])
    assert len(stump.conformity_scores_) == 20


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.1], "there are 2 contexts but 1 thresholds"),
        ([0.1, np.nan], "Only tasks of known, finite threshold"),
        ([0.1, 7.0], r"threshold 7\.0 outside feature_range"),
    ],
)
def test_calibration_thresholds_are_checked(y, message):
    X = [([0.2, 0.4], [1, 0]), ([0.3, 0.4], [1, 0])]
    with pytest.raises(ValueError, match=message):
        frozen().conformalize(X, y)


@pytest.mark.parametrize("scaling", ["context", "rank"])
def test_contexts_that_leave_no_spread(scaling):
    # One value, or one label and little doubt: the map back to the feature's units is
    # flat there, and the head's spread vanishes with it.
    X = [([0.3], [1]), ([0.3, 0.3], [1, 0]), ([0.2, 0.3], [1, 1])] * 5
    stump = frozen((20.0, 1.0), scaling=scaling, feature_range=None)
    _, std = stump.predict(X, return_std=True)
    assert (std >= 0).all()
    assert std.min() == 0
    ends = stump.conformalize(X, [0.3, 0.35, 0.3] * 5).predict_interval(X)
    assert not np.isnan(ends).any()
    assert (ends[:, 0] <= ends[:, 1]).all()
    # Some of the thresholds lay off a point that was sure of itself: no finite
    # interval about such points holds the promise.
    assert np.isinf(ends[0]).all()


# Coverage over random splits.


def assert_covers(coverages, nominal, n_calibration=np.inf):
    """The mean over splits is at least nominal, and not much above, but for chance."""
    mean, error = np.mean(coverages), np.std(coverages, ddof=1) / len(coverages) ** 0.5
    assert mean >= nominal - 2 * error
    assert mean <= nominal + 1 / (n_calibration + 1) + 3 * error


def hits(ends, y):
    return np.mean((ends[:, 0] <= y) & (y <= ends[:, 1]))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "law",
    [
        {"label_noise": 0.1, "noise": "flip"},
        {"label_noise": 0.05, "noise": "logistic"},
    ],
    ids=lambda law: law["noise"],
)
def test_coverage_on_noisy_labels(head, law):
    # Of 39 scores, the 36th: (39 + 1) * 0.9 exactly, so that nothing is to spare.
    past, thresholds = make_stump_tasks(100, 20, random_state=2, **law)
    stump = fit(head, past, thresholds, feature_range=(0, 1))
    coverages = []
    for seed in range(200):
        X, y = make_stump_tasks(139, 20, random_state=1000 + seed, **law)
        stump.conformalize(X[:39], y[:39])
        coverages.append(hits(stump.predict_interval(X[39:], 0.9), y[39:]))
    assert_covers(coverages, 0.9, n_calibration=39)


@pytest.fixture(scope="module")
def browsers():
    """Eight random points of each context, and the release features as groups."""
    corpus, rng = load_browser_support(), np.random.default_rng(0)
    chosen = [
        (x[some], labels[some])
        for context in corpus.contexts
        for x, labels in [(context.values, context.labels)]
        for some in [rng.choice(len(x), 8, replace=False)]
    ]
    return chosen, corpus.thresholds, corpus.groups


@pytest.mark.parametrize("head", [*HEADS[:2], GibbsHead("corpus")], ids=HEADS)
def test_coverage_on_browsers_with_whole_features_left_out(browsers, head):
    items, y, groups = browsers
    half = GroupShuffleSplit(1, test_size=0.6, random_state=0)
    past, rest = next(half.split(y, groups=groups))
    stump = fit(head, [items[k] for k in past], y[past], direction=">=")
    splits = GroupShuffleSplit(200, test_size=0.5, random_state=1)
    coverages = []
    for calibration, fresh in splits.split(rest, groups=groups[rest]):
        calibration, fresh = rest[calibration], rest[fresh]
        with warnings.catch_warnings():  # of releases before the corpus's first
            warnings.simplefilter("ignore", UserWarning)
            stump.conformalize([items[k] for k in calibration], y[calibration])
            ends = stump.predict_interval([items[k] for k in fresh], 0.9)
        coverages.append(hits(ends, y[fresh]))
    assert_covers(coverages, 0.9, n_calibration=100)
