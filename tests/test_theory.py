"""The closed forms of the population model against independent computations."""

import json
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import zeta

from sklearn_attnstump.theory import (
    asymptotic_path,
    certified_scale,
    context_risk,
    no_positive_probability,
    population_descent,
    population_error,
    population_flow,
    population_gradient,
    population_loss,
    population_prediction,
)

REFERENCE = json.loads(
    (Path(__file__).parent / "reference" / "population.json").read_text("utf-8")
)

# feature score, label score, loss and its two derivatives: integrals of the closed form
# and of its analytic derivatives (not of the moments), by 13-point Gauss-Legendre on
# panels that double in length from a third of each layer's width, with 150 digits.
INTEGRALS = np.array(
    [
        (
            1e-3,
            1e-3,
            0.083333331944444478,
            5.5555554232804267e-6,
            -8.333333068783077e-6,
        ),
        (1e-3, 4.0, 0.083313827919097806, -0.019503227353892868, -1.196289140067785e-6),
        (0.3, -2.0, 0.087935650978412942, 0.016583565521082675, -0.0012980559325476453),
        (3.0, -4.0, 0.15012268676423978, 0.021777092552025711, -0.00060431774870058889),
        (-3.0, 4.0, 0.15012268676423978, -0.021777092552025711, 0.00060431774870058889),
        (
            10.0,
            90.0,
            0.0075968848998929376,
            -0.0012799733036539963,
            -1.270533921757e-36,
        ),
        (
            100.0,
            50.0,
            0.28160217325998184,
            0.0013529348022005447,
            -0.0025032898681336965,
        ),
        (
            *(1e4, 10018.420680743953, 9.998595557065594e-9),
            *(-9.9970799231324462e-13, -9.996707077399529e-13),
        ),
        (1e4, 7e3, 0.21889998697092306, 3.4310004908723081e-5, -4.9000003289868134e-5),
        (
            1e6,
            1e6 + 40,
            9.9999759589044202e-13,
            -1.99998853932255e-18,
            -4.24834027878e-24,
        ),
        (
            *(1e8, 1e8 + 36.75, 9.9999998691551161e-17),
            *(-9.043349715529403e-25, -1.0956649672802948e-24),
        ),
        (
            1e8,
            1e8 - 5,
            4.0612827100249782e-8,
            9.5168283037775797e-9,
            -9.516828709905823e-9,
        ),
        (
            1e8,
            3.3e7,
            0.32135432333333332,
            3.5937010000000126e-10,
            -1.0890000000000033e-9,
        ),
    ]
)

STARTS = [(10.0, 10.0 + 2 * np.log(10.0)), (5.0, 5.0), (20.0, 30.0)]
EXTREME_SCALES = [1e-300, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e5, 1e8, 1e150, 1e300]


@pytest.fixture(autouse=True)
def no_floating_point_fault():
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        yield


def column(entries, name):
    return np.array([entry[name] for entry in entries])


def exact_error(theta, a, b):
    """The closed form in enough digits for its cancellation."""
    with mpmath.workdps(120):
        theta, a, b = (mpmath.mpf(float(z)) for z in (theta, a, b))
        if a < 0:  # mirrored, to keep the exponents small
            theta, a, b, sign = 1 - theta, -a, -b, -1
        else:
            sign = 1
        q = mpmath.exp(a - b)
        mass = mpmath.exp(a * theta) - 1 - q * (mpmath.exp(-a * (1 - theta)) - 1)
        error = -1 / a + (theta + q * (1 - theta)) / mass
        return float(sign * error), float(
            theta + error if sign > 0 else 1 - theta - error
        )


# ----------------------------------------------------------------- error and prediction


def test_error_matches_the_reference():
    entries = REFERENCE["error"]
    scores = (column(entries, "feature_score"), column(entries, "label_score"))
    error = population_error(column(entries, "threshold"), *scores)
    assert_allclose(error, column(entries, "error"), rtol=1e-9)


