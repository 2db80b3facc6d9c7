"""Corpora packed for pretraining: whole, in blocks for workers, or read as needed.

A corpus is a list of blocks of neighbouring tasks. Blocks give values for each task, in
the order of the tasks, and only those are ever summed: how a corpus is cut, and who
works on which block, cannot change a bit of the result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.head import Derivatives, Head
from sklearn_attnstump.scaling import Scaling

FloatArray = NDArray[np.float64]

# Tokens that a corpus on disk is read by.
_STREAM = 1 << 20


class Prepared(NamedTuple):
    """A corpus, ready for a solver."""

    pack: BlockedPack
    targets: FloatArray  # (n_tasks,): thresholds in unit coordinates


class StreamedBlock:
    """Contexts on disk, scaled and packed anew at each evaluation."""

    def __init__(
        self,
        contexts: Contexts,
        scaling: Scaling,
        ends: tuple[FloatArray, FloatArray],
        head: Head,
    ) -> None:
        self.contexts = contexts
        self.scaling = scaling
        self.ends = ends
        self.head = head

    def _pack(self) -> Any:
        unit, _ = self.scaling.apply(self.contexts, self.ends)
        return self.head.pack(unit)

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        """Predictions, with derivatives up to `order`."""
        return self._pack().evaluate(coef, order)

    def label_edges(self) -> tuple[FloatArray, FloatArray]:
        """As the pack has them."""
        return self._pack().label_edges()


class BlockedPack:
    """Blocks of tasks, evaluated one after another or by workers.

    Parameters
    ----------
    blocks : list of packs
    pool : joblib.Parallel or None
        Whose workers evaluate the blocks.
    """

    def __init__(self, blocks: list[Any], pool: Parallel | None) -> None:
        self.blocks = blocks
        self.pool = pool

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        """Predictions, with derivatives up to `order`."""
        parts = self._each("evaluate", coef, order)
        return (
            parts[0]
            if len(parts) == 1
            else Derivatives(*map(np.concatenate, zip(*parts, strict=True)))
        )

    def label_edges(self) -> tuple[FloatArray, FloatArray]:
        """As the packs have them."""
        last, first = zip(*self._each("label_edges"), strict=True)
        return np.concatenate(last), np.concatenate(first)

    def _each(self, method: str, *args: Any) -> list[Any]:
        if self.pool is None:
            return [_call(block, method, *args) for block in self.blocks]
        return self.pool(delayed(_call)(block, method, *args) for block in self.blocks)


def _call(block: Any, method: str, *args: Any) -> Any:
    return getattr(block, method)(*args)


def make_pool(n_jobs: int | None) -> Parallel:
    """Workers that stay for a whole fit: threads, unless a backend is configured."""
    return Parallel(n_jobs=n_jobs, prefer="threads")


def prepare(
    contexts: Contexts,
    thresholds: FloatArray,
    weights: FloatArray | None,
    *,
    scaling: Scaling,
    head: Head,
    pool: Parallel,
) -> Prepared:
    """Scale and pack a corpus; `head` learns from its thresholds.

    A corpus whose values are a `numpy.memmap` is taken to be larger than memory and is
    read block by block at each evaluation; any other is packed once.
    """
    n_workers = effective_n_jobs(pool.n_jobs)
    streamed = isinstance(contexts.values, np.memmap)
    blocks = list(contexts.blocks(_block_size(contexts, n_workers, streamed)))
    lo, hi = scaling.ends(contexts)
    units, targets = [], []
    for tasks in blocks:
        unit, unit_map = scaling.apply(contexts[tasks], (lo[tasks], hi[tasks]))
        targets.append(unit_map.to_unit(thresholds[tasks]))
        if not streamed:
            units.append(unit)
    unit_thresholds = np.concatenate(targets)
    head.learn(unit_thresholds, weights)
    if streamed:
        packs: list[Any] = [
            StreamedBlock(contexts[tasks], scaling, (lo[tasks], hi[tasks]), head)
            for tasks in blocks
        ]
    else:
        packs = [head.pack(unit) for unit in units]
    return Prepared(
        BlockedPack(packs, pool if n_workers > 1 and len(packs) > 1 else None),
        unit_thresholds,
    )


def _block_size(contexts: Contexts, n_workers: int, streamed: bool) -> int:
    """Tokens of a block: two blocks for each worker, so that none waits long."""
    if streamed:
        return _STREAM
    if n_workers == 1:
        return contexts.n_tokens
    return -(-contexts.n_tokens // (2 * n_workers))
