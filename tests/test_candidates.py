"""How a table is split: thresholds and verdicts beside naive ones, and their limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_tables import assert_same_split, noisy_table
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier

from sklearn_attnstump import GibbsHead, PretrainedAttentionStump, candidates, splits
from sklearn_attnstump import classifier as module
from sklearn_attnstump.classifier import AttentionStumpClassifier

CRITERIA = ["gini", "entropy", "misclassification"]


def naive_impurity(y, weights, criterion, n_classes):
    share = np.bincount(y, weights, n_classes) / weights.sum()
    if criterion == "gini":
        return 1 - (share**2).sum()
    if criterion == "entropy":
        return -sum(p * np.log2(p) for p in share if p > 0)
    return 1 - share.max()


def naive_thresholds(x, of_label, weights, costs, low):
    """What the Gibbs head says of one feature, plainly and sharply, by the formulas."""
    scale, prior_weight = module._SHIPPED
    values = np.unique(x)
    mass = np.array([weights[x == value].sum() for value in values])
    ranks = (np.cumsum(mass) - mass / 2) / weights.sum()
    tokens = weights * np.where(of_label, *costs)
    tokens *= max(len(values), candidates.OBSERVATIONS) / tokens.sum()
    log_width = np.log(np.diff(ranks))
    middle = (ranks[1:] + ranks[:-1]) / 2
    wrong = np.array(
        [tokens[(x <= value) != (of_label == low)].sum() for value in values[:-1]]
    )
    for score in (prior_weight * log_width - scale * wrong, log_width - 1e6 * wrong):
        attention = np.exp(score - score.max())
        yield np.interp(attention @ middle / attention.sum(), ranks, values)


def naive_split(X, y, weights, criterion):
    """The best split by one loop after another."""
    n_classes = y.max() + 1

    def weigh(x, threshold):
        left = x <= threshold
        return (
            sum(
                weights[leaf].sum()
                * naive_impurity(y[leaf], weights[leaf], criterion, n_classes)
                for leaf in (left, ~left)
            )
            / weights.sum()
        )

    root = naive_impurity(y, weights, criterion, n_classes)
    best = (-np.inf, None, None)
    for feature, x in enumerate(X.T):
        for label in range(1 if n_classes == 2 else 0, n_classes):
            share = weights[y == label].sum() / weights.sum()
            even = [power * logit(share) for power in (1, 0.5, 0)]
            uneven = np.linspace(*logit([share / 2, (1 + share) / 2]), 5)[[0, 1, 3, 4]]
            for position, q in enumerate(expit([*even, *uneven])):
                for low in (True, False):
                    both = naive_thresholds(x, y == label, weights, (1 - q, q), low)
                    for sharp, threshold in enumerate(both):
                        gain = root - weigh(x, threshold)
                        gain /= 1.1 if position >= 3 or sharp else 1
                        if gain > best[0] + 1e-10:
                            best = gain, feature, threshold
    return best


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("n_classes", "ties"), [(2, False), (2, True), (3, True)])
def test_split_is_the_naive_one(n_classes, ties, criterion):
    for seed in range(5, 11):
        X, y = noisy_table(seed, n_rows=60, n_classes=n_classes, ties=ties)
        weights = np.random.RandomState(0).uniform(0.5, 2, size=len(y))
        _, feature, threshold = naive_split(X, y, weights, criterion)
        stump = AttentionStumpClassifier(criterion=criterion).fit(X, y, weights)
        assert stump.feature_ == feature
        assert_allclose(stump.threshold_, threshold, rtol=1e-9)


class OtherGibbsHead(GibbsHead):
    """The same head by another name, which the general way must serve."""


@pytest.mark.parametrize("n_classes", [2, 3])
def test_general_way_agrees_with_the_short_one(n_classes):
    X, y = noisy_table(8, n_rows=300, n_classes=n_classes, ties=True)
    X[:, 3] = 1.0
    X[::5, 2] = np.nan
    weights = np.random.RandomState(0).uniform(size=len(y))
    other = PretrainedAttentionStump.from_coef(
        module._SHIPPED, OtherGibbsHead(), scaling="rank"
    )
    short = AttentionStumpClassifier().fit(X, y, weights)
    general = AttentionStumpClassifier(other)
    assert_same_split(short, general.fit(X, y, weights))


def test_blocks_of_features_and_of_costs_change_nothing(monkeypatch):
    X, y = noisy_table(6, n_classes=3, ties=True)
    X[::7, 1] = np.nan
    whole = AttentionStumpClassifier().fit(X, y)
    for place, name in (
        (candidates, "_AT_ONCE"),
        (splits, "_AT_ONCE"),
        (splits, "_BLOCK"),
    ):
        monkeypatch.setattr(place, name, 1)
        assert_same_split(whole, AttentionStumpClassifier().fit(X, y), exactly=True)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_training_impurity_is_nearly_the_trees(load, criterion):
    """The tree's is the least there is; ours is a mean over good thresholds."""
    X, y = load(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=1, criterion=criterion).fit(X, y).tree_
    least = tree.impurity[1:] @ tree.weighted_n_node_samples[1:] / len(y)
    stump = AttentionStumpClassifier(criterion=criterion).fit(X, y)
    left = X[:, stump.feature_] <= stump.threshold_
    ours = sum(
        leaf.mean() * naive_impurity(y[leaf], np.ones(leaf.sum()), criterion, 3)
        for leaf in (left, ~left)
    )
    assert least - 1e-12 <= ours <= 1.03 * least