def random_heads(rng, n):
    """Scores and thresholds where something happens, over the whole range of scales."""
    a = 10 ** rng.uniform(-3, 8, n) * rng.choice([-1.0, 1.0], n)
    gap = np.select(
        [rng.uniform(size=n) < share for share in (0.3, 0.6, 0.8)],
        [2 * np.log(np.abs(a)) + rng.normal(size=n), rng.normal(size=n), -1.0],
        default=rng.uniform(0, 500, n),
    )
    b = np.where(gap == -1.0, a * rng.uniform(-0.5, 1.5, n), a + np.sign(a) * gap)
    crossing = np.where(a > 0, 1 - b / a, b / a) + 5 * rng.normal(size=n) / np.abs(a)
    near_0 = 10 ** rng.uniform(-30, 0, n)
    near_1 = 1 - 10 ** rng.uniform(-16, 0, n)
    choices = [rng.uniform(size=n), near_0, near_1, crossing, np.zeros(n), np.ones(n)]
    theta = np.choose(rng.integers(len(choices), size=n), choices)
    return np.clip(theta, 0.0, 1.0), a, b


def test_error_and_prediction_keep_their_digits_everywhere():
    theta, a, b = random_heads(np.random.default_rng(0), 2000)
    exact = np.array([exact_error(*head) for head in zip(theta, a, b, strict=True)])
    error, prediction = exact.T
    assert_allclose(population_error(theta, a, b), error, rtol=1e-9)
    assert_allclose(population_prediction(theta, a, b), prediction, rtol=1e-12)


@pytest.mark.parametrize("scale", EXTREME_SCALES)
def test_no_fault_at_the_extremes(scale):
    theta = np.array([0.0, 5e-324, 1e-20, 0.5, 1 - 1e-16, 1.0])
    for a in (scale, -scale):
        for b in (a, 0.3 * a, -a, a + 800.0, a - 800.0, 0.0):
            prediction = population_prediction(theta, a, b)
            assert np.all((prediction >= 0.0) & (prediction <= 1.0))
            assert_allclose(
                prediction - theta, population_error(theta, a, b), atol=1e-15
            )
            assert 0.0 < population_loss(a, b) <= 1.0
            assert np.isfinite(population_gradient(a, b)).all()


def test_without_scores_the_head_predicts_the_mean():
    theta = np.linspace(0, 1, 11)
    assert_allclose(population_prediction(theta, 0.0, 0.0), 0.5, rtol=1e-15)
    assert population_loss(0.0, 0.0) == pytest.approx(1 / 12, rel=1e-15)


def test_error_is_that_of_a_softmax_over_a_dense_context():
    # A midpoint rule with 200,000 tokens: the head itself, with no formula of its own.
    x = (np.arange(200_000) + 0.5) / 200_000
    for theta, a, b in [(0.3, 7.0, 6.0), (0.05, 12.0, 13.0), (0.9, -5.0, 4.0)]:
        score = a * x + b * (x <= theta)
        weights = np.exp(score - score.max())
        dense = weights @ x / weights.sum() - theta
        assert population_error(theta, a, b) == pytest.approx(dense, abs=1e-9)


def test_arguments_broadcast():
    a = np.array([[1.0], [50.0]])
    b = np.array([2.0, 60.0, -3.0])
    assert population_error(0.4, a, b).shape == (2, 3)
    assert population_error(0.4, a, b)[1, 2] == population_error(0.4, 50.0, -3.0)
    assert population_loss(a, b)[0, 1] == population_loss(1.0, 60.0)
    gradient = population_gradient(a, b)
    assert gradient.shape == (2, 3, 2)
    assert_allclose(gradient[1, 0], population_gradient(50.0, 2.0), rtol=0)
    assert population_gradient([], []).shape == (0, 2)
    assert isinstance(population_loss(1.0, 2.0), float)
    assert isinstance(population_error(0.5, 1.0, 2.0), float)


# ---------------------------------------------------------------------- loss, gradient


def test_loss_matches_the_reference():
    entries = REFERENCE["loss"]
    scores = (column(entries, "feature_score"), column(entries, "label_score"))
    assert_allclose(population_loss(*scores), column(entries, "loss"), rtol=1e-8)


def test_gradient_matches_the_reference():
    # The reference is a central difference with steps of 1e-12 in double precision: the
    # steps that were taken are multiples of the spacing of floats at each score, from
    # 1.00009e-12 at 5 to 1.023e-12 at 500, and the quotient was by 2e-12.
    entries = REFERENCE["loss"]
    scores = np.column_stack(
        [column(entries, "feature_score"), column(entries, "label_score")]
    )
    step = 1e-12
    taken = ((scores + step) - (scores - step)) / (2 * step)
    expected = column(entries, "gradient") / taken
    assert_allclose(population_gradient(*scores.T), expected, rtol=1e-6)


