"""Solvers: reference paths, laws of the paths, and what each says of its end.

The solvers know no head, so half of the tests use loss functions whose path is known in
closed form; the other half use corpora, those of the reference among them.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from sklearn.exceptions import ConvergenceWarning

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.heads import ReflectedHead, SingleHead
from sklearn_attnstump.objective import CorpusLoss, LossValue
from sklearn_attnstump.solvers import (
    ALARMING,
    SOLVERS,
    Options,
    _model_minimum,
    flow,
    gd,
    newton,
)

REFERENCE = json.loads(
    Path(__file__).with_name("reference").joinpath("corpora.json").read_text()
)
HEADS = {"single": SingleHead(), "reflected": ReflectedHead()}
START = HEADS["single"].starts(10.0)[0]


def reference_runs(key):
    """Each entry of a kind, as (corpus, head's name, entry)."""
    return [
        pytest.param(corpus, name, run, id=f"{corpus['name']}-{name}-{number}")
        for corpus in REFERENCE
        for name in HEADS
        for number, run in enumerate(np.atleast_1d(corpus[name].get(key, [])))
    ]


def reference_loss(corpus, name):
    contexts = Contexts(list(zip(corpus["x"], corpus["label"], strict=True)))
    return CorpusLoss(HEADS[name].pack(contexts), np.array(corpus["thresholds"]))


def corpus_loss(n_tasks, n_examples, seed, head="single", **laws):
    contexts, thresholds = make_stump_tasks(
        n_tasks, n_examples, random_state=seed, **laws
    )
    return CorpusLoss(HEADS[head].pack(contexts), thresholds)


def never(iteration, coef):
    return False


def solve(solver, objective, start=START, *, callback=never, max_iter=1000, **options):
    """Run a solver in the coordinates of the two-score heads."""
    options = Options(max_iter=max_iter, **{"tol": 1e-8, **options})
    coordinates = HEADS["single"].coordinates()
    return solver(objective, np.array(start), coordinates, options, callback)


# Reference paths.


@pytest.mark.parametrize(("corpus", "name", "run"), reference_runs("gd"))
def test_gd_reference(corpus, name, run):
    end = solve(
        gd,
        reference_loss(corpus, name),
        corpus["init"],
        step_size=run["step_size"],
        max_iter=run["n_steps"],
        tol=0,
    )
    assert_allclose(end.coef, run["coef"], rtol=1e-9)
    assert end.n_iter == run["n_steps"]
    assert end.status == "done"


@pytest.mark.parametrize(("corpus", "name", "run"), reference_runs("flow"))
def test_flow_reference(corpus, name, run):
    end = solve(
        flow, reference_loss(corpus, name), corpus["init"], horizon=run["time"], tol=0
    )
    assert_allclose(end.coef, run["coef"], rtol=1e-5)
    assert end.path.t[-1] == run["time"]
    assert end.status == "done"


@pytest.mark.parametrize(("corpus", "name", "run"), reference_runs("minimum"))
def test_newton_reaches_the_reference_minimum(corpus, name, run):
    end = solve(newton, reference_loss(corpus, name), corpus["init"])
    assert end.loss <= run["loss"] * (1 + 1e-6)
    # Minima with coefficients over 1,000 are plateaus.
    assert end.status == ("plateau" if run["coef"][0] > 1e3 else "converged")


# Work.


# Of the first twenty seeds 17 asks most of the reflected head, 3 of the single one.
@pytest.mark.parametrize(
    ("name", "seed"), [*(("single", seed) for seed in range(20)), ("reflected", 17)]
)
def test_flow_reaches_1e12_within_700_evaluations(name, seed):
    objective = corpus_loss(300, 300, seed, name)
    end = solve(flow, objective, horizon=1e12, tol=0)
    assert end.status == "done"
    assert end.path.t[-1] == 1e12
    assert end.n_evaluations == objective.n_evaluations
    assert end.n_evaluations <= 700


@pytest.mark.parametrize("name", sorted(HEADS))
def test_newton_converges_within_60_evaluations(name):
    ends = [solve(newton, corpus_loss(300, 300, seed, name)) for seed in range(20)]
    assert sum(end.converged and end.n_evaluations <= 60 for end in ends) >= 19


# The loss has several minima. On these corpora Newton steps from the first start leave
# the valley that descent from it stays in.
@pytest.mark.parametrize(
    ("n_tasks", "n_examples", "seed"),
    [
        *[(20, 20, 5), (20, 20, 19), (20, 20, 26), (20, 100, 19)],
        *[(50, 20, 15), (50, 20, 24), (50, 40, 24)],
    ],
)
def test_newton_from_all_starts_finds_what_descent_finds(n_tasks, n_examples, seed):
    objective = corpus_loss(n_tasks, n_examples, seed)
    descent = solve(flow, objective, horizon=1e9, tol=0)
    ends = [solve(newton, objective, at) for at in HEADS["single"].starts(10.0)]
    assert min(end.loss for end in ends) <= descent.loss * (1 + 1e-6)


# Laws of the paths.


def test_gd_is_the_hand_written_loop():
    objective = corpus_loss(30, (5, 40), seed=1)
    coef = START
    for _ in range(300):
        coef = coef - 20.0 * objective.evaluate(coef, 1).gradient
    end = solve(
        gd, corpus_loss(30, (5, 40), seed=1), step_size=20.0, max_iter=300, tol=0
    )
    assert_array_equal(end.coef, coef)
    assert end.loss == objective.evaluate(coef, 0).loss
    assert end.n_iter == 300
    assert end.path.t[-1] == 300 * 20.0


@pytest.mark.parametrize("n_steps", [0, 1, 2, 99, 100, 101, 2500])
def test_gd_makes_exactly_as_many_steps_as_asked(n_steps):
    objective = corpus_loss(5, 8, seed=2)
    end = solve(gd, objective, step_size=3.0, max_iter=n_steps, tol=0)
    assert end.n_iter == n_steps
    assert end.path.t[0] == 0
    assert end.path.t[-1] == 3.0 * n_steps
    # Each iterate is evaluated once.
    assert end.n_evaluations == objective.n_evaluations == n_steps + 1


@pytest.mark.parametrize("name", sorted(HEADS))
def test_flow_is_the_small_step_limit_of_gd(name):
    k = 20_000
    steps = solve(gd, corpus_loss(20, 30, 3, name), step_size=1.0, max_iter=k, tol=0)
    time = solve(flow, corpus_loss(20, 30, 3, name), horizon=float(k), tol=0)
    assert np.linalg.norm(steps.coef - START) > 1
    assert_allclose(time.coef, steps.coef, rtol=1e-3)


@pytest.mark.parametrize("solver", ["gd", "flow", "newton"])
@pytest.mark.parametrize("name", sorted(HEADS))
def test_paths(solver, name):
    """From the start to the end, in time; losses are those of the points."""
    objective = corpus_loss(40, 40, 4, name)
    asked = {
        "gd": {"step_size": 100.0, "max_iter": 3000, "tol": 0},
        "flow": {"horizon": 1e9},
        "newton": {},
    }
    end = solve(SOLVERS[solver], objective, **asked[solver])
    t, coef, loss = end.path
    assert t.shape == loss.shape
    assert coef.shape == (len(t), 2)
    assert len(t) < 600
    assert t[0] == 0
    assert (np.diff(t) > 0).all()
    assert_array_equal(coef[0], START)
    assert_array_equal(coef[-1], end.coef)
    assert loss[-1] == end.loss
    for point in (0, len(t) // 2, len(t) - 1):
        assert loss[point] == objective.evaluate(coef[point], 0).loss
    # None of the three climbs; 1e-13 is rounding at the end.
    assert (np.diff(loss) <= 1e-13 * loss[:-1]).all()
    # What the path tells is not the result's own memory.
    end.coef[:] = 0
    assert coef[-1].all()


def test_solvers_agree_on_a_proper_minimum():
    """Labels so noisy that both scores stay small, and the loss is well curved."""
    ends = [
        solve(solver, corpus_loss(40, 25, 0, label_noise=0.3), (1.5, 2.0), **settings)
        for solver, settings in [(newton, {}), (flow, {}), (gd, {"step_size": 50.0})]
    ]
    for end in ends:
        assert end.status == "converged"
        assert_allclose(end.loss, ends[0].loss, rtol=1e-10)
        # A gradient of 1e-8 of the loss over curvatures of 1e-2 of it.
        assert_allclose(end.coef, ends[0].coef, rtol=1e-5)


# Where a path is asked to end.


def test_gd_ends_at_the_first_iterate_at_or_above_the_scale():
    free = solve(gd, corpus_loss(30, 30, 5), step_size=50.0, max_iter=90, tol=0)
    # Before the hundredth step all iterates are kept.
    scales = free.path.coef[:, 0]
    between = (scales[60] + scales[61]) / 2
    for stop_scale in (between, scales[61]):
        end = solve(
            gd, corpus_loss(30, 30, 5), step_size=50.0, stop_scale=stop_scale, tol=0
        )
        assert end.n_iter == 61
        assert_array_equal(end.coef, free.path.coef[61])
        assert end.status == "done"


@pytest.mark.parametrize("seed", range(2))
def test_flow_ends_exactly_at_the_scale(seed):
    for stop_scale in np.linspace(10.5, 30.0, 25):
        objective = corpus_loss(50, 40, seed, threshold_range=(0.2, 0.8))
        end = solve(flow, objective, horizon=1e9, tol=0, stop_scale=stop_scale)
        assert end.status == "done"
        assert_allclose(end.coef[0], stop_scale, rtol=1e-12)


def test_the_scale_is_reached_at_the_time_told():
    there = solve(flow, corpus_loss(50, 40, 0), horizon=1e9, tol=0, stop_scale=15.0)
    time = float(there.path.t[-1])
    again = solve(flow, corpus_loss(50, 40, 0), horizon=time, tol=0)
    assert_allclose(again.coef, there.coef, rtol=1e-5)


@pytest.mark.parametrize("solver", [gd, flow])
def test_a_scale_already_reached_ends_at_the_start(solver):
    end = solve(solver, corpus_loss(10, 20, 6), stop_scale=10.0)
    assert end.n_iter == 0
    assert end.status == "done"
    assert_array_equal(end.coef, START)


@pytest.mark.parametrize("solver", ["gd", "flow"])
def test_certified_scale(solver):
    """k / log k for the lesser k of the tasks and of the smallest context's size."""
    X, y = make_stump_tasks(80, (60, 90), threshold_range=(0.2, 0.8), random_state=0)
    assert X.sizes.min() == 60
    stump = PretrainedAttentionStump(
        solver=solver, step_size=50.0, stop_scale="certified", feature_range=(0, 1)
    ).fit(X, y)
    certified = 60 / np.log(60)
    assert stump.status_ == "done"
    if solver == "flow":
        assert_allclose(stump.feature_score_, certified, rtol=1e-12)
    else:
        before = stump.path_.coef[stump.path_.coef[:, 0] < certified]
        assert stump.feature_score_ >= certified
        assert len(before) == len(stump.path_.coef) - 1


@pytest.mark.parametrize("horizon", [1e-9, 0.1, 3.0, 12345.678, 1e10])
def test_horizon_is_exact(horizon):
    end = solve(flow, corpus_loss(20, 20, 7), horizon=horizon, tol=0)
    assert end.path.t[-1] == horizon
    assert end.status == "done"


@pytest.mark.parametrize("solver", [gd, flow, newton])
def test_callback_can_stop(solver):
    heard = []

    def after_three(iteration, coef):
        heard.append((iteration, coef.copy()))
        return iteration == 3

    end = solve(solver, corpus_loss(20, 20, 8), callback=after_three, step_size=50.0)
    assert [iteration for iteration, _ in heard] == [1, 2, 3]
    assert_array_equal(end.coef, heard[-1][1])
    assert end.n_iter == 3
    assert end.status == "stopped"
    assert "callback" in end.message
    assert not end.converged


# Ends that a user has to hear of.


@pytest.mark.parametrize("solver", [newton, flow])
@pytest.mark.parametrize("seed", [0, 1])
def test_plateau(solver, seed):
    """Where no task lacks a positive label, nothing holds the scale back."""
    inside = {"threshold_range": (0.3, 0.9)}
    end = solve(solver, corpus_loss(100, 100, seed, **inside))
    assert end.status == "plateau"
    assert end.converged
    assert end.status in ALARMING
    assert "levelled off" in end.message
    assert "stop_scale" in end.message
    assert f"{end.coef[0]:.3g}" in end.message
    assert np.isfinite(end.coef).all()
    # Nothing is gained by going on.
    for factor in (3, 100, 1e6):
        farther = corpus_loss(100, 100, seed, **inside).evaluate(factor * end.coef, 0)
        assert farther.loss >= end.loss * (1 - 1e-6)


@pytest.mark.parametrize("solver", [newton, flow])
@pytest.mark.parametrize(
    ("n_tasks", "seed"), [(100, 3), (100, 28), (300, 4), (300, 11)]
)
def test_plateau_of_uniform_tasks(solver, n_tasks, seed):
    """Seeds on which too few tasks lack a positive label to hold the scale back."""
    end = solve(solver, corpus_loss(n_tasks, n_tasks, seed))
    assert end.status == "plateau"
    assert end.coef[0] > 1e4


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_minimum_on_the_other_side_of_zero_is_no_plateau(seed):
    """Noise can turn the single head round; a scale of zero is not an infinite one."""
    there = solve(flow, corpus_loss(40, 25, seed, label_noise=0.4))
    assert there.coef[0] < -0.1
    end = solve(newton, corpus_loss(40, 25, seed, label_noise=0.4))
    assert end.status != "plateau" or end.loss <= there.loss * (1 + 1e-6)


@pytest.mark.parametrize("step_size", [1e6, 1e10, 1e100, 1e300])
@pytest.mark.parametrize("tol", [0, 1e-8])
def test_step_too_large(step_size, tol):
    end = solve(gd, corpus_loss(50, 40, 0), step_size=step_size, tol=tol, max_iter=200)
    assert end.status == "step"
    assert not end.converged
    assert np.isfinite(end.coef).all()
    assert np.isfinite(end.loss)
    assert f"{step_size:.3g}" in end.message
    assert "smaller step_size" in end.message


def test_step_that_throws_the_scale_to_the_other_side():
    objective = corpus_loss(20, 25, 0, label_noise=0.2)
    start = objective.evaluate(START, 1)
    assert start.gradient[0] > 0
    end = solve(gd, objective, step_size=20.0 / start.gradient[0], max_iter=1, tol=0)
    assert_allclose(end.coef[0], -10.0)
    assert end.status == "step"


def test_step_too_large_on_the_way():
    """Descent that climbs has overshot, even where its end lies below its start."""
    objective = corpus_loss(50, 40, 0)
    end = solve(gd, objective, step_size=1e4, max_iter=300, tol=0)
    assert (np.diff(end.path.loss[:100]) > 0).any()
    assert end.loss < end.path.loss[0]
    assert end.status == "step"


@pytest.mark.parametrize("name", sorted(HEADS))
@pytest.mark.parametrize(("n_tasks", "n_examples"), [(50, 40), (100, 100)])
def test_automatic_step_descends(n_tasks, n_examples, name):
    for seed in range(8):
        objective = corpus_loss(n_tasks, n_examples, seed, name)
        end = solve(gd, objective, max_iter=300, tol=0)
        assert (np.diff(end.path.loss) <= 1e-13 * end.path.loss[:-1]).all()
        assert end.status == "done"


@pytest.mark.parametrize("name", sorted(HEADS))
def test_automatic_step_that_climbs_on_a_small_corpus_is_told(name):
    """Where curvature rises on the way no step chosen at the start is safe."""
    for seed in range(8):
        end = solve(gd, corpus_loss(20, 20, seed, name), max_iter=90, tol=0)
        climbed = (np.diff(end.path.loss) > 1e-6 * end.path.loss[:-1]).any()
        assert end.status == ("step" if climbed else "done")


@pytest.mark.parametrize("solver", [gd, flow, newton])
def test_exhausted_budget(solver):
    end = solve(solver, corpus_loss(50, 40, 0), max_iter=4, step_size=100.0)
    assert end.n_iter == 4
    assert end.status == "budget"
    assert not end.converged
    assert "max_iter=4" in end.message
    assert "Raise max_iter" in end.message


def test_flow_short_of_its_horizon_is_an_exhausted_budget():
    """With tol=0 too: not to have got where it was asked to is no success."""
    end = solve(flow, corpus_loss(50, 40, 0), max_iter=4, tol=0, horizon=1e12)
    assert end.path.t[-1] < 1e12
    assert end.status == "budget"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "newton"}, "'newton': the loss has levelled off.*stop_scale"),
        ({"solver": "flow"}, "'flow': the loss has levelled off.*stop_scale"),
        ({"solver": "gd", "step_size": 1e300}, "'gd': the step size 1e.300 is too"),
        ({"solver": "gd", "step_size": 50.0, "max_iter": 7}, "max_iter=7 .* Raise max"),
        ({"solver": "flow", "max_iter": 7}, "max_iter=7 .* Raise max_iter"),
    ],
)
def test_estimator_warns_with_the_remedy(settings, message):
    # No task without a positive label: the minimum lies at infinity.
    X, y = make_stump_tasks(30, 40, threshold_range=(0.3, 0.9), random_state=0)
    stump = PretrainedAttentionStump(feature_range=(0, 1), **settings)
    with pytest.warns(ConvergenceWarning, match=message):
        stump.fit(X, y)
    assert np.isfinite(stump.coef_).all()
    assert stump.converged_ == (stump.status_ == "plateau")


def test_corpus_whose_loss_can_vanish():
    """One task: the head can hit its threshold, and no solver trips over a zero."""
    contexts = Contexts([([0.1, 0.3, 0.6, 0.9], [1, 1, 0, 0])])
    pack = HEADS["single"].pack(contexts)
    end = solve(flow, CorpusLoss(pack, np.array([0.4])))
    assert end.loss < 1e-25
    assert end.converged
    # Already there: nothing to do.
    exact = pack.evaluate(START, 0).prediction
    for solver in SOLVERS.values():
        end = solve(solver, CorpusLoss(pack, exact))
        assert end.loss == 0
        assert_array_equal(end.coef, START)


def test_corpus_without_information():
    """Contexts of one token: no coefficient matters, and none is moved."""
    contexts = Contexts([([0.3], [1]), ([0.6], [0])])
    pack = HEADS["reflected"].pack(contexts)
    for solver in SOLVERS.values():
        end = solve(solver, CorpusLoss(pack, np.array([0.4, 0.4])))
        assert_array_equal(end.coef, START)
        assert end.n_iter == 0
        assert end.converged


# Losses of known path.


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
