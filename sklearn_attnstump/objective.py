"""The corpus loss of a head and its exact derivatives.

    L(coef) = sum_j c_j (f_j(coef) - theta_j)^2 / sum_j c_j

over the tasks ``j`` of the corpus with weights ``c_j``, in the coordinates of the
packed contexts. With residuals ``r_j``, and Jacobian rows ``J_j`` and Hessians ``H_j``
of ``f_j``,

    grad L = 2 sum_j c_j r_j J_j / sum_j c_j
    hess L = 2 sum_j c_j (J_j J_j^T + r_j H_j) / sum_j c_j.

The sums over tasks are those of NumPy, pairwise and in the order of the tasks: unlike a
linear algebra library's they do not depend on threads or on where an array lies in
memory, so that equal corpora give equal losses, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.head import Packed, Penalty

FloatArray = NDArray[np.float64]


class LossValue(NamedTuple):
    """The corpus loss at some coefficients."""

    loss: float
    gradient: FloatArray = np.empty(0)  # (2,), from order 1
    hessian: FloatArray = np.empty(0)  # (2, 2), from order 2


class Objective(Protocol):
    """What a solver minimizes."""

    @property
    def n_evaluations(self) -> int:
        """How often the loss was evaluated, derivatives included in an evaluation."""
        ...

    def evaluate(self, coef: FloatArray, order: int = 1) -> LossValue:
        """Loss, with gradient from order 1 and Hessian from order 2."""
        ...


class CorpusLoss:
    """Mean squared threshold error over a corpus, as a function of two coefficients.

    Parameters
    ----------
    packed : Packed
        The corpus's contexts, as a head packs them.
    thresholds : ndarray of shape (n_tasks,)
        In the coordinates of the contexts.
    weights : ndarray of shape (n_tasks,) or None
        Weights of the tasks, of positive sum.

    Attributes
    ----------
    n_tasks : float
        Number of the tasks, or sum of their weights.
    n_evaluations : int
        How often the loss was evaluated, derivatives included in an evaluation.
    """

    def __init__(
        self, packed: Packed, thresholds: FloatArray, weights: FloatArray | None = None
    ) -> None:
        self.packed = packed
        self.thresholds = thresholds
        if weights is None:
            weights = np.ones_like(thresholds)
        self.n_tasks = float(weights.sum())
        self.shares = weights / self.n_tasks
        self.n_evaluations = 0

    def evaluate(self, coef: FloatArray, order: int = 1) -> LossValue:
        """Loss, with gradient from order 1 and Hessian from order 2."""
        self.n_evaluations += 1
        prediction, jacobian, hessian = self.packed.evaluate(coef, order)
        residual = prediction - self.thresholds
        weighted = self.shares * residual
        loss = float(np.add.reduce(weighted * residual))
        if order == 0:
            return LossValue(loss)
        by_coef = np.ascontiguousarray(jacobian.T)
        gradient = 2 * np.add.reduce(weighted * by_coef, axis=1)
        if order == 1:
            return LossValue(loss, gradient)
        bends = np.ascontiguousarray(hessian.transpose(1, 2, 0))
        products = by_coef[:, np.newaxis] * by_coef
        curvature = np.add.reduce(self.shares * products + weighted * bends, axis=2)
        return LossValue(loss, gradient, 2 * curvature)


class ShrunkLoss:
    """A corpus loss that draws the coefficients of small corpora to a centre.

    If residuals are Gaussian of unknown variance, and the coefficients have a prior of
    density ``exp(-s(coef) / 2)``, then the posterior mode over both minimizes

        (n_tasks / 2) log L(coef) + s(coef) / 2,

    that is ``L exp(s / n_tasks)``: with many tasks the loss itself, and in the same
    units. This
    project's own device for corpora of a few dozen tasks.

    Parameters
    ----------
    loss : CorpusLoss
    penalty : callable
        ``penalty(coef)`` gives ``s`` with its gradient and Hessian.
    """

    def __init__(
        self, loss: CorpusLoss, penalty: Callable[[FloatArray], Penalty]
    ) -> None:
        self.loss = loss
        self.penalty = penalty

    @property
    def n_evaluations(self) -> int:
        """How often the loss was evaluated."""
        return self.loss.n_evaluations

    def evaluate(self, coef: FloatArray, order: int = 1) -> LossValue:
        """Loss, with gradient from order 1 and Hessian from order 2."""
        plain, s = self.loss.evaluate(coef, order), self.penalty(coef)
        n = self.loss.n_tasks
        # Far from the centre the factor may overflow; such points are never kept.
        factor = float(np.exp(min(s.value / n, 500.0)))
        if order == 0:
            return LossValue(factor * plain.loss)
        slope = s.gradient / n
        gradient = factor * (plain.gradient + plain.loss * slope)
        if order == 1:
            return LossValue(factor * plain.loss, gradient)
        cross = np.outer(plain.gradient, slope)
        bend = s.hessian / n + np.outer(slope, slope)
        hessian = plain.hessian + cross + cross.T + plain.loss * bend
        return LossValue(factor * plain.loss, gradient, factor * hessian)
