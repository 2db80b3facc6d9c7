"""The corpus loss: against a naive loop, finite differences, laws of its weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_attnstump import Contexts
from sklearn_attnstump.head import Penalty
from sklearn_attnstump.heads import ReflectedHead, SingleHead
from sklearn_attnstump.objective import CorpusLoss, ShrunkLoss

COEFS = [(0.0, 0.0), (10.0, 14.6), (-6.0, 9.0), (35.0, 38.0)]


def corpus(seed=0, n_tasks=15):
    """Ragged tasks with token weights and noisy labels, and weights of the tasks."""
    rng = np.random.default_rng(seed)
    thresholds = rng.uniform(size=n_tasks)
    items = []
    for threshold in thresholds:
        x = rng.uniform(size=rng.integers(2, 20))
        labels = (x <= threshold) ^ (rng.uniform(size=len(x)) < 0.1)
        items.append((x, labels, rng.exponential(size=len(x))))
    return items, thresholds, rng.exponential(size=n_tasks)


def naive_loss(items, thresholds, weights, coef, sides):
    """Softmax and squared error, task by task; the head is the mean over its sides."""
    total = 0.0
    for (x, labels, omega), threshold, weight in zip(
        items, thresholds, weights, strict=True
    ):
        prediction = 0.0
        for side in sides:
            attention = omega * np.exp(side * (coef[0] * x + coef[1] * labels))
            prediction += (attention @ x) / attention.sum() / len(sides)
        total += weight * (prediction - threshold) ** 2
    return total / np.sum(weights)


@pytest.fixture(params=["single", "reflected"])
def head_and_sides(request):
    """A head, and the signs of its coefficients over which it is a mean."""
    if request.param == "single":
        return SingleHead(), (1,)
    return ReflectedHead(), (1, -1)


@pytest.mark.parametrize("coef", COEFS)
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_is_the_naive_loop(head_and_sides, coef, weighted):
    head, sides = head_and_sides
    items, thresholds, weights = corpus()
    objective = CorpusLoss(
        head.pack(Contexts(items)), thresholds, weights if weighted else None
    )
    expected = naive_loss(
        items, thresholds, weights if weighted else np.ones(15), coef, sides
    )
    assert_allclose(objective.evaluate(np.array(coef), 0).loss, expected, rtol=1e-12)


def differences(function, coef):
    """Gradient and Hessian by central differences of the fourth order.

    With a step of 1e-2 the truncation leaves some 1e-8 of losses like these, and the
    rounding 1e-16 / step^2 = 1e-12 in the Hessian.
    """
    step = 1e-2
    nodes = np.array([-2, -1, 0, 1, 2])
    first = np.array([1, -8, 0, 8, -1]) / (12 * step)
    second = np.array([-1, 16, -30, 16, -1]) / (12 * step**2)
    grid = np.array(
        [[function(coef + step * np.array([i, j])) for j in nodes] for i in nodes]
    )
    mixed = first @ grid @ first
    gradient = [first @ grid[:, 2], grid[2] @ first]
    return gradient, [[second @ grid[:, 2], mixed], [mixed, grid[2] @ second]]


@pytest.mark.parametrize("coef", COEFS)
def test_gradient_and_hessian_of_the_naive_loop(head_and_sides, coef):
    head, sides = head_and_sides
    items, thresholds, weights = corpus(1)
    objective = CorpusLoss(head.pack(Contexts(items)), thresholds, weights)
    value = objective.evaluate(np.array(coef), 2)
    gradient, hessian = differences(
        lambda at: naive_loss(items, thresholds, weights, at, sides), np.array(coef)
    )
    assert_allclose(value.gradient, gradient, rtol=1e-6, atol=1e-10)
    assert_allclose(value.hessian, hessian, rtol=1e-5, atol=1e-9)


def test_lower_orders_leave_out_derivatives_only(head_and_sides):
    head, _ = head_and_sides
    items, thresholds, weights = corpus(2)
    objective = CorpusLoss(head.pack(Contexts(items)), thresholds, weights)
    coef = np.array([12.0, 17.0])
    values = [objective.evaluate(coef, order) for order in range(3)]
    assert values[0].loss == values[1].loss == values[2].loss
    assert_array_equal(values[1].gradient, values[2].gradient)
    assert values[0].gradient.size == values[0].hessian.size == 0
    assert values[1].hessian.size == 0
    assert isinstance(values[0].loss, float)


def test_integer_weights_of_tasks_are_replication(head_and_sides):
    head, _ = head_and_sides
    items, thresholds, _ = corpus(3, n_tasks=9)
    counts = np.array([0, 1, 2, 3, 1, 0, 4, 1, 2])
    repeated = [
        item for item, count in zip(items, counts, strict=True) for _ in range(count)
    ]
    weighted = CorpusLoss(head.pack(Contexts(items)), thresholds, counts)
    replicated = CorpusLoss(
        head.pack(Contexts(repeated)), np.repeat(thresholds, counts)
    )
    for coef in COEFS:
        here = weighted.evaluate(np.array(coef), 2)
        there = replicated.evaluate(np.array(coef), 2)
        for got, want in zip(here, there, strict=True):
            assert_allclose(got, want, rtol=1e-12, atol=1e-17)


def test_only_ratios_of_weights_matter():
    items, thresholds, weights = corpus(4)
    pack = SingleHead().pack(Contexts(items))
    coef = np.array([20.0, 23.0])
    one = CorpusLoss(pack, thresholds, weights).evaluate(coef, 2)
    other = CorpusLoss(pack, thresholds, 1e-200 * weights).evaluate(coef, 2)
    for got, want in zip(other, one, strict=True):
        assert_allclose(got, want, rtol=1e-12)


def test_order_of_tasks_does_not_matter():
    items, thresholds, weights = corpus(5)
    order = np.random.default_rng(5).permutation(15)
    coef = np.array([20.0, 23.0])
    one = CorpusLoss(SingleHead().pack(Contexts(items)), thresholds, weights)
    other = CorpusLoss(
        SingleHead().pack(Contexts([items[task] for task in order])),
        thresholds[order],
        weights[order],
    )
    for got, want in zip(other.evaluate(coef, 2), one.evaluate(coef, 2), strict=True):
        assert_allclose(got, want, rtol=1e-12)


def test_every_evaluation_is_counted_whatever_its_order():
    items, thresholds, _ = corpus(6)
    objective = CorpusLoss(SingleHead().pack(Contexts(items)), thresholds)
    assert objective.n_evaluations == 0
    for order in (0, 1, 2, 2):
        objective.evaluate(np.array([10.0, 14.0]), order)
    assert objective.n_evaluations == 4


def test_evaluation_leaves_its_arguments():
    items, thresholds, weights = corpus(7)
    before = thresholds.copy(), weights.copy()
    coef = np.array([10.0, 14.0])
    CorpusLoss(SingleHead().pack(Contexts(items)), thresholds, weights).evaluate(
        coef, 2
    )
    assert_array_equal(thresholds, before[0])
    assert_array_equal(weights, before[1])
    assert_array_equal(coef, [10.0, 14.0])


class TestShrunkLoss:
    centre = np.array([2.0, -1.0])
    pull = np.array([[3.0, 1.0], [1.0, 2.0]])

    def penalty(self, coef):
        away = coef - self.centre
        return Penalty(
            float(away @ self.pull @ away), 2 * self.pull @ away, 2 * self.pull
        )

    def shrunk(self, weights=None, seed=8):
        items, thresholds, _ = corpus(seed)
        plain = CorpusLoss(SingleHead().pack(Contexts(items)), thresholds, weights)
        return plain, ShrunkLoss(plain, self.penalty)

    def test_value(self):
        plain, shrunk = self.shrunk()
        coef = np.array([4.0, 1.5])
        s = self.penalty(coef).value
        assert_allclose(
            shrunk.evaluate(coef, 0).loss,
            plain.evaluate(coef, 0).loss * np.exp(s / 15),
            rtol=1e-13,
        )

    @pytest.mark.parametrize("coef", [(2.0, -1.0), (4.0, 1.5), (-3.0, 2.0)])
    def test_derivatives(self, coef):
        _, shrunk = self.shrunk()
        value = shrunk.evaluate(np.array(coef), 2)
        gradient, hessian = differences(
            lambda at: shrunk.evaluate(at, 0).loss, np.array(coef)
        )
        assert_allclose(value.gradient, gradient, rtol=1e-6, atol=1e-8 * value.loss)
        assert_allclose(value.hessian, hessian, rtol=1e-5, atol=1e-7 * value.loss)
        assert_array_equal(shrunk.evaluate(np.array(coef), 1).gradient, value.gradient)

    def test_pull_is_by_the_mass_of_the_corpus(self):
        """A task weighs by its weight: ten times as much is ten times the evidence."""
        coef = np.array([4.0, 1.5])
        for factor in (1.0, 10.0, 1e6):
            plain, shrunk = self.shrunk(np.full(15, factor))
            ratio = shrunk.evaluate(coef, 0).loss / plain.evaluate(coef, 0).loss
            assert_allclose(
                np.log(ratio), self.penalty(coef).value / (15 * factor), rtol=1e-6
            )

    def test_far_from_the_centre_nothing_overflows(self):
        _, shrunk = self.shrunk()
        value = shrunk.evaluate(np.array([300.0, -200.0]), 2)
        assert np.isfinite(value.loss)
        assert np.isfinite(value.gradient).all()
        assert np.isfinite(value.hessian).all()

    def test_counts_what_the_loss_counts(self):
        plain, shrunk = self.shrunk()
        for order in (0, 1, 2):
            shrunk.evaluate(np.array([4.0, 1.5]), order)
        assert shrunk.n_evaluations == plain.n_evaluations == 3