def test_tangents_reach_the_least_impurity(monkeypatch):
    """Where attention is sharp, on tables weighted as boosting weights them, the split
    is the tree's, which looks at all there are, in nineteen of twenty."""
    monkeypatch.setattr(candidates, "OBSERVATIONS", 1e6)
    monkeypatch.setattr(candidates, "HANDICAP", 1.0)
    found = []
    for seed in range(100):
        X, y = make_classification(
            300,
            10,
            n_informative=5,
            flip_y=0.2,
            weights=[(0.5, 0.9)[seed % 2]],
            random_state=seed,
        )
        weights = np.random.RandomState(seed).exponential(size=len(y)) ** 1.5
        tree = DecisionTreeClassifier(max_depth=1).fit(X, y, weights)
        stump = AttentionStumpClassifier().fit(X, y, weights)
        found.append(np.array_equal(stump._leaf(X), tree.apply(X) - 1))
    assert np.mean(found) >= 0.95


@given(
    st.lists(
        st.tuples(st.integers(-4, 4), st.integers(0, 2), st.integers(0, 3)),
        min_size=2,
        max_size=30,
    )
)
@settings(deadline=None, max_examples=60)
def test_leaves_are_those_that_the_threshold_parts(rows):
    x, y, weights = np.array(rows, dtype=float).T
    y, X = y.astype(int), np.stack([x, x // 2], axis=1)
    if not weights.any():
        weights += 1
    stump = AttentionStumpClassifier().fit(X, y, weights)
    seen = weights > 0
    if len(set(y[seen])) == 1 or len(set(x[seen])) == 1:
        assert stump.feature_ is None
        assert np.isnan(stump.threshold_)
        return
    left = X[:, stump.feature_] <= stump.threshold_
    for leaf, shares in zip((left, ~left), stump.value_, strict=True):
        total = np.bincount(y[leaf], weights[leaf], 3)
        assert total.sum() > 0
        assert_allclose(shares, (total / total.sum())[stump.classes_], rtol=1e-12)
    assert_array_equal(stump.predict_proba(X), stump.value_[np.where(left, 0, 1)])


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.5])
@pytest.mark.parametrize("size", [30, 1000, 20_000])
def test_clean_labels_are_parted_without_an_error(size, share):
    rng = np.random.RandomState(0)
    X = rng.lognormal(size=(size, 3))
    cut = np.sort(X[:, 1])[max(int(share * size), 1) - 1]
    stump = AttentionStumpClassifier().fit(X, X[:, 1] > cut)
    assert stump.score(X, X[:, 1] > cut) == 1
    assert sorted(stump.value_.tolist()) == [[0.0, 1.0], [1.0, 0.0]]