def test_loss_and_gradient_match_integrals_of_the_closed_form():
    a, b, loss, *gradient = INTEGRALS.T
    assert_allclose(population_loss(a, b), loss, rtol=1e-13)
    assert_allclose(population_gradient(a, b), np.transpose(gradient), rtol=1e-10)


def test_gradient_is_the_derivative_of_the_loss():
    rng = np.random.default_rng(1)
    a = rng.uniform(1.0, 40.0, 50)
    b = a * rng.uniform(-0.2, 1.4, 50)
    # Fourth-order differences: truncation and rounding both near 1e-11.
    step = 3e-3
    for axis, (da, db) in enumerate([(step, 0.0), (0.0, step)]):
        near = population_loss(a + da, b + db) - population_loss(a - da, b - db)
        far = population_loss(a + 2 * da, b + 2 * db)
        far = far - population_loss(a - 2 * da, b - 2 * db)
        slope = (8 * near - far) / (12 * step)
        assert_allclose(
            population_gradient(a, b)[:, axis], slope, rtol=1e-7, atol=1e-10
        )


def test_reflection():
    rng = np.random.default_rng(2)
    theta, a = rng.uniform(size=40), 10 ** rng.uniform(-2, 5, 40)
    b = a + rng.normal(size=40)
    mirrored = -population_error(1 - theta, a, b)
    assert_allclose(population_error(theta, -a, -b), mirrored, rtol=1e-9)
    assert_allclose(population_loss(-a, -b), population_loss(a, b), rtol=1e-13)
    gradient = population_gradient(-a, -b)
    assert_allclose(gradient, -population_gradient(a, b), rtol=1e-9)


@pytest.mark.parametrize("kappa", [0.1, 1.0, 5.0])
def test_loss_expansion(kappa):
    # L = 1/a^2 - 2 zeta(3)/a^3 + (q/a) (1 - pi^2/(3a)) with q = kappa/a^2. The layer
    # leaves out q^2/a times a logarithm; the loss itself is rounded.
    a = np.array([1e3, 1e4, 1e5])
    q = kappa / a**2
    b = a - np.log(q)
    loss = a**-2 - 2 * zeta(3) * a**-3 + q / a * (1 - np.pi**2 / (3 * a))
    left_out = 3 * np.log(a) * q**2 / a + 1e-15 * loss
    assert np.all(np.abs(population_loss(a, b) - loss) < left_out)
    gradient = np.column_stack([-2 / a**3 + q / a, -q / a]) * a[:, np.newaxis] ** 3
    scaled = population_gradient(a, b) * a[:, np.newaxis] ** 3
    assert_allclose(scaled - gradient, 0.0, atol=20 / 1e3)
    assert_allclose((scaled - gradient)[-1], 0.0, atol=20 / 1e5)


# ---------------------------------------------------------------------- flow, descent


@pytest.mark.parametrize("init", STARTS)
def test_flow_diverges_as_claimed(init):
    t = 1e9
    ((a, b),) = population_flow(init, [t])
    assert a / t**0.25 == pytest.approx(np.sqrt(2), rel=0.01)
    assert np.exp(a - b) * a**2 == pytest.approx(1, rel=0.01)
    error = population_error(0.5, a, b)
    assert error * t**0.25 == pytest.approx(-1 / np.sqrt(2), rel=0.01)
    assert population_loss(a, b) * a**2 == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("init", STARTS)
def test_flow_approaches_its_next_order(init):
    # What is left of both next-order terms falls as 1/a: a is 800 here, and 1.4e5.
    times = np.array([1e11, 1e20])
    a, b = population_flow(init, times).T
    shift = a - (4 * times) ** 0.25
    assert_allclose(shift[0], -zeta(3) - 1 / 6, atol=0.01)
    assert_allclose(shift[1], -zeta(3) - 1 / 6, atol=1e-8 * a[1])
    excess = (np.exp(a - b) * a**2 - 1) * a
    limit = np.pi**2 / 3 + 1.5 - 3 * zeta(3)
    assert_allclose(excess, limit, atol=0.05)
    assert abs(excess[1] - limit) < abs(excess[0] - limit) / 5


