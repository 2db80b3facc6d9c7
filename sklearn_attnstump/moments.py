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

**Windows.** A token with ``|a| z`` beyond 64 adds nothing that float64 could see. Packs
that are evaluated over and over keep, for each octave of ``|a|``, the tokens that
matter at the octave's lower end: at scale ``a`` of the unit interval some fraction
``64 / a`` of all, so that steps get cheaper as pretraining goes on. Which window serves
depends on ``a`` alone, never on what was evaluated before.

**Segments.** Sums run over segments of at most 2^15 tokens, whose arrays stay in the
processor's cache from one operation to the next; the segments of a longer group are
added up afterwards. Segments are the same however the work is split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Tokens of a segment: two arrays of doubles fill half of a 1 MiB cache.
_SEGMENT = 1 << 15

# exp(-64) is 2e-28: even 4e11 such tokens together are below half an epsilon.
_CUT = 64.0


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


def merge(parts: list[Cumulants], scale: float) -> Cumulants:
    """Masses and means of groups whose tokens came in several parts.

    A part's mass is relative to its own edge; relative to the outermost one it is
    smaller by ``exp(-|a| d)``, ``d`` being the distance of the two edges.
    """
    side = 1.0 if scale >= 0 else -1.0
    edges, masses, means = (
        np.stack([part[k] for part in parts])
        for k in range(3)  # fields of `Cumulants`
    )
    reach = np.where(masses > 0, side * edges, -np.inf)
    edge = reach.max(axis=0)
    behind = np.where(masses > 0, edge - reach, 0.0)
    with np.errstate(over="ignore"):
        weights = masses * np.exp(-abs(scale) * behind)
    mass = weights.sum(axis=0)
    seen = mass > 0
    mean = np.sum(weights * means, axis=0) / np.where(seen, mass, 1.0)
    edge = np.where(seen, side * edge, 0.0)
    return Cumulants(edge, mass, mean, np.empty(0), np.empty(0))


