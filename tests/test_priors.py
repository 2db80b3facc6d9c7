"""Priors against exact arithmetic and numerical integration, and the corpus's density.

`exact_moments` integrates a density that is constant on cells in rational numbers, so
that it says what an integral over a gap is, however narrow the gap.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from sklearn_attnstump.priors import Prior, corpus_prior


def learned(thresholds, weights=None, *, uniform_share=0.02, bandwidth=1.0):
    return corpus_prior(
        np.asarray(thresholds, dtype=float),
        weights,
        uniform_share=uniform_share,
        bandwidth=bandwidth,
    )


def rough(seed=0, n_cells=8):
    """A density that jumps by two orders of magnitude between cells."""
    density = np.exp(np.random.default_rng(seed).normal(size=n_cells) * 2)
    return Prior(density / density.mean())


def exact_moments(prior, lo, hi):
    """Mass, mean and variance within a gap, and the mean's place in it, in rationals.

    The place runs from 0 at `lo` to 1 at `hi`.
    """
    n_cells, lo, hi = len(prior.density), Fraction(lo), Fraction(hi)
    mass = first = second = Fraction(0)
    for cell in range(int(lo * n_cells), min(int(hi * n_cells), n_cells - 1) + 1):
        a = max(lo, Fraction(cell, n_cells)) - lo
        b = min(hi, Fraction(cell + 1, n_cells)) - lo
        height = Fraction(prior.density[cell])
        mass += height * (b - a)
        first += height * (b**2 - a**2) / 2
        second += height * (b**3 - a**3) / 3
    mean = first / mass
    variance = second / mass - mean**2
    return mass, lo + mean, variance, mean / (hi - lo)


def random_gaps(seed=0, n=60):
    """Gaps within a cell, over an edge, over many cells, and up to the range's ends."""
    ends = np.sort(np.random.default_rng(seed).uniform(size=(n, 2)), axis=1)
    lo, hi = ends.T.copy()
    lo[:5], hi[5:10] = 0.0, 1.0
    hi[10:20] = lo[10:20] + 1e-5
    lo[20:25], hi[25:30] = 0.25, 0.75  # edges of cells
    swapped = lo > hi
    lo[swapped], hi[swapped] = hi[swapped], lo[swapped]
    assert (lo < hi).all()
    assert hi.max() <= 1
    return lo, hi


PRIORS = {
    "uniform": Prior.uniform(),
    "rough": rough(),
    "corpus": learned(np.random.default_rng(1).beta(3, 2, 40)),
}


@pytest.fixture(params=sorted(PRIORS))
def prior(request):
    return PRIORS[request.param]


# Integrals over gaps.


def test_exact_moments(prior):
    lo, hi = random_gaps()
    gaps = prior.of_gaps(lo, hi)
    exact = [exact_moments(prior, *gap) for gap in zip(lo, hi, strict=True)]
    mass, mean, variance, _ = np.array(exact, dtype=float).T
    assert_allclose(prior.mass(lo, hi), mass, rtol=1e-11)
    assert_allclose(gaps.log_mass, np.log(mass), rtol=0, atol=1e-11)
    assert_allclose(gaps.mean, mean, rtol=1e-13)
    assert_allclose(gaps.variance, variance, rtol=1e-8)


