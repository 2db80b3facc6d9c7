"""Coordinates of a head's two coefficients in which solver steps are of order one.

A solver that moves by steps of order one needs coordinates in which the loss changes by
order one over such a step, wherever the coefficients have got to. They are local: a
`Chart` is laid anew around each iterate, its origin there, and a solver that measures
the curvature may choose the chart by it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Chart(Protocol):
    """Local coordinates ``phi``, the origin being the current coefficients."""

    def move(self, phi: FloatArray) -> FloatArray:
        """The coefficients at a point."""
        ...

    def gradient(self, gradient: FloatArray) -> FloatArray:
        """A loss's gradient at the origin, from that in the coefficients."""
        ...

    def hessian(self, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
        """A loss's Hessian at the origin, from both in the coefficients."""
        ...


class Coordinates(Protocol):
    """How a head lays charts. The first coordinate is the logarithm of its scale."""

    def chart(self, coef: FloatArray, curvature: FloatArray | None = None) -> Chart:
        """The chart around `coef`, fitted to the loss's Hessian there if given."""
        ...


class ScoreChart:
    """``phi = (arsinh a - arsinh a0, b - b0 - slope (a - a0))``: scale and offset.

    Where ``|a|`` is large the first coordinate is its logarithmic growth; near zero it
    is ``a`` itself, for a minimum may lie on the other side. With ``h = sqrt(1 +
    a0^2)`` and ``T = d(a, b)/d phi`` at the origin,

        a = a0 cosh phi_1 + h sinh phi_1,
        T = [[h, 0], [slope h, 1]],        d2(a, b)/d phi_1^2 = (a0, slope a0),

    and all other second derivatives vanish.
    """

    def __init__(self, coef: FloatArray, slope: float) -> None:
        self.coef = coef
        self.slope = slope
        self.rate = float(np.hypot(1.0, coef[0]))
        self.tangent = np.array([[self.rate, 0.0], [slope * self.rate, 1.0]])

    def move(self, phi: FloatArray) -> FloatArray:
        """The coefficients at a point."""
        # cosh - 1 = 2 sinh^2(phi / 2), so that short steps are not rounded off.
        curved = 2 * self.coef[0] * np.sinh(phi[0] / 2) ** 2
        growth = curved + self.rate * np.sinh(phi[0])
        return self.coef + np.array([growth, self.slope * growth + phi[1]])

    def gradient(self, gradient: FloatArray) -> FloatArray:
        """A loss's gradient at the origin, from that in the coefficients."""
        return self.tangent.T @ gradient

    def hessian(self, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
        """A loss's Hessian at the origin, from both in the coefficients."""
        local = self.tangent.T @ hessian @ self.tangent
        local[0, 0] += self.coef[0] * (gradient[0] + self.slope * gradient[1])
        return local


class ScoreCoordinates:
    """Charts for a feature score ``a`` and a label score ``b``.

    While pretraining follows the population, ``a`` grows by orders of magnitude and
    ``b - a`` like ``2 log a``, so ``(log a, b - a)`` makes both steps of order one.
    Far out on a finite corpus the loss can lie in a straight valley of another slope:
    where ``b - g a`` is constant, ``g`` being the distance between the largest
    observation and the largest one with label 1 in some context, the two tokens share
    that context's attention in a fixed proportion. In ``(log a, b - a)`` such a valley
    bends so sharply that a trust region crawls in it for hundreds of steps. So the
    slope of the chart is that of the valley floor at the current point, where the
    gradient in ``b`` stays what it is to first order: ``db/da = -L_ab / L_bb``.

    Where the loss does not hold ``b`` (``L_bb <= 0``, as on the plateau of a corpus of
    interior thresholds) the slope is 1: the scores stay calibrated as descent leaves
    them. Left where it is, ``b`` ends at the smallest value that the corpus allows,
    which lowers the loss by a trifle and fails on fresh thresholds beyond the corpus's
    (trained on [0.3, 0.9], tested on [0.05, 0.95]: mean squared error 0.17 instead of
    0.0002).
    """

    # Distances between observations of a context are at most one in unit coordinates,
    # and 1 is the population's slope; beyond, L_bb is too small to say anything.
    _slopes = (0.0, 1.0)

    def chart(self, coef: FloatArray, curvature: FloatArray | None = None) -> Chart:
        """The chart around `coef`, along the valley floor if `curvature` shows one."""
        slope = 1.0
        if curvature is not None and curvature[1, 1] > 0:
            slope = float(np.clip(-curvature[0, 1] / curvature[1, 1], *self._slopes))
        return ScoreChart(coef, slope)


class LogChart:
    """``phi = log(coef / coef_0)`` for two positive coefficients."""

    def __init__(self, coef: FloatArray) -> None:
        self.coef = coef

    def move(self, phi: FloatArray) -> FloatArray:
        """The coefficients at a point."""
        return self.coef * np.exp(phi)

    def gradient(self, gradient: FloatArray) -> FloatArray:
        """A loss's gradient at the origin, from that in the coefficients."""
        return self.coef * gradient

    def hessian(self, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
        """A loss's Hessian at the origin, from both in the coefficients."""
        return hessian * np.outer(self.coef, self.coef) + np.diag(self.coef * gradient)


class LogCoordinates:
    """Charts for two positive coefficients: their logarithms."""

    def chart(self, coef: FloatArray, curvature: FloatArray | None = None) -> Chart:
        """The chart around `coef`; the curvature plays no part."""
        return LogChart(coef)
