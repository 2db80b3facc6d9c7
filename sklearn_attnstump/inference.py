"""Frozen inference: contexts in, thresholds out, block by block.

Contexts are read in blocks of neighbouring tasks. A block's arrays stay in the
processor's cache from the scaling to the prediction, memory does not grow with the
number of contexts, and what one context predicts cannot depend on another.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.diagnostics import Diagnosis, diagnose, least_label_error
from sklearn_attnstump.head import Head
from sklearn_attnstump.scaling import Scaling, UnitMap, anchor_tokens
from sklearn_attnstump.workers import Workers

FloatArray = NDArray[np.float64]

# Tokens of a block: a MiB an array.
_BLOCK = 1 << 17

# Tokens from which on a single context is not laid out in memory any more.
_HUGE = 1 << 20


class Inference(NamedTuple):
    """What a frozen head says of some contexts."""

    thresholds: FloatArray  # (n_tasks,), in the feature's units
    spread: FloatArray  # (n_tasks,): a posterior's deviation, or ones
    diagnosis: Diagnosis


def infer(
    contexts: Contexts,
    scaling: Scaling,
    head: Head,
    coef: FloatArray,
    *,
    n_jobs: int | None = None,
    report: bool = True,
) -> Inference:
    """Infer the threshold of each context, and what is to be known beside it.

    `report` says whether contexts outside the range are refused or warned of.
    """
    lo, hi = scaling.ends(contexts, report=report)
    jobs = (
        (contexts[tasks], (lo[tasks], hi[tasks]), scaling, head, coef)
        for tasks in contexts.blocks(_block_size(contexts, head))
    )
    with Workers(n_jobs) as workers:
        parts = workers.map(_infer_block, jobs)
    thresholds, spread, flags = zip(*parts, strict=True)
    return Inference(
        np.concatenate(thresholds),
        np.concatenate(spread),
        Diagnosis(*np.concatenate(flags, axis=1)),
    )


def _block_size(contexts: Contexts, head: Head) -> int:
    """Tokens of a block of contexts.

    Two blocks in one for heads that make little of many tokens, so that the calls of
    Python code weigh; but not of contexts on disk, where memory may be scarce.
    """
    on_disk = isinstance(contexts.values, np.memmap)
    return 2 * _BLOCK if head.streams and not on_disk else _BLOCK


def _infer_block(
    contexts: Contexts,
    ends: tuple[FloatArray, FloatArray],
    scaling: Scaling,
    head: Any,
    coef: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    if contexts.n_tokens > _HUGE and head.streams and scaling.kind != "rank":
        return _infer_huge(contexts, ends, scaling, head, coef)
    unit, unit_map = scaling.apply(contexts, ends)
    spread = np.ones(len(contexts))
    flags = np.zeros((2, len(contexts)), dtype=bool)
    if head.streams:
        prediction, edges = head.predict_stream([unit], coef)
        flags[:] = diagnose(edges)
        return unit_map.to_feature(prediction), spread, flags
    pack = head.pack(unit)
    prediction = pack.evaluate(coef, 0).prediction
    if head.has_posterior:
        spread = _image_spread(unit_map, prediction, pack.deviation(coef))
    if head.needs_both_labels:
        flags[:] = diagnose(pack.label_edges())
    return unit_map.to_feature(prediction), spread, flags


def _infer_huge(
    contexts: Contexts,
    ends: tuple[FloatArray, FloatArray],
    scaling: Scaling,
    head: Any,
    coef: FloatArray,
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """One context in one pass over its tokens, in memory of a block."""
    plain = replace(scaling, anchors=False)
    maps: list[UnitMap] = []  # one and the same, as the ends are given

    def pieces() -> Iterator[Contexts]:
        for start in range(0, contexts.n_tokens, _BLOCK):
            piece = contexts.piece(start, start + _BLOCK)
            if piece.weights is None or piece.weights.any():
                unit, unit_map = plain.apply(piece, ends)
                maps[:] = [unit_map]
                yield unit
        if scaling.anchors:
            yield anchor_tokens()

    prediction, edges = head.predict_stream(pieces(), coef)
    return maps[0].to_feature(prediction), np.ones(1), np.array(diagnose(edges))


def quantiles(
    contexts: Contexts,
    scaling: Scaling,
    head: Head,
    coef: FloatArray,
    levels: FloatArray,
    *,
    report: bool = True,
) -> FloatArray:
    """ndarray of shape (n_tasks, n_levels): posterior quantiles of the thresholds."""
    if scaling.direction == ">=":  # the map falls: the upper tail is the lower one
        levels = 1 - levels
    lo, hi = scaling.ends(contexts, report=report)
    found = np.empty((len(contexts), len(levels)))
    for tasks in contexts.blocks(_block_size(contexts, head)):
        unit, unit_map = scaling.apply(contexts[tasks], (lo[tasks], hi[tasks]))
        found[tasks] = unit_map.to_feature(head.pack(unit).quantiles(coef, levels))
    return found


def warn_of_hard_contexts(
    contexts: Contexts,
    scaling: Scaling,
    hard: Diagnosis,
    *,
    reader: str,
    stacklevel: int,
) -> None:
    """Say once how many contexts a two-score head cannot do justice to.

    `stacklevel` is that of `warnings.warn` as seen by the caller.
    """
    lone = np.flatnonzero(hard.one_label)
    if len(lone):
        warnings.warn(
            f"{len(lone)} of {len(contexts)} contexts have one label only, the first "
            f"is {contexts.name(int(lone[0]))}; {reader} cannot tell on which side of "
            "them the threshold lies. If the feature's range is known, use "
            "anchors=True.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
    mixed = np.flatnonzero(hard.not_separable)
    if len(mixed):
        warnings.warn(
            f"no threshold separates the labels of {len(mixed)} of {len(contexts)} "
            f"contexts ({len(mixed) / len(contexts):.0%}), the first is "
            f"{contexts.name(int(mixed[0]))}. {_least_error(contexts, scaling, mixed)}"
            f"A single stray label captures {reader}. "
            "Use head='gibbs', which is made for noisy labels.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def _least_error(contexts: Contexts, scaling: Scaling, mixed: NDArray[np.intp]) -> str:
    """A sentence on how noisy contexts are that no threshold separates.

    By the first of them that fit into memory together: to sort all of them only to
    speak of them would cost more than to predict.
    """
    some = contexts[mixed[np.cumsum(contexts.sizes[mixed]) <= _HUGE]]
    if not len(some):
        return ""
    unit, _ = scaling.apply(some, scaling.ends(some, report=False))
    error = least_label_error(unit).mean()
    return f"The best thresholds still contradict {error:.1%} of their labels. "


def _image_spread(
    unit_map: UnitMap, prediction: FloatArray, deviation: FloatArray
) -> FloatArray:
    """Half the distance between the images of one deviation to either side."""
    ends = np.stack([prediction - deviation, prediction + deviation], axis=-1)
    images = unit_map.to_feature(ends)
    return np.abs(images[:, 1] / 2 - images[:, 0] / 2)  # the whole may overflow
