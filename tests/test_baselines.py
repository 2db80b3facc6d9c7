"""Baselines against closed forms, scikit-learn, the heads, and brute force."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.tree import DecisionTreeClassifier

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.baselines import (
    BayesStump,
    DecisionStump,
    ERMStump,
    LogisticStump,
    MidpointStump,
    OneSidedStump,
)
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.metrics import label_error, scaled_squared_error
from sklearn_attnstump.theory import context_risk

BASELINES = [
    OneSidedStump(),
    MidpointStump(),
    ERMStump("widest"),
    ERMStump("first"),
    ERMStump("mean"),
    BayesStump(0.2),
    DecisionStump(),
    LogisticStump(),
]
every_baseline = pytest.mark.parametrize("baseline", BASELINES, ids=str)


def fitted(baseline, contexts, **settings):
    return type(baseline)(**{**baseline.get_params(), **settings}).fit(contexts)


@pytest.fixture(scope="module")
def rough():
    """1,000 noisy contexts of 1 to 30 observations, most of them with ties."""
    rng = np.random.default_rng(0)
    items = []
    for _ in range(1000):
        n, steps = rng.integers(1, 31), rng.choice([3, 10, 30, 1_000_000])
        x = rng.integers(0, steps + 1, n) / steps
        labels = (x <= rng.random()) ^ (rng.random(n) < rng.choice([0.0, 0.1, 0.4]))
        items.append((x, labels))
    return Contexts(items, classes=(False, True))


@pytest.fixture(scope="module")
def weighty(rough):
    """The same with weights, some of them zero."""
    weights = np.random.default_rng(1).integers(0, 4, rough.n_tokens) / 4
    weights[rough.offsets[:-1]] = 1.0
    return Contexts.from_arrays(
        rough.values, rough.labels, rough.offsets, weights=weights
    )


def apart(contexts, distance):
    """Those of some contexts in [0, 1] whose neighbours, ends included, lie apart."""
    kept = [
        min(b - a for a, b in pairwise([0.0, *np.sort(context.values[:, 0]), 1.0]))
        > distance
        for context in contexts
    ]
    return contexts[np.array(kept)]


# ----------------------------------------------------------------- closed forms


@pytest.mark.parametrize(
    ("stump", "law"),
    [(OneSidedStump, "one_sided"), (MidpointStump, "midpoint")],
)
def test_risk_on_clean_uniform_tasks(stump, law):
    """2/N^2 and 1/(2 N^2) at N = 1,000; the standard error of 20,000 tasks is 1.6 %.

    Both are the mean of a square of fourth moment 6 times its second's square.
    """
    n = 1000
    errors = []
    for seed in range(10):
        X, y = make_stump_tasks(2000, n, threshold_range=(0.5, 0.5), random_state=seed)
        predicted = stump(feature_range=(0, 1)).fit(X).predict(X)
        errors.append(scaled_squared_error(y, predicted, X.sizes))
    assert_allclose(np.mean(errors), n**2 * context_risk(law, n), rtol=0.05)


@pytest.mark.parametrize("direction", ["<=", ">="])
def test_midpoint_is_the_limit_of_the_anchored_reflected_head(direction):
    X, _ = make_stump_tasks(2000, (1, 40), direction=direction, random_state=0)
    X = apart(X, 1e-6)
    assert len(X) > 1900
    one_label = np.add.reduceat(X.labels, X.offsets[:-1]) % X.sizes == 0
    assert one_label.sum() > 100
    settings = {"direction": direction, "feature_range": (0, 1)}
    # The label score must exceed a, or two anchors share a context without label 1.
    head = PretrainedAttentionStump.from_coef(
        (1e9, 1e9 + 2 * np.log(1e9)), "reflected", anchors=True, **settings
    )
    assert_allclose(
        MidpointStump(**settings).fit(X).predict(X),
        head.predict(X),
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("direction", ["<=", ">="])
def test_one_sided_is_the_limit_of_the_single_head(direction):
    X, _ = make_stump_tasks(2000, (1, 40), direction=direction, random_state=0)
    X = apart(X, 1e-6)
    settings = {"direction": direction, "feature_range": (0, 1)}
    head = PretrainedAttentionStump.from_coef(
        (1e9, 1e9 + 2 * np.log(1e9)), "single", anchors=True, **settings
    )
    assert_allclose(
        OneSidedStump(**settings).fit(X).predict(X), head.predict(X), atol=1e-12
    )


# ------------------------------------------------------------------------ Bayes


@pytest.mark.parametrize("rate", [1e-6, 0.02, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("direction", ["<=", ">="])
def test_bayes_is_the_gibbs_head(rough, weighty, rate, direction):
    settings = {"direction": direction, "feature_range": (-0.5, 1.25)}
    head = PretrainedAttentionStump.from_coef(
        (np.log((1 - rate) / rate), 1.0), "gibbs", **settings
    )
    for contexts in (rough, weighty):
        assert_allclose(
            BayesStump(rate, **settings).fit(contexts).predict(contexts),
            head.predict(contexts),
            rtol=0,
            atol=1e-12,
        )


def posterior_mean(context, rate):
    """By a loop over the gaps of [0, 1]: prior mass times likelihood."""
    x, labels = context.values[:, 0], context.labels
    mass, moment = 0.0, 0.0
    for a, b in pairwise([0.0, *np.sort(x), 1.0]):
        wrong = np.sum((x <= a) != labels)
        share = (b - a) * rate**wrong * (1 - rate) ** (len(x) - wrong)
        mass, moment = mass + share, moment + share * (a + b) / 2
    return moment / mass


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5])
def test_bayes_is_the_posterior_mean(rough, rate):
    inside = apart(rough, 0.0)
    assert len(inside) > 100
    stump = BayesStump(rate, feature_range=(0, 1)).fit(inside)
    expected = [posterior_mean(context, rate) for context in inside]
    assert_allclose(stump.predict(inside), expected, rtol=1e-12)


def test_bayes_without_flips_is_the_midpoint_on_clean_labels():
    X, _ = make_stump_tasks(500, (1, 40), random_state=0)
    assert_allclose(
        BayesStump(0, feature_range=(0, 1)).fit(X).predict(X),
        MidpointStump(feature_range=(0, 1)).fit(X).predict(X),
        rtol=1e-12,
    )


@pytest.mark.parametrize("rate", [-0.1, 0.51, "0.1"])
def test_bayes_refuses_a_rate_that_is_none(rough, rate):
    with pytest.raises(ValueError, match="'flip_rate' parameter of BayesStump"):
        BayesStump(rate).fit(rough)


# ------------------------------------------------------------------------- tree


@pytest.mark.parametrize("direction", ["<=", ">="])
@pytest.mark.parametrize("corpus", ["rough", "weighty"])
def test_tree_is_that_of_scikit_learn(corpus, direction, request):
    contexts = request.getfixturevalue(corpus)[:500]
    sign = 1 if direction == "<=" else -1
    stump = DecisionStump(direction=direction, feature_range=(0, 1)).fit(contexts)
    predicted = stump.predict(contexts)
    splits = 0
    for context, threshold in zip(contexts, predicted, strict=True):
        tree = DecisionTreeClassifier(max_depth=1, random_state=1)
        tree.fit(sign * context.values, context.labels, context.weights)
        if tree.tree_.node_count > 1:
            assert threshold == sign * tree.tree_.threshold[0]
            splits += 1
        else:
            # One label for all, but an observation at the range's end has label 1
            # whatever the threshold, and one of weight zero counts for nothing.
            x = context.values[:, 0]
            said = x <= threshold if direction == "<=" else x >= threshold
            right = said == tree.predict(context.values)
            right |= x == (0 if direction == "<=" else 1)
            if context.weights is not None:
                right |= context.weights == 0
            assert right.all()
            assert 0 <= threshold <= 1
    assert 250 < splits < 480


def test_tree_refuses_what_single_precision_does_not_hold():
    X = Contexts([([0.0, 1.0], [1, 0]), ([-1e39, 1.0], [1, 0])], task_ids=["a", "b"])
    stump = DecisionStump().fit(X)
    with pytest.raises(ValueError, match=r"task 1 \('b'\) has observations beyond 3\."):
        stump.predict(X)
    assert_array_equal(stump.predict(X[0]), [0.5])


# -------------------------------------------------------------------------- ERM


def least_error(context, lo, hi):
    """Fewest labels that a threshold in [lo, hi] contradicts, by trying them."""
    x, labels = context.values[:, 0], context.labels
    weights = np.ones(len(x)) if context.weights is None else context.weights
    tries = np.unique([lo, *x, hi])
    return min(weights @ ((x <= t) != labels) for t in tries) / weights.sum()


@pytest.mark.parametrize("ties", ["widest", "first"])
@pytest.mark.parametrize("corpus", ["rough", "weighty"])
@pytest.mark.parametrize("feature_range", [(0, 1), (-1, 3), None])
def test_erm_makes_the_fewest_label_errors(corpus, ties, feature_range, request):
    contexts = request.getfixturevalue(corpus)
    stump = ERMStump(ties, feature_range=feature_range).fit(contexts)
    errors = label_error(contexts, stump.predict(contexts))
    lo, hi = feature_range or (0, 1)
    expected = [least_error(context, lo, hi) for context in contexts]
    assert_allclose(errors, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("ties", ["widest", "first"])
@pytest.mark.parametrize("direction", ["<=", ">="])
def test_no_other_estimator_makes_fewer_label_errors(rough, ties, direction):
    settings = {"direction": direction, "feature_range": (0, 1)}

    def errors(stump):
        return label_error(rough, stump.predict(rough), direction=direction)

    least = errors(ERMStump(ties, **settings).fit(rough))
    others = [fitted(baseline, rough, **settings) for baseline in BASELINES]
    for head, coef in [
        ("single", (100, 110)),
        ("reflected", (100, 110)),
        ("gibbs", (2, 1)),
    ]:
        others.append(PretrainedAttentionStump.from_coef(coef, head, **settings))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(no threshold separates|.* one label only)")
        for other in others:
            assert (errors(other) >= least).all(), other


@pytest.mark.parametrize("ties", ["widest", "first", "mean"])
def test_erm_is_the_midpoint_on_clean_labels(ties):
    """Down to the last bit."""
    X, _ = make_stump_tasks(2000, (1, 40), random_state=0)
    for settings in ({"feature_range": (0, 1)}, {}):
        assert_array_equal(
            ERMStump(ties, **settings).fit(X).predict(X),
            MidpointStump(**settings).fit(X).predict(X),
        )


def test_erm_ties_by_hand():
    #      0 .1 1 .2 0 .5 1 .6 0 .65 1 .9 0 1: labels above the gaps' ends
    X = [([0.1, 0.2, 0.5, 0.6, 0.65, 0.9], [1, 0, 1, 0, 1, 0])]
    # Two wrong in [.1, .2), [.5, .6) and [.65, .9); three elsewhere.
    settings = {"feature_range": (0, 1)}
    assert_allclose(ERMStump("first", **settings).fit(X).predict(X), [0.15])
    assert_allclose(ERMStump("widest", **settings).fit(X).predict(X), [0.775])
    assert_allclose(
        ERMStump("mean", **settings).fit(X).predict(X), [(0.15 + 0.55 + 0.775) / 3]
    )


def test_erm_first_is_on_the_side_of_label_1():
    """With ">=" label 1 is on the right, and the first gap is the rightmost."""
    X = [([0.1, 0.2, 0.5, 0.6], [0, 1, 0, 1])]
    assert_allclose(ERMStump("first", direction=">=").fit(X).predict(X), [0.55])
    assert_allclose(ERMStump("first").fit(X).predict(X), [0.35])


def test_erm_sums_of_weights_tie_up_to_rounding():
    """0.1 + 0.2 on one side and 0.3 on the other: three gaps contradict 0.3."""
    X = [([0.1, 0.2, 0.3, 0.4, 0.9], [1, 0, 0, 1, 0], [1, 0.1, 0.2, 0.3, 1])]
    assert 0.1 + 0.2 != 0.3
    assert_allclose(ERMStump("first").fit(X).predict(X), [0.15])
    assert_allclose(ERMStump("widest").fit(X).predict(X), [0.65])


# --------------------------------------------------------------------- logistic


def test_logistic_maximizes_the_likelihood():
    X, _ = make_stump_tasks(
        60, (5, 60), label_noise=0.2, noise="logistic", random_state=0
    )
    predicted = LogisticStump(feature_range=(0, 1)).fit(X).predict(X)
    tested = 0
    for context, threshold in zip(X, predicted, strict=True):
        x, labels = context.values[:, 0], context.labels
        if labels.all() or x[labels].max(initial=0) <= x[~labels].min(initial=1):
            continue

        def loss(coef, x=x, labels=labels):
            score = coef[0] - coef[1] * x
            return np.logaddexp(0, np.where(labels, -score, score)).sum()

        best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9})
        if best.x[1] > 0:  # a falling curve
            expected = np.clip(best.x[0] / best.x[1], 0, 1)
            assert_allclose(threshold, expected, atol=1e-5)
            tested += 1
        else:
            assert threshold == (labels.mean() > 0.5)
    assert tested > 40


def test_logistic_has_the_weights_of_tokens():
    x, labels = np.array([0.1, 0.3, 0.4, 0.5, 0.8]), np.array([1, 1, 0, 1, 0])
    weights = np.array([1, 2, 3, 1, 2])
    stump = LogisticStump()
    one = stump.fit([(x, labels, weights)]).predict([(x, labels, weights)])
    copies = [(np.repeat(x, weights), np.repeat(labels, weights))]
    assert_allclose(one, stump.fit(copies).predict(copies), rtol=1e-9)


@pytest.mark.parametrize(
    ("x", "labels", "expected"),
    [
        ([0.1, 0.2, 0.6, 0.7], [1, 1, 0, 0], 0.4),  # separable: middle of the gap
        ([0.1, 0.2, 0.2, 0.7], [1, 1, 0, 0], 0.2),  # but for a tie
        ([0.1, 0.2, 0.6, 0.7], [0, 0, 1, 1], 0.0),  # reversed, half and half
        ([0.1, 0.2, 0.6, 0.7], [0, 1, 1, 1], 1.0),  # reversed, most are 1
        ([0.1, 0.3, 0.3, 0.5], [1, 1, 0, 1], 1.0),  # flat
        ([0.3, 0.3, 0.3], [1, 0, 0], 0.3),  # a tie and nothing else
        ([0.4, 0.4, 0.4, 0.5], [1, 0, 0, 1], 0.0),  # rises, half and half
    ],
)
def test_logistic_where_the_likelihood_has_no_maximum(x, labels, expected):
    X = [(x, labels)]
    predicted = LogisticStump(feature_range=(0, 1)).fit(X).predict(X)
    assert_allclose(predicted, [expected], atol=1e-15)


def test_logistic_is_silent(rough, weighty):
    """Also where one label among many is out of place and slopes are steep."""
    X, _ = make_stump_tasks(300, 200, label_noise=0.01, random_state=0)
    for contexts in (rough, weighty, X.with_values(1e-7 * X.values), X):
        predicted = LogisticStump().fit(contexts).predict(contexts)
        assert np.isfinite(predicted).all()


def test_logistic_close_to_separation():
    """Two neighbours of 3,000 have their labels swapped: a curve as steep as can be.

    Left and right are mirror images, so it crosses in the middle.
    """
    x = (np.arange(3000) + 0.5) / 3000
    labels = x < 0.5
    labels[1499], labels[1500] = False, True
    predicted = LogisticStump().fit([(x, labels)]).predict([(x, labels)])
    assert_allclose(predicted, [0.5], atol=1e-7)


# -------------------------------------------------------------- ends and sides

ALL, NONE = ([0.2, 0.4], [True, True]), ([0.2, 0.4], [False, False])


@pytest.mark.parametrize(
    ("baseline", "all_ones", "all_zeros"),
    [
        (OneSidedStump(), 0.4, 0.0),
        (MidpointStump(), 0.7, 0.1),
        (ERMStump("widest"), 0.7, 0.1),
        (ERMStump("first"), 0.7, 0.1),
        (ERMStump("mean"), 0.7, 0.1),
        (BayesStump(0), 0.7, 0.1),
        (DecisionStump(), 0.7, 0.1),
        (LogisticStump(), 0.7, 0.1),
    ],
    ids=str,
)
def test_contexts_of_one_label(baseline, all_ones, all_zeros):
    X = Contexts([ALL, NONE], classes=(False, True))
    stump = fitted(baseline, X, feature_range=(0, 1))
    assert_allclose(stump.predict(X), [all_ones, all_zeros])
    mirror = X.with_values(-X.values)
    stump = fitted(baseline, mirror, direction=">=", feature_range=(-1, 0))
    assert_allclose(stump.predict(mirror), [-all_ones, -all_zeros])


@every_baseline
def test_contexts_of_one_label_without_a_range(baseline):
    """The corpus's own observations are the range then."""
    X = Contexts([ALL, ([0.2, 0.4], [True, False])])
    predicted = fitted(baseline, X).predict(X[0])
    assert_allclose(predicted, [0.3 if isinstance(baseline, BayesStump) else 0.4])


