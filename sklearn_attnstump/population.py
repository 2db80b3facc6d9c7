"""The population model's numerical core: moments, quadrature, loss and gradient.

The single head on infinite contexts with x uniform on [0, 1], as
`sklearn_attnstump.theory` introduces it: feature score a, label score b, threshold
theta, prediction f. That module is the door to it; arguments here are trusted. The
derivation is this project's own.

The moment identity
-------------------
Split the context by label. Within a label the label score is constant and cancels, so
the part with label 1 is the uniform law on [0, theta] tilted by exp(a x), and the part
with label 0 the same on [theta, 1]. With u = a theta and u' = a (1 - theta), let ::

    h(u) = (1 - e^-u) / u            m(u) = 1/u - 1/(e^u - 1)
    v(u) = -m'(u) = 1/u^2 - e^u / (e^u - 1)^2

be the integral of e^(-u z) over [0, 1], and the mean and the variance of z under the
density proportional to it; m(-u) = 1 - m(u). The mean of the part with label 1 lies
theta m(u) below the threshold, that of the part with label 0 lies (1-theta) m(-u')
above it. The attention p that label 1 gets is a sigmoid of the difference of the log
partition functions, and the derivatives of f are central moments of the mixture. With
D = -theta m(u) - (1-theta) m(-u'), the difference of the two means, ::

    p       = sigmoid(b - u' + log(theta h(u)) - log((1-theta) h(u')))
    f-theta = (1-p) (1-theta) m(-u') - p theta m(u)
    f_a     = p theta^2 v(u) + (1-p) (1-theta)^2 v(u') + p (1-p) D^2
    f_b     = p (1-p) D

and the gradient of the loss L = int_0^1 (f-theta)^2 dtheta is 2 int (f-theta) f_a and
2 int (f-theta) f_b. The same in one line: f = d log Z / da for Z = int_0^1
e^(a x + b y) dx = (e^b (e^u - 1) + e^a - e^u) / a, hence with q = exp(a - b) ::

    f-theta = -1/a + (theta + q (1-theta)) / (expm1(u) - q expm1(-u'))

which cancels at small a and overflows at large; the moments do neither. Seen through
x -> 1-x, y -> 1-y the head is that of (-a, -b): error(theta; -a, -b) equals
-error(1-theta; a, b), the loss is even in (a, b), and descent from (-a, -b) mirrors
descent from (a, b).

Quadrature
----------
The loss is an integral over theta of what varies in layers: at scale 1/|a| at both ends
and, where attention changes sides, at scale 1/|a| within, or in a layer of width q/a at
an end (derived in `sklearn_attnstump.theory`). Gauss-Legendre panels graded towards
each of these places need some hundred nodes at any scores.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.polynomial.polynomial import polyval
from numpy.typing import NDArray
from scipy.special import bernoulli, expit, exprel, factorial

FloatArray: TypeAlias = NDArray[np.float64]

# m(u) = 1/2 - sum_k B_2k u^(2k-1) / (2k)! has radius of convergence 2 pi: for |u| < 1
# eleven terms leave less than (2 pi)^-22 = 3e-18. v = -m', term by term.
_TWO_K = 2 * np.arange(1, 12)
_MEAN_SERIES = bernoulli(_TWO_K[-1])[_TWO_K] / factorial(_TWO_K)
_VARIANCE_SERIES = (_TWO_K - 1) * _MEAN_SERIES

# Gauss-Legendre panels for the integral over the thresholds; see _graded.
_NODES, _WEIGHTS = leggauss(16)
_PANEL_WIDTH = 2.0


def tilted_mean(u: FloatArray) -> FloatArray:
    """Mean m(u) on [0, 1] under the density proportional to exp(-u z)."""
    size = np.abs(u)
    small, large = np.minimum(size, 1.0), np.maximum(size, 1.0)
    series = 0.5 - small * polyval(small**2, _MEAN_SERIES)
    closed = 1.0 / large + np.exp(-large) / np.expm1(-large)
    mean = np.where(size < 1.0, series, closed)
    return np.where(u < 0.0, 1.0 - mean, mean)


def tilted_variance(u: FloatArray) -> FloatArray:
    """Variance v(u) on [0, 1] under the density proportional to exp(-u z)."""
    size = np.abs(u)
    small, large = np.minimum(size, 1.0), np.maximum(size, 1.0)
    series = polyval(small**2, _VARIANCE_SERIES)
    closed = large**-2 - np.exp(-large) / np.expm1(-large) ** 2
    return np.where(size < 1.0, series, closed)


def _product_rounding(x: FloatArray, y: FloatArray, product: FloatArray) -> FloatArray:
    """What rounding took from the product x y, exactly (Dekker's algorithm)."""
    split = 2.0**27 + 1.0  # a float is a sum of two with 26 bits each
    x_high, y_high = (split * z - (split * z - z) for z in (x, y))
    x_low, y_low = x - x_high, y - y_high
    return x_low * y_low - (product - x_high * y_high - x_low * y_high - x_high * y_low)


def group_moments(
    lower: FloatArray,
    upper: FloatArray,
    a: float | FloatArray,
    b: float | FloatArray,
    gap: float | FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Attention on either label, and the distances of their means from the threshold.

    `lower` is theta, `upper` 1 - theta and `gap` b - a, from the caller because it has
    them without rounding. Returns p, 1 - p, theta m(u) and (1-theta) m(-u').
    """
    # The score that separates the labels rises from `bottom` at theta = 0 to `top` at
    # theta = 1 with slope |a|, for either sign of a. Where p is neither 0 nor 1 it is a
    # small difference, so it is reckoned from the nearer end, and the rounding of its
    # product put back, which would be a relative error of p or 1 - p (4e-9 at a = 1e8).
    bottom, top = np.where(a >= 0.0, gap, b), np.where(a >= 0.0, b, gap)
    slope = np.abs(a)
    signed = np.where(lower <= upper, lower, -upper)
    rise = slope * signed
    score = np.where(lower <= upper, bottom, top) + rise
    score = score + _product_rounding(slope, signed, rise)
    with np.errstate(divide="ignore"):  # a label that no token has: log 0 = -inf
        score = score + np.log(lower * exprel(-slope * lower))
        score = score - np.log(upper * exprel(-slope * upper))
    below, above = lower * tilted_mean(a * lower), upper * tilted_mean(-a * upper)
    return expit(score), expit(-score), below, above


def _graded(length: float, scale: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of an integral over [0, length], graded towards 0 at `scale`.

    One panel covers [0, scale], the others have equal widths in s = log(distance). The
    poles of p, m and v, and the growth of exp(-e^s), begin at |Im s| of about pi/2: on
    a panel of half-width 1 with n = 16 nodes the error falls as
    (pi/2 + sqrt(1 + pi^2/4))^(-2n) = 8e-18.
    """
    first = min(scale, length)
    span = math.log(length / first)
    n_panels = math.ceil(span / _PANEL_WIDTH)
    half = span / max(n_panels, 1) / 2
    s = half * (2.0 * np.arange(n_panels)[:, np.newaxis] + 1.0 + _NODES)
    outer = first * np.exp(s)
    distance = np.concatenate([first / 2 * (1.0 + _NODES), outer.ravel()])
    weight = np.concatenate([first / 2 * _WEIGHTS, (half * _WEIGHTS * outer).ravel()])
    return distance, weight


def _population_rule(
    a: float, b: float, gap: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Nodes (theta and 1 - theta) and weights for integrals over the thresholds.

    The integrand varies at scale 1/|a| at both ends, and where p passes 1/2. In the
    notation of `group_moments` that is the zero of the score if it has one within
    (0, 1); else it lies at the end where the score has not changed sign, at the scale
    exp(-|score|)/|a|: the boundary layer q/a of `sklearn_attnstump.theory`.
    """
    bottom, top = (gap, b) if a >= 0.0 else (b, gap)
    steepness = math.log(max(abs(a), 1.0))
    # A layer narrower than exp(-690) = 1e-300 adds nothing that a float could hold.
    at_bottom = math.exp(-min(steepness + max(bottom, 0.0), 690.0))
    at_top = math.exp(-min(steepness + max(-top, 0.0), 690.0))
    if bottom < 0.0 < top:
        low, high = bottom / (bottom - top), top / (top - bottom)
        inner = math.exp(-min(steepness, 690.0))
    else:
        low, high, inner = 0.5, 0.5, 0.5
    # Each half of a piece is graded towards the piece's end, from which theta and
    # 1 - theta are measured, so that the nearer of the two keeps its digits.
    lower, upper, weights = [], [], []
    for start, side, length, scale in (
        ((0.0, 1.0), 1.0, low / 2, at_bottom),
        ((low, high), -1.0, low / 2, inner),
        ((low, high), 1.0, high / 2, inner),
        ((1.0, 0.0), -1.0, high / 2, at_top),
    ):
        distance, weight = _graded(length, scale)
        lower.append(start[0] + side * distance)
        upper.append(start[1] - side * distance)
        weights.append(weight)
    return np.concatenate(lower), np.concatenate(upper), np.concatenate(weights)


def loss_and_gradient(a: float, b: float, gap: float) -> tuple[float, float, float]:
    """Return the population loss L and its derivatives L_a, L_b, for gap = b - a."""
    lower, upper, weights = _population_rule(a, b, gap)
    p, p_not, below, above = group_moments(lower, upper, a, b, gap)
    error = p_not * above - p * below
    spread = below + above  # -D
    between = p * p_not * spread
    within = p * lower**2 * tilted_variance(a * lower)
    within += p_not * upper**2 * tilted_variance(a * upper)
    weighted = weights * error
    return (
        float(weighted @ error),
        float(2.0 * weighted @ (within + between * spread)),
        float(-2.0 * weighted @ between),
    )
