"""How the speed benchmark measures: time in passes, memory in fresh processes.

A pass is one `numpy.exp` over as many float64 numbers as the work has tokens, into an
array that is there already: the least that any softmax must do. The machine's speed
drifts, by others' work too; passes are timed right before and after each run of the
work, and the ratio is taken pair by pair.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# What is shorter than this is repeated, and the mean taken (seconds).
_SHORT = 0.005


class Figure(NamedTuple):
    """What some work took: medians over pairs."""

    passes: float
    seconds: float
    of_pass: float  # seconds of a pass in the same run

    def ms(self) -> str:
        return f"{1000 * self.seconds:.3g}"

    def __str__(self) -> str:
        return f"{self.passes:.3g}" if self.passes < 99.5 else f"{self.passes:,.0f}"


class _Pass:
    """The unit for some number of tokens."""

    def __init__(self, n_tokens: int) -> None:
        self.x = np.linspace(-1.0, 0.0, n_tokens)
        self.out = np.zeros(n_tokens)
        self.repeats = max(1, 1_000_000 // n_tokens)

    def __call__(self) -> None:
        np.exp(self.x, out=self.out)

    def seconds(self, clock: Callable[[], float]) -> float:
        return _mean_time(self, self.repeats, clock)


def _mean_time(
    call: Callable[[], object], repeats: int, clock: Callable[[], float]
) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def measure(
    call: Callable[..., object],
    n_tokens: int,
    *,
    pairs: int,
    fresh: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Figure:
    """Time of a call in passes over so many tokens.

    With `fresh`, each call gets what that returns, untimed, and none is repeated: for
    what is only done once to an object. The clock is by default that of the processor,
    which stands still while others have it; work of several threads needs a wall clock.
    """
    unit = _Pass(n_tokens)
    repeats = 1
    if pairs > 1:  # warm up
        unit.seconds(clock)
        warm = _mean_time(call if fresh is None else partial(call, fresh()), 1, clock)
        if fresh is None:
            repeats = int(np.clip(_SHORT / max(warm, 1e-6), 1, 1000))
    times = np.empty((pairs, 2))
    for pair in times:
        args = () if fresh is None else (fresh(),)
        before = unit.seconds(clock)
        pair[0] = _mean_time(partial(call, *args), repeats, clock)
        pair[1] = (before + unit.seconds(clock)) / 2
    seconds, of_pass = np.median(times, axis=0)
    return Figure(float(np.median(times[:, 0] / times[:, 1])), seconds, of_pass)


@contextmanager
def one_processor() -> Iterator[None]:
    """Keep this thread, and those that it starts, on one processor."""
    if not hasattr(os, "sched_setaffinity"):  # not on Linux
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def in_fresh_process(function: Callable[..., Any], *args: Any) -> Any:
    """What a function of a module returns in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, *args).result()


def growth(call: Callable[[], object]) -> int:
    """Bytes by which the memory of this process grows at most during a call.

    By the kernel's own account of resident memory (Linux): its high-water mark is set
    back to what is resident before the call.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before = _of_status("VmRSS")
    call()
    return _of_status("VmHWM") - before


def traced_growth(call: Callable[[], object]) -> int:
    """The same by what NumPy and Python allocate.

    For data on disk: pages of a file that was read are resident until the system has
    another use for them.
    """
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _of_status(field: str) -> int:
    """Bytes of a field that the kernel keeps of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    value = next(line for line in lines if line.startswith(f"{field}:"))
    return 1024 * int(value.split()[1])
