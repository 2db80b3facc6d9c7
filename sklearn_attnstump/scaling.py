"""Scaling: between the user's units and the unit interval that heads work in.

This is the only place that knows units and directions. A scaling lays, for each
context, a monotone map of the feature onto the unit interval: increasing where label 1
lies at or below the threshold, decreasing where it lies at or above, so that a head
always sees labels that fall as its feature rises. Observations and thresholds go
through the map, predictions come back through its inverse.

``<=`` and ``>=`` are mirror images of each other: an observation equal to the threshold
has label 1 in both.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts

FloatArray = NDArray[np.float64]
Range = tuple[float, float]

DIRECTIONS = ("<=", ">=")
SCALINGS = ("range", "context", "rank")

# Tokens that are looked at together where a corpus on disk may be larger than memory.
_CHUNK = 1 << 18


class UnitMap(Protocol):
    """A monotone map of the feature for each of some contexts."""

    def values(self) -> FloatArray:
        """ndarray of shape (n_tokens,): the observations in unit coordinates."""
        ...

    def to_unit(self, thresholds: FloatArray) -> FloatArray:
        """Thresholds, one for each context, into unit coordinates."""
        ...

    def to_feature(self, unit: FloatArray) -> FloatArray:
        """Unit coordinates, one row for each context, into the feature's units."""
        ...


class AffineMap:
    """``u = (x - lo) / (hi - lo)``, or ``(hi - x) / (hi - lo)`` where falling.

    Differences are taken before the division, so that a shift of the feature costs no
    more than its own rounding and a power of two costs nothing. A range too wide for
    float64 is halved first, for the context that needs it alone. Where ``lo == hi`` the
    map knows one point: all that it is asked for lies at 0, and comes back as ``lo``.
    """

    def __init__(
        self, contexts: Contexts, lo: FloatArray, hi: FloatArray, *, falling: bool
    ) -> None:
        self.contexts = contexts
        self.falling = falling
        with np.errstate(over="ignore"):
            self.unit = np.where(np.isfinite(hi - lo), 1.0, 0.5)
        lo, hi = lo * self.unit, hi * self.unit
        self.origin = hi if falling else lo
        self.span = hi - lo

    def values(self) -> FloatArray:
        """ndarray of shape (n_tokens,): the observations in unit coordinates."""
        x, sizes = self.contexts.values[:, 0], self.contexts.sizes
        maps = [self.origin, self.span, self.unit]
        if all((array == array[0]).all() for array in maps):  # one map for all
            maps = [array[:1] for array in maps]
        else:
            maps = [np.repeat(array, sizes) for array in maps]
        if self.contexts.weights is None:
            return self._to_unit(x, *maps)
        # Tokens of weight zero may lie anywhere: at an end they overflow nowhere.
        with np.errstate(over="ignore"):
            return np.clip(self._to_unit(x, *maps), 0.0, 1.0)

    def to_unit(self, thresholds: FloatArray) -> FloatArray:
        """Thresholds, one for each context, into unit coordinates."""
        return self._to_unit(thresholds, self.origin, self.span, self.unit)

    def _to_unit(
        self, x: FloatArray, origin: FloatArray, span: FloatArray, unit: FloatArray
    ) -> FloatArray:
        if not (unit == 1).all():
            x = x * unit
        elif not self.falling and not origin.any() and (span == 1).all():
            return x  # the unit interval itself
        distance = np.subtract(*((origin, x) if self.falling else (x, origin)))
        return np.divide(distance, np.where(span > 0, span, np.inf), out=distance)

    def to_feature(self, unit: FloatArray) -> FloatArray:
        """Unit coordinates, one row for each context, into the feature's units."""
        columns = (slice(None), *([np.newaxis] * (unit.ndim - 1)))
        step = unit * self.span[columns]
        origin = self.origin[columns]
        return (origin - step if self.falling else origin + step) / self.unit[columns]


