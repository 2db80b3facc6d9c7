"""Predictions beside arithmetic of 50 digits, at scores of any size.

1,000 contexts with scores over twelve orders of magnitude; in every second one the
scores of the two labels are balanced, so that terms as large as the scores cancel. The
naive sums below share nothing with the package but the numbers that go in.
"""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

from sklearn_attnstump.heads import GibbsHead, ReflectedHead, SingleHead

N_CONTEXTS = 1000
mp = mpmath.mp.clone()
mp.dps = 50


def exact(values):
    return [mp.mpf(float(value)) for value in values]


def mean(scores, values, weights):
    top = max(scores)
    terms = [w * mp.exp(s - top) for s, w in zip(scores, weights, strict=True)]
    return mp.fdot(terms, values) / mp.fsum(terms)


def single(x, labels, weights, coef):
    a, b = exact(coef)
    x = exact(x)
    scores = [a * value + b * bool(y) for value, y in zip(x, labels, strict=True)]
    return mean(scores, x, exact(weights))


def reflected(x, labels, weights, coef):
    one = single(x, labels, weights, coef)
    return (one + single(x, labels, weights, -coef)) / 2


def gibbs(x, labels, weights, coef):
    lam, kap = exact(coef)
    x, weights = exact(x), exact(weights)
    ends = sorted({mp.zero, mp.one, *x})
    scores, middles = [], []
    for lo, hi in pairwise(ends):
        wrong = mp.fsum(
            weight
            for value, y, weight in zip(x, labels, weights, strict=True)
            if (value > lo) == bool(y)
        )
        scores.append(-lam * wrong + kap * mp.log(hi - lo))
        middles.append((lo + hi) / 2)
    return mean(scores, middles, [mp.one] * len(scores))


def draw(rng, kind, orders):
    """One context in the unit interval, with token weights, and two scores."""
    n = rng.integers(1, 13)
    x = rng.random(n)
    if kind % 4 == 1:  # with ties
        x = np.round(x * 16) / 16
    elif kind % 4 == 2:  # crowded
        x = 0.5 + (x - 0.5) * 10.0 ** -rng.integers(0, 9)
    elif kind % 4 == 3:  # of very different sizes
        x = 10.0 ** rng.uniform(-12, 0, n)
    labels = x <= rng.random() if kind % 3 else rng.random(n) < 0.5
    weights = np.ones(n) if kind % 5 else 10.0 ** rng.uniform(-3, 3, n)
    signs = rng.choice([1, 1, 1, -1], 2)
    coef = signs * 10.0 ** rng.uniform(*orders, 2)
    if kind % 2 and labels.any() and not labels.all():
        edge = np.max if coef[0] > 0 else np.min
        distance = edge(x[labels]) - edge(x[~labels])
        coef[1] = 3 * rng.normal() - coef[0] * distance
    return x, labels, weights, coef


# A mean of observations is kept as the distance from the outermost one, and is exact to
# a rounding of that: 3e-12 was found, where one outweighs others a million times as
# large. The Gibbs head's scores hold logarithms, whose rounding a prior weight of 1e6
# makes that much larger, 2e-11; pretraining ends at weights about 1.
@pytest.mark.parametrize(
    ("head", "truth", "orders", "bound"),
    [
        pytest.param(SingleHead(), single, (-6, 6), 1e-11, id="single"),
        pytest.param(SingleHead(), single, (0, 12), 1e-11, id="single, large"),
        pytest.param(ReflectedHead(), reflected, (-6, 6), 1e-11, id="reflected"),
        pytest.param(ReflectedHead(), reflected, (0, 12), 1e-11, id="reflected, large"),
        pytest.param(GibbsHead(), gibbs, (-6, 6), 1e-10, id="gibbs"),
    ],
)
def test_worst_relative_error(head, truth, orders, bound):
    rng = np.random.default_rng(0)
    worst = 0.0
    for kind in range(N_CONTEXTS):
        x, labels, weights, coef = draw(rng, kind, orders)
        if isinstance(head, GibbsHead):
            coef = np.abs(coef)
        found = head.predict([(x, labels, weights)], coef)[0]
        expected = truth(x, labels, weights, coef)
        if expected < 1e-290:  # below, float64 has no digits to get right
            assert found < 1e-290
            continue
        worst = max(worst, float(abs(mp.mpf(float(found)) / expected - 1)))
    assert worst < bound, worst
