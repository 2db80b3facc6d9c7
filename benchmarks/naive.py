"""The same models as one would write them down: what the package's speed is held to.

All three heads are softmaxes over candidates of one context: with two statistics ``s``
and ``t`` and a value ``v`` of each candidate,

    w = softmax(c_1 s + c_2 t),    f = sum_i w_i v_i.

For the two-score heads the candidates are the tokens, ``s = v = x`` and ``t = y``; for
the Gibbs head the gaps, ``s`` being minus the contradicted labels, ``t`` the logarithm
of the width and ``v`` the middle. Contexts are rows of 2-D arrays, and so all of one
size.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from sklearn_attnstump import Contexts
from sklearn_attnstump.objective import LossValue

FloatArray = NDArray[np.float64]

HAS_JAX = find_spec("jax") is not None


class Model(NamedTuple):
    """A head on some contexts: arrays of shape (n_tasks, n_candidates)."""

    s: FloatArray
    t: FloatArray
    v: FloatArray
    sides: tuple[int, ...]  # signs of the coefficients, whose predictions' mean it is


def model_of(head: str, contexts: Contexts) -> Model:
    """A head on contexts of one size, in the unit interval and without ties."""
    x = contexts.values.reshape(len(contexts), -1)
    y = contexts.labels.reshape(x.shape).astype(np.float64)
    if head != "gibbs":
        return Model(x, y, x, (1, -1) if head == "reflected" else (1,))
    order = np.argsort(x, axis=1)
    x, y = np.take_along_axis(x, order, 1), np.take_along_axis(y, order, 1)
    ends = np.pad(x, ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
    wrong_left = np.pad(np.cumsum(1 - y, axis=1), ((0, 0), (1, 0)))
    wrong_right = y.sum(axis=1, keepdims=True) - np.pad(
        np.cumsum(y, axis=1), ((0, 0), (1, 0))
    )
    middle = (ends[:, 1:] + ends[:, :-1]) / 2
    log_width = np.log(np.diff(ends, axis=1))
    return Model(-(wrong_left + wrong_right), log_width, middle, (1,))


class NumpyLoss:
    """Corpus loss and gradient, straightforwardly."""

    def __init__(self, model: Model, thresholds: FloatArray) -> None:
        self.model = model
        self.thresholds = thresholds

    def evaluate(self, coef: FloatArray) -> LossValue:
        """The loss and its gradient, by the moments of the softmax."""
        prediction = np.zeros_like(self.thresholds)
        jacobian = np.zeros((2, len(prediction)))
        for side in self.model.sides:
            f, slopes = self._one_side(side * coef)
            prediction += f / len(self.model.sides)
            jacobian += side * slopes / len(self.model.sides)
        residual = prediction - self.thresholds
        gradient = 2 * np.mean(residual * jacobian, axis=1)
        return LossValue(float(np.mean(residual**2)), gradient)

    def _one_side(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        s, t, v, _ = self.model
        weight = coef[0] * s + coef[1] * t
        weight -= weight.max(axis=1, keepdims=True)
        np.exp(weight, out=weight)
        weight /= weight.sum(axis=1, keepdims=True)
        f = np.einsum("ij,ij->i", weight, v)
        weight *= v - f[:, np.newaxis]
        slopes = [np.einsum("ij,ij->i", weight, statistic) for statistic in (s, t)]
        return f, np.stack(slopes)


class JaxLoss:
    """The corpus loss by JAX, compiled, in float64; derivatives are JAX's own.

    An objective, as the package's solvers take it.
    """

    def __init__(self, model: Model, thresholds: FloatArray) -> None:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        s, t, v, y = map(jnp.asarray, (*model[:3], thresholds))

        def loss(coef: Any, s: Any, t: Any, v: Any, y: Any) -> Any:
            f = 0.0
            for side in model.sides:
                weight = jax.nn.softmax(side * (coef[0] * s + coef[1] * t), axis=1)
                f += jnp.sum(weight * v, axis=1) / len(model.sides)
            return jnp.mean((f - y) ** 2)

        # Arrays are arguments: as constants they would be folded by the compiler.
        calls = jax.jit(jax.value_and_grad(loss)), jax.jit(jax.hessian(loss))
        self._call, self._hessian = (
            lambda coef, call=call: jax.block_until_ready(call(coef, s, t, v, y))
            for call in calls
        )
        self.n_evaluations = 0

    def evaluate(self, coef: FloatArray, order: int = 1) -> LossValue:
        """The loss and its gradient; the Hessian from order 2."""
        self.n_evaluations += 1
        loss, gradient = self._call(coef)
        hessian = np.asarray(self._hessian(coef)) if order == 2 else np.empty(0)
        return LossValue(float(loss), np.asarray(gradient), hessian)


def tree_loop(array: FloatArray) -> FloatArray:
    """Thresholds by scikit-learn's stump, fitted to one context after another.

    Parameters
    ----------
    array : ndarray of shape (n_tasks, n_examples, 2)
        The label last.
    """
    stumps = (
        DecisionTreeClassifier(max_depth=1).fit(context[:, :1], context[:, 1])
        for context in array
    )
    return np.array([stump.tree_.threshold[0] for stump in stumps])