class RankMap:
    """Each context's own weighted mid-ranks, in (0, 1), mapped back by interpolation.

    An observation's coordinate is the share of the context's weight below it plus half
    of the weight at it. The knots are the distinct observations and the two ends, which
    stand for 0 and 1; between knots the map is linear. The knots of each context are
    kept divided by the power of two above the largest, so that slopes are ordinary
    numbers in whatever units.
    """

    def __init__(
        self, contexts: Contexts, lo: FloatArray, hi: FloatArray, *, falling: bool
    ) -> None:
        self.contexts = contexts
        self.falling = falling
        self.lo, self.hi = lo, hi
        _, self.exponents = np.frexp(np.maximum(np.abs(lo), np.abs(hi)))
        self.unit_values = np.empty(contexts.n_tokens)
        self.knots: list[tuple[FloatArray, FloatArray]] = []
        for task in range(len(contexts)):
            self._rank(task)

    def _rank(self, task: int) -> None:
        tokens = slice(*self.contexts.offsets[task : task + 2])
        x = self.contexts.values[tokens, 0]
        weights = self.contexts.weights
        knots, which = np.unique(x, return_inverse=True)
        mass = np.bincount(which, None if weights is None else weights[tokens])
        total = np.cumsum(mass)
        ranks = (total - mass / 2) / total[-1]
        if self.falling:
            ranks = 1 - ranks
        self.unit_values[tokens] = ranks[which]
        ends = (1.0, 0.0) if self.falling else (0.0, 1.0)
        kept = mass > 0
        x_knots = np.concatenate([[self.lo[task]], knots[kept], [self.hi[task]]])
        x_knots = np.ldexp(x_knots, -self.exponents[task])
        u_knots = np.concatenate([[ends[0]], ranks[kept], [ends[1]]])
        order = slice(None, None, -1 if self.falling else 1)
        self.knots.append((x_knots[order], u_knots[order]))

    def values(self) -> FloatArray:
        """ndarray of shape (n_tokens,): the observations in unit coordinates."""
        return self.unit_values

    def to_unit(self, thresholds: FloatArray) -> FloatArray:
        """Thresholds, one for each context, into unit coordinates."""
        side = -1 if self.falling else 1
        with np.errstate(over="ignore"):  # an infinite threshold lies outside
            scaled = side * np.ldexp(thresholds, -self.exponents)
        ranks = [
            np.interp(threshold, side * x, u)
            for threshold, (x, u) in zip(scaled, self.knots, strict=True)
        ]
        return np.clip(ranks, 0.0, 1.0)

    def to_feature(self, unit: FloatArray) -> FloatArray:
        """Unit coordinates, one row for each context, into the feature's units."""
        rows = [
            np.ldexp(np.interp(row, u, x), exponent)
            for row, (x, u), exponent in zip(
                unit, self.knots, self.exponents, strict=True
            )
        ]
        return np.array(rows).reshape(unit.shape)


def learned_range(contexts: Contexts, thresholds: FloatArray | None) -> Range:
    """The range of a corpus: of its observations of positive weight and thresholds."""
    lo, hi = context_ranges(contexts)
    if thresholds is not None:
        lo, hi = np.append(lo, thresholds), np.append(hi, thresholds)
    return float(lo.min()), float(hi.max())


def context_ranges(contexts: Contexts) -> tuple[FloatArray, FloatArray]:
    """Least and largest observation of positive weight of each context."""
    lo, hi = np.full(len(contexts), np.inf), np.full(len(contexts), -np.inf)
    for tokens, tasks, sizes in _chunks(contexts):
        low = high = contexts.values[tokens, 0]
        if contexts.weights is not None:
            seen = contexts.weights[tokens] > 0
            low, high = np.where(seen, low, np.inf), np.where(seen, high, -np.inf)
        starts = np.cumsum(sizes) - sizes
        lo[tasks] = np.minimum(lo[tasks], np.minimum.reduceat(low, starts))
        hi[tasks] = np.maximum(hi[tasks], np.maximum.reduceat(high, starts))
    return lo, hi