def test_flow_follows_the_gradient():
    t = np.array([100.0, 3e4, 1e7])
    step = 1e-3 * t
    path = population_flow((3.0, 8.0), np.concatenate([t - step, t, t + step]))
    before, now, after = path.reshape(3, 3, 2)
    speed = (after - before) / (2 * step[:, np.newaxis])
    assert_allclose(speed, -population_gradient(*now.T), rtol=1e-4)


def test_flow_keeps_the_order_of_the_times():
    times = [1e4, 0.0, 50.0, 1e4]
    path = population_flow((2.0, 3.0), times)
    assert_allclose(path[1], (2.0, 3.0), rtol=1e-14)
    assert_allclose(path[0], path[3], rtol=0)
    assert_allclose(path[2], population_flow((2.0, 3.0), [50.0])[0], rtol=1e-7)
    assert_allclose(population_flow((2.0, 3.0), [0.0]), [(2.0, 3.0)], rtol=1e-14)
    assert population_flow((2.0, 3.0), []).shape == (0, 2)


def test_flow_is_mirrored():
    times = [1e2, 1e6]
    mirrored = population_flow((-10.0, -14.6), times)
    assert_allclose(mirrored, -population_flow((10.0, 14.6), times), rtol=1e-7)


def test_flow_passes_zero():
    # The wrong sign of the scale at the start: repaired where the label score is large.
    path = population_flow((-0.5, 3.0), [0.0, 1e2, 1e4])
    assert path[0, 0] < 0 < path[1, 0] < path[2, 0]


def test_flow_reaches_scales_up_to_1e8():
    t = np.array([1e24, 2.5e31])
    a, b = population_flow((10.0, 14.6), t).T
    assert_allclose(a, (4 * t) ** 0.25, rtol=1e-5)
    assert_allclose(b - a - 2 * np.log(a), 0.0, atol=1e-5)


@pytest.mark.parametrize("init", [(10.0, 14.6), (5.0, 5.0), (2.0, 8.0)])
def test_small_steps_follow_the_flow(init):
    # First order in the step: half the step, half the distance.
    times = np.array([0.0, 200.0, 400.0])
    flow = population_flow(init, times)
    coarse = population_descent(init, 1.0, 400, record_every=200)
    fine = population_descent(init, 0.5, 800, record_every=400)
    assert_allclose(coarse, flow, rtol=1e-3)
    ratio = np.abs(coarse - flow)[1:] / np.abs(fine - flow)[1:]
    assert_allclose(ratio, 2.0, rtol=0.02)


def test_descent_is_the_constant_step_rule():
    path = population_descent((4.0, 7.0), 30.0, 5)
    assert path.shape == (6, 2)
    for before, after in pairwise(path):
        assert_allclose(after, before - 30.0 * population_gradient(*before), rtol=1e-14)
    thinned = population_descent((4.0, 7.0), 30.0, 5, record_every=2)
    assert_allclose(thinned, path[::2], rtol=0)


@pytest.mark.parametrize("start", [10.0, 30.0, 100.0])
def test_steps_up_to_the_cube_of_the_scale_are_stable(start):
    path = population_descent((start, start + 2 * np.log(start)), start**3, 200)
    a, b = path.T
    assert np.all(np.diff(a) > 0) and np.all(np.diff(b) > 0)
    loss = population_loss(a, b)
    assert np.all(np.diff(loss) < 0)
    assert abs(b - a - 2 * np.log(a))[-1] < 0.05


def test_asymptotic_path():
    times = np.array([[0.25], [4e8]])
    path = asymptotic_path(times)
    assert path.shape == (2, 1, 2)
    assert_allclose(path[0, 0], (1.0, 1.0))
    assert_allclose(path[1, 0], (200.0, 200.0 + 2 * np.log(200.0)))
    assert_allclose(
        population_flow((10.0, 14.6), [1e16])[0], asymptotic_path(1e16), 2e-4
    )


# ---------------------------------------------------------------------- finite contexts


def nearest_examples(rng, theta, n, repeats):
    """Distances from the threshold to the nearest examples, or to the range's ends."""
    x = rng.uniform(size=(repeats, n))
    below = theta - np.where(x <= theta, x, 0.0).max(axis=1)
    above = np.where(x > theta, x, 1.0).min(axis=1) - theta
    return below, above


