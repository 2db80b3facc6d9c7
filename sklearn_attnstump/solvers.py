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

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF
from scipy.linalg import LinAlgWarning
from scipy.optimize import brentq

from sklearn_attnstump.coordinates import Chart, Coordinates
from sklearn_attnstump.objective import LossValue, Objective

FloatArray = NDArray[np.float64]
Callback = Callable[[int, FloatArray], bool]

# A scale past which float64 tokens of the unit interval are all told apart: the loss
# cannot change any more.
LARGEST_SCALE = 1e17

# Residuals of 1e-14 are the rounding of predictions in the unit interval.
SMALLEST_LOSS = 1e-28

# A time after which even the weakest curvatures of ordinary corpora, some 1e-9, would
# have shown.
LONG = 1e12

# Coefficients beyond which a descent has lost its way.
LARGEST_COEF = 1e100


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

    The curvature bounds the step: past two over it the descent overshoots, and may
    throw the scale to the other side, where the mirrored head waits. The automatic step
    is tried out; see `_automatic_step`.
    """
    eta = options.step_size
    if eta is None:
        eta = _automatic_step(objective, start)

    def advance(k: int, coef: FloatArray, value: LossValue) -> tuple[float, FloatArray]:
        return eta * (k + 1), coef - eta * value.gradient

    end = _follow(advance, objective, start, coordinates, options, callback)
    if end.status == "budget" and options.tol == 0:
        end = replace(end, status="done")  # no more was asked for than the steps
    climbed = np.diff(end.path.loss).max(initial=0.0) > 1e-9 * end.path.loss[0]
    if end.status == "stuck" or end.coef[0] * start[0] < 0 or climbed:
        end = replace(end, status="step")
    return _with_message(end, options, eta=eta, other=_OR_NEWTON)


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

    def velocity(tau: float, y: FloatArray) -> FloatArray:
        gradient = objective.evaluate(_FROM_OFFSET @ y, 1).gradient
        return -t_0 * np.exp(tau) * (_TO_OFFSET @ gradient)

    def jacobian(tau: float, y: FloatArray) -> FloatArray:
        hessian = objective.evaluate(_FROM_OFFSET @ y, 2).hessian
        return -t_0 * np.exp(tau) * (_TO_OFFSET @ hessian @ _FROM_OFFSET)

    end = np.log1p(options.horizon / t_0)
    # Local errors of 1e-6 leave up to 5e-6 after six decades of time, as measured on
    # the reference corpora of 20 to 50 tasks. The offset b - a may be near zero where
    # both scores are large: its error is that of b, which is beyond 10.
    solver = BDF(
        velocity,
        0.0,
        _TO_OFFSET @ start,
        end,
        jac=jacobian,
        rtol=1e-6,
        atol=[1e-9, 1e-5],
    )

    def advance(
        k: int, coef: FloatArray, value: LossValue
    ) -> tuple[float, FloatArray] | None:
        if solver.status != "running":
            return None
        before = solver.y
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # A step that is too long for its linear system is shortened by the method.
            warnings.simplefilter("ignore", LinAlgWarning)
            solver.step()
        if solver.status == "failed":
            return None
        if abs(solver.y[0]) >= options.stop_scale:
            tau, y = _crossing(solver, before, options.stop_scale)
        else:
            tau, y = solver.t, solver.y
        t = options.horizon if tau == end else t_0 * np.expm1(tau)
        return t, _FROM_OFFSET @ y

    result = _follow(advance, objective, start, coordinates, options, callback)
    if result.status == "stuck":
        finished = solver.status == "finished"
        result = replace(result, status="done" if finished else "budget")
    return _with_message(result, options, other=_OR_NEWTON)


# The flow is integrated in (a, b - a): where it has got far, the Hessian in (a, b) is
# nearly a multiple of [[1, -1], [-1, 1]], whose small part a linear solver would lose.
_TO_OFFSET = np.array([[1.0, 0.0], [-1.0, 1.0]])
_FROM_OFFSET = np.array([[1.0, 0.0], [1.0, 1.0]])


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
    are not finite, or absurd, counts as none, so that the last sound ones stay.
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
        if options.tol > 0 and _settled(coordinates, coef, t, value, options.tol):
            status = _at_rest(objective, coordinates, coef)
            break
        if k >= options.max_iter:
            status = "budget"
            break
        ahead = advance(k, coef, value)
        if ahead is None or not np.abs(ahead[1]).max() < LARGEST_COEF:
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
            status = _at_rest(objective, coordinates, coef)
            break
        moved = _trusted_step(objective, chart, loss, gradient, hessian, radius)
        if moved is None:  # no step, however short, can be seen to lower the loss
            status = _at_rest(objective, coordinates, coef)
            break
        coef, value, radius = moved
        k += 1
        trace.add(k, float(k), coef, value.loss)
        if callback(k, coef):
            status = "stopped"
            break
    trace.close(float(k), coef, value.loss)
    return _with_message(trace.result(k, objective.n_evaluations, status), options)


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
        "max_iter or tol{other}."
    ),
    "step": (
        "the step size {eta:.3g} is too large for the curvature of this loss: the "
        "descent overshot, and ended at a first coefficient of {scale:.3g}. Use a "
        "smaller step_size, or solver='flow', which takes the steps that are right."
    ),
}


def _with_message(
    result: SolverResult, options: Options, *, eta: float = 0.0, other: str = ""
) -> SolverResult:
    message = _MESSAGES[result.status].format(
        max_iter=options.max_iter, eta=eta, scale=result.coef[0], other=other
    )
    return replace(result, message=message)


_OR_NEWTON = ", or use solver='newton'"

# Statuses that a user has to hear of.
ALARMING = ("plateau", "budget", "step")


def _automatic_step(objective: Objective, start: FloatArray) -> float:
    """A constant step that descends: half of one that has been seen to.

    One over the largest curvature at the start is halved until thirty steps of it
    descend, and once more. (The curvature grows on the way to a narrow valley: of 96
    corpora of 20 to 100 tasks, one over that at the start descended throughout 300
    steps on 48, this on 94.)
    """
    eta = 1.0 / _largest_curvature(objective, start)
    while not _descends(objective, start, eta):
        eta /= 2
    return eta / 2


def _descends(objective: Objective, start: FloatArray, eta: float) -> bool:
    coef, value = start, objective.evaluate(start, 1)
    for _ in range(30):
        coef = coef - eta * value.gradient
        ahead = objective.evaluate(coef, 1)
        if not ahead.loss <= value.loss * (1 + 1e-13) or coef[0] * start[0] < 0:
            return False
        value = ahead
    return True


def _largest_curvature(objective: Objective, coef: FloatArray) -> float:
    hessian = objective.evaluate(coef, 2).hessian
    largest = float(np.abs(np.linalg.eigvalsh(hessian)).max())
    # A loss without curvature has no time scale; any will do.
    return largest if largest > np.finfo(float).tiny else 1.0


def _settled(
    coordinates: Coordinates, coef: FloatArray, t: float, value: LossValue, tol: float
) -> bool:
    """Whether a path in time has come to where the loss does not change any more.

    Where its gradient in the head's coordinates is small; or where, after a long time,
    time itself has ceased to matter: ``dL / d log t = -t |grad L|^2``. On a plateau of
    loss ``L_0`` that is just ``L_0 - L``, since there ``L - L_0 ~ exp(-a gap)`` and so
    ``a ~ log(t) / gap``.
    """
    if value.loss <= SMALLEST_LOSS:
        return True
    gradient = coordinates.chart(coef).gradient(value.gradient)
    slow = t * float(value.gradient @ value.gradient) <= tol * value.loss
    return bool(np.linalg.norm(gradient) <= tol * value.loss or (t > LONG and slow))


def _at_rest(objective: Objective, coordinates: Coordinates, coef: FloatArray) -> str:
    """Whether a stationary point is a minimum or on a plateau.

    On a plateau the loss approaches its limit, and any larger scale serves as well. So
    the question is put as it is meant: the loss a thousand scales further on, along the
    valley floor, is compared with that here.
    """
    value = objective.evaluate(coef, 2)
    farther = coordinates.chart(coef, value.hessian).move(np.array([7.0, 0.0]))
    ahead = objective.evaluate(farther, 0).loss
    return "plateau" if ahead <= value.loss * (1 + 1e-6) else "converged"


def _crossing(
    solver: BDF, before: FloatArray, scale: float
) -> tuple[float, FloatArray]:
    """The moment within the last step when the scale was reached.

    The interpolant of the method misses the ends of the step by about the local error;
    a straight line mends that, so that the scale is crossed on the path that is shown.
    """
    inner, t_0, t_1 = solver.dense_output(), solver.t_old, solver.t
    miss_0, miss_1 = before - inner(t_0), solver.y - inner(t_1)

    def path(tau: float) -> FloatArray:
        share = (tau - t_0) / (t_1 - t_0)
        return inner(tau) + (1 - share) * miss_0 + share * miss_1

    tau = brentq(lambda s: abs(path(s)[0]) - scale, t_0, t_1, xtol=1e-14)
    y = path(tau)
    y[0] = np.copysign(scale, y[0])  # what the root misses it by is rounding
    return float(tau), y


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
        if not gained >= 0.25:  # or not a number
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
