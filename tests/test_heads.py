"""The two-score heads: reference values, derivatives, limits and laws.

`naive_head` is the definition, a softmax over all tokens of one context; everything
that the heads do by label groups is held against it or against arithmetic of many
digits.
"""

import json
from itertools import pairwise, product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.heads import ReflectedHead, SingleHead

REFERENCE = json.loads(
    Path(__file__).with_name("reference").joinpath("attention_head.json").read_text()
)
HEADS = {"single": SingleHead(), "reflected": ReflectedHead()}
EXTREMES = [0.0, 1e8, -1e8, 1e150, -1e150, 1e308, -1e308]


@pytest.fixture(params=sorted(HEADS))
def head(request):
    return HEADS[request.param]


def naive_head(x, labels, omega, coef):
    """Softmax over all tokens: attention weights and prediction."""
    scores = np.where(omega > 0, coef[0] * x + coef[1] * labels, -np.inf)
    weights = omega * np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights, weights @ x


def naive_weights(head, x, labels, omega, coef):
    """Attention of either head: the reflected one is the mean of its two sides."""
    weights, _ = naive_head(x, labels, omega, coef)
    if isinstance(head, ReflectedHead):
        mirrored, _ = naive_head(x, labels, omega, -np.asarray(coef))
        weights = (weights + mirrored) / 2
    return weights


def ragged(seed, n_tasks=12):
    """Contexts of 1 to 9 tokens with ties and weights, some zero, labels at random."""
    rng = np.random.default_rng(seed)
    items = []
    for size in rng.integers(1, 10, n_tasks):
        omega = rng.exponential(size=size) * (rng.uniform(size=size) < 0.8)
        omega[rng.integers(size)] = 1.0
        items.append((rng.uniform(size=size).round(2), rng.integers(0, 2, size), omega))
    return items


def assert_reference(got, want):
    """To 1e-10 relative; to 1e-13 absolute where that is more."""
    error = np.abs(np.asarray(got) - want)
    allowed = np.maximum(1e-10 * np.abs(want), 1e-13)
    assert (error <= allowed).all(), f"{got} is not {want}"


# Reference values.


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: case["name"])
def test_reference_values(case):
    contexts = [(case["x"], case["label"])]
    coef = (case["feature_score"], case["label_score"])
    prediction, jacobian, hessian = SingleHead().derivatives(contexts, coef)
    assert_reference(prediction[0], case["prediction"])
    assert_reference(jacobian[0], case["gradient"])
    assert_reference(hessian[0], case["hessian"])
    assert_reference(SingleHead().weights(contexts, coef)[0], case["weights"])
    assert_reference(
        ReflectedHead().predict(contexts, coef)[0], case["reflected_prediction"]
    )


# Derivatives.


def exact_derivatives(head, item, coef):
    """Prediction, Jacobian and Hessian by differentiation in 40 digits."""
    tokens = [tuple(map(mpmath.mpf, token)) for token in np.column_stack(item).tolist()]

    def side(a, b):
        weights = [w * mpmath.exp(a * x + b * y) for x, y, w in tokens]
        moment = mpmath.fdot(weights, [x for x, _, _ in tokens])
        return moment / mpmath.fsum(weights)

    def value(a, b):
        if isinstance(head, ReflectedHead):
            return (side(a, b) + side(-a, -b)) / 2
        return side(a, b)

    with mpmath.workdps(40):
        point = tuple(map(mpmath.mpf, coef))
        f, f_a, f_b, f_aa, f_ab, f_bb = (
            float(mpmath.diff(value, point, order))
            for order in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
        )
    return f, [f_a, f_b], [[f_aa, f_ab], [f_ab, f_bb]]


@pytest.mark.parametrize("coef", [(0.0, 0.0), (3.0, 5.0), (-12.5, 4.0), (40.0, 47.4)])
def test_derivatives_of_weighted_contexts(head, coef):
    items = ragged(seed=1, n_tasks=8)
    prediction, jacobian, hessian = head.derivatives(items, coef)
    assert prediction.shape == (8,)
    assert jacobian.shape == (8, 2)
    assert hessian.shape == (8, 2, 2)
    for task, item in enumerate(items):
        f, gradient, curvature = exact_derivatives(head, item, coef)
        assert_reference(prediction[task], f)
        assert_reference(jacobian[task], gradient)
        assert_reference(hessian[task], curvature)


