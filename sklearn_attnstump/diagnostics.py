"""What makes a context hard: one label only, or labels that no threshold separates."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.gaps import find_gaps, label_edges

FloatArray = NDArray[np.float64]


class Diagnosis(NamedTuple):
    """Flags of some contexts, each of shape (n_tasks,)."""

    one_label: NDArray[np.bool_]
    not_separable: NDArray[np.bool_]


def diagnose(contexts: Contexts) -> Diagnosis:
    """Flag contexts of one feature whose labels should fall as it rises."""
    last, first = label_edges(contexts)
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


def warn_of_hard_contexts(contexts: Contexts, *, reader: str, stacklevel: int) -> None:
    """Say once how many contexts a two-score head cannot do justice to."""
    hard = diagnose(contexts)
    n_lone, n_mixed = int(hard.one_label.sum()), int(hard.not_separable.sum())
    if n_lone:
        warnings.warn(
            f"{n_lone} of {len(contexts)} contexts have one label only; {reader} "
            "cannot tell on which side of them the threshold lies. If the feature's "
            "range is known, use anchors=True.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
    if n_mixed:
        mixed = contexts[np.flatnonzero(hard.not_separable)]
        error = float(least_label_error(mixed).mean())
        warnings.warn(
            f"no threshold separates the labels of {n_mixed} of {len(contexts)} "
            f"contexts ({n_mixed / len(contexts):.0%}); the first is {mixed.name(0)}. "
            f"The best thresholds still contradict {error:.1%} of their labels, and a "
            f"single stray label captures {reader}. Use head='gibbs', which is made "
            "for noisy labels.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
