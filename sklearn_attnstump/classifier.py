"""`AttentionStumpClassifier`: a decision stump for tables, read by a frozen attention.

All of it is this project's own. A table is made into contexts of the kind that the
frozen attention knows: for each feature, and each way of telling one class from the
rest, the tokens ``(rank, label)``. The attention's thresholds, which lie in ranks, are
the candidate splits; the criterion judges them, and the best is kept.

**Class costs.** The attention counts contradicted labels, a criterion weighs leaves.
The two meet in the tangents of the criterion: an impurity is a concave function of a
leaf's class shares, so it is the least of its tangents, each of which is linear in the
shares. The split of least impurity is thus the split of fewest label errors at certain
costs of the classes. For two classes and the Gini impurity the costs stand as ``(1 - q)
: q``, with ``q`` the mean of the two leaves' shares of label 1: as in a balanced table
if the leaves differ little from the whole, as given if one leaf is pure and the other
pure of the other label. Costs ``share^-t`` lead from the one, ``t = 1``, to the other,
``t = 0``; each ``t`` of a short list is tried, and the criterion chooses.

**Laws of the weights.** Ranks are shares of the weight, and so is what a threshold
contradicts, times a number of observations that depends on no weight. Replicated rows,
weights in place of them, and weights in any unit therefore give one and the same split.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.estimators import PretrainedAttentionStump
from sklearn_attnstump.gaps import Gaps
from sklearn_attnstump.gibbs import GibbsPack
from sklearn_attnstump.heads import GibbsHead, Head

__all__ = ["AttentionStumpClassifier"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
CodeArray = NDArray[np.unsignedinteger[Any]]  # of as few bytes as the classes need

# Disagreement scale and prior weight of the shipped Gibbs head, as pretrained by
# benchmarks/pretrain_classifier_stump.py.
_SHIPPED = (1.66, 0.85)
# A feature counts as so many observations as it has distinct values, but as no fewer
# than this. Fewer make wide posteriors, which better the threshold where labels are
# noisy, but lose that of a rare class; benchmarks/classifier.py has the figures.
_OBSERVATIONS = 1000
# Exponents of the class costs, see above.
_POWERS = (1.0, 0.5, 0.0)
# Entries of the table that are sorted at a time: what is made of them stays in cache.
_BLOCK = 1 << 16
# Gaps whose attention is below exp(-100) of the best gap's are not evaluated.
_REACH = 100.0
# Impurities, and ranks, that are closer than this are the same: rounding must not
# choose between splits that are equal, nor on which side of an observation a threshold
# lies that symmetry puts on it.
_SAME_IMPURITY = 1e-10
_SAME_RANK = 1e-9


class _Block(NamedTuple):
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

    def weights_of(self, label: int) -> FloatArray:
        """ndarray of shape (n_features, n_rows): weights, 0 for all other classes."""
        return np.where(self.codes == label, self.weights, 0.0)


class _Table(NamedTuple):
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


class _Split(NamedTuple):
    column: int
    threshold: float  # infinite: all that is not missing goes left
    missing_left: bool | None  # None if the column has no missing values
    impurity: float  # of both leaves, weighted by their shares


def _sort(table: _Table, columns: IntArray) -> tuple[_Block, FloatArray, FloatArray]:
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
    block = _Block(
        columns, x, codes, weights, ends, offsets, upto, ranks, missing[kept]
    )
    return block, seen, missing


def _costs(share: float) -> list[tuple[float, float]]:
    """Costs of a class and of the rest for each power, of mean one over the table."""
    pairs = [(share**-power, (1 - share) ** -power) for power in _POWERS]
    means = [one * share + rest * (1 - share) for one, rest in pairs]
    return [(one / m, rest / m) for (one, rest), m in zip(pairs, means, strict=True)]


def _per_weight(block: _Block, total: FloatArray) -> FloatArray:
    """Observations that a unit of weight counts as, for each feature."""
    return np.maximum(block.sizes, _OBSERVATIONS) / total.sum()


def _gibbs_units(
    head: GibbsHead, coef: FloatArray, block: _Block, label: int, total: FloatArray
) -> Iterator[FloatArray]:
    """Thresholds in ranks that the Gibbs head infers, see `_units`.

    Outermost gaps split nothing and are left out. The complement of a labelling
    contradicts what the labelling does not, so that ``-D`` stands for its ``D``: only
    differences of ``D`` matter. Gaps of no weight are left out before the softmax.
    """
    left, sizes = block.gaps()
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    per_weight = np.repeat(_per_weight(block, total), sizes)
    one = np.cumsum(block.weights_of(label), axis=1).ravel()[block.ends[left]]
    rest = (block.upto[left] - one) * per_weight
    one *= per_weight
    prior = head._prior()
    reach = _REACH / coef[0] if coef[0] > 0 else np.inf
    for cost_one, cost_rest in _costs(total[label] / total.sum()):
        disagreement = cost_rest * rest - cost_one * one
        for sign, extreme in ((1.0, np.minimum), (-1.0, np.maximum)):
            least = extreme.reduceat(disagreement, starts)
            bound = np.repeat(least + sign * reach, sizes)
            compare = np.less_equal if sign > 0 else np.greater_equal
            near = np.flatnonzero(compare(disagreement, bound))
            offsets = np.searchsorted(near, np.append(starts, len(left)))
            excess = disagreement[near] - np.repeat(least, np.diff(offsets))
            lo = left[near]
            gaps = Gaps(block.ranks[lo], block.ranks[lo + 1], sign * excess, offsets)
            yield GibbsPack(gaps, prior).evaluate(coef, 0).prediction


def _head_units(
    head: Head, coef: FloatArray, block: _Block, label: int, total: FloatArray
) -> Iterator[FloatArray]:
    """Thresholds in ranks that any head infers, see `_units`.

    Rows of one value and label are one token of their summed weight.
    """
    first = np.concatenate([[0], block.ends[:-1] + 1])
    first[block.offsets[:-1]] = np.arange(len(block.columns)) * block.x.shape[1]
    of_label = block.weights_of(label)
    mass = [
        np.add.reduceat(weights.ravel(), first)
        for weights in (of_label, block.weights - of_label)
    ]
    per_weight = np.repeat(_per_weight(block, total), block.sizes)
    ranks, labels = np.repeat(block.ranks, 2), np.tile([True, False], len(block.ranks))
    for costs in _costs(total[label] / total.sum()):
        tokens = np.stack(
            [cost * per_weight * m for cost, m in zip(costs, mass, strict=True)], axis=1
        ).ravel()
        kept = tokens > 0
        counts = np.add.reduceat(kept, 2 * block.offsets[:-1], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        for side in (labels, ~labels):
            contexts = Contexts.from_arrays(
                ranks[kept], side[kept], offsets, weights=tokens[kept]
            )
            yield head.pack(contexts).evaluate(coef, 0).prediction


def _units(
    stump: PretrainedAttentionStump, block: _Block, total: FloatArray
) -> FloatArray:
    """Inferred thresholds in ranks, of shape (n_candidates, n_features).

    For each class against the rest (for two classes, the second against the first),
    for each pair of class costs: label 1 at or below the threshold, then above it.
    """
    present = np.flatnonzero(total)
    head, coef = stump.head_, stump.coef_
    units: list[FloatArray] = []
    for label in present[1:] if len(present) == 2 else present:
        if type(head) is GibbsHead:
            units.extend(_gibbs_units(head, coef, block, label, total))
        else:
            units.extend(_head_units(head, coef, block, label, total))
    return np.stack(units)


def _place(block: _Block, units: FloatArray) -> IntArray:
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


def _threshold(block: _Block, feature: int, unit: float, place: int) -> float:
    """A threshold in the feature's units: at or above a value, below the next."""
    here = block.offsets[feature] + place
    lo, hi = block.x.ravel()[block.ends[here : here + 2]].tolist()
    low, high = block.ranks[here : here + 2].tolist()
    share = float(np.interp(unit, [low, high], [0.0, 1.0]))
    threshold = (1 - share) * lo + share * hi  # their difference might overflow
    return max(threshold, lo) if threshold < hi else lo