def test_derivatives_keep_their_digits_at_large_scales(head):
    # The tilted groups sit within 1e-8 of their edges, where raw moments of x itself
    # would have no digit of the variance (1e-17) left.
    rng = np.random.default_rng(2)
    near = np.concatenate(
        [0.4 - 1e-8 * rng.exponential(size=5), rng.uniform(0.5, 1, 4)]
    )
    near = np.concatenate([near, near[5:].min() + 1e-8 * rng.exponential(size=3)])
    item = (near, np.arange(12) < 5, np.ones(12))
    coef = (1e8, 1e8)
    _, jacobian, hessian = head.derivatives([item], coef)
    _, gradient, curvature = exact_derivatives(head, item, coef)
    assert 1e-18 < abs(gradient[0]) < 1e-15
    assert_allclose(jacobian[0, 0], gradient[0], rtol=1e-6)
    assert_allclose(hessian[0, 0, 0], curvature[0][0], rtol=1e-6)


# The packed evaluation against the definition.


@pytest.mark.parametrize(
    "coef", [(0.0, 0.0), (0.0, 9.0), (7.0, 0.0), (25.0, 31.4), (-25.0, 8.0), (1e4, 9e3)]
)
def test_packed_evaluation_is_the_naive_softmax(head, coef):
    items = ragged(seed=3, n_tasks=60)
    prediction = head.predict(items, coef)
    weights = head.weights(items, coef)
    assert len(weights) == 60
    for task, (x, labels, omega) in enumerate(items):
        expected = naive_weights(head, x, labels, omega, coef)
        # A softmax of scores of size s keeps 1 - s eps of its digits.
        assert_allclose(weights[task], expected, rtol=1e-10, atol=1e-15)
        assert_allclose(prediction[task], expected @ x, rtol=1e-11)


def test_lower_orders_leave_out_derivatives_only(head):
    pack = head.pack(Contexts(ragged(seed=4)))
    coef = np.array([20.0, 23.0])
    full = pack.evaluate(coef, 2)
    first = pack.evaluate(coef, 1)
    assert_array_equal(pack.evaluate(coef, 0).prediction, full.prediction)
    assert_array_equal(first.prediction, full.prediction)
    assert_array_equal(first.jacobian, full.jacobian)


def large(seed):
    """Contexts of one token to a hundred thousand, two in three of them small."""
    rng = np.random.default_rng(seed)
    items = []
    for size in (100_000, 1, 7, 40_000, 2, 50, 3000, 5, 11):
        x = rng.uniform(size=size)
        omega = rng.exponential(size=size)
        items.append((x, (x <= 0.4).astype(int), omega))
    return items


def naive_derivatives(x, labels, omega, coef):
    """Central moments under the softmax weights, as in the head's definition."""
    w, f = naive_head(x, labels, omega, coef)
    d_x, d_y = x - f, labels - w @ labels
    gradient = [w @ d_x**2, w @ (d_x * d_y)]
    mixed = w @ (d_x**2 * d_y)
    return gradient, [[w @ d_x**3, mixed], [mixed, w @ (d_x * d_y**2)]]


@pytest.mark.parametrize(
    "coef", [(0.0, 1.0), (0.7, 0.2), (60.0, 55.0), (-900.0, -700.0), (5e4, 5.1e4)]
)
def test_many_tokens(head, coef):
    """However tokens are cut up or left out as negligible, sums are the whole sums."""
    items = large(seed=17)
    prediction, jacobian, hessian = head.derivatives(items, coef)
    assert_allclose(head.predict(items, coef), prediction, rtol=1e-14)
    for task, item in enumerate(items):
        gradient, curvature = naive_derivatives(*item, coef)
        _, f = naive_head(*item, coef)
        if isinstance(head, ReflectedHead):
            other = naive_derivatives(*item, (-coef[0], -coef[1]))
            _, mirrored = naive_head(*item, (-coef[0], -coef[1]))
            f = (f + mirrored) / 2
            gradient = (np.array(gradient) - other[0]) / 2
            curvature = (np.array(curvature) + other[1]) / 2
        assert_allclose(prediction[task], f, rtol=1e-11)
        # Relative to moments of the order of the tilt's width; sums that cancel, such
        # as the third cumulant of a flat law, leave less of themselves.
        width = 1 / max(1.0, abs(coef[0]))
        assert_allclose(
            jacobian[task, 0], gradient[0], rtol=1e-9, atol=1e-10 * width**2
        )
        assert_allclose(jacobian[task, 1], gradient[1], rtol=1e-9, atol=1e-14)
        atol = np.array([[1e-10 * width**3, 1e-14], [1e-14, 1e-14]])
        error = np.abs(hessian[task] - curvature)
        assert (error <= atol + 1e-9 * np.abs(curvature)).all()


