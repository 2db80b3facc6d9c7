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

        Moments are taken about the lower end of each gap: differences between near
        numbers are exact, so that they lose nothing to the gap's place.
        """
        width = hi - lo
        if len(self.density) == 1:
            return GapPrior(np.log(width), (lo + hi) / 2, width**2 / 12)
        mass = np.maximum(self.mass(lo, hi), np.finfo(float).tiny)
        mean, variance = width / 2, width**2 / 12
        wide = np.flatnonzero(self._cell(lo) < self._cell(hi))
        if len(wide):
            mean[wide], square = self._moments(lo[wide], hi[wide], mass[wide])
            variance[wide] = square - mean[wide] ** 2
        return GapPrior(np.log(mass), np.clip(lo + mean, lo, hi), variance)

    def _moments(
        self, lo: FloatArray, hi: FloatArray, mass: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """First and second moment about `lo`, for intervals of several cells.

        The two outer cells are cut by the interval, and their parts are integrals of
        powers of ``t - lo`` between near limits. The whole cells between, if any, have
        moments about 0 from running sums ``M_k = int t^k p``, which are moved by
        ``int (t - c)^2 p = M_2 - 2 c M_1 + c^2 M_0``; an interval that has some is at
        least a cell wide, and loses nothing that matters to the difference.
        """
        first, last = self._cell(lo), self._cell(hi)
        outer = [(first, lo, self.edges[first + 1]), (last, self.edges[last], hi)]
        raw = [
            np.concatenate(
                [[0.0], np.cumsum(self.density * np.diff(self.edges**k) / k)]
            )
            for k in (1, 2, 3)
        ]
        whole = [total[last] - total[first + 1] for total in raw]
        moments = [
            whole[1] - lo * whole[0],
            whole[2] - 2 * lo * whole[1] + lo**2 * whole[0],
        ]
        for k in (0, 1):
            for cell, start, stop in outer:
                part = (stop - lo) ** (k + 2) - (start - lo) ** (k + 2)
                moments[k] = moments[k] + self.density[cell] * part / (k + 2)
        return moments[0] / mass, moments[1] / mass

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
