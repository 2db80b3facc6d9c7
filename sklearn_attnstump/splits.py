"""Splits of tables: sorted columns, candidate thresholds, and the criterion's verdict.

A table is worked through in blocks of columns that stay in the processor's cache. Each
column is sorted once; whoever proposes thresholds gets the sorted block and answers in
ranks, and the criterion, an impurity of the two leaves, chooses among all proposals.

**Laws of the weights.** Ranks are shares of the weight. Replicated rows, weights in
place of them, and weights in any unit therefore give one and the same split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py
from sklearn.utils.validation import _check_sample_weight

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
CodeArray = NDArray[np.unsignedinteger[Any]]  # of as few bytes as the classes need

# Entries of the table that are sorted at a time: what is made of them stays in cache.
_BLOCK = 1 << 16
# Weights of classes behind cuts that are summed at a time: of many classes there are
# more than the table has entries.
_AT_ONCE = 1 << 20
# Impurities, and ranks, that are closer than this are the same: rounding must not
# choose between splits that are equal, nor on which side of an observation a threshold
# lies that symmetry puts on it.
SAME_IMPURITY = 1e-10
_SAME_RANK = 1e-9


class Block(NamedTuple):
    """Features that have a gap, each sorted by itself, and their distinct values.

    Arrays over values are flat, one feature after another; a feature's values are
    ``offsets[f]:offsets[f + 1]``, at least two.
    """

    columns: IntArray  # (n_features,): which of the table's columns
    x: FloatArray  # (n_features, n_rows): ascending, missing values last
    codes: CodeArray  # (n_features, n_rows): the rows' classes
    weights: FloatArray  # (n_features, n_rows): 0 where x is missing
    ends: IntArray  # (n_values,): position in x.flat of the last row of each value
    offsets: IntArray  # (n_features + 1,)
    upto: FloatArray  # (n_values,): weight of the rows up to each value
    ranks: FloatArray  # (n_values,): mid-ranks in (0, 1)
    missing: FloatArray  # (n_features, n_classes): class weights where x is missing

    @property
    def sizes(self) -> IntArray:
        """Distinct values of each feature."""
        return np.diff(self.offsets)

    def gaps(self) -> tuple[IntArray, IntArray]:
        """Values that have a gap of some width on their right, and how many a feature.

        There is always one: the least and the largest rank differ, while in between
        rows of vanishing weight may share one.
        """
        wide = np.empty(len(self.ranks), dtype=bool)
        np.less(self.ranks[:-1], self.ranks[1:], out=wide[:-1])
        wide[self.offsets[1:] - 1] = False
        sizes = np.add.reduceat(wide, self.offsets[:-1], dtype=np.intp)
        return np.flatnonzero(wide), sizes

    def part(self, start: int, stop: int) -> Block:
        """Some neighbouring features."""
        some = slice(start, min(stop, len(self.columns)))
        offsets = self.offsets[start : some.stop + 1]
        values = slice(offsets[0], offsets[-1])
        return Block(
            self.columns[some],
            self.x[some],
            self.codes[some],
            self.weights[some],
            self.ends[values] - start * self.x.shape[1],
            offsets - offsets[0],
            self.upto[values],
            self.ranks[values],
            self.missing[some],
        )

    def weights_of(self, label: int) -> FloatArray:
        """ndarray of shape (n_features, n_rows): weights, 0 for all other classes."""
        return (self.codes == label) * self.weights  # far faster than numpy.where


class Table(NamedTuple):
    """What is to be split; rows of weight zero are left out."""

    X: NDArray[np.floating[Any]]  # (n_table_rows, n_columns)
    rows: IntArray | None  # the rows that count, or None for all
    codes: CodeArray  # (n_rows,): their classes
    weights: FloatArray  # (n_rows,)
    totals: FloatArray  # (n_classes,): weights of the classes

    def read(self, columns: IntArray) -> FloatArray:
        """ndarray of shape (n_columns, n_rows): some columns, in float64."""
        if self.rows is None:
            picked = self.X[:, columns]
        else:
            picked = self.X[np.ix_(self.rows, columns)]
        return np.ascontiguousarray(picked.T, dtype=np.float64)


class Split(NamedTuple):
    """One column, parted in two."""

    column: int
    threshold: float  # infinite: all that is not missing goes left
    missing_left: bool | None  # None if the column has no missing values
    score: float  # what the leaves leave of the table's impurity, its handicap counted


class Proposal(NamedTuple):
    """Candidate thresholds for the features of a block."""

    units: FloatArray  # (n_candidates, n_features), in ranks
    handicap: FloatArray  # (n_candidates,): by what the fall of the impurity is divided


# For a block, and the weights of the table's classes.
Propose = Callable[[Block, FloatArray], Proposal]


def _sort(table: Table, columns: IntArray) -> tuple[Block, FloatArray, FloatArray]:
    """The block of some columns, and the class weights seen and missing in each.

    Of all columns, whether or not they have a gap: (n_columns, n_classes) both.
    """
    raw = table.read(columns)
    order = np.argsort(raw, axis=1)
    x = np.take_along_axis(raw, order, axis=1)
    codes, weights = table.codes[order], table.weights[order]
    last = np.ones(x.shape, dtype=bool)
    np.not_equal(x[:, 1:], x[:, :-1], out=last[:, :-1])
    seen = np.tile(table.totals, (len(columns), 1))
    missing = np.zeros_like(seen)
    if np.isnan(x[:, -1]).any():
        gone = np.isnan(x)
        last &= ~gone
        for label in range(len(table.totals)):
            of_class = np.where(codes == label, weights, 0.0)
            seen[:, label] = of_class.sum(axis=1, where=~gone)
            missing[:, label] = of_class.sum(axis=1, where=gone)
        weights[gone] = 0.0
    sizes = np.count_nonzero(last, axis=1)
    kept = sizes > 1
    if not kept.all():
        x, codes, weights, last = x[kept], codes[kept], weights[kept], last[kept]
        columns, sizes = columns[kept], sizes[kept]
    ends, offsets = np.flatnonzero(last), np.concatenate([[0], np.cumsum(sizes)])
    upto = np.cumsum(weights, axis=1).ravel()[ends]
    below = np.concatenate([[0.0], upto[:-1]])
    below[offsets[:-1]] = 0.0
    ranks = (below + upto) / (2 * np.repeat(upto[offsets[1:] - 1], sizes))
    block = Block(columns, x, codes, weights, ends, offsets, upto, ranks, missing[kept])
    return block, seen, missing


def make_table(
    X: NDArray[np.floating[Any]],
    codes: IntArray,
    sample_weight: ArrayLike | None,
    n_classes: int,
) -> Table:
    """The table without rows of weight zero; weights divided by a power of two.

    The division is exact, and keeps sums and squares of weights from overflowing.
    """
    rows = None
    if sample_weight is None:
        weights = np.ones(len(codes))
    else:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
        if not weights.all():
            rows = np.flatnonzero(weights)
            codes, weights = codes[rows], weights[rows]
    totals = np.bincount(codes, weights, n_classes).astype(np.float64)
    small = codes.astype(np.min_scalar_type(n_classes))
    return Table(X, rows, small, weights, totals)


def _place(block: Block, units: FloatArray) -> IntArray:
    """The values, counted within a feature, right below thresholds in ranks.

    Each has a value on its right, so that both leaves have rows.
    """
    found = np.empty(units.shape, dtype=np.intp)
    for feature, (start, stop) in enumerate(
        zip(block.offsets[:-1], block.offsets[1:], strict=True)
    ):
        found[:, feature] = np.searchsorted(
            block.ranks[start:stop], units[:, feature] + _SAME_RANK, side="right"
        )
    return np.clip(found - 1, 0, block.sizes - 2)


def _threshold(block: Block, feature: int, unit: float, place: int) -> float:
    """A threshold in the feature's units: at or above a value, below the next."""
    here = block.offsets[feature] + place
    lo, hi = block.x.ravel()[block.ends[here : here + 2]].tolist()
    low, high = block.ranks[here : here + 2].tolist()
    share = float(np.interp(unit, [low, high], [0.0, 1.0]))
    threshold = (1 - share) * lo + share * hi  # their difference might overflow
    return max(threshold, lo) if threshold < hi else lo