def test_evaluations_leave_no_trace_in_the_pack(head):
    pack = head.pack(Contexts(large(seed=18)))
    fresh = [np.array(coef) for coef in [(30.0, 36.0), (4e3, 4e3), (-500.0, 3.0)]]
    once = [head.pack(Contexts(large(seed=18))).evaluate(coef, 2) for coef in fresh]
    for position in (0, 1, 2, 1, 0, 2, 1):
        again = pack.evaluate(fresh[position], 2)
        for before, after in zip(once[position], again, strict=True):
            assert_array_equal(before, after)


def test_derivatives_keep_their_digits_where_one_token_has_all_weight():
    """Far out the edge outweighs its neighbour, here by exp(200), and all derivatives
    by the feature score come from that neighbour: ``v_1 = d^2 exp(-a d)``."""
    x, labels = np.array([0.1, 0.3, 0.8, 0.9]), [1, 1, 0, 0]
    for scale in (200.0, 1000.0, 3000.0):
        _, jacobian, hessian = SingleHead().derivatives([(x, labels)], (scale, 1e4))
        tail = np.exp(-scale * (x[1] - x[0]))
        assert_allclose(jacobian[0, 0], 0.2**2 * tail, rtol=1e-12)
        assert_allclose(hessian[0, 0, 0], -(0.2**3) * tail, rtol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("scale", [3.0, 60.0, 450.0, -2e3, 1e6])
def test_windows_know_nothing_of_other_contexts(head, order, scale):
    contexts = Contexts(large(seed=19))
    coef = np.array([scale, 1.1 * scale])
    together = head.pack(contexts).evaluate(coef, order)
    for task in range(len(contexts)):
        alone = head.pack(contexts[task]).evaluate(coef, order)
        for part, whole in zip(alone, together, strict=True):
            if len(whole):
                assert_array_equal(part[0], whole[task])


def test_weights_of_very_different_sizes(head):
    """A token far from the edge can outweigh it, here by a factor of 1e200."""
    x, labels = np.array([0.1, 0.35, 0.3, 0.9]), np.array([1, 1, 1, 0])
    omega = np.array([1e100, 1e-100, 1.0, 1.0])
    for coef in [(0.0, 0.0), (50.0, 60.0), (-50.0, 60.0), (3000.0, 3000.0)]:
        scores = coef[0] * x + coef[1] * labels + np.log(omega)
        expected = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        if isinstance(head, ReflectedHead):
            scores = -coef[0] * x - coef[1] * labels + np.log(omega)
            mirrored = np.exp(scores - scores.max())
            expected = (expected + mirrored / mirrored.sum()) / 2
        got = head.derivatives([(x, labels, omega)], coef)
        assert_allclose(got[0], [expected @ x], rtol=1e-11)
        weights = head.weights([(x, labels, omega)], coef)[0]
        assert_allclose(weights, expected, rtol=1e-10, atol=1e-40)


# Reflection.


@pytest.mark.parametrize("coef", [(0.0, 3.0), (12.0, 17.0), (-4.0, 30.0)])
@pytest.mark.parametrize("centre", [0.5, 0.0, -3.25])
def test_reflection_is_a_change_of_sign(coef, centre):
    """The head on x -> 2c - x, y -> 1 - y, mapped back, is f(-a, -b) for any c."""
    items = ragged(seed=6, n_tasks=30)
    mirrored = [(2 * centre - x, 1 - labels, omega) for x, labels, omega in items]
    seen = 2 * centre - SingleHead().predict(mirrored, coef)
    opposite = SingleHead().predict(items, (-coef[0], -coef[1]))
    assert_allclose(seen, opposite, rtol=1e-12, atol=1e-14)
    mean = (SingleHead().predict(items, coef) + seen) / 2
    assert_allclose(ReflectedHead().predict(items, coef), mean, rtol=1e-12, atol=1e-14)


def test_reflected_head_is_even_in_its_coefficients():
    items = ragged(seed=7)
    here = ReflectedHead().derivatives(items, (9.0, 14.0))
    there = ReflectedHead().derivatives(items, (-9.0, -14.0))
    assert_allclose(there[0], here[0], rtol=1e-14)
    assert_allclose(there[1], -here[1], rtol=1e-14)
    assert_allclose(there[2], here[2], rtol=1e-14)


# Extreme coefficients and coordinates.


@pytest.mark.parametrize(
    ("origin", "span"),
    [(0.0, 1.0), (1e6, 1.0), (-1e6, 2e6), (0.0, 1e-12), (3.0, 1e-12)],
)
def test_nothing_overflows(head, origin, span):
    """Any finite coefficients: finite numbers, no warning, a prediction in range."""
    items = [(origin + span * x, y, omega) for x, y, omega in ragged(seed=8)]
    for coef in product(EXTREMES, EXTREMES):
        numbers = head.derivatives(items, coef)
        assert all(np.isfinite(array).all() for array in numbers), coef
        weights = head.weights(items, coef)
        for (x, _, omega), prediction, w in zip(
            items, numbers[0], weights, strict=True
        ):
            x = x[omega > 0]
            rounding = 4 * np.spacing(np.abs(x).max())
            assert x.min() - rounding <= prediction <= x.max() + rounding, coef
            assert np.isfinite(w).all()
            assert_allclose(w.sum(), 1.0, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e8, 1e12, 1e150])
