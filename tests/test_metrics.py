"""Label errors by hand, the scorer inside scikit-learn's tools, and scaled errors."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.baselines import ERMStump, OneSidedStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.metrics import (
    label_error,
    label_error_scorer,
    scaled_squared_error,
)


class TestLabelError:
    def test_by_hand(self):
        X = [([0.1, 0.4, 0.6, 0.9], [1, 0, 1, 0]), ([0.5], [1])]
        assert_array_equal(label_error(X, [0.5, 0.5]), [0.5, 0.0])
        assert_array_equal(label_error(X, [0.5, 0.4]), [0.5, 1.0])
        assert_array_equal(label_error(X, [0.5, 0.5], direction=">="), [0.5, 0.0])
        assert_array_equal(label_error(X, [0.05, 0.6], direction=">="), [0.5, 1.0])

    def test_an_observation_at_the_threshold_should_have_label_1(self):
        X = Contexts([([0.3], [True]), ([0.3], [False])], classes=(False, True))
        for direction in ("<=", ">="):
            error = label_error(X, [0.3, 0.3], direction=direction)
            assert_array_equal(error, [0.0, 1.0])

    def test_true_thresholds_contradict_no_clean_label(self):
        for direction in ("<=", ">="):
            X, y = make_stump_tasks(50, (1, 30), direction=direction, random_state=0)
            assert_array_equal(label_error(X, y, direction=direction), 0)

    def test_flips_are_counted(self):
        """At the true thresholds the mean is the flip rate; 100,000 labels."""
        X, y = make_stump_tasks(1000, 100, label_noise=0.2, random_state=0)
        assert_allclose(label_error(X, y).mean(), 0.2, atol=4 * 0.4 / 100_000**0.5)

    def test_tokens_count_by_their_weights(self):
        X = [([0.1, 0.4, 0.6], [1, 0, 0], [1.0, 2.0, 5.0])]
        assert_array_equal(label_error(X, [0.5]), [0.25])

    @pytest.mark.parametrize(
        ("X", "thresholds", "direction", "message"),
        [
            (np.zeros((2, 3, 3)), [0, 0], "<=", "the contexts have 2 features"),
            (np.zeros((2, 3, 2)), [0], "<=", r"shape \(1,\) but there are 2 contexts"),
            (np.zeros((2, 3, 2)), 0.5, "<=", r"shape \(\) but there are 2 contexts"),
            (np.zeros((2, 3, 2)), [0, 0], "auto", "direction='auto': pass"),
        ],
    )
    def test_refusals(self, X, thresholds, direction, message):
        with pytest.raises(ValueError, match=message):
            label_error(X, thresholds, direction=direction)


@pytest.fixture(scope="module")
def noisy():
    """Tasks with label 1 above their thresholds."""
    return make_stump_tasks(60, 30, label_noise=0.1, direction=">=", random_state=0)


to_logarithms = FunctionTransformer(lambda X: X.with_values(np.log(X.values)))


def settings(**more):
    return {"direction": ">=", "feature_range": (0, 1), **more}


class TestScorer:
    def test_is_minus_the_mean(self, noisy):
        X, y = noisy
        stump = ERMStump(**settings()).fit(X)
        expected = -label_error(X, stump.predict(X), direction=">=").mean()
        assert label_error_scorer(stump, X) == expected
        assert label_error_scorer(stump, X, y) == expected
        assert -0.15 < expected < -0.05

    def test_in_cross_validation(self, noisy):
        """Fewest errors have the best score of all, with no threshold known."""
        X, y = noisy
        scores = [
            cross_validate(
                stump, X, thresholds, scoring=label_error_scorer, error_score="raise"
            )["test_score"]
            for stump, thresholds in [
                (ERMStump(**settings()), None),
                (PretrainedAttentionStump("gibbs", **settings()), y),
                (OneSidedStump(**settings()), None),
            ]
        ]
        assert (scores[0] >= scores[1]).all()
        assert (scores[1] > scores[2]).all()

    def test_learned_direction(self, noisy):
        X, y = noisy
        auto = ERMStump(direction="auto", feature_range=(0, 1)).fit(X, y)
        given = ERMStump(**settings()).fit(X)
        assert label_error_scorer(auto, X) == label_error_scorer(given, X)

    def test_chosen_feature(self, noisy):
        X, _ = noisy
        junk = np.random.default_rng(0).uniform(size=X.n_tokens)
        wide = X.with_values(np.column_stack([junk, X.values]))
        expected = label_error_scorer(ERMStump(**settings()).fit(X), X)
        stump = ERMStump(**settings(feature=1)).fit(wide)
        assert label_error_scorer(stump, wide) == expected

    def test_feature_by_name(self, noisy):
        X, _ = noisy
        frame = pd.DataFrame({"dose": X.values[:, 0], "label": X.labels, "age": 1.0})
        frame["task"] = np.repeat(np.arange(len(X)), X.sizes)
        named = Contexts.from_frame(
            frame, task="task", feature=["age", "dose"], label="label"
        )
        stump = ERMStump(**settings(feature="dose")).fit(named)
        unnamed = X.with_values(frame[["age", "dose"]].to_numpy())
        expected = label_error_scorer(ERMStump(**settings()).fit(X), X)
        assert label_error_scorer(stump, named) == expected
        assert label_error_scorer(stump, unnamed) == expected

    def test_labels_mean_what_they_meant_at_fit(self):
        words = [(x, ["no", "no", "yes", "yes"]) for x in ([1, 2, 3, 4], [2, 3, 4, 5])]
        stump = ERMStump(direction=">=").fit(words)
        assert label_error_scorer(stump, words) == 0
        assert label_error_scorer(stump, [([1, 4], ["yes", "no"])]) == -0.5
        # "no" alone would not tell that it is label 0.
        assert label_error_scorer(stump, [([1, 4], ["no", "no"])]) == 0

    @pytest.mark.filterwarnings("ignore:.*outside the range:UserWarning")
    @pytest.mark.parametrize(
        "wrap",
        [
            lambda stump: make_pipeline(to_logarithms, stump),
            lambda stump: GridSearchCV(stump, {"ties": ["first"]}, scoring="r2"),
            lambda stump: TransformedTargetRegressor(
                make_pipeline(to_logarithms, stump), func=np.log, inverse_func=np.exp
            ),
            FrozenEstimator,
        ],
        ids=["pipeline", "search", "target", "frozen"],
    )
    def test_looks_inside(self, noisy, wrap):
        """Whatever is done to the units, labels keep their side of the threshold."""
        X, y = noisy
        alone = ERMStump("first", direction=">=").fit(X, y)
        wrapped = wrap(alone).fit(X, y)
        assert label_error_scorer(wrapped, X) == label_error_scorer(alone, X)

    def test_estimators_without_a_direction(self, noisy):
        X, y = noisy
        dummy = DummyRegressor().fit(X, y)
        with pytest.raises(ValueError, match="DummyRegressor has no direction_"):
            label_error_scorer(dummy, X)
        score = partial(label_error_scorer, direction=">=")(dummy, X)
        expected = label_error(X, np.full(len(X), y.mean()), direction=">=")
        assert score == -expected.mean()


class TestScaledSquaredError:
    def test_by_hand(self):
        error = scaled_squared_error([0.5, 0.5], [0.6, 0.4], [10, 20])
        assert_allclose(error, [1, 4])
        assert_allclose(scaled_squared_error([0.5, 0.5], [0.6, 0.4], 10), [1, 1])

    def test_units_of_the_feature(self):
        true, predicted = np.array([0.2, 0.7]), np.array([0.25, 0.6])
        assert_allclose(
            scaled_squared_error(
                1000 * true - 300, 1000 * predicted - 300, 9, feature_range=(-300, 700)
            ),
            scaled_squared_error(true, predicted, 9),
        )

    @pytest.mark.parametrize(
        ("y_true", "y_pred", "sizes", "feature_range", "message"),
        [
            ([0.5], [0.5, 0.5], 3, (0, 1), r"shapes \(1,\) and \(2,\)"),
            ([[0.5]], [[0.5]], 3, (0, 1), r"shapes \(1, 1\)"),
            ([0.5], [0.5], [3, 3], (0, 1), r"sizes have shape \(2,\) but .* 1 thresh"),
            ([0.5], [0.5], 3, (1, 0), r"feature_range=\(1, 0\) must be finite"),
            ([0.5], [0.5], 3, (0, np.inf), r"feature_range=\(0, inf\) must be fi"),
        ],
    )
    def test_refusals(self, y_true, y_pred, sizes, feature_range, message):
        with pytest.raises(ValueError, match=message):
            scaled_squared_error(y_true, y_pred, sizes, feature_range=feature_range)