def test_numerical_integration():
    prior = rough(2)
    cells = prior.edges[1:-1]

    def density(t):
        return prior.density[int(t * len(prior.density))]

    for lo, hi in [(0.05, 0.6), (0.3, 0.99), (0.0, 0.9), (0.51, 0.52)]:
        inside = cells[(cells > lo) & (cells < hi)]

        def integral(f, lo=lo, hi=hi, inside=inside):
            knots = [lo, *inside, hi]
            return sum(
                quad(lambda t: f(t) * density(t), a, b)[0] for a, b in pairwise(knots)
            )

        mass = integral(lambda t: 1)
        mean = integral(lambda t: t) / mass
        variance = integral(lambda t, mean=mean: (t - mean) ** 2) / mass
        gaps = prior.of_gaps(np.array([lo]), np.array([hi]))
        assert_allclose(np.exp(gaps.log_mass), mass, rtol=1e-12)
        assert_allclose(gaps.mean, mean, rtol=1e-12)
        assert_allclose(gaps.variance, variance, rtol=1e-9)


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("place", [0.25, 0.5, 0.5009765625])
def test_narrow_gaps_over_an_edge_of_cells(prior, width, place):
    # Integrals from 0 would have lost the gap to rounding here: their difference is
    # only good to 1e-16, which is more than such a gap holds.
    lo, hi = np.array([place - 0.3 * width]), np.array([place + 0.7 * width])
    mass, _, variance, share = map(float, exact_moments(prior, lo[0], hi[0]))
    gaps = prior.of_gaps(lo, hi)
    assert_allclose(gaps.log_mass, np.log(mass), rtol=1e-13)
    assert_allclose((gaps.mean - lo) / (hi - lo), share, atol=1e-9 + 2e-16 / width)
    assert_allclose(gaps.variance, variance, rtol=1e-6)


def test_means_lie_within_their_gaps(prior):
    x = np.sort(np.random.default_rng(3).uniform(size=200_000))
    lo, hi = np.append(0.0, x), np.append(x, 1.0)
    gaps = prior.of_gaps(lo, hi)
    assert (gaps.mean >= lo).all()
    assert (gaps.mean <= hi).all()
    assert (gaps.variance > 0).all()
    assert (gaps.variance <= (hi - lo) ** 2 / 4).all()


def test_masses_of_all_gaps_add_up_to_one(prior):
    x = np.sort(np.random.default_rng(4).uniform(size=1000))
    mass = prior.mass(np.append(0.0, x), np.append(x, 1.0))
    assert_allclose(mass.sum(), 1.0, rtol=1e-13)
    assert_allclose(prior.density.mean(), 1.0, rtol=1e-13)


def test_uniform_is_exact():
    lo, hi = random_gaps(5)
    gaps = Prior.uniform().of_gaps(lo, hi)
    assert_array_equal(gaps.log_mass, np.log(hi - lo))
    assert_array_equal(gaps.mean, (lo + hi) / 2)
    assert_allclose(gaps.variance, (hi - lo) ** 2 / 12, rtol=1e-15)


def test_one_cell_or_many_equal_ones():
    lo, hi = random_gaps(6)
    one, many = Prior.uniform().of_gaps(lo, hi), Prior(np.ones(16)).of_gaps(lo, hi)
    assert_allclose(many.log_mass, one.log_mass, rtol=0, atol=1e-10)
    assert_allclose(many.mean, one.mean, rtol=1e-12)
    assert_allclose(many.variance, one.variance, rtol=1e-6)


# Quantiles.


def test_quantiles_invert_the_mass(prior):
    lo, hi = random_gaps(7)
    shares = np.random.default_rng(8).uniform(size=len(lo))
    found = prior.quantile(lo, hi, shares)
    assert_allclose(
        prior.mass(lo, found), shares * prior.mass(lo, hi), rtol=1e-9, atol=1e-15
    )


def test_quantiles_at_the_ends(prior):
    lo, hi = random_gaps(9)
    assert_allclose(prior.quantile(lo, hi, np.zeros_like(lo)), lo, rtol=1e-13)
    assert_allclose(prior.quantile(lo, hi, np.ones_like(lo)), hi, rtol=1e-13)


def test_quantiles_of_the_uniform_are_linear():
    lo, hi = random_gaps(10)
    found = Prior.uniform().quantile(lo, hi, np.full_like(lo, 0.3))
    assert_allclose(found, lo + 0.3 * (hi - lo), rtol=1e-15)


# The corpus's density.


