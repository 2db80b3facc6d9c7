"""Charts: chain rules against finite differences, and the slope they choose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_attnstump.coordinates import (
    LogChart,
    LogCoordinates,
    ScoreChart,
    ScoreCoordinates,
)


def smooth(coef):
    """A function of two coefficients with nothing symmetric about it."""
    a, b = coef
    return np.sin(0.3 * a) * b + 0.05 * a**2 * b - 0.2 * b**2 + a


def smooth_gradient(coef):
    a, b = coef
    return np.array(
        [
            0.3 * np.cos(0.3 * a) * b + 0.1 * a * b + 1,
            np.sin(0.3 * a) + 0.05 * a**2 - 0.4 * b,
        ]
    )


def smooth_hessian(coef):
    a, b = coef
    mixed = 0.3 * np.cos(0.3 * a) + 0.1 * a
    return np.array([[-0.09 * np.sin(0.3 * a) * b + 0.1 * b, mixed], [mixed, -0.4]])


def central_differences(function, step):
    """Gradient and Hessian at the origin, to the second order of the step."""
    unit = step * np.eye(2)
    gradient = [(function(e) - function(-e)) / (2 * step) for e in unit]
    hessian = [
        [
            (function(e + d) - function(e - d) - function(d - e) + function(-e - d))
            / (4 * step**2)
            for d in unit
        ]
        for e in unit
    ]
    return np.array(gradient), np.array(hessian)


SCORE_CHARTS = {
    f"score({a}, {b}, slope={slope})": ScoreChart(np.array([a, b]), slope)
    for a, b in [(2.5, 3.0), (-2.5, 3.0), (0.7, -4.0), (-0.7, -4.0)]
    for slope in (0.0, 0.4, 1.0)
}
LOG_CHARTS = {
    f"log({a}, {b})": LogChart(np.array([a, b])) for a, b in [(2.5, 3.0), (0.1, 0.7)]
}
CHARTS = SCORE_CHARTS | LOG_CHARTS


@pytest.fixture(params=sorted(CHARTS))
def chart(request):
    return CHARTS[request.param]


def test_origin_is_the_current_point(chart):
    assert_array_equal(chart.move(np.zeros(2)), chart.coef)


def test_derivatives_at_the_origin(chart):
    gradient, hessian = central_differences(lambda phi: smooth(chart.move(phi)), 1e-4)
    in_coef = smooth_gradient(chart.coef)
    assert_allclose(chart.gradient(in_coef), gradient, rtol=1e-6, atol=1e-6)
    assert_allclose(
        chart.hessian(in_coef, smooth_hessian(chart.coef)),
        hessian,
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("name", sorted(SCORE_CHARTS))
def test_score_coordinates_are_a_scale_and_an_offset(name):
    """``phi = (arsinh a - arsinh a0, b - b0 - slope (a - a0))``."""
    chart = SCORE_CHARTS[name]
    a_0, b_0 = chart.coef
    for phi in np.array([[0.3, -2.0], [-5.0, 0.5], [2.0, 7.0]]):
        a, b = chart.move(phi)
        assert_allclose(np.arcsinh(a) - np.arcsinh(a_0), phi[0], rtol=1e-13)
        assert_allclose(b - b_0 - chart.slope * (a - a_0), phi[1], rtol=1e-12)


@pytest.mark.parametrize("a_0", [1e6, -1e6])
def test_large_scales_grow_by_a_factor(a_0):
    chart = ScoreChart(np.array([a_0, 0.0]), 1.0)
    growth = np.copysign(1.0, a_0) * np.array([0.7, 0.0])
    assert_allclose(chart.move(growth)[0], a_0 * np.exp(0.7), rtol=1e-11)


@pytest.mark.parametrize("name", sorted(LOG_CHARTS))
def test_log_coordinates_are_logarithms(name):
    chart = LOG_CHARTS[name]
    phi = np.array([-4.0, 0.25])
    assert_allclose(np.log(chart.move(phi) / chart.coef), phi, rtol=1e-14)


def test_hessian_of_a_chart_is_symmetric_and_leaves_its_arguments(chart):
    gradient, hessian = smooth_gradient(chart.coef), smooth_hessian(chart.coef)
    before = gradient.copy(), hessian.copy()
    local = chart.hessian(gradient, hessian)
    assert_allclose(local, local.T, rtol=1e-14)
    assert_array_equal(gradient, before[0])
    assert_array_equal(hessian, before[1])


def test_small_moves_keep_their_digits():
    # cosh phi - 1 and a - a0, by subtraction, would keep 4 digits of such a step.
    chart = ScoreChart(np.array([3.0, 0.0]), 1.0)
    step = chart.move(np.array([1e-12, 0.0]))
    assert_allclose(step[1], np.sqrt(10.0) * 1e-12, rtol=1e-11)


class TestScoreCoordinates:
    coef = np.array([20.0, 26.0])

    def slope(self, curvature):
        return ScoreCoordinates().chart(self.coef, np.array(curvature)).slope

    def test_chart_is_laid_around_the_point(self):
        assert_array_equal(ScoreCoordinates().chart(self.coef).coef, self.coef)

    def test_slope_of_the_population_without_a_curvature(self):
        assert ScoreCoordinates().chart(self.coef).slope == 1.0

    @pytest.mark.parametrize("valley", [0.2, 0.75, 1.0])
    def test_slope_is_that_of_the_valley_floor(self, valley):
        # A loss h(a) + c (b - valley a)^2 / 2: its floor is b = valley a + const.
        c, along = 3.0, 0.1
        curvature = [[along + c * valley**2, -c * valley], [-c * valley, c]]
        assert_allclose(self.slope(curvature), valley, rtol=1e-15)

    def test_valley_floor_decouples_the_two_coordinates(self):
        curvature = np.array([[2.0, -1.2], [-1.2, 2.0]])
        chart = ScoreCoordinates().chart(self.coef, curvature)
        assert_allclose(chart.hessian(np.zeros(2), curvature)[0, 1], 0, atol=1e-14)

    @pytest.mark.parametrize(
        ("mixed", "expected"), [(-7.0, 1.0), (4.0, 0.0), (0.0, 0.0)]
    )
    def test_slope_stays_between_those_that_occur(self, mixed, expected):
        assert self.slope([[1.0, mixed], [mixed, 2.0]]) == expected

    @pytest.mark.parametrize("downward", [0.0, -2.0])
    def test_a_ridge_shows_no_valley(self, downward):
        """Without upward curvature in b the slope is a fixed one, whatever the rest."""
        slopes = {
            self.slope([[1.0, mixed], [mixed, downward]]) for mixed in (-1.0, 0.0, 5.0)
        }
        assert len(slopes) == 1


def test_log_coordinates_lay_one_chart_whatever_the_curvature():
    coef = np.array([4.0, 0.5])
    phi = np.array([0.3, -0.2])
    for curvature in (None, np.diag([1.0, -1.0])):
        chart = LogCoordinates().chart(coef, curvature)
        assert_array_equal(chart.move(phi), LogChart(coef).move(phi))
