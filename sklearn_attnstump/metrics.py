"""Metrics of thresholds that scikit-learn does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_attnstump.contexts import Contexts

__all__ = ["label_error"]

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
