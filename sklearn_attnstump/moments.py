"""Tilted moments of the two label groups of each context.

Labels enter a softmax over ``a x + b y`` only through the group that a token belongs
to, so all work on tokens is that of one exponential tilt by ``a`` in each group; the
label score ``b`` mixes the two groups afterwards, one number for each context. This
split is an identity, the same for every head that is built on it (this project's own
derivation).

On a group with tokens ``x_i`` of weights ``omega_i`` let

    K(a) = log sum_i omega_i exp(a x_i).

Its derivatives are the mean, variance and third cumulant of the tilted group. With the
edge ``e = max x`` (``min x`` where ``a < 0``) and distances ``z_i = |e - x_i| >= 0``,

    K(a) = a e + log sum_i omega_i exp(-|a| z_i),

where no exponential can overflow and the largest is 1, at any scale. Moments are taken
of ``z``, not ``x``: at large ``|a|`` the tilted group sits at its edge, ``z`` there is
the exact difference of two near numbers, and raw moments of ``z`` lose nothing to
cancellation because their mean and spread are both of order ``1 / |a|``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts

FloatArray = NDArray[np.float64]


class Cumulants(NamedTuple):
    """Tilted groups, row 0 for label 0 and row 1 for label 1, of shape (2, n_tasks).

    A group without tokens has zero `mass`. Cumulants past the order asked for are
    empty.
    """

    edge: FloatArray
    mass: FloatArray  # sum_i omega_i exp(-|a| z_i)
    mean: FloatArray
    variance: FloatArray
    third: FloatArray


class LabelGroups:
    """The tokens of contexts of one feature, split by label, ready to be tilted.

    Parameters
    ----------
    contexts : Contexts
        Of one feature. Tokens of weight zero are left out.

    Attributes
    ----------
    tokens : ndarray of int of shape (n_kept,)
        The tokens' positions in `contexts`: label 0 first, then label 1, each in order
        of the tasks.
    groups : ndarray of int of shape (n_groups,)
        For each group that has tokens, ``label * n_tasks + task``.
    starts : ndarray of int of shape (n_groups,)
        Where each group starts in `tokens`.
    """

    def __init__(self, contexts: Contexts) -> None:
        self.n_tasks = len(contexts)
        kept = True if contexts.weights is None else contexts.weights > 0
        sides = [
            np.flatnonzero(~contexts.labels & kept),
            np.flatnonzero(contexts.labels & kept),
        ]
        counts = np.concatenate(
            [np.diff(np.searchsorted(side, contexts.offsets)) for side in sides]
        )
        self.tokens = np.concatenate(sides)
        self.groups = np.flatnonzero(counts)
        self.sizes = counts[self.groups]
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.x = contexts.values[:, 0][self.tokens]
        self.omega = None if contexts.weights is None else contexts.weights[self.tokens]
        self._shifts: dict[int, tuple[FloatArray, FloatArray]] = {}

    def distances(self, sign: int) -> tuple[FloatArray, FloatArray]:
        """Edges of the groups and the tokens' distances to them, for a sign of `a`."""
        if sign not in self._shifts:
            extreme = np.maximum if sign > 0 else np.minimum
            edge = extreme.reduceat(self.x, self.starts)
            z = np.repeat(edge, self.sizes)
            z -= self.x
            self._shifts[sign] = edge, np.abs(z, out=z)
        return self._shifts[sign]

    def tilt(self, scale: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Edges, distances and unnormalized weights ``omega exp(-|a| z)``."""
        edge, z = self.distances(1 if scale >= 0 else -1)
        with np.errstate(over="ignore"):  # |a| z may be infinite: a weight of zero
            weight = np.multiply(z, -abs(scale))
        np.exp(weight, out=weight)
        if self.omega is not None:
            weight *= self.omega
        return edge, z, weight

    def cumulants(self, scale: float, order: int) -> Cumulants:
        """Mean, and variance and third cumulant for orders 1 and 2, at a scale."""
        side = 1.0 if scale >= 0 else -1.0  # x = edge - side * z
        edge, z, weight = self.tilt(scale)
        mass = np.add.reduceat(weight, self.starts)
        moments = []
        for _ in range(order + 1):
            weight *= z
            moments.append(np.add.reduceat(weight, self.starts) / mass)
        first = moments[0]
        variance = third = np.empty(0)
        if order >= 1:
            variance = np.maximum(moments[1] - first**2, 0.0)
        if order >= 2:
            third = -side * (moments[2] - 3 * moments[1] * first + 2 * first**3)
        return Cumulants(
            self._spread(edge),
            self._spread(mass),
            self._spread(edge - side * first),
            self._spread(variance) if order >= 1 else variance,
            self._spread(third) if order >= 2 else third,
        )

    def _spread(self, per_group: FloatArray) -> FloatArray:
        table = np.zeros(2 * self.n_tasks)
        table[self.groups] = per_group
        return table.reshape(2, self.n_tasks)