@every_baseline
@pytest.mark.parametrize("label", [True, False])
def test_a_single_observation(baseline, label):
    X = Contexts([([5.0], [label])], classes=(False, True))
    assert_array_equal(fitted(baseline, X).predict(X), [5.0])


@every_baseline
@pytest.mark.parametrize(("labels", "end"), [([1, 1, 0], 0.85), ([1, 0, 0], 0.35)])
def test_equal_observations(baseline, labels, end):
    """Only the tree, which cannot split, and fewest errors leave the observation."""
    X = [([0.7, 0.7, 0.7], labels)]
    predicted = fitted(baseline, X, feature_range=(0, 1)).predict(X)
    if isinstance(baseline, (ERMStump, DecisionStump)):
        assert_allclose(predicted, [end])
    elif isinstance(baseline, BayesStump):
        odds = (0.3 / 0.7) * (4 if sum(labels) == 2 else 1 / 4)
        assert_allclose(predicted, [(0.35 + odds * 0.85) / (1 + odds)])
    else:
        assert_array_equal(predicted, [0.7])


@pytest.mark.parametrize(
    "baseline",
    # The others compute in other units, or in single precision.
    [b for b in BASELINES if not isinstance(b, (BayesStump, DecisionStump))],
    ids=str,
)
def test_an_observation_at_the_threshold_has_label_1(baseline):
    """Between neighbouring floating-point numbers no middle takes the wrong side."""
    x = np.array([1.0])
    for _ in range(40):
        x = np.append(x, np.nextafter(x[-1], 2))
    contexts = [(x, np.arange(41) < k) for k in range(1, 41)]
    for sign, direction in [(1, "<="), (-1, ">=")]:
        X = Contexts([(sign * x, labels) for x, labels in contexts])
        predicted = fitted(baseline, X, direction=direction).predict(X)
        assert_array_equal(label_error(X, predicted, direction=direction), 0)


