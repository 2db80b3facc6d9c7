"""Displays draw what they are given: values, styles, axes and refusals."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.displays import (
    AttentionDisplay,
    LossLandscapeDisplay,
    PretrainingPathDisplay,
    ThresholdErrorDisplay,
)
from sklearn_attnstump.objective import CorpusLoss
from sklearn_attnstump.theory import (
    asymptotic_path,
    population_flow,
    population_loss,
)


@pytest.fixture(autouse=True)
def no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def tasks():
    return make_stump_tasks(40, 40, threshold_range=(0.2, 0.8), random_state=0)


@pytest.fixture(scope="module")
def flowed(tasks):
    stump = PretrainedAttentionStump(
        solver="flow", stop_scale="certified", feature_range=(0, 1), init_scale=5
    )
    return stump.fit(*tasks)


def frozen(head, coef, **settings):
    settings = {"feature_range": (0, 1), **settings}
    return PretrainedAttentionStump.from_coef(coef, head, **settings)


def test_importing_the_displays_does_not_import_matplotlib():
    probe = (
        "import sys; import sklearn_attnstump.displays; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        ThresholdErrorDisplay([1, 2], {"a": [1, 2]}).plot()


def test_what_is_no_stump_is_named():
    X = [([0.1, 0.9], [1, 0])]
    wrong = make_pipeline(PretrainedAttentionStump.from_coef((5, 6), scaling="rank"))
    for call in (
        lambda: AttentionDisplay.from_estimator(wrong, X),
        lambda: LossLandscapeDisplay.from_estimator(
            wrong, X, [0.5], feature_score=(1, 2), label_score=(1, 2)
        ),
        lambda: PretrainingPathDisplay.from_estimator(wrong),
    ):
        with pytest.raises(TypeError, match=r"got Pipeline.*pipeline\[-1\]"):
            call()
    with pytest.raises(NotFittedError):
        AttentionDisplay.from_estimator(PretrainedAttentionStump(), X)


DISPLAYS = [
    ThresholdErrorDisplay([1.0, 2.0], {"a": [1.0, 2.0]}),
    LossLandscapeDisplay([1.0, 2.0], [1.0, 2.0], [[0.1, 0.2], [0.3, 0.4]]),
    AttentionDisplay([0.1, 0.5], [True, False], [0.7, 0.3]),
]


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda d: type(d).__name__)
def test_plot_draws_on_given_axes_and_returns_itself(display):
    figure, ax = plt.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    display.plot()
    assert display.ax_ is not ax
    with pytest.raises(ValueError, match="ax must be 1 axes"):
        display.plot(plt.subplots(1, 2)[1])


class TestPretrainingPath:
    times = np.logspace(-1, 8, 40)

    def test_panels_show_the_path_and_its_limits(self):
        display = PretrainingPathDisplay.from_population([10.0, 12.0], self.times)
        a, b = population_flow([10.0, 12.0], self.times).T
        lines = display.lines_
        assert_allclose(lines["scores"][0].get_ydata(), a)
        assert_allclose(lines["scores"][1].get_ydata(), b)
        assert_allclose(lines["gap"][0].get_ydata(), b - a - 2 * np.log(a))
        assert_allclose(lines["loss"][0].get_ydata(), population_loss(a, b))
        for name in ("scores", "loss"):
            assert_allclose(lines[name][0].get_xdata(), self.times)
        limit_a, limit_b = display.asymptotes_["scores"]
        late = limit_a.get_xdata()
        assert_allclose(limit_a.get_ydata(), (4 * late) ** 0.25)
        assert_allclose(limit_b.get_ydata(), asymptotic_path(late)[:, 1])
        assert_allclose(display.asymptotes_["loss"][0].get_ydata(), (4 * late) ** -0.5)
        assert_allclose(display.asymptotes_["gap"][0].get_ydata(), 0.0)
        scales = [(ax.get_xscale(), ax.get_yscale()) for ax in display.axes_]
        assert scales == [("log", "log"), ("log", "linear"), ("log", "log")]
        labels = [ax.get_ylabel() for ax in display.axes_]
        assert labels == ["scores $a$, $b$", labels[1], "loss $L$"]
        assert labels[1].endswith(r"$b - a - 2\,\log a$")

    def test_estimator(self, flowed):
        display = PretrainingPathDisplay.from_estimator(flowed, name="corpus", lw=3)
        path = flowed.path_
        assert path.t[0] == 0  # which a logarithmic axis cannot show
        feature_score, label_score = display.lines_["scores"]
        assert_allclose(feature_score.get_xdata(), path.t[1:])
        assert_allclose(feature_score.get_ydata(), path.coef[1:, 0])
        assert_allclose(display.lines_["loss"][0].get_ydata(), path.loss[1:])
        assert feature_score.get_label() == "corpus, $a$"
        assert display.lines_["gap"][0].get_label() == "corpus"
        assert feature_score.get_linewidth() == 3
        # Told apart without colour.
        assert feature_score.get_linestyle() != label_score.get_linestyle()
        assert len(display.asymptotes_["scores"]) == 2

    @pytest.mark.filterwarnings("ignore:.*levelled off")
    def test_iterations_are_no_time(self, tasks):
        stump = PretrainedAttentionStump(anchors=True, feature_range=(0, 1))
        display = PretrainingPathDisplay.from_estimator(stump.fit(*tasks))
        assert display.ax_.get_xlabel() == "iteration"
        assert display.asymptotes_ == {"scores": [], "gap": [], "loss": []}

    def test_mirrored_path(self):
        display = PretrainingPathDisplay.from_population([-10.0, -12.0], self.times)
        mirror = PretrainingPathDisplay.from_population([10.0, 12.0], self.times)
        for name in ("scores", "gap", "loss"):
            one, other = display.lines_[name][0], mirror.lines_[name][0]
            assert_allclose(one.get_ydata(), other.get_ydata(), rtol=1e-6, atol=1e-6)
        assert display.ax_.get_yscale() == "log"

    def test_path_of_mixed_signs_keeps_them(self):
        coef = [[-0.5, 3.0], [0.0, 3.0], [1.0, 3.0]]
        display = PretrainingPathDisplay([1.0, 2.0, 3.0], coef)
        display.plot(asymptotes=False)
        assert display.ax_.get_yscale() == "linear"
        assert_allclose(display.lines_["scores"][0].get_ydata(), [-0.5, 0.0, 1.0])
        gap = display.lines_["gap"][0].get_ydata()
        assert_allclose(gap, [-3.5 - 2 * np.log(0.5), np.nan, 2.0])
        assert list(display.lines_) == ["scores", "gap"]  # no loss is known

    def test_axes_are_one_for_each_panel(self):
        display = PretrainingPathDisplay([1.0, 2.0], [[1.0, 2.0]] * 2, [0.1, 0.2])
        _, axes = plt.subplots(1, 2)
        display.plot(axes, quantities=("loss", "scores"))
        assert list(display.axes_) == list(axes)
        assert axes[0].get_ylabel() == "loss $L$"
        with pytest.raises(ValueError, match="ax must be 3 axes"):
            display.plot(axes)

    def test_refusals(self, tasks):
        display = PretrainingPathDisplay([0.0], [[1.0, 2.0]])
        with pytest.raises(ValueError, match="None of the times is positive"):
            display.plot()
        with pytest.raises(ValueError, match="quantities must be some of"):
            display.plot(quantities=("score",))
        with pytest.raises(ValueError, match="no path_"):
            PretrainingPathDisplay.from_estimator(frozen("single", (1.0, 2.0)))
        gibbs = PretrainedAttentionStump("gibbs").fit(*tasks)
        with pytest.raises(ValueError, match="disagreement_scale and prior_weight"):
            PretrainingPathDisplay.from_estimator(gibbs)


class TestLossLandscape:
    a, b = np.array([5.0, 10.0, 20.0]), np.array([5.0, 12.0])

    @pytest.mark.parametrize("offset", [False, True])
    def test_population(self, offset):
        path = np.array([[6.0, 7.0], [8.0, 11.0]])
        display = LossLandscapeDisplay.from_population(
            self.a, self.b, path=path, offset=offset, name="path"
        )
        for row, b in enumerate(self.b):
            expected = population_loss(self.a, b + self.a if offset else b)
            assert_allclose(display.loss[row], expected)
        x, y = display.line_.get_data()
        assert_allclose(x, path[:, 0])
        assert_allclose(y, [1.0, 3.0] if offset else path[:, 1])
        assert display.ax_.get_xlabel() == "feature score $a$"
        assert ("b - a" in display.ax_.get_ylabel()) == offset
        assert display.ax_.get_legend().get_texts()[0].get_text() == "path"
        assert display.contours_.levels[0] == pytest.approx(display.loss.min())
        assert display.contours_.levels[-1] == pytest.approx(display.loss.max())

    def test_path_does_not_widen_the_landscape(self):
        display = LossLandscapeDisplay(
            self.a, self.b, np.ones((2, 3)) * [1, 2, 3], path=[[0.0, 0.0], [99.0, 99.0]]
        ).plot()
        assert display.ax_.axis() == pytest.approx((5, 20, 5, 12))

    def test_estimator_shows_the_loss_that_was_minimized(self, flowed, tasks):
        ends = flowed.path_.coef[[0, -1]]
        display = LossLandscapeDisplay.from_estimator(
            flowed, *tasks, feature_score=ends[:, 0], label_score=ends[:, 1]
        )
        assert_allclose(np.diag(display.loss), flowed.path_.loss[[0, -1]], rtol=1e-9)
        assert_allclose(display.line_.get_xdata(), flowed.path_.coef[:, 0])
        assert_allclose(flowed.coef_, ends[1])  # the estimator stays as it was

    def test_estimator_in_units_of_the_range(self, tasks):
        contexts, thresholds = tasks
        scaled = contexts.with_values(1000 * contexts.values[:, 0])
        stump = frozen("reflected", (9.0, 12.0), feature_range=(0, 1000))
        display = LossLandscapeDisplay.from_estimator(
            stump, scaled, 1000 * thresholds, feature_score=[3, 9], label_score=[5, 12]
        )
        pack = stump.head_.pack(contexts)
        for row, b in enumerate((5.0, 12.0)):
            for column, a in enumerate((3.0, 9.0)):
                loss = CorpusLoss(pack, thresholds).evaluate(np.array([a, b]), 0).loss
                assert display.loss[row, column] == pytest.approx(loss)
        assert display.line_ is None

    def test_levels(self):
        loss = np.array([[0.01, 0.1, 1.0]] * 2)
        display = LossLandscapeDisplay(self.a, self.b, loss).plot(levels=[0.05, 0.5])
        assert_allclose(display.contours_.levels, [0.05, 0.5])

    def test_other_scalings_are_refused(self, tasks):
        stump = frozen("single", (9.0, 12.0), feature_range=None, scaling="context")
        with pytest.raises(ValueError, match="scaling='context'"):
            LossLandscapeDisplay.from_estimator(
                stump, *tasks, feature_score=[1, 2], label_score=[1, 2]
            )


HEADS = [("single", (20.0, 26.0)), ("reflected", (20.0, 26.0)), ("gibbs", (2.0, 1.0))]


def drawn_weights(display):
    """Places and heights of stems, or ends and heights of bars."""
    if display.edges is None:
        stems = np.array(display.weights_.get_segments())
        return stems[:, 0, 0], stems[:, 1, 1]
    values, edges, _ = display.weights_.get_data()
    return edges, values


class TestAttention:
    x = np.array([0.4, 0.1, 0.3, 0.8])
    labels = np.array([1, 1, 1, 0])

    @pytest.mark.parametrize(("head", "coef"), HEADS)
    def test_weights_and_thresholds(self, head, coef):
        stump = frozen(head, coef)
        X = [([0.5, 0.9], [1, 0]), (self.x, self.labels)]
        display = AttentionDisplay.from_estimator(stump, X, [0.6, 0.55], task=1)
        places, heights = drawn_weights(display)
        assert_allclose(heights, stump.attention(X)[1])
        if head == "gibbs":
            assert_allclose(places, [0.0, 0.1, 0.3, 0.4, 0.8, 1.0])
        else:
            assert_allclose(places, self.x)
        assert_allclose(display.prediction_line_.get_xdata(), stump.predict(X)[1])
        assert_allclose(display.threshold_line_.get_xdata(), 0.55)
        ones, zeros = display.tokens_
        assert_allclose(ones.get_xdata(), self.x[self.labels == 1])
        assert_allclose(zeros.get_xdata(), [0.8])
        assert ones.get_markerfacecolor() != zeros.get_markerfacecolor()
        assert display.ax_.get_xlabel() == "feature $x$"

    @pytest.mark.parametrize("direction", ["<=", ">="])
    @pytest.mark.parametrize(("head", "coef"), HEADS)
    def test_attention_amounts_to_the_prediction(self, head, coef, direction):
        """In the feature's units too, on whichever side labels are 1."""
        settings = {"direction": direction, "feature_range": (-10, 30)}
        stump = frozen(head, coef, anchors=head != "gibbs", **settings)
        labels = self.labels if direction == "<=" else 1 - self.labels
        X = [(40 * self.x - 10, labels)]
        display = AttentionDisplay.from_estimator(stump, X)
        places, heights = drawn_weights(display)
        if head == "gibbs":
            places = (places[1:] + places[:-1]) / 2
        else:
            assert sorted(places)[0] == -10
            assert sorted(places)[-1] == 30
            # The anchors are true of every task.
            shown = display.labels[-2:] == (places[-2:] == -10)
            assert shown.all() == (direction == "<=")
            assert shown.any() == (direction == "<=")
        assert heights @ places == pytest.approx(display.prediction)
        assert display.prediction == pytest.approx(stump.predict(X)[0])
        assert display.threshold_line_ is None

    def test_gaps_of_ranks_and_of_weightless_observations(self):
        ranks = frozen("gibbs", (2.0, 1.0), scaling="rank", feature_range=None)
        display = AttentionDisplay.from_estimator(ranks, [(self.x, self.labels)])
        assert_allclose(display.edges, [0.1, 0.1, 0.3, 0.4, 0.8, 0.8])
        X = [(self.x, self.labels, [1.0, 0.0, 1.0, 1.0])]
        display = AttentionDisplay.from_estimator(frozen("gibbs", (2.0, 1.0)), X)
        assert_allclose(display.edges, [0.0, 0.3, 0.4, 0.8, 1.0])

    def test_ties_leave_no_gap(self):
        X = [([0.2, 0.2, 0.7], [1, 0, 0])]
        display = AttentionDisplay.from_estimator(frozen("gibbs", (2.0, 1.0)), X)
        assert_allclose(display.edges, [0.0, 0.2, 0.7, 1.0])

    def test_context_beyond_a_learned_range(self, tasks):
        stump = PretrainedAttentionStump(GibbsHead()).fit(*tasks)
        X = [([-0.5, 0.4, 1.5], [1, 1, 0])]
        display = AttentionDisplay.from_estimator(stump, X)
        assert_allclose(display.edges, [-0.5, 0.4, 1.5])

    def test_named_feature(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(
            {"task": 0, "dose": self.x, "age": 1.0, "alive": self.labels}
        )
        X = Contexts.from_frame(
            frame, task="task", feature=["age", "dose"], label="alive"
        )
        stump = PretrainedAttentionStump(
            feature="dose", feature_range=(0, 1), solver="flow", horizon=1.0, tol=0
        )
        display = AttentionDisplay.from_estimator(stump.fit(X, [0.5]), X, name="one")
        assert display.ax_.get_xlabel() == "dose"
        assert display.ax_.get_title() == "one"
        assert_allclose(drawn_weights(display)[0], self.x)

    def test_refusals(self):
        with pytest.raises(ValueError, match="2 observations"):
            AttentionDisplay([0.1, 0.5], [1, 0], [1.0]).plot()
        with pytest.raises(ValueError, match="1 gaps"):
            AttentionDisplay([0.5], [1], [0.5, 0.5], edges=[0.0, 1.0]).plot()
        with pytest.raises(IndexError, match="task 3"):
            AttentionDisplay.from_estimator(
                frozen("single", (1.0, 2.0)), [([0.5, 0.6], [1, 0])], task=3
            )


class TestThresholdError:
    def test_errors_and_their_standard_errors(self):
        rng = np.random.default_rng(0)
        sizes = [10, 1000]
        truth = [rng.uniform(size=400), rng.uniform(size=900)]
        noise = [rng.normal(0, 0.2, 400), rng.normal(0, 0.02, 900)]
        inferred = [t + e for t, e in zip(truth, noise, strict=True)]
        display = ThresholdErrorDisplay.from_predictions(
            sizes,
            truth,
            {"one": inferred, "exact": truth},
            references={"law": [0.2, 1]},
        )
        for point, e in enumerate(noise):
            rmse = np.sqrt(np.mean(e**2))
            assert display.errors["one"][point] == pytest.approx(rmse)
            # Of a normal law's deviation, sigma / sqrt(2 n).
            bar = display.standard_errors["one"][point]
            assert bar == pytest.approx(rmse / np.sqrt(2 * len(e)), rel=0.15)
        assert_allclose(display.errors["exact"], 0.0)
        assert_allclose(display.standard_errors["exact"], 0.0)
        points, _, (bars,) = display.lines_[0]
        assert_allclose(points.get_ydata(), display.errors["one"])
        length = np.diff(np.array(bars.get_segments())[:, :, 1])[:, 0]
        assert_allclose(length, 2 * display.standard_errors["one"])
        assert display.ax_.get_xscale() == "log"
        assert display.ax_.get_yscale() == "linear"  # an error is 0

    def test_estimators_keep_their_names_and_looks(self, tasks):
        contexts, thresholds = tasks
        stumps = {
            "one": frozen("single", (30.0, 37.0)),
            "both": frozen("reflected", (30.0, 37.0)),
        }
        display = ThresholdErrorDisplay.from_estimator(
            stumps, [1.0, 2.0], [(contexts, thresholds)] * 2, x_name="noise"
        )
        error = stumps["both"].predict(contexts) - thresholds
        assert display.errors["both"][1] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert [container.get_label() for container in display.lines_] == list(stumps)
        one, both = (container[0] for container in display.lines_)
        assert one.get_color() != both.get_color()
        assert one.get_marker() != both.get_marker()
        assert display.ax_.get_xlabel() == "noise"
        assert display.ax_.get_xscale() == "linear"  # one to two is no decade
        assert display.ax_.get_yscale() == "log"

    def test_one_estimator_and_hard_contexts(self):
        stump = frozen("single", (30.0, 37.0))
        display = ThresholdErrorDisplay.from_estimator(
            stump, [1.0], [([([0.5], [1])], [0.5])]
        )
        assert list(display.errors) == ["PretrainedAttentionStump"]

    def test_references(self):
        display = ThresholdErrorDisplay(
            [1.0, 10.0], {"a": [1.0, 0.1]}, references={"b": [2.0, 0.2], "c": 0.5}
        ).plot()
        one, other = display.references_
        assert_allclose(one.get_ydata(), [2.0, 0.2])
        assert_allclose(other.get_ydata(), 0.5)
        assert one.get_linestyle() != other.get_linestyle()
        assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == [
            *("b", "c", "a")
        ]

    def test_lengths_must_agree(self):
        with pytest.raises(ValueError, match="shape"):
            ThresholdErrorDisplay.from_predictions([1], [[0.5, 0.5]], {"a": [[0.5]]})
        with pytest.raises(ValueError, match="shorter"):
            ThresholdErrorDisplay.from_predictions([1], [[0.5]], {"a": []})