def _impurity(weights: FloatArray, criterion: str) -> FloatArray:
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
    whole = weights.sum(axis=-1)
    if criterion == "misclassification":
        return whole - weights.max(axis=-1)
    if criterion == "gini":
        squares = (weights**2).sum(axis=-1)
        return whole - np.divide(
            squares, whole, out=np.zeros_like(whole), where=squares > 0
        )
    return (entr(weights).sum(axis=-1) - entr(whole)) / np.log(2.0)


def _split_impurity(left: FloatArray, right: FloatArray, criterion: str) -> FloatArray:
    """Impurity of two leaves, weighted by their shares of the weight."""
    whole = (left + right).sum(axis=-1)
    return (_impurity(left, criterion) + _impurity(right, criterion)) / whole


def _class_weights(
    block: _Block, cuts: IntArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Class weights up to some rows of each feature, and after them.

    Parameters
    ----------
    block : _Block
    cuts : ndarray of shape (n_cuts, n_features)
        Positions in ``block.x.flat``, none of them a feature's last.
    n_classes : int

    Returns
    -------
    left, right : ndarray of shape (n_cuts, n_features, n_classes)
    """
    n_features, n_rows = block.x.shape
    order = np.argsort(cuts, axis=0)
    after = np.take_along_axis(cuts, order, axis=0).T + 1
    begins = np.arange(n_features)[:, np.newaxis] * n_rows
    starts = np.concatenate([begins, after], axis=1)
    empty = starts[:, 1:] == starts[:, :-1]
    left = np.empty((*cuts.shape, n_classes))
    right = np.empty_like(left)
    for label in range(n_classes):
        # One sum for each stretch between neighbouring cuts, and the one after the
        # last; of an empty stretch reduceat makes its first row.
        flat = np.add.reduceat(block.weights_of(label).ravel(), starts.ravel())
        stretch = flat.reshape(starts.shape)
        stretch[:, :-1][empty] = 0.0
        upto = np.cumsum(stretch, axis=1).T
        beyond = np.cumsum(stretch[:, ::-1], axis=1)[:, ::-1].T
        np.put_along_axis(left[..., label], order, upto[:-1], axis=0)
        np.put_along_axis(right[..., label], order, beyond[1:], axis=0)
    return left, right


class _Judged(NamedTuple):
    """What the criterion says of candidate splits: (n_candidates, n_features) each."""

    impurity: FloatArray
    missing_left: NDArray[np.bool_]


def _judge(block: _Block, place: IntArray, criterion: str) -> _Judged:
    """Weigh the splits behind some values, missing values on their better side."""
    cuts = block.ends[block.offsets[:-1] + place]
    left, right = _class_weights(block, cuts, block.missing.shape[1])
    impurity = _split_impurity(left, right + block.missing, criterion)
    other = impurity
    if block.missing.any():
        other = _split_impurity(left + block.missing, right, criterion)
    missing_left = other < impurity - _SAME_IMPURITY
    return _Judged(np.where(missing_left, other, impurity), missing_left)


def _best_of_block(
    table: _Table, columns: IntArray, stump: PretrainedAttentionStump, criterion: str
) -> _Split | None:
    """The best split of some columns; of equal ones the first."""
    block, seen, missing = _sort(table, columns)
    # The last candidate of a column: its missing values against all others.
    apart = _split_impurity(seen, missing, criterion)
    parted = seen.any(axis=1) & missing.any(axis=1)
    impurity = np.where(parted, apart, np.inf)[np.newaxis]
    if len(block.columns):
        units = _units(stump, block, table.totals)
        place = _place(block, units)
        judged = _judge(block, place, criterion)
        found = np.full((len(units), len(columns)), np.inf)
        found[:, np.searchsorted(columns, block.columns)] = judged.impurity
        impurity = np.concatenate([found, impurity])
    n_candidates = len(impurity)
    flat = impurity.T.ravel()
    best = int(np.argmax(flat <= flat.min() + _SAME_IMPURITY))
    if flat[best] == np.inf:
        return None
    column, candidate = divmod(best, n_candidates)
    if candidate == n_candidates - 1:
        return _Split(int(columns[column]), np.inf, False, float(flat[best]))
    feature = int(np.searchsorted(block.columns, columns[column]))
    here = candidate, feature
    has_missing = missing[column].any()
    return _Split(
        int(columns[column]),
        _threshold(block, feature, units[here], place[here]),
        bool(judged.missing_left[here]) if has_missing else None,
        float(flat[best]),
    )


def _best_split(
    table: _Table, columns: IntArray, stump: PretrainedAttentionStump, criterion: str
) -> _Split | None:
    """The best split of some columns in ascending order, or None if none is valid."""
    best: _Split | None = None
    size = max(1, _BLOCK // len(table.codes))
    for start in range(0, len(columns), size):
        split = _best_of_block(table, columns[start : start + size], stump, criterion)
        if split is None:
            continue
        if best is None or split.impurity < best.impurity - _SAME_IMPURITY:
            best = split
    return best


class AttentionStumpClassifier(ClassifierMixin, BaseEstimator):
    """A decision stump for ordinary tables, its threshold read by a frozen attention.

    The training table is the context: for each feature, each direction and each class
    against the rest, a pretrained, frozen attention infers a threshold from the ranks
    of the observations and their labels, and the split of lowest impurity is kept.
    Nothing is trained at `fit`. It serves in the place of
    ``DecisionTreeClassifier(max_depth=1)``, alone, in pipelines and in ensembles.

    Parameters
    ----------
    stump : PretrainedAttentionStump, optional
        A fitted stump, whose head and coefficients are used in rank coordinates,
        whatever direction and scaling it was fitted with, and without anchors. Clones
        of this classifier share it: it stays frozen. By default a Gibbs head with
        coefficients that come with the package.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        The impurity by which splits are judged; "log_loss" is another name of
        "entropy", as in scikit-learn.
    max_features : int, float or {"sqrt", "log2"}, optional
        How many features are looked at, drawn at random: so many, a share of them,
        the root or the binary logarithm of their number; by default all. As in
        scikit-learn's trees, more are drawn until one can be split.
    random_state : int, RandomState instance or None, default=None
        Draws the features where `max_features` leaves some out, and nothing else.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    feature_ : int or None
        The feature that is split; None if no feature can be, or if only one class has
        weight.
    threshold_ : float
        In the feature's units: ``x <= threshold_`` goes left, in float64, at fit and
        predict. NaN without a split; infinity if missing values are split from all
        others.
    direction_ : {"<=", ">="} or None
        The leaf where the last class has the greater share: left ("<=") or right.
    missing_go_to_left_ : bool
        Where missing values go: to the side of lower impurity if `feature_` had some
        at fit, else to the heavier side.
    value_ : ndarray of shape (2, n_classes)
        Class shares of the left and of the right leaf, by weight; the same without a
        split.
    feature_importances_ : ndarray of shape (n_features,)
        1 for the feature that lowers the impurity and 0 for all others.
    stump_ : PretrainedAttentionStump
        The stump that was used.
    n_features_in_ : int
    feature_names_in_ : ndarray of str of shape (n_features,)
        Only if all features have names that are strings.

    See Also
    --------
    PretrainedAttentionStump : Pretrains on tasks of known threshold.
    sklearn.tree.DecisionTreeClassifier : The classical stump, with ``max_depth=1``.

    Notes
    -----
    Of equal splits the first feature's is kept. Replicating a row does what doubling
    its weight does, and the unit of the weights plays no part.

    The threshold need not be the one of least impurity: it is a mean over all good
    ones, and there lies its use where labels are noisy. This class, its criterion and
    class costs are this project's own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_attnstump.classifier import AttentionStumpClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> stump = AttentionStumpClassifier().fit(X, y)
    >>> X.columns[stump.feature_], stump.direction_
    ('worst radius', '<=')
    >>> round(stump.score(X, y), 2)
    0.92
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "stump": [HasMethods(["fit", "predict"]), None],
        "criterion": [StrOptions({"gini", "entropy", "log_loss", "misclassification"})],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        stump: PretrainedAttentionStump | None = None,
        *,
        criterion: str = "gini",
        max_features: int | float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.stump = stump
        self.criterion = criterion
        self.max_features = max_features
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> AttentionStumpClassifier:
        """Infer thresholds from the table, and keep the best split.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table, NaN where a value is missing.
        y : array-like of shape (n_samples,)
            Class labels: strings, booleans or integers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, at least 0.

        Returns
        -------
        self : AttentionStumpClassifier

        Raises
        ------
        ValueError
            If `X` has infinite values or nothing in it, `y` has missing or continuous
            values or another length, or weights are negative or all zero.
        NotFittedError
            If `stump` is not fitted.
        """
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        check_classification_targets(y)
        stump = self._frozen_stump()
        classes, codes = np.unique(y, return_inverse=True)
        table = _make_table(X, codes, sample_weight, len(classes))
        split = None
        if np.count_nonzero(table.totals) > 1:
            split = self._search(table, stump)
        self.classes_, self.stump_ = classes, stump
        self._keep(table, split)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of the larger share in each row's leaf; the first class where they tie.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` has infinite values, or other features than at fit.
        """
        leaf = self._leaf(X)
        return self.classes_[self.value_.argmax(axis=1)][leaf]

    def predict_proba(self, X: Any) -> FloatArray:
        """Class shares of each row's leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`.
        """
        leaf = self._leaf(X)
        return self.value_[leaf]

    def decision_function(self, X: Any) -> FloatArray:
        """Class shares of each row's leaf, or their difference for two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the share of the second less that of the first: positive
            exactly where the second is predicted.

        Raises
        ------
        NotFittedError, ValueError
            As `predict`.
        """
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    def _leaf(self, X: Any) -> IntArray:
        """ndarray of shape (n_samples,): 0 for rows that go left, 1 for the others."""
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if self.feature_ is None:
            return np.zeros(len(X), dtype=np.intp)
        x = X[:, self.feature_]
        return np.where(self._goes_left(x), 0, 1)

    def _goes_left(self, x: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        # In float64: the threshold may lie between two neighbours of float32.
        left = x.astype(np.float64) <= self.threshold_
        return np.where(np.isnan(x), self.missing_go_to_left_, left)

    def _frozen_stump(self) -> PretrainedAttentionStump:
        if self.stump is None:
            return PretrainedAttentionStump.from_coef(_SHIPPED, "gibbs", scaling="rank")
        if not (hasattr(self.stump, "head_") and hasattr(self.stump, "coef_")):
            raise NotFittedError(
                f"stump={self.stump!r} is not fitted. Fit it on tasks of known "
                "threshold first; scikit-learn's clone() of a stump is not fitted."
            )
        return self.stump

    def _search(self, table: _Table, stump: PretrainedAttentionStump) -> _Split | None:
        """The best split of the features that are drawn, at least one of them valid."""
        n_features = table.X.shape[1]
        n_drawn = _number_drawn(self.max_features, n_features)
        order = np.arange(n_features)
        if n_drawn < n_features:
            order = check_random_state(self.random_state).permutation(n_features)
        split = _best_split(table, np.sort(order[:n_drawn]), stump, self.criterion)
        for position in range(n_drawn, n_features):
            if split is not None:
                break
            drawn = order[position : position + 1]
            split = _best_split(table, drawn, stump, self.criterion)
        return split

    def _keep(self, table: _Table, split: _Split | None) -> None:
        """Set the fitted attributes; leaves hold what `threshold_` really parts."""
        n_features, n_classes = table.X.shape[1], len(table.totals)
        self.feature_importances_ = np.zeros(n_features)
        if split is None:
            self.feature_, self.threshold_, self.direction_ = None, np.nan, None
            self.missing_go_to_left_ = True
            self.value_ = np.tile(table.totals / table.totals.sum(), (2, 1))
            return
        self.feature_, self.threshold_ = split.column, split.threshold
        self.missing_go_to_left_ = bool(split.missing_left)
        left = self._goes_left(table.read(np.array([split.column]))[0])
        leaf = np.where(left, 0, 1)
        weights = np.bincount(
            leaf * n_classes + table.codes, table.weights, 2 * n_classes
        ).reshape(2, n_classes)
        whole = weights.sum(axis=1)
        if split.missing_left is None:
            self.missing_go_to_left_ = bool(whole[0] > whole[1])
        self.value_ = weights / whole[:, np.newaxis]
        self.direction_ = "<=" if self.value_[0, -1] >= self.value_[1, -1] else ">="
        root = float(_impurity(table.totals, self.criterion) / table.totals.sum())
        if split.impurity < root - _SAME_IMPURITY:
            self.feature_importances_[split.column] = 1.0

    def __sklearn_clone__(self) -> AttentionStumpClassifier:
        """A clone shares the pretrained stump, which scikit-learn would unfit."""
        twin = super().__sklearn_clone__()
        twin.stump = self.stump
        return twin

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # of several classes it tells two
        return tags


def _make_table(
    X: NDArray[np.floating[Any]],
    codes: IntArray,
    sample_weight: ArrayLike | None,
    n_classes: int,
) -> _Table:
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
    return _Table(X, rows, small, weights, totals)


def _number_drawn(max_features: int | float | str | None, n_features: int) -> int:
    """How many features are looked at, as scikit-learn's trees count them."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))
