"""Split-conformal intervals for thresholds.

Thresholds of calibration tasks that `fit` has not seen show how far predictions fall
from the truth, in units of the spread that the estimator itself expects of each. If a
fresh task is exchangeable with the ``n`` calibration tasks, its score is at most their
``ceil((n + 1) coverage)``-th smallest with at least the nominal probability, whatever
the noise and however wrong the estimator [1]_.

References
----------
.. [1] V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World",
   Springer, 2005, chapters 2 and 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def conformity_scores(
    thresholds: FloatArray, prediction: FloatArray, spread: FloatArray
) -> FloatArray:
    """Distances of thresholds from predictions, in units of the spreads, sorted.

    Infinite where an estimator was sure of itself, with no spread at all, and wrong.
    """
    distance = np.abs(thresholds - prediction)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        scores = distance / spread
    return np.sort(np.where(distance == 0, 0.0, scores))


def check_coverage(coverage: float) -> None:
    """Refuse what is no probability, percentages among it."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage={coverage!r} must lie between 0 and 1.")


def score_quantile(scores: FloatArray, coverage: float) -> float:
    """The score that a fresh one exceeds with probability at most ``1 - coverage``.

    Raises
    ------
    ValueError
        If there are too few scores to promise that much.
    """
    check_coverage(coverage)
    # A product such as 10 * 0.9 must not be rounded up past 9.
    rank = int(np.ceil((len(scores) + 1) * coverage * (1 - 1e-12)))
    if rank > len(scores):
        needed = int(np.ceil(coverage / (1 - coverage) * (1 - 1e-12)))
        raise ValueError(
            f"coverage={coverage} needs at least {needed} calibration tasks, found "
            f"{len(scores)}. Pass more tasks to conformalize, or ask for less."
        )
    return float(scores[rank - 1])


def intervals(prediction: FloatArray, spread: FloatArray, score: float) -> FloatArray:
    """ndarray of shape (n_tasks, 2): lower and upper ends about the predictions."""
    with np.errstate(invalid="ignore"):
        reach = score * spread
    # An infinite score promises nothing short of everything, of whatever spread.
    reach = np.full_like(spread, np.inf) if np.isinf(score) else reach
    return np.stack([prediction - reach, prediction + reach], axis=-1)