def test_risks_of_the_limits():
    below, above = nearest_examples(np.random.default_rng(3), 0.4, 200, 40_000)
    # The distances' squares have relative standard deviation sqrt(5): 3 % is more
    # than two standard errors and the 1.5 % that the leading order in N leaves out.
    assert np.mean(below**2) == pytest.approx(context_risk("one_sided", 200), rel=0.05)
    midpoint = np.mean((above - below) ** 2) / 4
    assert midpoint == pytest.approx(context_risk("midpoint", 200), rel=0.05)


@pytest.mark.parametrize("c", [0.0, 0.5, 1.0, 3.0])
def test_risk_with_anchors_up_to_the_boundary(c):
    n = 200
    below, above = nearest_examples(np.random.default_rng(4), c / n, n, 40_000)
    risk = np.mean((above - below) ** 2) / 4
    interior = context_risk("anchored_reflected", n)
    assert risk == pytest.approx(interior * (1 - c * np.exp(-c)), rel=0.05)
    assert risk < 1.05 * interior


def test_risks_of_heads_at_a_finite_scale():
    a, n, theta, repeats = 20.0, 4000, 0.5, 4000
    rng = np.random.default_rng(5)
    single, mirrored = np.empty(repeats), np.empty(repeats)
    for i in range(repeats):
        x = rng.uniform(size=n)
        weights = np.exp(-a * (theta - x)) * (x <= theta)
        single[i] = weights @ x / weights.sum() - theta
        weights = np.exp(-a * (x - theta)) * (x > theta)
        mirrored[i] = weights @ x / weights.sum() - theta
    # Standard errors: sqrt(2 / 4000) = 2.2 % of a variance; a/N = 0.5 % is left out.
    bias, variance = 1 / a**2, context_risk("single", n, a) - 1 / a**2
    assert np.mean(single) ** 2 == pytest.approx(bias, rel=0.02)
    assert np.var(single) == pytest.approx(variance, rel=0.08)
    reflected = np.mean((single + mirrored) ** 2) / 4
    assert reflected == pytest.approx(context_risk("reflected", n, a), rel=0.08)


def test_no_positive_probability():
    n, theta = 1000, np.array([0.0, 1e-3, 3e-3, 1.0])
    chance = no_positive_probability(theta, n)
    assert_allclose(chance, [1.0, 0.999**1000, 0.997**1000, 0.0], rtol=1e-12)
    # (1 - theta)^N itself would be 1: 1 - 1e-17 is no float.
    assert no_positive_probability(1e-17, 1e17) == pytest.approx(np.exp(-1))


def test_certified_scale():
    assert certified_scale(2, 100) == pytest.approx(2 / np.log(2))
    assert_allclose(
        certified_scale([50, 1600], [1600, 400]), [50, 400] / np.log([50, 400])
    )


# ----------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: population_error(1.1, 1.0, 1.0), r"threshold must lie in \[0, 1\]"),
        (lambda: population_error(0.5, np.nan, 1.0), "feature_score must be finite"),
        (lambda: population_loss(1.0, np.inf), "label_score must be finite"),
        (lambda: population_flow((1.0, 2.0, 3.0), [1.0]), "init must be the pair"),
        (lambda: population_flow((1.0, 2.0), [-1.0]), "times must be a vector"),
        (lambda: population_flow((1.0, 2.0), 1.0), "times must be a vector"),
        (lambda: population_descent((1.0, 2.0), 0.0, 3), "step_size must be positive"),
        (lambda: population_descent((1.0, 2.0), 1.0, -1), "n_steps must be"),
        (lambda: asymptotic_path([1.0, 0.0]), "times must be positive"),
        (lambda: context_risk("single", 10), "depends on feature_score"),
        (lambda: context_risk("midpoint", 10, 5.0), "does not depend"),
        (lambda: context_risk("median", 10), "estimator must be"),
        (lambda: context_risk("midpoint", 0), "n_examples must be positive"),
        (lambda: no_positive_probability(-0.1, 10), "threshold must lie"),
        (lambda: certified_scale(1, 10), "at least 2 tasks"),
    ],
)
def test_refusals_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
