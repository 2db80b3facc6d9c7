"""Solvers on losses of known path and minimum: they know no head and no context."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from sklearn_attnstump.objective import LossValue
from sklearn_attnstump.solvers import Options, _model_minimum, flow, gd, newton


def never(iteration, coef):
    return False


class Toy:
    """An objective like `CorpusLoss`; runs away by an error, not for ever."""

    def __init__(self, function):
        self.function = function
        self.n_evaluations = 0

    def evaluate(self, coef, order=1):
        self.n_evaluations += 1
        assert self.n_evaluations < 10_000, "the solver does not end"
        with np.errstate(all="ignore"):
            return LossValue(*self.function(np.asarray(coef)))


class Plane:
    """Coordinates that are the coefficients themselves, and their own charts."""

    def __init__(self, coef=None):
        self.coef = coef

    def chart(self, coef, curvature=None):
        return Plane(coef)

    def move(self, phi):
        return self.coef + phi

    def gradient(self, gradient):
        return gradient

    def hessian(self, gradient, hessian):
        return hessian.copy()


CENTRE = np.array([4.0, -1.0])
BOWL = np.array([[3.0, 1.0], [1.0, 2.0]])
FLOOR = 0.25


def quadratic(coef):
    away = coef - CENTRE
    return FLOOR + away @ BOWL @ away / 2, BOWL @ away, BOWL


def rosenbrock(coef):
    x, y = coef
    bend = y - x**2
    return (
        FLOOR + (1 - x) ** 2 + 100 * bend**2,
        np.array([-2 * (1 - x) - 400 * x * bend, 200 * bend]),
        np.array([[2 - 400 * (bend - 2 * x**2), -400 * x], [-400 * x, 200.0]]),
    )


def solve_toy(solver, function, start, *, callback=never, max_iter=1000, **options):
    options = Options(max_iter=max_iter, **{"tol": 1e-10, **options})
    return solver(Toy(function), np.array(start), Plane(), options, callback)


def test_gd_on_a_quadratic():
    """coef - centre is multiplied by 1 - eta BOWL at each step."""
    start = np.array([1.0, 1.0])
    end = solve_toy(gd, quadratic, start, step_size=0.1, max_iter=25, tol=0)
    contraction = np.linalg.matrix_power(np.eye(2) - 0.1 * BOWL, 25)
    assert_allclose(end.coef, CENTRE + contraction @ (start - CENTRE), rtol=1e-13)
    assert_allclose(end.path.t, 0.1 * np.arange(26), rtol=1e-14)


def test_automatic_step_is_safe_and_not_timid():
    """On a quadratic, steps below two over the largest curvature descend."""
    end = solve_toy(gd, quadratic, [1.0, 1.0], max_iter=1, tol=0)
    largest = np.linalg.eigvalsh(BOWL)[-1]
    assert 0.1 <= end.path.t[1] * largest <= 1
    end = solve_toy(gd, quadratic, [1.0, 1.0])
    assert end.status == "converged"
    assert_allclose(end.coef, CENTRE, rtol=1e-9)


@pytest.mark.parametrize("time", [0.01, 0.3, 2.0, 30.0])
def test_flow_on_a_quadratic(time):
    start = np.array([1.0, 1.0])
    end = solve_toy(flow, quadratic, start, horizon=time, tol=0)
    for t, coef in zip(end.path.t, end.path.coef, strict=True):
        exact = CENTRE + expm(-t * BOWL) @ (start - CENTRE)
        assert np.linalg.norm(coef - exact) <= 1e-5 * np.linalg.norm(exact)


def test_newton_on_a_quadratic_needs_one_step_within_the_radius():
    end = solve_toy(newton, quadratic, CENTRE + np.array([0.5, -0.5]))
    assert end.status == "converged"
    assert end.n_iter == 1
    assert_allclose(end.coef, CENTRE, rtol=1e-14)


@pytest.mark.parametrize(
    ("solver", "tolerance"), [(newton, 1e-9), (flow, 1e-6)], ids=["newton", "flow"]
)
def test_curved_valley(solver, tolerance):
    end = solve_toy(solver, rosenbrock, [-1.2, 1.0])
    assert end.status == "converged"
    assert_allclose(end.coef, [1.0, 1.0], atol=tolerance)
    assert_allclose(end.loss, FLOOR, rtol=1e-12)


def test_gd_follows_a_curved_valley():
    end = solve_toy(gd, rosenbrock, [-1.2, 1.0], step_size=5e-4, max_iter=8000, tol=0)
    limit = solve_toy(flow, rosenbrock, [-1.2, 1.0], horizon=4.0, tol=0)
    assert_allclose(end.coef, limit.coef, rtol=1e-2)
    assert end.loss < FLOOR + 0.01


def test_newton_walks_far():
    """The end is that of the last iteration, however many there were."""

    def distant(coef):
        away = coef - np.array([1000.0, 3.0])
        return 1 + away @ away, 2 * away, 2 * np.eye(2)

    for max_iter in (250, 333, 2000):
        end = solve_toy(newton, distant, [0.5, 1.0], max_iter=max_iter)
        # Steps are at most two long.
        assert end.n_iter == min(max_iter, 501)
        assert end.path.t[-1] == end.n_iter
        assert end.loss == distant(end.coef)[0]
    assert end.status == "converged"
    assert_allclose(end.coef, [1000.0, 3.0], rtol=1e-12)


def test_newton_leaves_a_saddle():
    """At a stationary point that is no minimum, downward curvature says where to go."""

    def saddle(coef):
        a, b = coef
        return (
            5 + a**2 - b**2 + b**4,
            np.array([2 * a, -2 * b + 4 * b**3]),
            np.array([[2.0, 0.0], [0.0, -2 + 12 * b**2]]),
        )

    near = solve_toy(newton, saddle, [1.0, 1e-6])
    assert_allclose(np.abs(near.coef), [0, np.sqrt(0.5)], atol=1e-8)
    assert near.status == "converged"


def test_minimum_at_infinity_is_a_plateau():
    def decay(coef):
        a, b = coef
        left = np.exp(-a)
        return (
            1 + left + b**2,
            np.array([-left, 2 * b]),
            np.array([[left, 0.0], [0.0, 2.0]]),
        )

    for solver in (newton, flow):
        end = solve_toy(solver, decay, [1.0, 1.0])
        assert end.status == "plateau"
        assert end.coef[0] > 20
        assert_allclose(end.loss, 1.0, rtol=1e-9)


@pytest.mark.parametrize("step_size", [1.0, 1e10, 1e300])
def test_divergence_ends_before_infinity(step_size):
    end = solve_toy(gd, quadratic, [1.0, 1.0], step_size=step_size, max_iter=5000)
    assert end.status == "step"
    assert np.isfinite(end.coef).all()


@pytest.mark.parametrize("beyond", [np.inf, np.nan])
def test_newton_does_not_walk_where_there_is_no_loss(beyond):
    def walled(coef):
        loss, gradient, hessian = quadratic(coef)
        return (loss if coef[0] < 2 else beyond), gradient, hessian

    end = solve_toy(newton, walled, [0.0, 1.0])
    assert end.coef[0] < 2
    assert np.isfinite(end.loss)


# The trust region's model.


def brute_force(gradient, hessian, radius):
    """Least value of the model on a fine polar grid, refined on the rim and inside."""

    def value(points):
        bent = np.einsum("...i,ij,...j", points, hessian, points)
        return points @ gradient + bent / 2

    angles = np.linspace(0, 2 * np.pi, 200_001)
    rim = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    least = min(value(rim).min(), 0.0)
    if np.linalg.eigvalsh(hessian)[0] > 0:
        inside = np.linalg.solve(hessian, -gradient)
        if np.linalg.norm(inside) <= radius:
            least = min(least, value(inside))
    return least


def assert_model_minimum(gradient, hessian, radius):
    gradient, hessian = np.asarray(gradient, float), np.asarray(hessian, float)
    step = _model_minimum(gradient, hessian, radius)
    assert np.linalg.norm(step) <= radius * (1 + 1e-9)
    reached = gradient @ step + step @ hessian @ step / 2
    least = brute_force(gradient, hessian, radius)
    # The grid is 3e-5 coarse, so its least value is off by some 1e-9 of the terms.
    size = np.linalg.norm(gradient) * radius + np.abs(hessian).max() * radius**2
    assert reached <= least + 1e-9 * size


@pytest.mark.parametrize("radius", [1e-6, 0.3, 2.0, 50.0])
def test_model_minimum_at_random(radius):
    rng = np.random.default_rng(0)
    for _ in range(25):
        half = rng.normal(size=(2, 2)) * rng.choice([1e-3, 1.0, 1e3])
        assert_model_minimum(rng.normal(size=2), half + half.T, radius)


ROTATION = np.array([[0.6, -0.8], [0.8, 0.6]])


@pytest.mark.parametrize("turn", [np.eye(2), ROTATION], ids=["along axes", "turned"])
@pytest.mark.parametrize("radius", [0.1, 1.0, 40.0])
@pytest.mark.parametrize(
    ("gradient", "curvatures"),
    [
        pytest.param([0.0, 1.0], [-2.0, 3.0], id="hard"),
        pytest.param([1e-14, 1.0], [-2.0, 3.0], id="nearly hard"),
        pytest.param([0.0, 1.0], [-2.0, -1.0], id="hard, both downward"),
        pytest.param([1.0, 0.5], [-2.0, -2.0], id="equal downward"),
        pytest.param([1.0, 1.0], [0.0, 2.0], id="singular"),
        pytest.param([0.0, 1.0], [0.0, 2.0], id="singular, flat along"),
        pytest.param([1.0, -2.0], [0.0, 0.0], id="no curvature"),
        pytest.param([0.0, 0.0], [-1.0, 2.0], id="saddle"),
        pytest.param([0.0, 0.0], [1.0, 2.0], id="at the minimum"),
        pytest.param([0.0, 0.0], [0.0, 0.0], id="nothing"),
        pytest.param([1e-200, 1.0], [1e-200, 1.0], id="far apart in size"),
    ],
)
def test_model_minimum_in_special_cases(gradient, curvatures, radius, turn):
    assert_model_minimum(
        turn @ np.array(gradient), turn @ np.diag(curvatures) @ turn.T, radius
    )