def test_limits_at_infinity(scale):
    """The largest observation with label 1, and the middle of the label gap."""
    items = [([0.1, 0.25, 0.3, 0.6, 0.9], [1, 1, 1, 0, 0]), ([0.7, 0.2], [0, 1])]
    coef = (scale, scale)
    assert_array_equal(SingleHead().predict(items, coef), [0.3, 0.2])
    assert_array_equal(SingleHead().predict(items, (-scale, -scale)), [0.6, 0.7])
    assert_allclose(ReflectedHead().predict(items, coef), [0.45, 0.45], rtol=1e-15)
    weights = ReflectedHead().weights(items, coef)
    assert_array_equal(weights[0], [0, 0, 0.5, 0.5, 0])
    assert_array_equal(weights[1], [0.5, 0.5])


def test_mixing_of_labels_is_exact_where_scores_are_huge():
    # Both scores are near 2^39, where floats are 1e-4 apart; their difference b - 2 is
    # what the softmax needs, and all its factors are exact.
    x = np.array([0.5, 0.5 + 2**-39])
    a = 2.0**40
    b = 2.0 + 1.0986328125
    weights = SingleHead().weights([(x, [1, 0])], (a, b))[0]
    assert_allclose(weights[0] / weights[1], np.exp(b - 2.0), rtol=1e-12)


# One score alone.


def test_label_score_alone_weighs_the_means_of_the_labels():
    x, labels = np.array([0.2, 0.9, 0.4, 0.75]), np.array([1, 0, 1, 0])
    omega = np.array([1.0, 2.0, 3.0, 0.5])
    odds = np.exp(1.7)
    share = odds * 4.0 / (odds * 4.0 + 2.5)
    expected = share * (0.2 + 3 * 0.4) / 4 + (1 - share) * (2 * 0.9 + 0.5 * 0.75) / 2.5
    got = SingleHead().predict([(x, labels, omega)], (0.0, 1.7))
    assert_allclose(got, [expected], rtol=1e-14)


def test_feature_score_alone_does_not_see_labels(head):
    items = ragged(seed=9)
    flipped = [(x, 1 - labels, omega) for x, labels, omega in items]
    for scale in (-30.0, 0.0, 2.0, 80.0):
        assert_allclose(
            head.predict(items, (scale, 0.0)),
            head.predict(flipped, (scale, 0.0)),
            rtol=1e-13,
        )


