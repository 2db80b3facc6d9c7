"""What makes a context hard: one label only, or labels that no threshold separates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.gaps import find_gaps

FloatArray = NDArray[np.float64]


class Diagnosis(NamedTuple):
    """Flags of some contexts, each of shape (n_tasks,)."""

    one_label: NDArray[np.bool_]
    not_separable: NDArray[np.bool_]


def diagnose(edges: tuple[FloatArray, FloatArray]) -> Diagnosis:
    """Flag contexts whose labels should fall as the feature rises.

    Parameters
    ----------
    edges : tuple (last, first) of ndarray of shape (n_tasks,)
        Largest observation with label 1 and smallest with label 0 of each context, as
        `sklearn_attnstump.gaps.label_edges` has them.
    """
    last, first = edges
    return Diagnosis(np.isinf(last) | np.isinf(first), last >= first)


def least_label_error(contexts: Contexts) -> FloatArray:
    """Share of each context's weight that the best threshold still contradicts."""
    starts = contexts.offsets[:-1]
    lo = np.minimum.reduceat(contexts.values[:, 0], starts)
    hi = np.maximum.reduceat(contexts.values[:, 0], starts)
    # A margin on both sides, so that "none" and "all" are thresholds too.
    margin = np.maximum(hi - lo, 1.0)
    gaps = find_gaps(contexts, lo - margin, hi + margin)
    if contexts.weights is None:
        total = contexts.sizes.astype(np.float64)
    else:
        total = np.add.reduceat(contexts.weights, starts)
    return np.minimum.reduceat(gaps.disagreement, gaps.starts) / total