def test_threshold_lies_midway_between_clean_labels():
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    stump = AttentionStumpClassifier().fit(X, [0, 0, 1, 1])
    assert stump.threshold_ == 2.0


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-3, 7.0, 1 / 3])
@pytest.mark.parametrize("size", [1.0, 1 / 3, 0.1])
def test_an_observation_on_the_threshold_goes_left(unit, size):
    """By symmetry the threshold is the middle observation, which rounding may miss."""
    X = unit * np.array([[1.0], [2.0], [2.0], [3.0]])
    stump = AttentionStumpClassifier().fit(X, [0, 0, 1, 1], [size] * 4)
    assert_allclose(stump.threshold_, 2 * unit, rtol=1e-9)
    assert_allclose(stump.value_, [[2 / 3, 1 / 3], [0.0, 1.0]])
    assert_array_equal(stump.predict(X), [0, 0, 0, 1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lo", [1.0, 1e-30, -1.0])
def test_neighbouring_floats_are_parted(lo, dtype):
    hi = np.nextafter(dtype(lo), dtype(np.inf))
    X = np.array([[lo], [lo], [hi], [hi]], dtype=dtype)
    stump = AttentionStumpClassifier().fit(X, [0, 0, 1, 1])
    assert_array_equal(stump.predict(X), [0, 0, 1, 1])


def test_the_widest_range_is_parted():
    huge = np.finfo(float).max
    stump = AttentionStumpClassifier().fit([[-huge], [huge]], [0, 1])
    assert stump.threshold_ == 0.0


def test_both_directions_and_several_classes_are_found():
    x = np.arange(90.0)
    y = np.repeat([0, 1, 2], 30)
    stump = AttentionStumpClassifier().fit(x[:, np.newaxis], y)
    # As good as 59 to 60, and found first; the other classes draw it off the middle.
    _, _, threshold = naive_split(x[:, np.newaxis], y, np.ones(90), "gini")
    assert_allclose(stump.threshold_, threshold, rtol=1e-9)
    assert 29 < stump.threshold_ < 30
    assert_allclose(stump.value_, [[1, 0, 0], [0, 0.5, 0.5]])
    assert stump.decision_function([[0.0], [80.0]]).shape == (2, 3)
    assert_array_equal(stump.predict_proba([[0.0], [80.0]]), stump.value_)


@pytest.mark.parametrize("n_rows", [1000, 100_000])
@pytest.mark.parametrize("kind", ["poisson", "geometric", "rounded"])
def test_a_rare_class_at_the_end_of_few_values_is_parted(kind, n_rows):
    """Few values count as few observations, so that attention is wide."""
    rng = np.random.default_rng(0)
    x = {
        "poisson": lambda: rng.poisson(3, n_rows),
        "geometric": lambda: rng.geometric(0.3, n_rows),
        "rounded": lambda: rng.normal(size=n_rows).round(1),
    }[kind]()
    for end in (x == x.max(), x == x.min()):
        stump = AttentionStumpClassifier().fit(x[:, np.newaxis].astype(float), end)
        assert_array_equal(stump.predict(x[:, np.newaxis].astype(float)), end)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weight", [1e-6, 1e-11, 1e-13, 1e-100, 1e-305, 1e-310])
def test_a_class_of_vanishing_weight_is_parted(weight, criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 2] > 0.3
    for light in (y, ~y):
        stump = AttentionStumpClassifier(criterion=criterion)
        stump.fit(X, y, np.where(light, weight, 1.0))
        assert stump.feature_ == 2
        assert_array_equal(stump.predict(X), y)


def test_a_rare_class_is_not_given_up():
    """The fewest label errors are made by no split at all; the criterion sees one."""
    rng = np.random.RandomState(0)
    x = rng.uniform(size=2000)
    y = rng.uniform(size=2000) < np.where(x < 0.2, 0.3, 0.02)
    stump = AttentionStumpClassifier().fit(x[:, np.newaxis], y)
    assert abs(stump.threshold_ - 0.2) < 0.02
    assert stump.direction_ == "<="


def test_criteria_choose_differently():
    counts = {0.0: (40, 10), 1.0: (20, 0), 2.0: (20, 30), 3.0: (10, 0)}
    x = np.concatenate([np.full(sum(pair), value) for value, pair in counts.items()])
    y = np.concatenate([np.repeat([0, 1], pair) for pair in counts.values()])
    thresholds = {
        c: AttentionStumpClassifier(criterion=c).fit(x[:, None], y).threshold_
        for c in [*CRITERIA, "log_loss"]
    }
    assert thresholds["log_loss"] == thresholds["entropy"]
    for criterion in CRITERIA:
        _, _, threshold = naive_split(x[:, None], y, np.ones(len(y)), criterion)
        assert_allclose(thresholds[criterion], threshold)


def test_equal_splits_are_the_first_features():
    X, y = noisy_table(7)
    best = AttentionStumpClassifier().fit(X, y).feature_
    twice = np.concatenate([X[:, ::-1], X, -X], axis=1)
    weights = np.random.RandomState(0).uniform(size=len(y))
    for w in (None, weights):
        stump = AttentionStumpClassifier().fit(twice, y, w)
        assert stump.feature_ == X.shape[1] - 1 - best