@pytest.mark.parametrize("label", [0, 1])
def test_contexts_of_one_label_are_exact(head, label):
    """There the label score says nothing, exactly."""
    x = np.array([0.2, 0.9, 0.4, 0.75])
    items = [(x, np.full(4, label)), ([0.3], [label])]
    for scale in (-1e8, -7.0, 0.0, 7.0, 1e8):
        prediction, jacobian, hessian = head.derivatives(items, (scale, 3.0))
        for label_score in (-1e8, 0.0, 1e8):
            other = head.derivatives(items, (scale, label_score))
            for got, want in zip(other, (prediction, jacobian, hessian), strict=True):
                assert_array_equal(got, want)
        assert not jacobian[:, 1].any()
        assert not hessian[:, 1].any()
        assert prediction[1] == 0.3
        assert not jacobian[1].any()
        expected = naive_weights(head, x, np.zeros(4), np.ones(4), (scale, 0.0)) @ x
        assert_allclose(prediction[0], expected, rtol=1e-14)


# Attention weights and token weights.


@pytest.mark.parametrize("coef", [(0.0, 0.0), (33.0, 40.0), (-5.0, 2.0), (1e9, 1e9)])
def test_attention_sums_to_one_and_predicts(head, coef):
    items = ragged(seed=10, n_tasks=40)
    prediction = head.predict(items, coef)
    for (x, _, omega), w, f in zip(
        items, head.weights(items, coef), prediction, strict=True
    ):
        assert w.shape == x.shape
        assert (w >= 0).all()
        assert not w[omega == 0].any()
        assert_allclose(w.sum(), 1.0, rtol=1e-14)
        assert_allclose(w @ x, f, rtol=1e-13)


@pytest.mark.parametrize("coef", [(0.0, 0.0), (6.0, 10.0), (-40.0, 3.0)])
def test_integer_weights_are_replication(head, coef):
    rng = np.random.default_rng(11)
    weighted, repeated, counts = [], [], []
    for x, labels, _ in ragged(seed=11, n_tasks=30):
        count = rng.integers(0, 4, len(x))
        count[0] = max(count[0], 1)
        weighted.append((x, labels, count))
        repeated.append((np.repeat(x, count), np.repeat(labels, count)))
        counts.append(count)
    for got, want in zip(
        head.derivatives(weighted, coef), head.derivatives(repeated, coef), strict=True
    ):
        assert_allclose(got, want, rtol=1e-11, atol=1e-14)
    pairs = zip(head.weights(weighted, coef), head.weights(repeated, coef), strict=True)
    for (whole, parts), count in zip(pairs, counts, strict=True):
        ends = np.concatenate([[0], np.cumsum(count)])
        summed = [parts[lo:hi].sum() for lo, hi in pairwise(ends)]
        assert_allclose(whole, summed, rtol=1e-12, atol=1e-15)


def test_only_ratios_of_weights_matter(head):
    items = ragged(seed=12)
    for factor in (1e-290, 0.25, 1e290):
        scaled = [(x, labels, factor * omega) for x, labels, omega in items]
        for got, want in zip(
            head.derivatives(scaled, (15.0, 20.0)),
            head.derivatives(items, (15.0, 20.0)),
            strict=True,
        ):
            assert_allclose(got, want, rtol=1e-11, atol=1e-14)


def test_zero_weight_is_absence(head):
    kept = [([0.2, 0.4, 0.7], [1, 1, 0])]
    padded = [([0.2, 5.0, 0.4, -3.0, 0.7], [1, 0, 1, 1, 0], [1, 0, 1, 0, 1])]
    for got, want in zip(
        head.derivatives(padded, (9.0, 12.0)),
        head.derivatives(kept, (9.0, 12.0)),
        strict=True,
    ):
        assert_array_equal(got, want)
    # A label all of whose tokens have weight zero is not there.
    lone = head.derivatives([([0.2, 0.7], [1, 0], [1, 0])], (9.0, 12.0))
    for got, want in zip(
        lone, head.derivatives([([0.2], [1])], (9.0, 12.0)), strict=True
    ):
        assert_array_equal(got, want)


# Order and coordinates.


def test_permutations(head):
    rng = np.random.default_rng(13)
    items = ragged(seed=13, n_tasks=25)
    coef = (18.0, 22.0)
    orders = [rng.permutation(len(x)) for x, _, _ in items]
    shuffled = [
        (x[order], labels[order], omega[order])
        for (x, labels, omega), order in zip(items, orders, strict=True)
    ]
    for got, want in zip(
        head.derivatives(shuffled, coef), head.derivatives(items, coef), strict=True
    ):
        assert_allclose(got, want, rtol=1e-10, atol=1e-14)
    weights = head.weights(items, coef)
    for task, order in enumerate(orders):
        there = head.weights(shuffled, coef)[task]
        assert_allclose(there, weights[task][order], rtol=1e-13)