@every_baseline
def test_directions_are_exact_mirror_images(baseline, rough):
    mirror = rough.with_values(-rough.values)
    assert_array_equal(
        fitted(baseline, mirror, direction=">=").predict(mirror),
        -fitted(baseline, rough).predict(rough),
    )


@pytest.mark.parametrize(
    "baseline", [b for b in BASELINES if not isinstance(b, DecisionStump)], ids=str
)
def test_huge_ranges_do_not_overflow(baseline):
    X = Contexts([([-1.7e308, -1e308, 1e308, 1.7e308], [1, 1, 0, 0])])
    noisy = Contexts([([-1.7e308, -1e308, 0, 1e308, 1.7e308], [1, 0, 1, 1, 0])])
    stump = fitted(baseline, X)
    assert_allclose(
        stump.predict(X) / 1e308,
        [-1.0] if isinstance(baseline, OneSidedStump) else [0.0],
        atol=1e-15,
    )
    assert abs(stump.predict(noisy)[0]) <= 1.7e308


# ------------------------------------------------------------- range and corpus


@every_baseline
def test_a_given_range_refuses_what_lies_outside(baseline, corpus):
    X, _ = corpus
    with pytest.raises(
        ValueError, match=r"task \d+ has observations outside feature_r"
    ):
        fitted(baseline, X, feature_range=(0.2, 0.8))
    stump = fitted(baseline, X, feature_range=(0, 1))
    with pytest.raises(ValueError, match=r"task 0 has observations outside feature_r"):
        stump.predict([([0.5, 1.5], [1, 0])])