def _chunks(contexts: Contexts) -> Iterator[tuple[slice, slice, NDArray[np.int64]]]:
    """Some tokens after the others, even of one context: which, of which tasks.

    Yields
    ------
    tokens, tasks : slice
    sizes : ndarray of int of shape (n_tasks,)
        How many of the tokens belong to each of the tasks.
    """
    for start in range(0, contexts.n_tokens, _CHUNK):
        stop = min(start + _CHUNK, contexts.n_tokens)
        first = int(np.searchsorted(contexts.offsets, start, side="right")) - 1
        last = int(np.searchsorted(contexts.offsets, stop, side="left"))
        bounds = np.clip(contexts.offsets[first : last + 1], start, stop)
        yield slice(start, stop), slice(first, last), np.diff(bounds)


def direction_balance(
    contexts: Contexts, thresholds: FloatArray, task_weights: FloatArray | None = None
) -> float:
    """How far a corpus's labels lie on one side of its thresholds, from -1 to 1.

    1 where every label is 1 below its threshold and 0 above, -1 the other way round;
    by weight, tokens that equal their threshold left out.
    """
    balance = total = 0.0
    for tokens, tasks, sizes in _chunks(contexts):
        x, cuts = contexts.values[tokens, 0], np.repeat(thresholds[tasks], sizes)
        side = (x < cuts).astype(np.float64) - (x > cuts)
        if contexts.weights is not None:
            side *= contexts.weights[tokens]
        if task_weights is not None:
            side *= np.repeat(task_weights[tasks], sizes)
        total += float(np.abs(side).sum())
        side[~contexts.labels[tokens]] *= -1
        balance += float(side.sum())
    return balance / total if total > 0 else 0.0


def shown_direction(
    contexts: Contexts, thresholds: FloatArray, task_weights: FloatArray | None = None
) -> str:
    """The side of the thresholds on which a corpus has its positive labels.

    "<=" where the two sides tie.
    """
    balance = direction_balance(contexts, thresholds, task_weights)
    return "<=" if balance >= 0 else ">="