class Window(NamedTuple):
    """Tokens of some groups by their distance to the group's edge."""

    z: FloatArray  # (n_tokens,)
    omega: FloatArray | None  # (n_tokens,)
    sizes: IntArray  # (n_groups,): tokens of each group, at least one

    def within(self, reach: float) -> Window:
        """The tokens nearer to their edge than `reach`; itself if all of them are."""
        near = self.z < reach
        if near.all():
            return self
        starts = np.cumsum(self.sizes) - self.sizes
        return Window(
            self.z[near],
            None if self.omega is None else self.omega[near],
            np.add.reduceat(near, starts, dtype=np.int64),
        )

    def sums(self, scale: float, n_moments: int) -> FloatArray:
        """``sum_i omega_i z_i^k exp(-scale z_i)`` for ``k`` up to `n_moments`.

        Returns
        -------
        sums : ndarray of shape (n_moments + 1, n_groups)
        """
        blocks, starts, first = self._segments()
        parts = np.empty((n_moments + 1, len(starts)))
        buffer = np.empty(max(stop - start for start, stop, _, _ in blocks))
        for start, stop, left, right in blocks:
            z = self.z[start:stop]
            weight = buffer[: stop - start]
            with np.errstate(over="ignore"):  # scale z may be infinite: a weight of 0
                np.multiply(z, -scale, out=weight)
            np.exp(weight, out=weight)
            if self.omega is not None:
                weight *= self.omega[start:stop]
            for k in range(n_moments + 1):
                if k:
                    weight *= z
                np.add.reduceat(
                    weight, starts[left:right] - start, out=parts[k, left:right]
                )
        if len(first) == len(starts):
            return parts
        return np.add.reduceat(parts, first, axis=1)

    def _segments(self) -> tuple[list[tuple[int, int, int, int]], IntArray, IntArray]:
        """Cut the groups into segments, and put neighbouring segments into blocks.

        Returns
        -------
        blocks : list of tuple (start, stop, left, right)
            Tokens ``start:stop`` hold the segments ``left:right``.
        starts : ndarray of shape (n_segments,)
            Where each segment starts in the tokens.
        first : ndarray of shape (n_groups,)
            The first segment of each group.
        """
        pieces = -(-self.sizes // _SEGMENT)
        first = np.cumsum(pieces) - pieces
        group_starts = np.cumsum(self.sizes) - self.sizes
        starts = np.repeat(group_starts - first * _SEGMENT, pieces)
        starts += np.arange(len(starts)) * _SEGMENT
        ends = np.append(starts[1:], len(self.z))
        blocks, left = [], 0
        while left < len(starts):
            limit = max(starts[left] + _SEGMENT, ends[left])
            right = int(np.searchsorted(ends, limit, side="right"))
            blocks.append((int(starts[left]), int(ends[right - 1]), left, right))
            left = right
        return blocks, starts, first


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
    sizes : ndarray of int of shape (n_groups,)
        Number of tokens of each of these groups.
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
        self.x = contexts.values[:, 0][self.tokens]
        self.omega = None if contexts.weights is None else contexts.weights[self.tokens]
        self._edges: dict[int, FloatArray] = {}
        self._windows: dict[int, dict[int, Window]] = {1: {}, -1: {}}

    def label_edges(self) -> tuple[FloatArray, FloatArray]:
        """Largest observation with label 1 and smallest with label 0 of each context.

        Returns
        -------
        last, first : ndarray of shape (n_tasks,)
            Minus and plus infinity where there is no such observation. One threshold
            separates the labels of the contexts where ``last < first``.
        """
        last = np.full(self.n_tasks, -np.inf)
        first = np.full(self.n_tasks, np.inf)
        one = self.groups >= self.n_tasks
        starts = np.cumsum(self.sizes) - self.sizes
        last[self.groups[one] - self.n_tasks] = np.maximum.reduceat(self.x, starts)[one]
        first[self.groups[~one]] = np.minimum.reduceat(self.x, starts)[~one]
        return last, first

    def window(self, scale: float, *, whole: bool = False) -> tuple[FloatArray, Window]:
        """Edges of the groups, and the tokens that matter at a scale.

        Parameters
        ----------
        scale : float
            Its sign says which edge the tilt leans to.
        whole : bool
            Keep every token, whatever its distance.

        Returns
        -------
        edge : ndarray of shape (n_groups,)
        window : Window
        """
        sign = 1 if scale >= 0 else -1
        known = self._windows[sign]
        if 0 not in known:
            starts = np.cumsum(self.sizes) - self.sizes
            extreme = np.maximum if sign > 0 else np.minimum
            edge = self._edges[sign] = extreme.reduceat(self.x, starts)
            z = np.repeat(edge, self.sizes)
            z -= self.x
            known[0] = Window(np.abs(z, out=z), self.omega, self.sizes)
        octave = 0 if whole else max(0, int(np.frexp(abs(scale))[1]) - 1)
        if octave not in known:
            nearest = max(level for level in known if level < octave)
            known[octave] = known[nearest].within(self._reach() / 2.0**octave)
        return self._edges[sign], known[octave]

    def _reach(self) -> float:
        """Distance beyond which all tokens of a group together vanish at scale 1.

        Relative to the token at the edge, they are at most ``n r exp(-z)``, ``r`` being
        the largest ratio of two weights; a ratio of up to 2^16 is provided for.
        """
        if self.omega is None:
            return _CUT
        log_ratio = np.log(self.omega.max()) - np.log(self.omega.min())
        return _CUT + max(0.0, float(log_ratio - 16 * np.log(2.0)))

    def cumulants(self, scale: float, order: int, *, whole: bool = False) -> Cumulants:
        """Mean, and variance and third cumulant for orders 1 and 2, at a scale."""
        side = 1.0 if scale >= 0 else -1.0  # x = edge - side * z
        edge, window = self.window(scale, whole=whole)
        mass, *raw = window.sums(abs(scale), order + 1)
        moments = [sums / mass for sums in raw]
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

    def shares(self, scale: float) -> FloatArray:
        """ndarray of shape (n_kept,): each token's share of its tilted group."""
        _, (z, omega, sizes) = self.window(scale, whole=True)
        with np.errstate(over="ignore"):
            weight = np.exp(-abs(scale) * z)
        if omega is not None:
            weight *= omega
        starts = np.cumsum(sizes) - sizes
        return weight / np.repeat(np.add.reduceat(weight, starts), sizes)

    def _spread(self, per_group: FloatArray) -> FloatArray:
        table = np.zeros(2 * self.n_tasks)
        table[self.groups] = per_group
        return table.reshape(2, self.n_tasks)
