"""Priors over thresholds: densities on the unit interval, constant on cells.

A density that is constant on the cells of a grid has a distribution function that is
linear, and partial moments that are polynomials, between the grid's edges: every
integral over a gap is exact, and the uniform prior is the grid of one cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

FloatArray = NDArray[np.float64]

# Cells of a learned prior: a thousandth of the range is finer than any bandwidth that
# fewer than 1e14 thresholds call for.
_CELLS = 1024


class GapPrior(NamedTuple):
    """What a prior says of some gaps, each array of shape (n_gaps,)."""

    log_mass: FloatArray  # logarithm of the probability of the gap
    mean: FloatArray  # mean threshold, given that it lies in the gap
    variance: FloatArray  # its variance, likewise


class Prior:
    """A density on [0, 1] that is constant on cells of equal width.

    Parameters
    ----------
    density : ndarray of shape (n_cells,)
        Values of the density, positive, of mean one.
    """

    def __init__(self, density: FloatArray) -> None:
        n_cells = len(density)
        self.density = density
        self.edges = np.linspace(0.0, 1.0, n_cells + 1)
        self.below = np.concatenate([[0.0], np.cumsum(density) / n_cells])

    @classmethod
    def uniform(cls) -> Prior:
        """Every threshold of the range is equally likely."""
        return cls(np.ones(1))

    def mass(self, lo: FloatArray, hi: FloatArray) -> FloatArray:
        """Probability of the intervals from `lo` to `hi`.

        Within one cell it is a product, so that it keeps its relative accuracy however
        narrow the interval; further apart it is a difference of the distribution
        function.
        """
        first, last = self._cell(lo), self._cell(hi)
        same = self.density[first] * (hi - lo)
        apart = (
            self.density[first] * (self.edges[first + 1] - lo)
            + (self.below[last] - self.below[first + 1])
            + self.density[last] * (hi - self.edges[last])
        )
        return np.where(first == last, same, apart)

    def of_gaps(self, lo: FloatArray, hi: FloatArray) -> GapPrior:
        """Mass, mean and variance of the prior within gaps of positive width.

        Moments are taken about the middle of each gap, in units of its half-width, so
        that they lose nothing to the gap's place.
        """
        middle, half = (lo + hi) / 2, (hi - lo) / 2
        if len(self.density) == 1:
            return GapPrior(np.log(hi - lo), middle, half**2 / 3)
        mass = self.mass(lo, hi)
        first, last = self._cell(lo), self._cell(hi)
        within = first == last
        mean, square = np.zeros_like(mass), half**2 / 3
        wide = np.flatnonzero(~within)
        if len(wide):
            mean[wide], square[wide] = self._moments(
                lo[wide], hi[wide], middle[wide], mass[wide]
            )
        return GapPrior(np.log(mass), middle + mean, square - mean**2)

    def _moments(
        self, lo: FloatArray, hi: FloatArray, middle: FloatArray, mass: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """First and second moment about the middle, for intervals of several cells.

        With ``A`` and ``B`` the indefinite integrals of ``t p(t)`` and ``t^2 p(t)``
        from 0, the moments about 0 are differences of those; they are then moved.
        """
        steps = np.diff(self.edges**2) / 2, np.diff(self.edges**3) / 3
        raw = []
        for power, step in enumerate(steps, start=2):
            total = np.concatenate([[0.0], np.cumsum(self.density * step)])
            raw.append(
                self._integral(hi, total, power) - self._integral(lo, total, power)
            )
        first = raw[0] / mass - middle
        second = raw[1] / mass - 2 * middle * raw[0] / mass + middle**2
        return first, second

    def _integral(self, t: FloatArray, total: FloatArray, power: int) -> FloatArray:
        cell = self._cell(t)
        part = (t**power - self.edges[cell] ** power) / power
        return total[cell] + self.density[cell] * part

    def quantile(self, lo: FloatArray, hi: FloatArray, share: FloatArray) -> FloatArray:
        """Where the prior, restricted to a gap, has a given share of its mass below."""
        start = self.mass(np.zeros_like(lo), lo)
        level = start + share * self.mass(lo, hi)
        found = np.interp(level, self.below, self.edges)
        linear = lo + share * (hi - lo)
        same = self._cell(lo) == self._cell(hi)
        return np.clip(np.where(same, linear, found), lo, hi)

    def _cell(self, t: FloatArray) -> NDArray[np.intp]:
        n_cells = len(self.density)
        cell = np.minimum((t * n_cells).astype(np.intp), n_cells - 1)
        return np.maximum(cell, 0)


def corpus_prior(
    thresholds: FloatArray,
    weights: FloatArray | None,
    *,
    uniform_share: float,
    bandwidth: float,
) -> Prior:
    """A kernel density of a corpus's thresholds, mixed with the uniform.

    The kernel is Gaussian, reflected at the ends of the range so that no mass is lost
    there. Its width is `bandwidth` times the normal-reference rule
    ``1.06 min(sd, IQR / 1.34) m^(-1/5)`` [1]_, ``m`` being the number of tasks,
    or the sum of their weights.

    Parameters
    ----------
    thresholds : ndarray of shape (n_tasks,)
        In [0, 1].
    weights : ndarray of shape (n_tasks,) or None
    uniform_share : float
        Share of the uniform in the mixture.
    bandwidth : float

    References
    ----------
    .. [1] B. W. Silverman, "Density Estimation for Statistics and Data Analysis",
       Chapman and Hall, 1986, section 3.4.
    """
    if weights is None:
        weights = np.ones_like(thresholds)
    inside = np.clip(thresholds, 0.0, 1.0)
    counts, _ = np.histogram(inside, bins=_CELLS, range=(0.0, 1.0), weights=weights)
    width = bandwidth * _reference_width(inside, weights) * _CELLS
    smooth = gaussian_filter1d(counts, max(width, 0.5), mode="reflect", truncate=6.0)
    density = uniform_share + (1 - uniform_share) * smooth / smooth.mean()
    return Prior(density / density.mean())


def _reference_width(thresholds: FloatArray, weights: FloatArray) -> float:
    total = float(weights.sum())
    share = weights / total
    mean = share @ thresholds
    deviation = float(np.sqrt(share @ (thresholds - mean) ** 2))
    lower, upper = np.quantile(
        thresholds, [0.25, 0.75], weights=share, method="inverted_cdf"
    )
    spread = (upper - lower) / 1.34
    scale = min(deviation, spread) if spread > 0 else deviation
    return 1.06 * float(scale) * total**-0.2