@every_baseline
def test_a_learned_range_is_widened_with_a_warning(baseline):
    stump = fitted(baseline, [([0.2, 0.8], [1, 0])])
    with pytest.warns(UserWarning, match="1 of 2 contexts have .* outside") as record:
        predicted = stump.predict([([0.4, 1.0], [True, True]), ([0.2, 0.6], [1, 0])])
    assert [warning.filename for warning in record] == [__file__]
    if isinstance(baseline, BayesStump):  # odds 1 to 12, flips 2 to 1
        assert_allclose(predicted[0], (0.3 + 12 * 0.7) / 13)
    else:
        assert predicted[0] == 1.0


@pytest.mark.parametrize("baseline", BASELINES[:6], ids=str)
def test_many_contexts_are_as_each_alone(baseline):
    """More than are read at a time, each with a range of its own."""
    X, _ = make_stump_tasks(300, (100, 300), label_noise=0.1, random_state=0)
    X = X.with_values(X.values * np.repeat(np.arange(1, 301), X.sizes)[:, np.newaxis])
    stump = fitted(baseline, X[:1])
    with pytest.warns(UserWarning, match="outside the range"):
        together = stump.predict(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*outside the range")
        assert_array_equal(together, [stump.predict(context)[0] for context in X])


def test_thresholds_widen_a_learned_range(corpus):
    X, y = corpus
    stump = MidpointStump().fit(X, [*y[:-1], 7.0])
    assert stump.feature_range_ == (X.values.min(), 7.0)
    assert stump.predict([([0.5], [True])]) == [3.75]


@pytest.mark.parametrize("direction", ["<=", ">="])
def test_direction_is_learned_from_thresholds(direction):
    X, y = make_stump_tasks(50, 20, direction=direction, random_state=0)
    stump = ERMStump(direction="auto").fit(X, y)
    assert stump.direction_ == direction
    assert_array_equal(
        stump.predict(X), ERMStump(direction=direction).fit(X).predict(X)
    )


@pytest.mark.parametrize(
    ("stump", "name"),
    [
        (ERMStump("best"), "ties"),
        (MidpointStump(direction="<"), "direction"),
        (LogisticStump(feature=-1), "feature"),
        (DecisionStump(feature_range=3), "feature_range"),
    ],
)
def test_wrong_parameters_are_named(stump, name, rough):
    message = f"The '{name}' parameter of {type(stump).__name__} must be"
    with pytest.raises(ValueError, match=message):
        stump.fit(rough)


# ------------------------------------------------------------ with scikit-learn


def test_the_constant_is_scikit_learns_own(corpus):
    X, y = corpus
    dummy = DummyRegressor().fit(X, y)
    assert_array_equal(dummy.predict(X), np.full(len(X), y.mean()))
    assert dummy.score(X, y) == 0
    scores = cross_validate(
        DummyRegressor(strategy="median"), X, y, error_score="raise"
    )
    assert np.isfinite(scores["test_score"]).all()


def test_baselines_are_compared_and_searched():
    X, y = make_stump_tasks(60, 20, label_noise=0.2, random_state=0)
    search = GridSearchCV(
        ERMStump(feature_range=(0, 1)),
        {"ties": ["first", "mean"]},
        scoring="neg_mean_absolute_error",
    ).fit(X, y)
    assert search.best_params_ == {"ties": "mean"}
    scores = {
        str(stump): cross_validate(
            stump, X, y, scoring="neg_mean_absolute_error", error_score="raise"
        )["test_score"].mean()
        for stump in (
            BayesStump(0.2, feature_range=(0, 1)),
            MidpointStump(feature_range=(0, 1)),
            DummyRegressor(),
        )
    }
    bayes, midpoint, constant = scores.values()
    assert bayes > midpoint > constant