def impurity(weights: FloatArray, criterion: str) -> FloatArray:
    """Impurity of leaves, times their weight.

    Parameters
    ----------
    weights : ndarray of shape (..., n_classes)
    criterion : {"misclassification", "gini", "entropy", "log_loss"}

    Returns
    -------
    impurity : ndarray of shape (...)
        The entropy in bits.
    """
    # By each class's rest, a sum of the others: of a rare class no digit cancels.
    rest = np.zeros_like(weights)
    rest[..., 1:] = np.cumsum(weights[..., :-1], axis=-1)
    rest[..., :-1] += np.cumsum(weights[..., :0:-1], axis=-1)[..., ::-1]
    if criterion == "misclassification":
        return rest.min(axis=-1)
    if criterion == "gini":
        whole, products = weights.sum(axis=-1), (weights * rest).sum(axis=-1)
        return np.divide(products, whole, out=np.zeros_like(whole), where=products > 0)
    with np.errstate(over="ignore"):
        odds = np.divide(rest, weights, out=np.zeros_like(rest), where=weights > 0)
    odds = np.minimum(odds, np.finfo(float).max)
    return xlog1py(weights, odds).sum(axis=-1) / np.log(2.0)


def _distinct(cuts: IntArray) -> tuple[IntArray, IntArray]:
    """The different values of each column in ascending order, the last one repeated.

    And where each value went: ``cuts == np.take_along_axis(distinct, index, axis=0)``.
    """
    order = np.argsort(cuts, axis=0)
    ascending = np.take_along_axis(cuts, order, axis=0)
    place = np.zeros_like(cuts)
    np.cumsum(ascending[1:] != ascending[:-1], axis=0, out=place[1:])
    distinct = np.repeat(ascending[-1:], place[-1].max() + 1, axis=0)
    np.put_along_axis(distinct, place, ascending, axis=0)
    index = np.empty_like(cuts)
    np.put_along_axis(index, order, place, axis=0)
    return distinct, index