@dataclass(frozen=True)
class Scaling:
    """How contexts of one feature are laid on the unit interval.

    Attributes
    ----------
    kind : {"range", "context", "rank"}
        One affine map for all contexts; one for each, by its own range; or each
        context's own ranks.
    direction : {"<=", ">="}
        Whether label 1 lies at or below, or at or above, the threshold.
    feature_range : tuple (lo, hi) or None
        Required by "range"; for "rank" what the ends of the unit interval stand for,
        by default the context's own range; unused by "context".
    strict : bool
        Whether a context outside `feature_range` is refused; else the range is widened
        for that context, with a warning.
    anchors : bool
        Whether two true tokens at the ends of the range are added to each context.
    """

    kind: str
    direction: str
    feature_range: Range | None
    strict: bool
    anchors: bool

    def apply(
        self, contexts: Contexts, ends: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[Contexts, UnitMap]:
        """Contexts in unit coordinates, and the map that took them there.

        `ends`, if given, are what `ends` says of these contexts.
        """
        lo, hi = self.ends(contexts) if ends is None else ends
        kind = RankMap if self.kind == "rank" else AffineMap
        unit_map = kind(contexts, lo, hi, falling=self.direction == ">=")
        unit = contexts.with_values(unit_map.values())
        return (_with_anchors(unit) if self.anchors else unit), unit_map

    def ends(
        self, contexts: Contexts, *, report: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Ends of each context's range, two arrays of shape (n_tasks,).

        A context outside `feature_range` is refused, or its range widened; `report`
        says whether that is spoken of.
        """
        if self.feature_range is not None and self.kind == "range":
            x, (lowest, highest) = contexts.values, self.feature_range
            if lowest <= x.min() and x.max() <= highest:  # as a rule: no need to look
                n_tasks = len(contexts)  # at each context
                return np.full(n_tasks, lowest), np.full(n_tasks, highest)
        lo, hi = context_ranges(contexts)
        if self.feature_range is not None and self.kind != "context":
            outside = (lo < self.feature_range[0]) | (hi > self.feature_range[1])
            if outside.any() and report:
                self._report_outside(contexts, outside)
            lo = np.minimum(lo, self.feature_range[0])
            hi = np.maximum(hi, self.feature_range[1])
        return lo, hi

    def _report_outside(self, contexts: Contexts, outside: NDArray[np.bool_]) -> None:
        assert self.feature_range is not None
        lo, hi = self.feature_range
        first = contexts.name(int(np.argmax(outside)))
        if self.strict:
            raise ValueError(
                f"{first} has observations outside feature_range=({lo!r}, {hi!r}). "
                "Widen feature_range, or leave it None to have it learned."
            )
        warnings.warn(
            f"{int(outside.sum())} of {len(contexts)} contexts have observations "
            f"outside the range ({lo:.6g}, {hi:.6g}) of the corpus, the first is "
            f"{first}. The range was widened for each of them. If the feature's range "
            "is known, pass feature_range.",
            UserWarning,
            stacklevel=level_of_the_user(),
        )


def level_of_the_user() -> int:
    """The `stacklevel` of the first frame outside of this package and scikit-learn.

    A range is widened at several depths of calls, by `predict` and by other methods.
    """
    inside = (__name__.partition(".")[0], "sklearn")
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    return level


def anchor_tokens() -> Contexts:
    """The two tokens that are true of every task whose range is [0, 1]."""
    return Contexts.from_arrays([0.0, 1.0], [True, False], [0, 2])


def warn_of_strange_thresholds(
    contexts: Contexts,
    thresholds: FloatArray,
    task_weights: FloatArray | None,
    direction: str,
    *,
    known_range: bool,
) -> None:
    """Warn where a corpus's thresholds do not look like those of its contexts.

    Labels on the wrong side of most thresholds, or most thresholds beyond all
    observations, are two usual slips: swapped labels and another unit. No head can tell
    them from noise. Thresholds within a `known_range` are not asked about their unit.
    """
    balance = direction_balance(contexts, thresholds, task_weights)
    agreement = (1 + (balance if direction == "<=" else -balance)) / 2
    if agreement < 0.4:
        warnings.warn(
            f"only {agreement:.0%} of the labels lie on the side of their task's "
            f"threshold that direction={direction!r} says. Use the other direction, or "
            "direction='auto', or see whether the labels are swapped "
            "(Contexts(X, positive=...)).",
            UserWarning,
            stacklevel=level_of_the_user(),
        )
    if known_range:
        return
    lo, hi = context_ranges(contexts)
    beyond = (thresholds < lo.min()) | (thresholds > hi.max())
    if beyond.mean() > 0.5:
        warnings.warn(
            f"{int(beyond.sum())} of {len(thresholds)} thresholds lie beyond all "
            f"observations of the corpus, which run from {lo.min():.6g} to "
            f"{hi.max():.6g}. Are both in the same units?",
            UserWarning,
            stacklevel=level_of_the_user(),
        )


def _with_anchors(contexts: Contexts) -> Contexts:
    """Add the two tokens that are true of every task whose range is [0, 1].

    A token at 0 with label 1 and one at 1 with label 0, of weight one, at the end of
    each context: no context then lacks a label, which removes the boundary limitation
    (this project's own device).
    """
    ends = contexts.offsets[1:]
    where = np.repeat(ends, 2)
    n_tasks = len(contexts)
    weights = contexts.weights
    return Contexts.from_arrays(
        np.insert(contexts.values[:, 0], where, np.tile([0.0, 1.0], n_tasks)),
        np.insert(contexts.labels, where, np.tile([True, False], n_tasks)),
        contexts.offsets + 2 * np.arange(n_tasks + 1),
        weights=None if weights is None else np.insert(weights, where, 1.0),
        task_ids=contexts.task_ids,
    )