def reference_kernel(thresholds, grid, bandwidth):
    """Gaussian kernels with the mirror images of both ends."""
    m = len(thresholds)
    lower, upper = np.quantile(thresholds, [0.25, 0.75], method="inverted_cdf")
    width = 1.06 * min(np.std(thresholds), (upper - lower) / 1.34) * m**-0.2
    width *= bandwidth
    images = np.concatenate([thresholds, -thresholds, 2 - thresholds])
    z = (grid[:, np.newaxis] - images) / width
    return np.exp(-(z**2) / 2).sum(axis=1) / (m * width * np.sqrt(2 * np.pi))


@pytest.mark.parametrize("bandwidth", [0.5, 1.0])
@pytest.mark.parametrize("law", [(2, 5), (0.5, 0.5), (30, 30)])
def test_density_is_a_reflected_kernel_estimate(law, bandwidth):
    # At the middles of cells, so that the count in cells rounds nothing.
    drawn = np.random.default_rng(11).beta(*law, size=50)
    thresholds = (np.floor(drawn * 1024) + 0.5) / 1024
    prior = learned(thresholds, uniform_share=1e-12, bandwidth=bandwidth)
    grid = (prior.edges[1:] + prior.edges[:-1]) / 2
    expected = reference_kernel(thresholds, grid, bandwidth)
    assert_allclose(prior.density, expected, rtol=1e-3, atol=1e-6 * expected.max())


def test_no_mass_is_lost_at_the_ends():
    # Without the mirror images, half of the mass of thresholds at 0 would be lost
    # there, and the density halved at the end.
    thresholds = np.abs(np.random.default_rng(12).normal(size=4000)) / 20
    prior = learned(thresholds, uniform_share=1e-12)
    half_normal = np.sqrt(2 / np.pi) * 20
    assert_allclose(prior.density[:4].mean(), half_normal, rtol=0.1)
    mirrored = learned(1 - thresholds, uniform_share=1e-12)
    assert_allclose(mirrored.density[::-1], prior.density, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("share", [0.02, 0.3, 1.0])
def test_mixture_with_the_uniform(share):
    thresholds = np.random.default_rng(13).uniform(0.4, 0.5, 30)
    pure = learned(thresholds, uniform_share=1e-15).density
    prior = learned(thresholds, uniform_share=share)
    assert_allclose(prior.density, share + (1 - share) * pure, rtol=1e-9)


def test_no_gap_is_impossible():
    prior = learned(np.full(50, 0.7), uniform_share=0.01)
    lo = np.linspace(0, 1, 101)[:-1]
    assert prior.mass(lo, lo + 0.01).min() == pytest.approx(1e-4, rel=1e-6)


def test_weight_is_replication():
    rng = np.random.default_rng(14)
    thresholds, weights = rng.uniform(size=20), rng.integers(0, 5, 20)
    one = learned(thresholds, weights.astype(float))
    other = learned(np.repeat(thresholds, weights))
    assert_allclose(one.density, other.density, rtol=1e-12)


def test_order_of_thresholds_does_not_matter():
    thresholds = np.random.default_rng(15).uniform(size=30)
    assert_allclose(
        learned(thresholds).density, learned(thresholds[::-1]).density, rtol=1e-12
    )


def test_wide_kernels_give_the_uniform():
    prior = learned([0.2, 0.3, 0.9], bandwidth=100.0)
    assert_allclose(prior.density, 1.0, rtol=1e-6)


@pytest.mark.parametrize("thresholds", [[0.3], [0.3, 0.3, 0.3], [0.0, 1.0], [-2, 3]])
def test_few_or_equal_or_outlying_thresholds(thresholds):
    prior = learned(thresholds)
    assert np.isfinite(prior.density).all()
    assert_allclose(prior.density.mean(), 1.0)
    inside = np.clip(thresholds, 0, 1)
    near = prior.mass(np.maximum(inside - 0.01, 0), np.minimum(inside + 0.01, 1))
    far = prior.mass(np.array([0.6]), np.array([0.61]))
    assert near.min() > far[0] > 0
