"""Synthetic tasks: thresholds, observations and label noise of chosen laws."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from sklearn_attnstump.contexts import Contexts

# Checked by a call and not by the decorator `validate_params`, which would hide the
# signature from type checkers.
_CONSTRAINTS: dict[str, list[Any]] = {
    "n_tasks": [Interval(Integral, 1, None, closed="left")],
    "n_examples": [Interval(Integral, 1, None, closed="left"), tuple, list],
    "threshold_range": [tuple, list],
    "label_noise": [Interval(Real, 0, None, closed="left")],
    "noise": [StrOptions({"flip", "logistic"})],
    "feature_distribution": [StrOptions({"uniform", "normal"}), HasMethods("rvs")],
    "direction": [StrOptions({"<=", ">="})],
    "random_state": ["random_state"],
}


def make_stump_tasks(
    n_tasks: int = 100,
    n_examples: int | tuple[int, int] = 100,
    *,
    threshold_range: tuple[float, float] = (0.0, 1.0),
    label_noise: float = 0.0,
    noise: Literal["flip", "logistic"] = "flip",
    feature_distribution: Any = "uniform",
    direction: Literal["<=", ">="] = "<=",
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Contexts, NDArray[np.float64]]:
    """Draw a corpus of decision-stump tasks.

    Each task has a threshold, drawn uniformly from `threshold_range`, and a context of
    observations ``(x, label)`` of one feature: the label says on which side of the
    threshold `x` lies, up to noise.

    Parameters
    ----------
    n_tasks : int, default=100
        Number of tasks.
    n_examples : int or pair (low, high) of int, default=100
        Observations of each task. With a pair the corpus is ragged: each task's size is
        drawn uniformly from ``low, ..., high``, both ends included.
    threshold_range : pair (low, high) of float, default=(0.0, 1.0)
        Where the thresholds lie, in the feature's units. ``low == high`` gives every
        task the same threshold.
    label_noise : float, default=0.0
        Amount of label noise; 0 is clean. What it measures depends on `noise`.
    noise : {"flip", "logistic"}, default="flip"
        Law of the labels:

        - "flip": each label is flipped with probability `label_noise`, wherever its
          observation lies;
        - "logistic": label 1 has probability
          ``expit((threshold - x) / label_noise)``, with the sign reversed for
          ``direction=">="``. `label_noise` is then the scale of the logistic curve, in
          the feature's units, and the threshold its 50 % point.
    feature_distribution : {"uniform", "normal"} or frozen distribution, \
            default="uniform"
        Law of the feature: uniform on [0, 1], standard normal, or a frozen
        :mod:`scipy.stats` distribution (any object with
        ``rvs(size=..., random_state=...)``).
    direction : {"<=", ">="}, default="<="
        Side of the threshold that has label 1. Equality has label 1 either way.
    random_state : int, RandomState instance or None, default=None
        Source of randomness; an int gives the same corpus at each call. The noise is
        drawn last, so that corpora which differ only in `label_noise`, `noise` or
        `direction` have the same thresholds and observations.

    Returns
    -------
    contexts : Contexts of shape (n_tasks,)
        The labelled observations, one feature.
    thresholds : ndarray of shape (n_tasks,)
        The thresholds, in the feature's units.

    Raises
    ------
    ValueError
        If a parameter is out of its range, a pair is not an ordered pair, or
        `feature_distribution` draws anything but finite numbers.

    See Also
    --------
    load_browser_support : A real corpus.

    Examples
    --------
    >>> from sklearn_attnstump.datasets import make_stump_tasks
    >>> contexts, thresholds = make_stump_tasks(3, (5, 9), random_state=0)
    >>> contexts.shape, thresholds.shape
    ((3,), (3,))
    >>> bool(((contexts.sizes >= 5) & (contexts.sizes <= 9)).all())
    True

    Nothing but the labels changes with the noise:

    >>> noisy, same = make_stump_tasks(3, (5, 9), label_noise=0.2, random_state=0)
    >>> bool((noisy.values == contexts.values).all() and (same == thresholds).all())
    True
    """
    validate_parameter_constraints(
        _CONSTRAINTS,
        {
            "n_tasks": n_tasks,
            "n_examples": n_examples,
            "threshold_range": threshold_range,
            "label_noise": label_noise,
            "noise": noise,
            "feature_distribution": feature_distribution,
            "direction": direction,
            "random_state": random_state,
        },
        caller_name="make_stump_tasks",
    )
    if noise == "flip" and label_noise > 1:
        raise ValueError(
            "With noise='flip', label_noise is a probability and must be at most 1. "
            f"Got {label_noise!r} instead."
        )
    fewest, most = _size_range(n_examples)
    low, high = _threshold_range(threshold_range)
    rng = check_random_state(random_state)

    sizes = rng.randint(fewest, most + 1, size=n_tasks, dtype=np.int64)
    thresholds = rng.uniform(low, high, size=n_tasks)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n_tokens = int(offsets[-1])
    values = _draw_feature(feature_distribution, n_tokens, rng)

    cuts = np.repeat(thresholds, sizes)
    if noise == "logistic":
        # x <= theta + s L with L logistic has probability expit((theta - x) / s), and
        # x >= theta + s L has the mirrored one: noisy labels are clean labels of a cut
        # that moves from token to token. There is no division, so s = 0 is no case of
        # its own.
        cuts += label_noise * rng.logistic(size=n_tokens)
    labels = values <= cuts if direction == "<=" else values >= cuts
    if noise == "flip":
        labels ^= rng.uniform(size=n_tokens) < label_noise
    return Contexts.from_arrays(values, labels, offsets), thresholds


def _size_range(n_examples: Any) -> tuple[int, int]:
    """Fewest and most observations of a task."""
    if isinstance(n_examples, Integral):
        return int(n_examples), int(n_examples)
    if (
        len(n_examples) != 2
        or not all(isinstance(size, Integral) for size in n_examples)
        or not 1 <= n_examples[0] <= n_examples[1]
    ):
        raise ValueError(
            "n_examples must be an int or a pair (low, high) of ints with "
            f"1 <= low <= high. Got {n_examples!r} instead."
        )
    return int(n_examples[0]), int(n_examples[1])


def _threshold_range(threshold_range: Any) -> tuple[float, float]:
    """Lowest and highest threshold."""
    if (
        len(threshold_range) != 2
        or not all(isinstance(end, Real) for end in threshold_range)
        # False for a NaN or infinite end, and where the width overflows
        or not 0 <= float(threshold_range[1]) - float(threshold_range[0]) < np.inf
    ):
        raise ValueError(
            "threshold_range must be a pair (low, high) of finite numbers with "
            f"low <= high. Got {threshold_range!r} instead."
        )
    return float(threshold_range[0]), float(threshold_range[1])


def _draw_feature(
    distribution: Any, n_tokens: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw `n_tokens` independent values of the feature."""
    if distribution == "uniform":
        return rng.uniform(size=n_tokens)
    if distribution == "normal":
        return rng.normal(size=n_tokens)
    drawn = distribution.rvs(size=n_tokens, random_state=rng)
    values = np.asarray(drawn, dtype=np.float64)
    if values.shape != (n_tokens,):
        raise ValueError(
            "feature_distribution.rvs(size=n) must give an array of shape (n,), a "
            f"number for each observation. Got shape {values.shape} for n={n_tokens}."
        )
    return values
