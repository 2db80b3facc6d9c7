"""Gaps between neighbouring observations, and what a threshold in each contradicts.

A threshold matters to a context only through the gap between two neighbouring
observations that it lies in. One sort of each context and one cumulative sum give, for
every gap, the weight of the labels that a threshold there would contradict: the label-0
tokens at or below it and the label-1 tokens above it. Every method of this package that
weighs thresholds by label errors stands on this one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.moments import LabelGroups

FloatArray = NDArray[np.float64]

# Tokens that are sorted at a time: few enough that what is made on the way stays in the
# cache, and is not asked anew of the system, which costs more than the work itself.
_BLOCK = 1 << 15


class Gaps(NamedTuple):
    """The gaps of some contexts, flat, from left to right in each context.

    A threshold in gap ``j`` lies at or above `lo` and below `hi`. Only gaps of positive
    width are kept: equal observations leave no threshold between them.
    """

    lo: FloatArray  # (n_gaps,)
    hi: FloatArray  # (n_gaps,)
    disagreement: FloatArray  # (n_gaps,): weight of the labels contradicted
    offsets: NDArray[np.int64]  # (n_tasks + 1,)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the gaps of each context start."""
        return self.offsets[:-1]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of gaps of each context."""
        return np.diff(self.offsets)


def equal_rows(offsets: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Flat positions of all segments of one length, as rows; one matrix for a length.

    What is done to rows is vectorized over the corpus, and never mixes two contexts.
    """
    sizes = np.diff(offsets)
    for size in np.unique(sizes):
        yield offsets[:-1][sizes == size, np.newaxis] + np.arange(size)


def find_gaps(contexts: Contexts, lo: FloatArray, hi: FloatArray) -> Gaps:
    """The gaps of contexts of one feature, the ends of the range included.

    Parameters
    ----------
    contexts : Contexts
        Of one feature. Tokens of weight zero bound no gap.
    lo, hi : ndarray of shape (n_tasks,)
        Ends of the range of each context; no observation lies outside.
    """
    x, labels, weights, offsets = _weighty_tokens(contexts)
    n_tasks = len(offsets) - 1
    gap_offsets = offsets + np.arange(n_tasks + 1)  # one gap more than tokens
    left = np.empty(len(x) + n_tasks)
    disagreement: FloatArray = np.empty_like(left)
    for tasks, tokens, gaps in _blocks(offsets):
        mass = None if weights is None else tokens.of(weights)
        rows = _gap_rows(lo[tasks], tokens.of(x), tokens.of(labels), mass)
        gaps.put(left, rows[0])
        gaps.put(disagreement, rows[1])
    right = np.empty_like(left)
    right[:-1] = left[1:]
    right[gap_offsets[1:] - 1] = hi
    wide = right > left
    if wide.all():
        return Gaps(left, right, disagreement, gap_offsets)
    sizes = np.add.reduceat(wide, gap_offsets[:-1], dtype=np.int64)
    return Gaps(
        left[wide],
        right[wide],
        disagreement[wide],
        np.concatenate([[0], np.cumsum(sizes)]),
    )


def label_edges(contexts: Contexts) -> tuple[FloatArray, FloatArray]:
    """Largest observation with label 1 and smallest with label 0 of each context.

    Parameters
    ----------
    contexts : Contexts
        Of one feature. Tokens of weight zero do not count.

    Returns
    -------
    last, first : ndarray of shape (n_tasks,)
        Minus and plus infinity where there is no such observation. One threshold
        separates the labels of the contexts where ``last < first``.
    """
    return LabelGroups(contexts).label_edges()


def _weighty_tokens(
    contexts: Contexts,
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray | None, NDArray[np.int64]]:
    """Observations, labels, weights and offsets of the tokens of positive weight."""
    x, labels, offsets = contexts.values[:, 0], contexts.labels, contexts.offsets
    weights = contexts.weights
    if weights is None or weights.all():
        return x, labels, weights, offsets
    kept = weights > 0
    counts = np.add.reduceat(kept, offsets[:-1], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return x[kept], labels[kept], weights[kept], offsets


class _Rows(NamedTuple):
    """Segments of one length of a flat array, which can be seen as a matrix."""

    where: slice | NDArray[np.int64]  # a slice if the segments are neighbours
    length: int

    def of(self, flat: NDArray[Any]) -> NDArray[Any]:
        """The segments of an array, as rows; a view if they are neighbours."""
        return flat[self.where].reshape(-1, self.length)

    def put(self, flat: NDArray[Any], rows: NDArray[Any]) -> None:
        """Write rows into the segments of an array."""
        flat[self.where] = rows.ravel() if isinstance(self.where, slice) else rows


def _blocks(
    offsets: NDArray[np.int64],
) -> Iterator[tuple[NDArray[np.int64], _Rows, _Rows]]:
    """Tasks of one size, with their tokens and gaps, as many as stay in the cache."""
    sizes = np.diff(offsets)
    gap_offsets = offsets + np.arange(len(offsets))
    for size in np.unique(sizes).tolist():
        equal = np.flatnonzero(sizes == size)
        step = max(1, _BLOCK // size)
        for start in range(0, len(equal), step):
            tasks = equal[start : start + step]
            gaps = _rows(gap_offsets, tasks, size + 1)
            yield tasks, _rows(offsets, tasks, size), gaps


def _rows(offsets: NDArray[np.int64], tasks: NDArray[np.int64], length: int) -> _Rows:
    first, last = int(tasks[0]), int(tasks[-1])
    if last - first + 1 == len(tasks):
        return _Rows(slice(offsets[first], offsets[last + 1]), length)
    return _Rows(offsets[tasks, np.newaxis] + np.arange(length), length)


def _gap_rows(
    lo: FloatArray,
    x: FloatArray,
    labels: NDArray[np.bool_],
    weights: FloatArray | None,
) -> tuple[FloatArray, NDArray[Any]]:
    """Left ends of the gaps of some contexts of one size, and what they contradict.

    Left of all tokens a threshold contradicts every label 1. Crossing a token adds its
    weight if its label is 0, else takes it off.

    Parameters
    ----------
    lo : ndarray of shape (n_rows,)
    x, labels, weights : ndarray of shape (n_rows, n_tokens)

    Returns
    -------
    left, disagreement : ndarray of shape (n_rows, n_tokens + 1)
    """
    order = np.argsort(x, axis=1)
    order += np.arange(0, x.size, x.shape[1])[:, np.newaxis]
    ones = labels.take(order)
    left = np.column_stack([lo, x.take(order)])
    if weights is None:
        return left, _running_counts(ones)
    return left, _running_sums(ones, weights.take(order))


def _running_counts(ones: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Labels contradicted from left to right, as integers: five times faster."""
    change = np.empty((ones.shape[0], ones.shape[1] + 1), np.int64)
    change[:, 0] = ones.sum(axis=1)
    change[:, 1:] = np.where(ones, -1, 1)
    return np.cumsum(change, axis=1, out=change)


def _running_sums(ones: NDArray[np.bool_], mass: FloatArray) -> FloatArray:
    """Weights contradicted from left to right.

    Nothing is taken off: sums of label 0 from the left and of label 1 from the right
    have positive terms alone, so that small ones beside large keep their digits, and
    where nothing is contradicted the sum is 0.
    """
    above = np.where(ones, mass, 0.0)
    sums = np.zeros((mass.shape[0], mass.shape[1] + 1))
    np.cumsum(mass - above, axis=1, out=sums[:, 1:])
    sums[:, :-1] += np.cumsum(above[:, ::-1], axis=1)[:, ::-1]
    return sums
