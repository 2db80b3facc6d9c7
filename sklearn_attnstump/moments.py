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

**Windows.** Relative to the token next to the edge, the nearest at some distance from
it, one that is by ``c / |a|`` further off adds ``exp(-c)`` to any moment, and all of a
group's ``n`` tokens beyond add ``n exp(-c)`` times a power of ``c`` at most: with ``c =
37 + log n`` nothing that float64 could see, at any scale. Packs that are evaluated over
and over keep the tokens that matter at the last scales, in steps of an eighth of an
octave: at scale ``a`` of the unit interval some fraction ``c / a`` of all, so that
evaluations get cheaper as pretraining goes on. Which window serves depends on ``a``
alone, never on what was evaluated before.

**Segments.** Sums run over segments of at most 2^16 tokens, whose arrays stay in the
processor's cache from one operation to the next; the segments of a longer group are
added up afterwards. Segments are the same however the work is split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Tokens of a segment: two arrays of doubles fill a 1 MiB cache.
_SEGMENT = 1 << 16

# Negligible: exp(-37) is 9e-17, below half of float64's epsilon.
_CUT = 37.0

# Windows for each octave of the scale.
_STEPS = 8


def cut(sizes: IntArray) -> FloatArray:
    """How far scores of so many tokens lie behind that all of them are negligible."""
    return _CUT + np.log(sizes)


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
    if len(parts) == 1:
        return parts[0]
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


