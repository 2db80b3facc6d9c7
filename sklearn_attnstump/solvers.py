"""Solvers: three ways from a start to two coefficients, behind one signature.

Each solver takes an objective, a start and the same options, knows neither heads nor
contexts, and returns a `SolverResult`:

* `gd`, constant-step gradient descent, ``coef <- coef - eta grad L(coef)``: the rule
  that the paper's abstract (arXiv:2610.07074) is about;
* `flow`, its small-step limit ``d coef / dt = -grad L(coef)`` at ``t = eta * steps``;
* `newton`, a trust-region Newton method to where the loss is stationary.

``flow`` and ``newton`` are this project's own practical counterparts of ``gd``.

All stop for the same reason when they may: the gradient in the head's own coordinates,
where steps are of order one, is at most ``tol`` times the loss, so that no step of
order one would change the loss by more than about that share of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF
from scipy.optimize import brentq

from sklearn_attnstump.coordinates import Chart, Coordinates
from sklearn_attnstump.objective import LossValue, Objective

FloatArray = NDArray[np.float64]
Callback = Callable[[int, FloatArray], bool]

# A scale past which float64 tokens of the unit interval are all told apart: the loss
# cannot change any more.
LARGEST_SCALE = 1e17


class SolverPath(NamedTuple):
    """The path from the start to the end, thinned where it is long."""

    t: FloatArray  # (n_points,): time; eta * steps for gd, iterations for newton
    coef: FloatArray  # (n_points, 2)
    loss: FloatArray  # (n_points,)


@dataclass(frozen=True)
class SolverResult:
    """Where a solver ended, how it got there and why it stopped.

    Attributes
    ----------
    coef : ndarray of shape (2,)
    loss : float
    path : SolverPath
    n_iter, n_evaluations : int
        Iterations made, and evaluations of the loss of whatever order.
    status : str
        One of

        * "converged": stationary to within ``tol``;
        * "plateau": so too, but the loss has levelled off in the scale, and any larger
          scale serves as well: the minimum lies at infinity;
        * "done": the steps, the horizon or the scale that were asked for;
        * "stopped": by a callback;
        * "budget": ``max_iter`` iterations were not enough;
        * "step": the constant step is too large for this loss.

        (and, between `_follow` and its callers, "stuck": no further step.)
    message : str
        What happened, and what to do if that is not what was wanted.
    """

    coef: FloatArray
    loss: float
    path: SolverPath
    n_iter: int
    n_evaluations: int
    status: str
    message: str = ""

    @property
    def converged(self) -> bool:
        """Whether the loss is stationary."""
        return self.status in ("converged", "plateau")


@dataclass(frozen=True)
class Options:
    """What every solver is told; each uses what applies to it."""

    max_iter: int
    tol: float
    step_size: float | None = None  # gd; None: by the curvature at the start
    horizon: float = np.inf  # flow
    stop_scale: float = np.inf  # gd and flow


def gd(
    objective: Objective,
    start: FloatArray,
    coordinates: Coordinates,
    options: Options,
    callback: Callback,
) -> SolverResult:
    """Constant-step gradient descent, literally ``coef <- coef - eta * grad``.

    The curvature at the start bounds the step: past two over it the descent overshoots
    at once, and may throw the scale to the other side, where the mirrored head waits.
    The automatic step is one over the largest absolute curvature there.
    """
    eta = options.step_size
    if eta is None:
        eta = 1.0 / _largest_curvature(objective, start)

    def advance(k: int, coef: FloatArray, value: LossValue) -> tuple[float, FloatArray]:
        return eta * (k + 1), coef - eta * value.gradient

    end = _follow(advance, objective, start, coordinates, options, callback)
    overshot = end.coef[0] * start[0] < 0 or end.loss > end.path.loss[0]
    if end.status == "stuck" or overshot:
        end = replace(end, status="step")
    message = _MESSAGES[end.status].format(
        max_iter=options.max_iter, eta=eta, scale=end.coef[0]
    )
    return replace(end, message=message)


def flow(
    objective: Objective,
    start: FloatArray,
    coordinates: Coordinates,
    options: Options,
    callback: Callback,
) -> SolverResult:
    """The gradient flow ``d coef / dt = -grad L``, integrated in log-time.

    With ``t = t_0 (e^tau - 1)``, ``t_0`` being the fastest time scale at the start, the
    flow is ``d coef / d tau = -(t + t_0) grad L``: power laws in ``t`` become
    exponentials in ``tau``, and the exact Hessian serves an implicit solver, whose
    steps stability does not bound.
    """
    t_0 = 1.0 / _largest_curvature(objective, start)
    solver = BDF(
        lambda tau, coef: -t_0 * np.exp(tau) * objective.evaluate(coef, 1).gradient,
        0.0,
        start,
        np.log1p(options.horizon / t_0),
        jac=lambda tau, coef: -t_0 * np.exp(tau) * objective.evaluate(coef, 2).hessian,
        # Local errors of 1e-6 leave 3e-6 at the end of six decades of time, measured on
        # corpora of 20 to 50 tasks against 60-digit integration.
        rtol=1e-6,
        atol=1e-9,
    )

    def advance(
        k: int, coef: FloatArray, value: LossValue
    ) -> tuple[float, FloatArray] | None:
        if solver.status != "running":
            return None
        solver.step()
        if solver.status == "failed":
            return None
        if abs(solver.y[0]) >= options.stop_scale:
            tau, coef = _crossing(solver, options.stop_scale)
            return t_0 * np.expm1(tau), coef
        ended = solver.status == "finished"
        return options.horizon if ended else t_0 * np.expm1(solver.t), solver.y

    end = _follow(advance, objective, start, coordinates, options, callback)
    if end.status == "stuck":
        end = replace(end, status="done" if solver.status == "finished" else "budget")
    message = _MESSAGES[end.status].format(
        max_iter=options.max_iter, eta=0.0, scale=end.coef[0]
    )
    return replace(end, message=message)


def _follow(
    advance: Callable[[int, FloatArray, LossValue], tuple[float, FloatArray] | None],
    objective: Objective,
    start: FloatArray,
    coordinates: Coordinates,
    options: Options,
    callback: Callback,
) -> SolverResult:
    """Follow a path in time until there is a reason to stop.

    ``advance(k, coef, value)`` makes step ``k + 1`` and returns the new time and
    coefficients, or None where there is no further step; a step to coefficients that
    are not finite counts as none, so that the last finite ones stay.
    """
    trace, coef, t, k = _Trace(), start, 0.0, 0
    while True:
        value = objective.evaluate(coef, 1)
        trace.add(k, t, coef, value.loss)
        if k > 0 and callback(k, coef):
            status = "stopped"
            break
        if abs(coef[0]) >= options.stop_scale:
            status = "done"
            break
        gradient = coordinates.chart(coef).gradient(value.gradient)
        if options.tol > 0 and np.linalg.norm(gradient) <= options.tol * value.loss:
            status = _at_rest(objective, coordinates, coef, options.tol)
            break
        if k >= options.max_iter:
            status = "done" if options.tol == 0 else "budget"
            break
        ahead = advance(k, coef, value)
        if ahead is None or not np.isfinite(ahead[1]).all():
            status = "stuck"
            break
        (t, coef), k = ahead, k + 1
    trace.close(t, coef, value.loss)
    return trace.result(k, objective.n_evaluations, status)


def newton(
    objective: Objective,
    start: FloatArray,
    coordinates: Coordinates,
    options: Options,
    callback: Callback,
) -> SolverResult:
    """Trust-region Newton steps, each in a chart laid around the iterate.

    The chart follows the valley floor (see `sklearn_attnstump.coordinates`), which is
    why this is not a call of `scipy.optimize.minimize`: there, coordinates are fixed.
    """
    trace = _Trace()
    coef, radius, k, status = start, 1.0, 0, "budget"
    value = objective.evaluate(coef, 2)
    trace.add(0, 0.0, coef, value.loss)
    while k < options.max_iter:
        chart = coordinates.chart(coef, value.hessian)
        # Relative to the loss, so that nothing below depends on its size.
        loss = max(value.loss, np.finfo(float).tiny)
        gradient = chart.gradient(value.gradient) / loss
        hessian = chart.hessian(value.gradient, value.hessian) / loss
        # Past the largest scale the gradient is zero or rounding noise.
        if np.linalg.norm(gradient) <= options.tol or abs(coef[0]) >= LARGEST_SCALE:
            status = _kind_of_rest(chart, value, options.tol)
            break
        moved = _trusted_step(objective, chart, loss, gradient, hessian, radius)
        if moved is None:  # no step, however short, can be seen to lower the loss
            status = _kind_of_rest(chart, value, options.tol)
            break
        coef, value, radius = moved
        k += 1
        trace.add(k, float(k), coef, value.loss)
        if callback(k, coef):
            status = "stopped"
            break
    message = _MESSAGES[status].format(
        max_iter=options.max_iter, eta=0.0, scale=coef[0]
    )
    return replace(trace.result(k, objective.n_evaluations, status), message=message)


SOLVERS = {"gd": gd, "flow": flow, "newton": newton}

_MESSAGES = {
    "converged": "the loss is stationary.",
    "plateau": (
        "the loss has levelled off: its minimum lies at infinite scores, and the scale "
        "{scale:.3g} serves as well as any larger one. On larger contexts the head "
        "acts as its limit. Set stop_scale (solvers 'gd' and 'flow') to end at a "
        "chosen scale."
    ),
    "done": "ended where it was asked to.",
    "stopped": "a callback asked to stop.",
    "budget": (
        "max_iter={max_iter} iterations did not reach a stationary loss. Raise "
        "max_iter or tol, or use solver='newton'."
    ),
    "step": (
        "the step size {eta:.3g} is too large for the curvature of this loss: the "
        "descent overshot (feature score {scale:.3g}). Use a smaller step_size, "
        "step_size='auto', or solver='flow'."
    ),
}

# Statuses that a user has to hear of.
ALARMING = ("plateau", "budget", "step")


def _largest_curvature(objective: Objective, coef: FloatArray) -> float:
    hessian = objective.evaluate(coef, 2).hessian
    largest = float(np.abs(np.linalg.eigvalsh(hessian)).max())
    # A loss without curvature has no time scale; any will do.
    return largest if largest > np.finfo(float).tiny else 1.0


def _at_rest(
    objective: Objective, coordinates: Coordinates, coef: FloatArray, tol: float
) -> str:
    """Whether a stationary point is a minimum or on a plateau."""
    value = objective.evaluate(coef, 2)
    return _kind_of_rest(coordinates.chart(coef, value.hessian), value, tol)


def _kind_of_rest(chart: Chart, value: LossValue, tol: float) -> str:
    """Tell a minimum from a plateau by the relative curvature along the scale.

    On a plateau the loss approaches its limit like ``exp(-a gap)``, or a power of
    ``1 / a``; gradient and curvature in ``log a`` then vanish together, the curvature
    being larger by ``a gap``, some tens where the gradient is ``tol``. At the flattest
    proper minima met in corpora of 300 tasks it is several 1e-6 of the loss. The
    curvature is a sum that cancels down to nothing on a plateau; what rounding leaves
    of it is at most a few epsilon of the same sum over absolute values.
    """
    curvature = chart.hessian(value.gradient, value.hessian)[0, 0]
    summands = chart.hessian(np.abs(value.gradient), np.abs(value.hessian))[0, 0]
    noise = 8 * np.finfo(float).eps * abs(summands)
    flat = curvature <= 100 * max(tol, 1e-10) * value.loss + noise
    return "plateau" if flat else "converged"


def _crossing(solver: BDF, scale: float) -> tuple[float, FloatArray]:
    """The moment within the last step when the scale was reached."""
    path = solver.dense_output()
    tau = brentq(lambda s: abs(path(s)[0]) - scale, solver.t_old, solver.t, xtol=1e-14)
    return float(tau), path(tau)


def _trusted_step(
    objective: Objective,
    chart: Chart,
    loss: float,
    gradient: FloatArray,
    hessian: FloatArray,
    radius: float,
) -> tuple[FloatArray, LossValue, float] | None:
    """The next iterate, its loss and the next radius; None if no step helps.

    Gradient and Hessian are those of the logarithm's size: relative to `loss`. The
    radius doubles, up to 2, where the quadratic model is right to a quarter at the
    radius, and falls to a quarter of a step where it is wrong by three quarters. Two
    units are a factor of seven in the scale: longer steps have been seen to leap over
    minima on to the plateau behind them.
    """
    while True:
        step = _model_minimum(gradient, hessian, radius)
        promised = -float(gradient @ step + step @ hessian @ step / 2)
        if not promised > 1e-15:
            return None
        trial = chart.move(step)
        reached = objective.evaluate(trial, 2)
        gained = (1 - reached.loss / loss) / promised
        length = float(np.linalg.norm(step))
        if gained < 0.25:
            radius = length / 4
        elif gained > 0.75 and length > 0.99 * radius:
            radius = min(2 * radius, 2.0)
        if gained > 1e-4:
            return trial, reached, radius


def _model_minimum(
    gradient: FloatArray, hessian: FloatArray, radius: float
) -> FloatArray:
    """The minimizer of ``g.p + p.H.p / 2`` over ``|p| <= radius``.

    In the eigenbasis of ``H`` it is ``-c / (lam + mu)`` with the least ``mu >= 0`` that
    makes ``H + mu`` positive semidefinite and the step short enough; its length falls
    monotonically with ``mu``. Where the gradient has no part along a negative curvature
    (the hard case) a step along that eigenvector makes up the length.
    """
    lam, basis = np.linalg.eigh(hessian)
    c = basis.T @ gradient

    def step(mu: float) -> FloatArray:
        shifted = lam + mu
        return np.where(c == 0, 0.0, -c / np.where(shifted > 0, shifted, np.inf))

    if lam[0] > 0 and np.linalg.norm(step(0.0)) <= radius:
        return basis @ step(0.0)
    low = max(0.0, -lam[0])
    if np.linalg.norm(c) == 0:
        return radius * basis[:, 0]
    # Just above `low` the step is long unless the hard case holds.
    nearest = low + 1e-12 * (abs(lam).max() + np.linalg.norm(c) / radius)
    inner = step(nearest)
    if np.linalg.norm(inner) < radius:
        inner[0] = -np.copysign(np.sqrt(radius**2 - inner[1] ** 2), c[0])
        return basis @ inner
    high = low + np.linalg.norm(c) / radius
    mu = brentq(lambda m: np.linalg.norm(step(m)) - radius, nearest, 2 * high)
    return basis @ step(mu)


class _Trace:
    """Collects a path: each step up to the hundredth, then one in each percent."""

    def __init__(self) -> None:
        self.points: list[tuple[float, FloatArray, float]] = []
        self.next = 0

    def add(self, step: int, t: float, coef: FloatArray, loss: float) -> None:
        if step >= self.next:
            self.points.append((t, coef, loss))
            self.next = max(step + 1, int(step * 1.01))

    def close(self, t: float, coef: FloatArray, loss: float) -> None:
        """The last point belongs to the path whatever its number."""
        if self.points[-1][0] != t:
            self.points.append((t, coef, loss))

    def result(self, n_iter: int, n_evaluations: int, status: str) -> SolverResult:
        t, coef, loss = zip(*self.points, strict=True)
        path = SolverPath(np.array(t), np.array(coef), np.array(loss))
        return SolverResult(
            path.coef[-1].copy(),
            float(path.loss[-1]),
            path,
            n_iter,
            n_evaluations,
            status,
        )