def test_a_prediction_does_not_see_the_other_contexts(head):
    """Bit for bit, at any scale and beside contexts of any size."""
    items = large(seed=19)
    for coef in [(3.0, 1.0), (70.0, 75.0), (-4e3, -4e3)]:
        together = head.predict(items, coef)
        alone = [head.predict([item], coef)[0] for item in items]
        assert_array_equal(alone, together)
        assert_array_equal(head.predict(items[::-1], coef), together[::-1])


def test_derivatives_do_not_see_the_other_contexts(head):
    items = ragged(seed=14, n_tasks=25)
    coef = (18.0, 22.0)
    together = head.derivatives(items, coef)
    order = np.random.default_rng(14).permutation(25)
    reordered = head.derivatives([items[task] for task in order], coef)
    for got, want in zip(reordered, together, strict=True):
        assert_array_equal(got, want[order])
    for task, item in enumerate(items):
        for got, want in zip(head.derivatives([item], coef), together, strict=True):
            assert_array_equal(got[0], want[task])


def test_scores_are_inverse_to_the_features_unit(head):
    """x -> c x + d with a -> a / c: the prediction follows, attention stays."""
    items = ragged(seed=15)
    moved = [(8.0 * x - 3.0, labels, omega) for x, labels, omega in items]
    here, there = (18.0, 22.0), (18.0 / 8.0, 22.0)
    assert_allclose(
        head.predict(moved, there), 8.0 * head.predict(items, here) - 3.0, rtol=1e-12
    )
    for got, want in zip(
        head.weights(moved, there), head.weights(items, here), strict=True
    ):
        assert_allclose(got, want, rtol=1e-12, atol=1e-16)


# Anchors.


@pytest.mark.parametrize("name", sorted(HEADS))
@pytest.mark.parametrize(("lo", "hi"), [(0.0, 1.0), (-2.0, 6.0)])
def test_anchors_are_tokens(name, lo, hi):
    """The estimator's anchors are two true observations, of weight one, at the end."""
    coef = (21.0, 27.0)
    items = ragged(seed=16, n_tasks=20)
    users = [(lo + (hi - lo) * x, y, omega) for x, y, omega in items]
    extended = [
        (np.append(x, [0, 1]), np.append(y, [1, 0]), np.append(omega, [1, 1]))
        for x, y, omega in items
    ]
    stump = PretrainedAttentionStump.from_coef(
        coef, head=name, anchors=True, feature_range=(lo, hi)
    )
    with pytest.warns(UserWarning, match="no threshold separates"):
        predicted = stump.predict(users)
    expected = HEADS[name].predict(extended, coef)
    assert_allclose(predicted, lo + (hi - lo) * expected, rtol=1e-12, atol=1e-13)
    for got, want in zip(
        stump.attention(users), HEADS[name].weights(extended, coef), strict=True
    ):
        assert_allclose(got, want, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", sorted(HEADS))
def test_anchors_stand_in_for_a_missing_label(name):
    """Far out, a context of one label is bounded by its own end and the range's."""
    # The two anchors are told apart by b - a alone: a softmax of e^-41 is left.
    scale = 1e9
    stump = PretrainedAttentionStump.from_coef(
        (scale, scale + 2 * np.log(scale)), name, anchors=True, feature_range=(0, 1)
    )
    # No warning of one-label contexts: none is left.
    got = stump.predict([([0.5, 0.25], [0, 0]), ([0.5, 0.75], [1, 1])])
    expected = {"single": [0.0, 0.75], "reflected": [0.125, 0.875]}[name]
    assert_allclose(got, expected, rtol=1e-14, atol=1e-17)


# Starts and refusals.


def test_default_start_is_calibrated(head):
    assert_allclose(head.starts(10.0)[0], [10.0, 10.0 + 2 * np.log(10.0)], rtol=1e-15)


@pytest.mark.parametrize(
    "coef", [(np.nan, 1.0), (1.0, np.inf), (1.0,), (1.0, 2.0, 3.0), [[1.0, 2.0]]]
)
def test_coefficients_must_be_two_finite_numbers(head, coef):
    for method in (head.predict, head.derivatives, head.weights):
        with pytest.raises(ValueError, match="two finite numbers"):
            method([([0.1, 0.9], [1, 0])], coef)