@dataclass(frozen=True, eq=False)
class Window:
    """Tokens of some groups by their distance to the group's edge."""

    z: FloatArray  # (n_tokens,)
    omega: FloatArray | None  # (n_tokens,)
    sizes: IntArray  # (n_groups,): tokens of each group, at least one

    @property
    def starts(self) -> IntArray:
        """ndarray of shape (n_groups,): where each group starts."""
        return np.cumsum(self.sizes) - self.sizes

    def within(self, reach: FloatArray) -> Window:
        """The tokens no further from their edge than each group's reach."""
        near = positions(self.z <= np.repeat(reach, self.sizes))
        if len(near) == len(self.z):
            return self
        ends = np.searchsorted(near, np.append(self.starts, len(self.z)))
        omega = None if self.omega is None else self.omega.take(near)
        return Window(self.z.take(near), omega, np.diff(ends))

    def sums(self, scale: float, n_moments: int) -> FloatArray:
        """``sum_i omega_i z_i^k exp(-scale z_i)`` for ``k`` up to `n_moments`.

        Returns
        -------
        sums : ndarray of shape (n_moments + 1, n_groups)
        """
        blocks, starts, first = self._segments
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

    @cached_property
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
        if len(self.z) <= _SEGMENT:
            whole = (0, len(self.z), 0, len(self.sizes))
            return [whole], self.starts, np.arange(len(self.sizes))
        pieces = -(-self.sizes // _SEGMENT)
        first = np.cumsum(pieces) - pieces
        starts = np.repeat(self.starts - first * _SEGMENT, pieces)
        starts += np.arange(len(starts)) * _SEGMENT
        ends = np.append(starts[1:], len(self.z))
        blocks, left = [], 0
        while left < len(starts):
            limit = max(starts[left] + _SEGMENT, ends[left])
            right = int(np.searchsorted(ends, limit, side="right"))
            blocks.append((int(starts[left]), int(ends[right - 1]), left, right))
            left = right
        return blocks, starts, first


def positions(mask: NDArray[np.bool_]) -> IntArray:
    """`numpy.flatnonzero`, for masks of which a few per cent may be True.

    Where less than a tenth is True, NumPy looks for one after the other, and a
    processor that cannot foresee them waits some 13 ns for each. Where more is, it
    writes down every place, and steps on where the mask is True: 0.5 ns each. That is
    had for less than a tenth, too, where so many True are put behind.
    """
    found = np.count_nonzero(mask)
    if not 0.04 * len(mask) < found <= 0.1 * len(mask):
        return np.flatnonzero(mask)
    padded = np.ones(len(mask) + len(mask) // 8, dtype=bool)
    padded[: len(mask)] = mask
    return np.flatnonzero(padded)[:found]


class Recent:
    """What was made for the last two keys: to go back and forth costs nothing."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is known for a key, or is made now."""
        value = self.known.pop(key) if key in self.known else make()
        self.known[key] = value
        if len(self.known) > 2:
            del self.known[next(iter(self.known))]
        return value

    def forget_others(self, key: Any) -> None:
        """Keep what was made for one key alone."""
        self.known = {key: self.known[key]}


def label_positions(
    contexts: Contexts, kept: NDArray[np.bool_] | None = None
) -> list[IntArray]:
    """Positions of the tokens of label 0, and of label 1.

    Of those that are `kept`, and of positive weight.
    """
    labels, weights = contexts.labels, contexts.weights
    if weights is not None:
        kept = weights > 0 if kept is None else kept & (weights > 0)
    if kept is None:
        return [np.flatnonzero(~labels), np.flatnonzero(labels)]
    return [positions(kept & ~labels), positions(kept & labels)]


class LabelGroups:
    """The tokens of contexts of one feature, split by label, ready to be tilted.

    Parameters
    ----------
    contexts : Contexts
        Of one feature. Tokens of weight zero are left out.
    kept : ndarray of bool of shape (n_tokens,), optional
        Which tokens are not left out.

    Attributes
    ----------
    groups : ndarray of int of shape (n_groups,)
        For each group that has tokens, ``label * n_tasks + task``.
    sizes : ndarray of int of shape (n_groups,)
        Number of tokens of each of these groups.
    starts : ndarray of int of shape (n_groups,)
        Where each of these groups starts.
    x : ndarray of shape (n_kept,)
        Label 0 first, then label 1, each in order of the tasks.
    omega : ndarray of shape (n_kept,) or None
        The weights.
    """

    def __init__(
        self, contexts: Contexts, kept: NDArray[np.bool_] | None = None
    ) -> None:
        self.n_tasks = len(contexts)
        sides = label_positions(contexts, kept)
        counts = np.concatenate(
            [np.diff(np.searchsorted(side, contexts.offsets)) for side in sides]
        )
        self.groups = np.flatnonzero(counts)
        self.sizes = counts[self.groups]
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.x = _gather(contexts.values[:, 0], sides)
        weights = contexts.weights
        self.omega = None if weights is None else _gather(weights, sides)
        self._extremes: dict[int, FloatArray] = {}
        self._windows = {1: Recent(), -1: Recent()}

    def extremes(self, sign: int) -> FloatArray:
        """ndarray of shape (n_groups,): largest observation, or least for sign -1."""
        if sign not in self._extremes:
            extreme = np.maximum if sign > 0 else np.minimum
            self._extremes[sign] = extreme.reduceat(self.x, self.starts)
        return self._extremes[sign]

    def edges(self, label: int) -> FloatArray:
        """ndarray of shape (n_tasks,): largest observation with label 1, least with 0.

        Minus and plus infinity where there is no such observation.
        """
        sign = 1 if label else -1
        found = np.full(2 * self.n_tasks, -sign * np.inf)
        found[self.groups] = self.extremes(sign)
        return found.reshape(2, self.n_tasks)[label]

    def label_edges(self) -> tuple[FloatArray, FloatArray]:
        """Largest observation with label 1 and smallest with label 0 of each context.

        Returns
        -------
        last, first : ndarray of shape (n_tasks,)
            Minus and plus infinity where there is no such observation. One threshold
            separates the labels of the contexts where ``last < first``.
        """
        return self.edges(1), self.edges(0)

    def window(self, scale: float) -> Window:
        """The tokens that matter to tilts by some scale, kept for the next time."""
        sign = 1 if scale >= 0 else -1
        low = 0.0  # the least scale that the window serves
        if abs(scale) >= self._least_cut:
            low = 2.0 ** (np.floor(_STEPS * np.log2(abs(scale))) / _STEPS)
        recent = self._windows[sign]
        window: Window = recent.get(low, lambda: self._within(sign, low, recent.known))
        if 2 * len(window.z) > len(self.x):
            recent.forget_others(low)  # two of them would be a corpus
        return window

    @cached_property
    def _least_cut(self) -> float:
        """The scale up to which all tokens are near enough to matter."""
        with np.errstate(over="ignore", divide="ignore"):
            extent = self.extremes(1) - self.extremes(-1)
            return float(np.min(self._cut / extent))

    def _distances(self, sign: int) -> FloatArray:
        """ndarray of shape (n_kept,): each token's distance to its group's edge."""
        z = np.repeat(self.extremes(sign), self.sizes)
        first, second = (z, self.x) if sign > 0 else (self.x, z)
        return np.subtract(first, second, out=z)

    def _within(self, sign: int, low: float, known: dict[float, Window]) -> Window:
        """The tokens that matter to tilts from the scale `low` on.

        They are among those of any lower scale, and those next to an edge stay so.
        """
        below = max((other for other in known if other < low), default=None)
        if below is None:
            wide = Window(self._distances(sign), self.omega, self.sizes)
        else:
            wide = known[below]
        if low == 0:
            return wide
        away = np.where(wide.z > 0, wide.z, np.inf)
        behind = np.minimum.reduceat(away, wide.starts)
        return wide.within(behind + self._cut / low)

    @cached_property
    def _cut(self) -> FloatArray:
        """``c`` above for each group; a ratio of two weights adds its logarithm."""
        behind = cut(self.sizes)
        if self.omega is not None:
            behind += np.log(np.maximum.reduceat(self.omega, self.starts))
            behind -= np.log(np.minimum.reduceat(self.omega, self.starts))
        return behind

    def cumulants(self, scale: float, order: int) -> Cumulants:
        """Mean, and variance and third cumulant for orders 1 and 2, at a scale."""
        side = 1.0 if scale >= 0 else -1.0  # x = edge - side * z
        if order:
            window = self.window(scale)
        else:  # asked for once, so that to look for a window costs more than it saves
            window = Window(self._distances(int(side)), self.omega, self.sizes)
        mass, *raw = window.sums(abs(scale), order + 1)
        found = np.empty((order + 3, len(mass)))
        found[0] = edge = self.extremes(int(side))
        found[1] = mass
        first, *higher = (sums / mass for sums in raw)
        np.subtract(edge, side * first, out=found[2])
        if order >= 1:
            np.maximum(higher[0] - first**2, 0.0, out=found[3])
        if order >= 2:
            found[4] = -side * (higher[1] - 3 * higher[0] * first + 2 * first**3)
        missing = [np.empty(0)] * (2 - order)
        return Cumulants(*self._spread(found), *missing)

    def shares(self, scale: float) -> FloatArray:
        """ndarray of shape (n_kept,): each token's share of its tilted group."""
        weight = self._distances(1 if scale >= 0 else -1)
        with np.errstate(over="ignore"):
            weight *= -abs(scale)
        np.exp(weight, out=weight)
        if self.omega is not None:
            weight *= self.omega
        return weight / np.repeat(np.add.reduceat(weight, self.starts), self.sizes)

    def _spread(self, per_group: FloatArray) -> FloatArray:
        """Rows of values of the groups as tables of label and task; 0 for no token.

        Parameters
        ----------
        per_group : ndarray of shape (n_rows, n_groups)

        Returns
        -------
        tables : ndarray of shape (n_rows, 2, n_tasks)
        """
        shape = len(per_group), 2, self.n_tasks
        if per_group.shape[1] == 2 * self.n_tasks:
            return per_group.reshape(shape)
        tables = np.zeros((len(per_group), 2 * self.n_tasks))
        tables[:, self.groups] = per_group
        return tables.reshape(shape)


def _gather(array: FloatArray, sides: list[IntArray]) -> FloatArray:
    """The elements at some positions, and then those at others."""
    gathered = np.empty(sum(map(len, sides)))
    start = 0
    for side in sides:
        # Positions are in bounds; to clip, unlike to check, writes straight to `out`.
        array.take(side, out=gathered[start : start + len(side)], mode="clip")
        start += len(side)
    return gathered