def _class_weights(
    block: Block, cuts: IntArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Class weights up to some rows of each feature, and after them.

    Parameters
    ----------
    block : Block
    cuts : ndarray of shape (n_cuts, n_features)
        Positions in ``block.x.flat``, ascending, none of them a feature's last row.
    n_classes : int

    Returns
    -------
    left, right : ndarray of shape (n_cuts, n_features, n_classes)
    """
    n_features, n_rows = block.x.shape
    begins = np.arange(n_features)[:, np.newaxis] * n_rows
    starts = np.concatenate([begins, cuts.T + 1], axis=1)
    empty = starts[:, 1:] == starts[:, :-1]
    left = np.empty((*cuts.shape, n_classes))
    right = np.empty_like(left)
    for label in range(n_classes):
        # One sum for each stretch between neighbouring cuts, and the one after the
        # last; of an empty stretch reduceat makes its first row.
        flat = np.add.reduceat(block.weights_of(label).ravel(), starts.ravel())
        stretch = flat.reshape(starts.shape)
        stretch[:, :-1][empty] = 0.0
        left[..., label] = np.cumsum(stretch, axis=1).T[:-1]
        right[..., label] = np.cumsum(stretch[:, ::-1], axis=1)[:, ::-1].T[1:]
    return left, right


class _Judged(NamedTuple):
    """What the criterion says of candidate splits: (n_candidates, n_features) each."""

    left_over: FloatArray  # share of the table's impurity
    missing_left: NDArray[np.bool_]


def _judge(
    block: Block, place: IntArray, left_over: Callable[..., FloatArray]
) -> _Judged:
    """Weigh the splits behind some values, some features at a time."""
    n_cuts = min(len(place), int(block.sizes.max()))
    step = max(1, _AT_ONCE // (n_cuts * block.missing.shape[1]))
    judged = [
        _weigh(
            block.part(start, start + step), place[:, start : start + step], left_over
        )
        for start in range(0, len(block.columns), step)
    ]
    return _Judged(*map(np.hstack, zip(*judged, strict=True)))


def _weigh(
    block: Block, place: IntArray, left_over: Callable[..., FloatArray]
) -> _Judged:
    """Weigh the splits behind some values, missing values on their better side."""
    cuts, index = _distinct(block.ends[block.offsets[:-1] + place])
    left, right = _class_weights(block, cuts, block.missing.shape[1])
    one = other = left_over(left, right + block.missing)
    if block.missing.any():
        other = left_over(left + block.missing, right)
    missing_left = other < one - SAME_IMPURITY
    verdicts = np.where(missing_left, other, one), missing_left
    return _Judged(*(np.take_along_axis(v, index, axis=0) for v in verdicts))


def _best_of_block(
    table: Table, columns: IntArray, propose: Propose, criterion: str
) -> Split | None:
    """The best split of some columns; of equal ones the first."""
    block, seen, missing = _sort(table, columns)
    whole = max(float(impurity(table.totals, criterion)), np.finfo(float).tiny)

    def left_over(left: FloatArray, right: FloatArray) -> FloatArray:
        return (impurity(left, criterion) + impurity(right, criterion)) / whole

    # The last candidate of a column: its missing values against all others.
    parted = seen.any(axis=1) & missing.any(axis=1)
    scores = np.where(parted, left_over(seen, missing), np.inf)[np.newaxis]
    if len(block.columns):
        units, handicap = propose(block, table.totals)
        place = _place(block, units)
        judged = _judge(block, place, left_over)
        found = np.full((len(units), len(columns)), np.inf)
        found[:, np.searchsorted(columns, block.columns)] = (
            1 - (1 - judged.left_over) / handicap[:, np.newaxis]
        )
        scores = np.concatenate([found, scores])
    n_candidates = len(scores)
    flat = scores.T.ravel()
    best = int(np.argmax(flat <= flat.min() + SAME_IMPURITY))
    if flat[best] == np.inf:
        return None
    column, candidate = divmod(best, n_candidates)
    if candidate == n_candidates - 1:
        return Split(int(columns[column]), np.inf, False, float(flat[best]))
    feature = int(np.searchsorted(block.columns, columns[column]))
    here = candidate, feature
    has_missing = missing[column].any()
    return Split(
        int(columns[column]),
        _threshold(block, feature, units[here], place[here]),
        bool(judged.missing_left[here]) if has_missing else None,
        float(flat[best]),
    )


def _blocks(table: Table, columns: IntArray) -> Iterator[IntArray]:
    """The columns, as many at a time as stay in cache, and at least one."""
    size = max(1, _BLOCK // len(table.codes))
    for start in range(0, len(columns), size):
        yield columns[start : start + size]


def first_valid(table: Table, columns: IntArray) -> IntArray:
    """The first column, in the order given, that can be split; none if none can be.

    It has two values, or some that are missing and some that are not.
    """
    for some in _blocks(table, columns):
        x = table.read(some)
        low, high = np.fmin.reduce(x, axis=1), np.fmax.reduce(x, axis=1)
        valid = (low < high) | (np.isnan(x).any(axis=1) & ~np.isnan(low))
        if valid.any():
            return some[[valid.argmax()]]
    return columns[:0]


def best_split(
    table: Table, columns: IntArray, propose: Propose, criterion: str
) -> Split | None:
    """The best split of some columns in ascending order, or None if none is valid."""
    best: Split | None = None
    for some in _blocks(table, columns):
        split = _best_of_block(table, some, propose, criterion)
        if split is None:
            continue
        if best is None or split.score < best.score - SAME_IMPURITY:
            best = split
    return best
