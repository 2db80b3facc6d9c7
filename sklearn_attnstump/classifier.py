"""`AttentionStumpClassifier`: a decision stump for tables, read by a frozen attention.

All of it is this project's own; see `sklearn_attnstump.candidates` for how a table
becomes contexts, and `sklearn_attnstump.splits` for how candidates are judged.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_attnstump.candidates import propose
from sklearn_attnstump.estimators import PretrainedAttentionStump
from sklearn_attnstump.splits import (
    SAME_IMPURITY,
    Split,
    Table,
    best_split,
    first_valid,
    make_table,
)

__all__ = ["AttentionStumpClassifier"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Disagreement scale and prior weight of the shipped Gibbs head, as pretrained by
# benchmarks/pretrain_classifier_stump.py.
_SHIPPED = (1.66, 0.85)


class AttentionStumpClassifier(ClassifierMixin, BaseEstimator):
    """A decision stump for ordinary tables, its threshold read by a frozen attention.

    The training table is the context: for each feature, each direction and each class
    against the rest, a pretrained, frozen attention infers thresholds from the ranks
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
        "entropy", as in scikit-learn. "misclassification" sees no use in a split that
        leaves the same class the larger share on both sides: prefer the others where
        a class is rare.
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
    Tables are dense: sparse ones are refused, so let an encoder before it make dense
    columns (``OneHotEncoder(sparse_output=False)``). There is no ``class_weight``: pass
    ``sample_weight=compute_sample_weight("balanced", y)``, a function of
    `sklearn.utils.class_weight`, to `fit`. There is no ``tree_``, nor what reads it
    (``apply``, ``decision_path``), and `y` is one column. Time grows with rows times
    features times classes, and faster for hundreds of classes.

    Of equal splits the first feature's is kept. Replicating a row does what doubling
    its weight does, and the unit of the weights plays no part.

    The threshold need not be the one of least impurity: as a rule it is a mean over all
    good ones, and there lies its use where labels are noisy. To be kept, a split that
    cuts off a small, pure leaf, or that no other threshold is nearly as good as, must
    lower the impurity by a tenth more than others. This class, its criterion, class
    costs and that handicap are this project's own.

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
            The table, dense, NaN where a value is missing.
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
        TypeError
            If `X` is sparse.
        TypeError
            If `stump` is no `PretrainedAttentionStump`.
        NotFittedError
            If it is not fitted.
        """
        fitted = copy(self)
        fitted._fit(X, y, sample_weight)
        self.__dict__ = fitted.__dict__  # at once: a fit that fails changes nothing
        return self

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        X, y = validate_data(
            self, X, y, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        check_classification_targets(y)
        stump = self._frozen_stump()
        classes, codes = np.unique(y, return_inverse=True)
        table = make_table(X, codes, sample_weight, len(classes))
        split = None
        if np.count_nonzero(table.totals) > 1:
            split = self._search(table, stump)
        self.classes_, self.stump_ = classes, stump
        self._keep(table, split)

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
        TypeError
            If `X` is sparse.
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
        NotFittedError, ValueError, TypeError
            As `predict`.
        """
        leaf = self._leaf(X)
        return self.value_[leaf]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of `predict_proba`, minus infinity for shares of zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_shares : ndarray of shape (n_samples, n_classes)

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As `predict`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

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
        NotFittedError, ValueError, TypeError
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
        if isinstance(self.stump, type) or not hasattr(self.stump, "attention"):
            raise TypeError(
                f"stump={self.stump!r} has no attention to read ranks with. Pass a "
                "fitted PretrainedAttentionStump."
            )
        if not (hasattr(self.stump, "head_") and hasattr(self.stump, "coef_")):
            raise NotFittedError(
                f"stump={self.stump!r} is not fitted. Fit it on tasks of known "
                "threshold first; scikit-learn's clone() of a stump is not fitted, so "
                "wrap it in sklearn.frozen.FrozenEstimator to search over stumps."
            )
        return self.stump

    def _search(self, table: Table, stump: PretrainedAttentionStump) -> Split | None:
        """The best split of the features that are drawn, at least one of them valid."""
        infer = partial(propose, stump)
        n_features = table.X.shape[1]
        n_drawn = _number_drawn(self.max_features, n_features)
        order = np.arange(n_features)
        if n_drawn < n_features:
            order = check_random_state(self.random_state).permutation(n_features)
        split = best_split(table, np.sort(order[:n_drawn]), infer, self.criterion)
        if split is None:
            further = first_valid(table, order[n_drawn:])
            split = best_split(table, further, infer, self.criterion)
        return split

    def _keep(self, table: Table, split: Split | None) -> None:
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
            # Leaves that weigh the same but for rounding are equal: right, as in trees.
            excess = whole[0] - whole[1]
            self.missing_go_to_left_ = bool(excess > SAME_IMPURITY * whole.sum())
        self.value_ = weights / whole[:, np.newaxis]
        self.direction_ = "<=" if self.value_[0, -1] >= self.value_[1, -1] else ">="
        if split.score < 1 - SAME_IMPURITY:
            self.feature_importances_[split.column] = 1.0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; those of `stump` are none of this classifier's.

        Parameters
        ----------
        deep : bool, default=True
            Plays no part.

        Returns
        -------
        params : dict

        See Also
        --------
        set_params : Sets them.

        Examples
        --------
        >>> from sklearn_attnstump.classifier import AttentionStumpClassifier
        >>> AttentionStumpClassifier(criterion="entropy").get_params()["criterion"]
        'entropy'
        """
        return super().get_params(deep=False)

    def set_params(self, **params: Any) -> AttentionStumpClassifier:
        """Set parameters, but for those of `stump`, which stays frozen.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self : AttentionStumpClassifier

        Raises
        ------
        ValueError
            Of names that are no parameters, or are parameters of `stump`.

        See Also
        --------
        get_params : The parameters.

        Examples
        --------
        >>> from sklearn_attnstump.classifier import AttentionStumpClassifier
        >>> AttentionStumpClassifier().set_params(max_features="sqrt")
        AttentionStumpClassifier(max_features='sqrt')
        """
        for name in params:
            if name.startswith("stump__"):
                raise ValueError(
                    f"{name!r} cannot be set: the stump is frozen, and others may "
                    "share it. Fit another one, and set it as `stump`."
                )
        super().set_params(**params)
        return self

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
