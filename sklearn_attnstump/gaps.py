"""Gaps between neighbouring observations, and what a threshold in each contradicts.

A threshold matters to a context only through the gap between two neighbouring
observations that it lies in. One sort of each context and one cumulative sum give, for
every gap, the weight of the labels that a threshold there would contradict: the label-0
tokens at or below it and the label-1 tokens above it. Every method of this package that
weighs thresholds by label errors stands on this one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts

FloatArray = NDArray[np.float64]


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


def sort_within(x: FloatArray, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Flat positions that sort each context's tokens; equal ones keep their order."""
    order = np.empty(len(x), dtype=np.int64)
    for tokens in equal_rows(offsets):
        ranks = np.argsort(x[tokens], axis=1, kind="stable")
        order[tokens] = np.take_along_axis(tokens, ranks, axis=1)
    return order


def find_gaps(contexts: Contexts, lo: FloatArray, hi: FloatArray) -> Gaps:
    """The gaps of contexts of one feature, the ends of the range included.

    Parameters
    ----------
    contexts : Contexts
        Of one feature. Tokens of weight zero bound no gap.
    lo, hi : ndarray of shape (n_tasks,)
        Ends of the range of each context; no observation lies outside.
    """
    x, labels, offsets = contexts.values[:, 0], contexts.labels, contexts.offsets
    weights = contexts.weights
    if weights is not None and not weights.all():
        kept = weights > 0
        counts = np.add.reduceat(kept, offsets[:-1], dtype=np.int64)
        x, labels, weights = x[kept], labels[kept], weights[kept]
        offsets = np.concatenate([[0], np.cumsum(counts)])
    order = sort_within(x, offsets)
    x, labels = x[order], labels[order]
    # Crossing a token from left to right adds its weight if its label is 0, else takes
    # it off; left of all tokens a threshold contradicts every label 1.
    step = np.where(labels, -1.0, 1.0)
    if weights is not None:
        step *= weights[order]
    n_tasks = len(offsets) - 1
    first = offsets[:-1] + np.arange(n_tasks)  # the leftmost gap of each context
    inner = np.ones(len(x) + n_tasks, dtype=bool)
    inner[first] = False
    left = np.empty(len(inner))
    left[first], left[inner] = lo, x
    change = np.empty(len(inner))
    change[inner] = step
    change[first] = np.add.reduceat(np.where(labels, -step, 0.0), offsets[:-1])
    right = np.empty(len(inner))
    right[:-1] = left[1:]
    right[first + np.diff(offsets)] = hi
    disagreement = _running_sums(change, np.append(first, len(change)))
    wide = right > left
    sizes = np.add.reduceat(wide, first, dtype=np.int64)
    return Gaps(
        left[wide],
        right[wide],
        disagreement[wide],
        np.concatenate([[0], np.cumsum(sizes)]),
    )


def _running_sums(change: FloatArray, offsets: NDArray[np.int64]) -> FloatArray:
    """Cumulative sums that begin anew in each segment; never below zero by rounding."""
    total = np.empty_like(change)
    for positions in equal_rows(offsets):
        total[positions] = np.cumsum(change[positions], axis=1)
    return np.maximum(total, 0.0, out=total)
