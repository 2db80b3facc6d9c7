"""Corpora packed for pretraining: whole, in blocks for workers, or read as needed.

A corpus is a list of blocks of neighbouring tasks. Blocks give values for each task, in
the order of the tasks, and only those are ever summed: how a corpus is cut, and who
works on which block, cannot change a bit of the result.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.head import Derivatives, Head
from sklearn_attnstump.scaling import Scaling
from sklearn_attnstump.workers import Workers

FloatArray = NDArray[np.float64]

# Tokens of a block at most: what is made on the way to a block's pack, or read from
# disk, takes little beside a corpus that is worth a thought about memory.
_BLOCK = 1 << 18


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
        return self.head.pack_corpus(unit)

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
    workers : Workers or None
        Who evaluate the blocks.
    """

    def __init__(self, blocks: list[Any], workers: Workers | None) -> None:
        self.blocks = blocks
        self.workers = workers

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
        jobs = [(block, method, *args) for block in self.blocks]
        if self.workers is None:
            return [_call(*job) for job in jobs]
        return self.workers.map(_call, jobs)


class ScatteredPack(BlockedPack):
    """Blocks that stay with the workers of a Dask cluster.

    joblib sends the arguments of a call with each call. Here every thread of the
    cluster is sent one run of the blocks, once, and is asked to evaluate that. It then
    has nothing in its queue that Dask could move to another worker. A worker that
    retires hands its blocks on.

    Parameters
    ----------
    blocks : list of packs
    backend : joblib's backend for Dask
    """

    def __init__(self, blocks: list[Any], backend: Any) -> None:
        self.client = backend.client
        self.waiting = backend.retrieval_context  # gives way, where in a worker itself
        threads = [
            worker for worker, n in self.client.ncores().items() for _ in range(n)
        ]
        self.homes = threads[: len(blocks)]
        ends = np.linspace(0, len(blocks), len(self.homes) + 1).astype(int)
        self.runs = [
            self.client.scatter(
                BlockedPack(blocks[start:stop], None), workers=[home], hash=False
            )
            for home, start, stop in zip(self.homes, ends, ends[1:], strict=False)
        ]

    def _each(self, method: str, *args: Any) -> list[Any]:
        jobs = [
            self.client.submit(
                _call,
                run,
                method,
                *args,
                workers=[home],
                allow_other_workers=True,
                pure=False,
            )
            for home, run in zip(self.homes, self.runs, strict=True)
        ]
        try:
            with self.waiting():
                return self.client.gather(jobs)
        except CancelledError as error:
            raise RuntimeError(
                "a worker of the Dask cluster was lost, and with it a part of the "
                "corpus. Fit again, with more memory for each worker if that was "
                "the reason."
            ) from error


def _call(block: Any, method: str, *args: Any) -> Any:
    return getattr(block, method)(*args)


def prepare(
    contexts: Contexts,
    thresholds: FloatArray,
    weights: FloatArray | None,
    *,
    scaling: Scaling,
    head: Head,
    workers: Workers,
) -> Prepared:
    """Scale and pack a corpus; `head` learns from its thresholds.

    A corpus whose values are a `numpy.memmap` is taken to be larger than memory and is
    read block by block at each evaluation; any other is packed once.
    """
    streamed = isinstance(contexts.values, np.memmap)
    blocks = list(contexts.blocks(_block_size(contexts, workers.n_jobs, streamed)))
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
        packs = [head.pack_corpus(units.pop(0)) for _ in blocks]
    return Prepared(_spread(packs, workers), unit_thresholds)


def _spread(packs: list[Any], workers: Workers) -> BlockedPack:
    """The blocks of a corpus, beside those who are to work on them."""
    if workers.n_jobs == 1 or len(packs) == 1:
        return BlockedPack(packs, None)
    if hasattr(getattr(workers.backend, "client", None), "scatter"):  # joblib's Dask
        return ScatteredPack(packs, workers.backend)
    return BlockedPack(packs, workers)


def _block_size(contexts: Contexts, n_workers: int, streamed: bool) -> int:
    """Tokens of a block: two blocks for each worker, so that none waits long."""
    if streamed or n_workers == 1:
        return _BLOCK
    return min(_BLOCK, -(-contexts.n_tokens // (2 * n_workers)))
