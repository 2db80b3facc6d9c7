"""`AttentionStumpClassifier`: laws, other heads, and what it is given."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from noisy_tables import assert_same_split, noisy_table
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_attnstump import GibbsHead, PretrainedAttentionStump
from sklearn_attnstump import classifier as module
from sklearn_attnstump.baselines import DecisionStump
from sklearn_attnstump.classifier import AttentionStumpClassifier

CRITERIA = ["gini", "entropy", "misclassification"]


def frozen(coef, head, **settings):
    return PretrainedAttentionStump.from_coef(coef, head, scaling="rank", **settings)


@parametrize_with_checks(
    [
        AttentionStumpClassifier(),
        AttentionStumpClassifier(criterion="misclassification", max_features="sqrt"),
        AttentionStumpClassifier(frozen((30.0, 40.0), "reflected")),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Laws -----------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_replicas_bit_for_bit(seed, n_classes, ties, criterion):
    X, y = noisy_table(seed, n_classes=n_classes, ties=ties)
    counts = np.random.RandomState(99).randint(0, 4, size=len(y))
    stump = AttentionStumpClassifier(criterion=criterion)
    weighted = clone(stump).fit(X, y, sample_weight=counts)
    replicated = clone(stump).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_same_split(weighted, replicated, exactly=True)


@pytest.mark.parametrize("unit", [1e-300, 1 / 3, 1e300])
@pytest.mark.parametrize("seed", range(3))
def test_the_unit_of_weights_plays_no_part(seed, unit):
    X, y = noisy_table(seed, ties=True)
    weights = np.random.RandomState(seed).uniform(size=len(y))
    one = AttentionStumpClassifier().fit(X, y, weights)
    other = AttentionStumpClassifier().fit(X, y, weights * unit)
    assert_same_split(one, other)


def test_equal_weights_are_no_weights():
    X, y = noisy_table(0)
    one = AttentionStumpClassifier().fit(X, y)
    other = AttentionStumpClassifier().fit(X, y, np.full(len(y), 1 / len(y)))
    assert_same_split(one, other)


@pytest.mark.parametrize("seed", range(3))
def test_a_row_of_vanishing_weight_moves_nothing(seed):
    X, y = noisy_table(seed)
    without = AttentionStumpClassifier().fit(X[1:], y[1:])
    weights = np.ones(len(y))
    weights[0] = 1e-12
    almost = AttentionStumpClassifier().fit(X, y, weights)
    assert almost.feature_ == without.feature_
    assert_allclose(almost.value_, without.value_, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_order_of_rows_plays_no_part(n_classes):
    X, y = noisy_table(1, n_classes=n_classes, ties=True)
    order = np.random.RandomState(0).permutation(len(y))
    one = AttentionStumpClassifier().fit(X, y)
    assert_same_split(one, AttentionStumpClassifier().fit(X[order], y[order]))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: 1e-9 * x,
        lambda x: x + 1e9,
        lambda x: 1e300 * x,
        lambda x: np.exp(5 * x),
        lambda x: np.asfortranarray(x),
    ],
)
def test_increasing_maps_of_features_change_no_prediction(change):
    X, y = noisy_table(2, ties=True)
    one = AttentionStumpClassifier().fit(X, y)
    other = AttentionStumpClassifier().fit(change(X), y)
    assert one.feature_ == other.feature_
    assert_array_equal(one.value_, other.value_)
    assert_array_equal(one.predict(X), other.predict(change(X)))


def test_mirrored_features_give_the_mirrored_split():
    X, y = noisy_table(3)
    one = AttentionStumpClassifier().fit(X, y)
    other = AttentionStumpClassifier().fit(-X, y)
    assert one.feature_ == other.feature_
    assert {one.direction_, other.direction_} == {"<=", ">="}
    assert_allclose(other.threshold_, -one.threshold_, rtol=1e-9)
    assert_allclose(one.value_, other.value_[::-1])


def test_fit_leaves_its_arguments_alone_and_repeats_itself():
    X, y = noisy_table(4)
    weights = np.arange(len(y), dtype=float)
    copies = X.copy(), y.copy(), weights.copy()
    stump = AttentionStumpClassifier()
    first = clone(stump.fit(X, y, weights)).fit(X, y, weights)
    for given_array, copy in zip((X, y, weights), copies, strict=True):
        assert_array_equal(given_array, copy)
    assert_same_split(stump, first, exactly=True)


# Other heads ----------------------------------------------------------------------


def test_pretrained_prior_is_used(corpus):
    contexts, thresholds = corpus
    head = GibbsHead(prior="corpus")
    stump = PretrainedAttentionStump(head, feature_range=(0, 1))
    stump.fit(contexts, np.clip(thresholds, 0.45, 0.55))
    x = np.linspace(0, 1, 200)
    y = (x > 0.2) & (x < 0.8)
    pulled = AttentionStumpClassifier(stump).fit(x[:, None], y)
    assert pulled.stump_ is stump
    assert 0.19 < pulled.threshold_ < 0.81


@pytest.mark.parametrize("head", ["single", "reflected", "gibbs"])
def test_any_fitted_stump_serves(head, corpus):
    # The loss of the two-score heads on clean labels has its minimum at infinity.
    path = {} if head == "gibbs" else {"solver": "flow", "horizon": 1e8}
    stump = PretrainedAttentionStump(head, **path).fit(*corpus)
    X = np.random.RandomState(0).normal(size=(200, 3))
    y = np.where(X[:, 2] > 0.3, "no", "yes")
    own = AttentionStumpClassifier(stump).fit(X, y)
    assert own.feature_ == 2
    assert own.score(X, y) > 0.97
    wrapped = AttentionStumpClassifier(FrozenEstimator(stump)).fit(X, y)
    assert_same_split(own, wrapped, exactly=True)


@pytest.mark.parametrize(
    "stump", [DecisionTreeClassifier(), DecisionStump(), PretrainedAttentionStump]
)
def test_what_is_no_stump_is_refused(stump):
    with pytest.raises(TypeError, match="Pass a fitted PretrainedAttentionStump"):
        AttentionStumpClassifier(stump).fit([[0.0], [1.0]], [0, 1])


def test_clones_share_the_pretrained_stump(corpus):
    stump = PretrainedAttentionStump("reflected").fit(*corpus)
    X, y = noisy_table(9)
    twin = clone(make_pipeline(AttentionStumpClassifier(stump))).fit(X, y)[-1]
    assert twin.stump is stump
    ensemble = AdaBoostClassifier(AttentionStumpClassifier(stump), n_estimators=3)
    assert all(member.stump_ is stump for member in ensemble.fit(X, y).estimators_)


def test_a_stump_that_is_not_fitted_is_refused():
    X, y = noisy_table(9)
    with pytest.raises(NotFittedError, match="is not fitted"):
        AttentionStumpClassifier(PretrainedAttentionStump()).fit(X, y)


def test_parameters_of_the_frozen_stump_are_out_of_reach(corpus):
    stump = PretrainedAttentionStump("reflected").fit(*corpus)
    before = repr(stump.get_params())
    classifier = AttentionStumpClassifier(stump)
    assert set(classifier.get_params()) == set(classifier.get_params(deep=False))
    with pytest.raises(ValueError, match="'stump__head' cannot be set"):
        classifier.set_params(criterion="entropy", stump__head="single")
    assert classifier.criterion == "gini"
    assert repr(stump.get_params()) == before
    assert classifier.set_params(criterion="entropy") is classifier
    assert classifier.criterion == "entropy"


def test_a_search_over_frozen_stumps_keeps_them():
    stumps = [frozen(coef, "gibbs") for coef in ((0.01, 1.0), (5.0, 1.0))]
    X, y = noisy_table(9)
    search = GridSearchCV(
        AttentionStumpClassifier(),
        {"stump": [FrozenEstimator(stump) for stump in stumps]},
        error_score="raise",
    ).fit(X, y)
    scores = [cross_val_score(AttentionStumpClassifier(s), X, y) for s in stumps]
    found = search.cv_results_["mean_test_score"]
    assert found.tolist() == np.mean(scores, axis=1).tolist()
    assert found[0] != found[1]


# Missing and infinite values ------------------------------------------------------


@pytest.mark.parametrize("missing_class", [0, 1])
def test_missing_values_go_to_the_better_side(missing_class):
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1], 50)
    x = y + rng.normal(scale=0.2, size=100)
    x[np.flatnonzero(y == missing_class)[:20]] = np.nan
    X = np.stack([rng.normal(size=100), x], axis=1)
    stump = AttentionStumpClassifier().fit(X, y)
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert stump.feature_ == tree.tree_.feature[0] == 1
    assert stump.missing_go_to_left_ == bool(tree.tree_.missing_go_to_left[0])
    assert_array_equal(stump.predict(X), y)
    assert_array_equal(stump.predict(X), tree.predict(X))


@pytest.mark.parametrize("share_left", [0.3, 0.7])
def test_values_missing_only_later_go_to_the_heavier_side(share_left):
    x = np.linspace(0, 1, 50)
    y = x > share_left
    stump = AttentionStumpClassifier().fit(x[:, None], y)
    tree = DecisionTreeClassifier(max_depth=1).fit(x[:, None], y)
    assert stump.missing_go_to_left_ == (share_left > 0.5)
    assert_array_equal(stump.predict([[np.nan]]), tree.predict([[np.nan]]))


@pytest.mark.parametrize("unit", [1.0, 0.1, 1 / 3, 1e-300])
def test_values_missing_only_later_go_right_of_leaves_that_weigh_the_same(unit):
    x, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    weights = unit * np.array([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    stump = AttentionStumpClassifier().fit(x, y, weights)
    assert not stump.missing_go_to_left_


def test_missing_values_alone_can_tell_the_classes():
    X = np.array([[1.0, 5.0], [1.0, 2.0], [np.nan, 5.0], [np.nan, 2.0]])
    y = np.array(["seen", "seen", "gone", "gone"])
    stump = AttentionStumpClassifier().fit(X, y)
    assert stump.feature_ == 0
    assert stump.threshold_ == np.inf
    assert not stump.missing_go_to_left_
    assert_array_equal(stump.predict(X), y)
    assert stump.feature_importances_.tolist() == [1.0, 0.0]


def test_missing_values_are_weighed_too():
    """Left out, they would make the first column perfect."""
    y = np.repeat([0, 1], 15)
    mixed = np.where(np.arange(30) % 3 > 0, np.nan, y)
    telling = np.where(np.isin(np.arange(30), [3, 20]), 1 - y, y)
    X = np.stack([mixed, telling], axis=1)
    stump = AttentionStumpClassifier().fit(X, y)
    assert stump.feature_ == 1
    assert DecisionTreeClassifier(max_depth=1).fit(X, y).tree_.feature[0] == 1


def test_columns_without_values_are_passed_over():
    X, y = noisy_table(10)
    X[:, 0] = np.nan
    stump = AttentionStumpClassifier().fit(X, y)
    assert_same_split(stump, AttentionStumpClassifier().fit(np.nan_to_num(X), y))
    assert AttentionStumpClassifier().fit(X[:, :1], y).feature_ is None


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(value):
    X, y = noisy_table(10)
    fitted = AttentionStumpClassifier().fit(X, y)
    X[3, 1] = value
    with pytest.raises(ValueError, match="infinity"):
        AttentionStumpClassifier().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict(X)


# Features that are drawn ----------------------------------------------------------


@pytest.mark.parametrize(
    ("max_features", "n_drawn"),
    [(None, 16), (3, 3), (99, 16), (0.25, 4), (0.01, 1), ("sqrt", 4), ("log2", 4)],
)
def test_number_of_features_drawn(max_features, n_drawn):
    assert module._number_drawn(max_features, 16) == n_drawn


def test_features_are_drawn_by_the_random_state():
    X, y = noisy_table(11)
    one_of_five = AttentionStumpClassifier(max_features=1)
    found = [
        clone(one_of_five).set_params(random_state=seed).fit(X, y).feature_
        for seed in range(30)
    ]
    assert set(found) == set(range(5))
    again = clone(one_of_five).set_params(random_state=7).fit(X, y).feature_
    assert again == found[7]
    whole = AttentionStumpClassifier(max_features=1.0, random_state=0).fit(X, y)
    assert_same_split(whole, AttentionStumpClassifier().fit(X, y), exactly=True)


def test_drawing_goes_on_until_a_feature_can_be_split():
    X, y = noisy_table(12)
    X[:, [0, 1, 2, 4]] = 1.0
    for seed in range(10):
        stump = AttentionStumpClassifier(max_features=2, random_state=seed).fit(X, y)
        assert stump.feature_ == 3


def test_the_first_drawn_that_can_be_split_is_kept():
    """A column can be if it has two values, missing ones counted, in rows of weight."""
    X, y = noisy_table(12)
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    constant, missing = np.ones(len(y)), np.full(len(y), np.nan)
    of_no_weight = np.where(weights > 0, 1.0, X[:, 1])
    partly_missing = np.where(y == y[1], np.nan, 1.0)
    X = np.stack(
        [constant, X[:, 3], missing, partly_missing, of_no_weight, constant], axis=1
    )
    for seed in range(20):
        order = np.random.RandomState(seed).permutation(X.shape[1])
        stump = AttentionStumpClassifier(max_features=1, random_state=seed)
        first = next(column for column in order if column in (1, 3))
        assert stump.fit(X, y, weights).feature_ == first
    X[:, [1, 3]] = np.nan
    assert stump.fit(X, y, weights).feature_ is None


# Tables with nothing to split, labels and weights ---------------------------------


def test_constant_features_leave_the_class_shares():
    X, y = np.ones((5, 2)), np.array(["a", "b", "b", "a", "b"])
    stump = AttentionStumpClassifier().fit(X, y)
    assert stump.feature_ is None
    assert stump.direction_ is None
    assert np.isnan(stump.threshold_)
    assert_allclose(stump.predict_proba(X[:1] + 7), [[0.4, 0.6]])
    assert stump.predict(X[:1]).tolist() == ["b"]
    assert stump.feature_importances_.tolist() == [0.0, 0.0]


def test_one_class_is_always_predicted():
    X, _ = noisy_table(0)
    stump = AttentionStumpClassifier().fit(X, np.full(len(X), "only"))
    assert stump.feature_ is None
    assert set(stump.predict(X)) == {"only"}
    assert_array_equal(stump.predict_proba(X), np.ones((len(X), 1)))


def test_classes_of_no_weight_stay_known_and_unlikely():
    X, y = noisy_table(1, n_classes=3)
    stump = AttentionStumpClassifier().fit(X, y, sample_weight=y < 2)
    fewer = AttentionStumpClassifier().fit(X[y < 2], y[y < 2])
    assert stump.classes_.tolist() == [0, 1, 2]
    assert stump.feature_ == fewer.feature_
    assert stump.threshold_ == fewer.threshold_
    assert_array_equal(stump.value_[:, 2], 0.0)
    alone = AttentionStumpClassifier().fit(X, y, sample_weight=y == 1)
    assert alone.feature_ is None
    assert_array_equal(alone.value_, [[0, 1, 0]] * 2)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (lambda n: np.zeros(n), "zero"),
        (lambda n: np.r_[-1.0, np.ones(n - 1)], "Negative values"),
        (lambda n: np.r_[np.nan, np.ones(n - 1)], "NaN"),
        (lambda n: np.ones(n - 1), "inconsistent|shape"),
    ],
)
def test_wrong_weights_are_refused(weights, match):
    X, y = noisy_table(0)
    with pytest.raises(ValueError, match=match):
        AttentionStumpClassifier().fit(X, y, weights(len(y)))


def test_continuous_labels_are_refused():
    X, _ = noisy_table(0)
    with pytest.raises(ValueError, match="Unknown label type"):
        AttentionStumpClassifier().fit(X, X[:, 0])


@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (False, True), (-1, 1), (3, 8), (np.str_("a"), np.str_("b"))],
)
def test_labels_come_back_as_they_were(labels):
    X, y = noisy_table(2)
    named = np.array(labels)[y]
    stump = AttentionStumpClassifier().fit(X, named)
    plain = AttentionStumpClassifier().fit(X, y)
    assert stump.classes_.dtype == named.dtype
    assert_array_equal(stump.predict(X), np.array(labels)[plain.predict(X)])
    assert stump.score(X, named) == plain.score(X, y)


def test_decision_is_positive_where_the_second_class_is_predicted():
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 2)[:, np.newaxis]
    y = np.array([1, 1, 1, 0, 0, 1, 0, 1])  # a tie in the right leaf
    stump = AttentionStumpClassifier().fit(x, y)
    decision = stump.decision_function(x)
    assert decision.shape == (8,)
    assert_array_equal(stump.predict(x), stump.classes_[(decision > 0).astype(int)])
    shares = stump.predict_proba(x)
    assert_array_equal(stump.predict(x), stump.classes_[shares.argmax(axis=1)])
    assert_array_equal(np.exp(stump.predict_log_proba(x)), shares)
    tied = shares[:, 0] == shares[:, 1]
    assert tied.any()
    assert (stump.predict(x)[tied] == 0).all()


def test_importance_goes_to_a_feature_that_helps():
    stump = AttentionStumpClassifier()
    exclusive_or = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    stump.fit(exclusive_or, [0, 1, 1, 0])
    tree = DecisionTreeClassifier(max_depth=1).fit(exclusive_or, [0, 1, 1, 0])
    assert_array_equal(stump.feature_importances_, tree.feature_importances_)
    assert stump.feature_ == 0


# Frames, and what it is used in ---------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names(frame):
    X, y = noisy_table(3)
    names = list("vwxyz")
    columns = {name: X[:, i] for i, name in enumerate(names)}
    stump = AttentionStumpClassifier().fit(frame(columns), y)
    assert stump.feature_names_in_.tolist() == names
    assert stump.n_features_in_ == 5
    assert_same_split(stump, AttentionStumpClassifier().fit(X, y), exactly=True)
    assert_array_equal(
        stump.predict(frame(columns)), AttentionStumpClassifier().fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="feature names"):
        stump.predict(frame(columns)[names[::-1]])


def test_thresholds_are_compared_in_float64():
    x = np.linspace(1, 2, 50, dtype=np.float32)
    stump = AttentionStumpClassifier().fit(x[:, None], x > x[20])
    stump.threshold_ = float(np.nextafter(np.float64(x[20]), 2.0))
    assert stump.predict(x[20:22, None]).tolist() == [False, True]


def test_searches_pipelines_and_ensembles():
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), AttentionStumpClassifier()),
        {"attentionstumpclassifier__criterion": CRITERIA},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.55
    boosted = AdaBoostClassifier(AttentionStumpClassifier(), n_estimators=30)
    assert cross_val_score(boosted, X, y, cv=3).mean() > 0.85
    bagged = BaggingClassifier(
        AttentionStumpClassifier(max_features="sqrt"), n_estimators=30, random_state=0
    )
    assert cross_val_score(bagged, X, y, cv=3).mean() > 0.6
    each = OneVsRestClassifier(AttentionStumpClassifier()).fit(X, y)
    assert each.score(X, y) > 0.8


@pytest.mark.parametrize("n_stumps", [1, 50])
def test_accuracy_keeps_up_with_the_trees(n_stumps):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for stump in (AttentionStumpClassifier(), DecisionTreeClassifier(max_depth=1)):
        model = AdaBoostClassifier(stump, n_estimators=n_stumps, random_state=0)
        scores.append(cross_val_score(model, X, y, cv=5).mean())
    assert scores[0] > scores[1] - 0.01


def test_pickle_gives_the_same_predictions():
    X, y = noisy_table(4, n_classes=3)
    stump = AttentionStumpClassifier().fit(X, y)
    again = pickle.loads(pickle.dumps(stump))
    assert_same_split(stump, again, exactly=True)
    assert_array_equal(stump.predict_proba(X), again.predict_proba(X))


def test_a_second_fit_forgets_the_first():
    X, y = noisy_table(5)
    frame = pd.DataFrame(X, columns=list("abcde"))
    stump = AttentionStumpClassifier().fit(frame, y).fit(np.ones((4, 1)), [0, 1, 1, 1])
    assert stump.feature_ is None
    assert stump.n_features_in_ == 1
    assert not hasattr(stump, "feature_names_in_")


@pytest.mark.parametrize("X", [pd.DataFrame({"a": [1.0, 2.0, 3.0]}), np.ones((3, 2))])
@pytest.mark.parametrize(
    ("y", "weights"),
    [([0.1, 0.2, 0.3], None), ([0, 1], None), ([0, 1, 1], [1, -1, 1])],
    ids=["continuous", "too short", "negative weight"],
)
def test_a_fit_that_is_refused_leaves_the_last_one(X, y, weights):
    table, labels = noisy_table(5)
    stump = AttentionStumpClassifier()
    for before in ({}, vars(stump.fit(table, labels)).copy()):
        refitted = AttentionStumpClassifier()
        refitted.__dict__.update(before)
        state = vars(refitted).copy()
        with pytest.raises(ValueError):
            refitted.fit(X, y, weights)
        assert vars(refitted).keys() == state.keys()
        assert all(vars(refitted)[name] is state[name] for name in state)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, UserWarning])
def test_an_interrupted_fit_leaves_the_last_one(interruption, monkeypatch):
    X, y = noisy_table(5)
    stump = AttentionStumpClassifier().fit(X, y)
    state = vars(stump).copy()

    def interrupt(*args):
        raise interruption

    # Among the last steps of a fit.
    monkeypatch.setattr(AttentionStumpClassifier, "_goes_left", interrupt)
    with pytest.raises(interruption):
        stump.fit(X[:50, :3], y[:50])
    assert vars(stump).keys() == state.keys()
    assert all(vars(stump)[name] is state[name] for name in state)


def test_before_fit_nothing_is_predicted():
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(AttentionStumpClassifier(), method)([[1.0]])


def test_peak_memory_is_a_few_tables():
    X = np.random.RandomState(0).normal(size=(50_000, 30))
    y = X[:, 3] + np.random.RandomState(1).normal(size=50_000) > 0
    tracemalloc.start()
    AttentionStumpClassifier().fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * X.nbytes  # the table itself is the fourth


@pytest.mark.parametrize(
    ("n_rows", "n_features", "rows_a_class", "most"),
    [(300, 4, 2, 14e6), (1000, 40, 5, 60e6)],
)
def test_peak_memory_of_many_classes(n_rows, n_features, rows_a_class, most):
    """There are 28 candidates for each class; splits that are the same are one.

    Of many columns, some are weighed at a time: all forty would take 260 MB.
    """
    X = np.random.RandomState(0).normal(size=(n_rows, n_features))
    y = np.arange(n_rows) // rows_a_class
    tracemalloc.start()
    AttentionStumpClassifier().fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most


def test_nothing_warns_on_extreme_weights():
    X, y = noisy_table(6)
    weights = np.geomspace(1e-300, 1, len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stump = AttentionStumpClassifier().fit(X, y, weights)
    assert np.isfinite(stump.value_).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rounding_makes_no_split_of_a_column_without_values(criterion):
    """All its class weights are missing ones, up to the order of summation."""
    X, y = noisy_table(8, n_classes=3)
    X[:, :4] = np.nan
    for seed in range(10):
        weights = np.random.RandomState(seed).uniform(size=len(y))
        stump = AttentionStumpClassifier(criterion=criterion).fit(X, y, weights)
        assert stump.feature_ == 4
