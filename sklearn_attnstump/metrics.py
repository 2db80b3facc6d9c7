"""Metrics of thresholds that scikit-learn does not have.

Where true thresholds are known, scikit-learn's own regression metrics serve.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from sklearn_attnstump.contexts import Contexts

__all__ = ["label_error", "label_error_scorer", "scaled_squared_error"]

FloatArray = NDArray[np.float64]


def label_error(
    contexts: Any, thresholds: ArrayLike, *, direction: str = "<="
) -> FloatArray:
    """Share of each context's labels that a threshold contradicts.

    It judges predicted thresholds where no true ones are known.

    Parameters
    ----------
    contexts : Contexts, or any form of them
        Of one feature.
    thresholds : array-like of shape (n_tasks,)
        In the feature's units.
    direction : {"<=", ">="}, default="<="
        The side of the threshold on which labels should be 1; an observation equal to
        the threshold should have label 1 on either.

    Returns
    -------
    error : ndarray of shape (n_tasks,)
        Between 0 and 1; tokens count by their weights.

    Raises
    ------
    ValueError
        If the contexts have several features, or another number of tasks than there
        are thresholds.

    See Also
    --------
    label_error_scorer : Its mean, for model selection.

    Examples
    --------
    >>> from sklearn_attnstump.metrics import label_error
    >>> label_error([([0.1, 0.4, 0.6, 0.9], [1, 0, 1, 0])], [0.5])
    array([0.5])
    """
    contexts = Contexts(contexts)
    cut = np.asarray(thresholds, dtype=np.float64)
    if contexts.n_features != 1:
        raise ValueError(
            f"the contexts have {contexts.n_features} features; pass those of one, for "
            "example contexts.select_feature(0)."
        )
    if cut.shape != (len(contexts),):
        raise ValueError(
            f"thresholds have shape {cut.shape} but there are {len(contexts)} "
            "contexts. Pass one for each."
        )
    if direction not in ("<=", ">="):
        raise ValueError(f"direction={direction!r}: pass '<=' or '>='.")
    x, each = contexts.values[:, 0], np.repeat(cut, contexts.sizes)
    said = x <= each if direction == "<=" else x >= each
    wrong = (said != contexts.labels).astype(np.float64)
    starts = contexts.offsets[:-1]
    if contexts.weights is None:
        return np.add.reduceat(wrong, starts) / contexts.sizes
    wrong *= contexts.weights
    return np.add.reduceat(wrong, starts) / np.add.reduceat(contexts.weights, starts)


def label_error_scorer(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    direction: str | None = None,
    feature: int | str | None = None,
) -> float:
    """Minus the mean label error of an estimator's thresholds; greater is better.

    A scorer for ``cross_validate(..., scoring=label_error_scorer)`` and for searches.
    It needs no thresholds.

    Parameters
    ----------
    estimator : object
        A fitted estimator over contexts. Of a pipeline, a search, a
        ``TransformedTargetRegressor`` or a ``FrozenEstimator`` the estimator inside is
        judged, on the contexts and in the units that it sees: labels stay on their side
        of a threshold under a monotone map.
    X : Contexts, or any form of them
    y : ignored
    direction, feature : str and int or str, optional
        By default the estimator's own `direction_` and `feature`. For an estimator that
        has none, such as scikit-learn's ``DummyRegressor``, pass them by
        `functools.partial`.

    Returns
    -------
    score : float
        Between -1 and 0; each task counts alike.

    Raises
    ------
    ValueError
        If the direction is neither known to the estimator nor given.

    See Also
    --------
    label_error : For each task.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn_attnstump.baselines import ERMStump
    >>> from sklearn_attnstump.datasets import make_stump_tasks
    >>> from sklearn_attnstump.metrics import label_error_scorer
    >>> X, y = make_stump_tasks(50, 100, label_noise=0.1, random_state=0)
    >>> stump = ERMStump(feature_range=(0, 1))
    >>> scores = cross_validate(stump, X, y, scoring=label_error_scorer)
    >>> float(scores["test_score"].mean().round(3))
    -0.103
    """
    stump, contexts = _innermost(estimator, X)
    if direction is None:
        direction = getattr(stump, "direction_", None)
    if direction is None:
        raise ValueError(
            f"{type(stump).__name__} has no direction_. Say which side of a threshold "
            "has label 1: functools.partial(label_error_scorer, direction='<=')."
        )
    contexts = Contexts(contexts, classes=getattr(stump, "label_classes_", None))
    if feature is None:
        feature = getattr(stump, "feature", 0)
    if isinstance(feature, str):
        names = getattr(stump, "feature_names_in_", contexts.feature_names)
        feature = list(() if names is None else names).index(feature)
    one = contexts.select_feature(int(feature))
    return -float(label_error(one, stump.predict(contexts), direction=direction).mean())


def _innermost(estimator: Any, X: Any) -> tuple[Any, Any]:
    """The estimator that reads contexts, and the contexts that reach it."""
    if isinstance(estimator, Pipeline):
        return _innermost(estimator[-1], estimator[:-1].transform(X))
    for inside in ("best_estimator_", "regressor_", "estimator"):
        if hasattr(estimator, inside):
            return _innermost(getattr(estimator, inside), X)
    return estimator, X


def scaled_squared_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sizes: ArrayLike,
    *,
    feature_range: tuple[float, float] = (0.0, 1.0),
) -> FloatArray:
    """Squared error of each threshold times the squared size of its context.

    On clean labels an error is of the order of the distance between neighbouring
    observations, so that this is of order one for contexts of whatever size: on
    average 1/2 for the middle of the label gap and 2 for the largest observation with
    label 1, if the feature is uniform on its range.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_tasks,)
        Thresholds, in the feature's units.
    sizes : array-like of shape (n_tasks,) or int
        Numbers of observations: ``contexts.sizes``.
    feature_range : tuple (lo, hi), default=(0.0, 1.0)
        Errors are taken as shares of its width.

    Returns
    -------
    error : ndarray of shape (n_tasks,)

    Raises
    ------
    ValueError
        If the arrays' lengths disagree, or the range is not positive and finite.

    See Also
    --------
    sklearn.metrics.mean_squared_error : Where all contexts are of one size.

    Examples
    --------
    >>> from sklearn_attnstump.metrics import scaled_squared_error
    >>> scaled_squared_error([0.5, 0.5], [0.51, 0.4], [100, 10])
    array([1., 1.])
    """
    true, predicted = np.asarray(y_true, float), np.asarray(y_pred, float)
    counts = np.asarray(sizes, float)
    if true.ndim != 1 or true.shape != predicted.shape:
        raise ValueError(
            f"y_true and y_pred have the shapes {true.shape} and {predicted.shape}; "
            "pass one threshold for each context in both."
        )
    if counts.shape not in ((), true.shape):
        raise ValueError(
            f"sizes have shape {counts.shape} but there are {len(true)} thresholds. "
            "Pass one size for each context, or one for all."
        )
    width = float(feature_range[1]) - float(feature_range[0])
    if not 0 < width < np.inf:
        raise ValueError(
            f"feature_range={feature_range!r} must be finite, the lower end first."
        )
    return (counts * (predicted - true) / width) ** 2
