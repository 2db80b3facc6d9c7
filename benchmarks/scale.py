"""The parts of the speed benchmark about size: cost, memory, threads, profiles."""

from __future__ import annotations

import cProfile
import os
import pstats
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from passes import growth, in_fresh_process, measure, traced_growth
from report import prose, table
from targets import (
    HORIZON,
    Extent,
    N,
    Section,
    Target,
    as_array,
    frozen_stump,
    points,
    quietly,
    stump,
)

from sklearn_attnstump import Contexts
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.heads import HEADS
from sklearn_attnstump.objective import CorpusLoss

MIB = 2**20


# Growth with size.


def linear_section(extent: Extent) -> Section:
    parts, targets = [], []
    for many in (True, False):
        rows, costs = [], []
        for n_tokens in extent.sizes:
            size = min(N, n_tokens) if many else n_tokens
            cells = costs_at(n_tokens // size, size, extent)
            if n_tokens >= 1e5:
                costs.append(cells)
            ns = (f"{cell:.3g}" if cell else "-" for cell in cells.values())
            rows.append([f"{n_tokens:.0e}".replace("e+0", "e"), *ns])
        what = f"contexts of {N:,} tokens" if many else "one context"
        parts += [f"### {what.capitalize()}", table(["tokens", *costs[0]], rows)]
        for name in ("evaluation, a = 30", "evaluation, a = 500", "predict, single"):
            values = [cells[name] for cells in costs]
            spread = max(values) / min(values)
            targets.append(Target(f"{what}: {name}", 2, spread, "times"))
    text = """
    Nanoseconds a token, one thread, single head unless said. A step is Newton's at
    `a = 30`: an evaluation with second derivatives. `fit` is Newton's from `Contexts`
    to the fitted estimator, `predict` that of `Contexts`. The pack is done once in a
    fit. Left out are the Gibbs head on one context beyond 1e7, which it sorts in
    memory, and repetitions beyond one for the Gibbs head and for `fit` at 1e8.
    """
    return Section("From small to large", [prose(text), *parts], targets)


def costs_at(n_contexts: int, size: int, extent: Extent) -> dict[str, float]:
    """Nanoseconds a token of one size of corpus."""
    X, y = make_stump_tasks(n_contexts, size, random_state=3)
    pairs = min(extent.pairs, 5)

    def cost(call: Callable[..., object], pairs: int = pairs, **fresh: Any) -> float:
        figure = measure(call, X.n_tokens, pairs=pairs, **fresh)
        return figure.seconds * 1e9 / X.n_tokens

    head = HEADS["single"]()
    loss = CorpusLoss(head.pack_corpus(X), y)
    costs = {"pass": measure(int, X.n_tokens, pairs=pairs).of_pass * 1e9 / X.n_tokens}
    for coef in points("single")[:2]:
        costs[f"evaluation, a = {coef[0]:g}"] = cost(partial(loss.evaluate, coef))
    costs["step"] = cost(partial(loss.evaluate, points("single")[0], 2))
    del loss
    costs["fit"] = 0.0
    if n_contexts > 1:  # of one task nothing can be learned
        each = partial(quietly, stump().fit, X, y)
        costs["fit"] = cost(each, 1 if X.n_tokens > 1e7 else pairs)
    costs["pack"] = cost(partial(head.pack, X))
    for name in HEADS:
        frozen = frozen_stump(name)
        once = name == "gibbs" and X.n_tokens > 1e7
        costs[f"predict, {name}"] = (
            cost(partial(quietly, frozen.predict, X), *((1,) if once else ()))
            if not (once and n_contexts == 1)
            else 0.0
        )
    return costs


# Threads.


def exp_row(jobs: int, extent: Extent) -> list[Any]:
    """What processors that share a unit for vectors can gain: `numpy.exp` itself."""
    tokens = np.random.RandomState(0).uniform(size=N * N)
    parts = np.split(tokens, [len(tokens) * k // jobs for k in range(1, jobs)])
    outs = [np.empty_like(part) for part in parts]
    with ThreadPoolExecutor(jobs) as pool:
        one, both = (
            measure(call, N * N, pairs=extent.pairs, clock=time.perf_counter)
            for call in (
                lambda: [np.exp(*pair) for pair in zip(parts, outs, strict=True)],
                lambda: list(pool.map(np.exp, parts, outs)),
            )
        )
    return ["`numpy.exp` itself", one, both, f"{one.seconds / both.seconds:.2f}"]


def threads_section(extent: Extent) -> Section:
    """A fit and predictions by all processors, by the clock on the wall."""
    corpus = make_stump_tasks(N, N, random_state=0)
    X = as_array(make_stump_tasks(10_000, 100, random_state=1)[0])
    work: dict[str, Any] = {"fit, newton": (stump(), "fit", corpus)}
    for head in HEADS:
        name = f"predict 10,000 x 100, {head}"
        work[name] = (frozen_stump(head), "predict", (X,))
    jobs = os.cpu_count() or 1
    rows = [exp_row(jobs, extent)]
    for name, (each, method, args) in work.items():
        one, both = (
            measure(
                partial(quietly, getattr(each.set_params(n_jobs=n), method), *args),
                N * N,
                pairs=extent.pairs,
                clock=time.perf_counter,
            )
            for n in (1, jobs)
        )
        rows.append([name, one, both, f"{one.seconds / both.seconds:.2f}"])
    text = f"""
    With `n_jobs={jobs}`, threads, on all processors, by the clock on the wall, in
    passes of one thread. Processors that are two threads of one core share its unit for
    vectors; the first row says how much there is to gain.
    """
    header = ["", "one", f"n_jobs={jobs}", "times faster"]
    return Section("Threads", [prose(text), table(header, rows)], [])


# Memory. Each of these functions runs in a process of its own.


def memory_of_fit(head: str, n_tokens: int) -> float:
    """Peak with the data, in units of the flat data."""
    X, y = make_stump_tasks(n_tokens // N, N, random_state=4)
    flat = X.values.nbytes + X.labels.nbytes + X.offsets.nbytes
    return 1 + growth(partial(quietly, stump(head).fit, X, y)) / flat


def memory_of_predict(head: str, n_contexts: int, size: int) -> float:
    """Growth in MiB."""
    frozen = frozen_stump(head)
    X, _ = make_stump_tasks(n_contexts, size, random_state=4)
    return growth(partial(quietly, frozen.predict, X)) / MIB


def memory_on_disk(fit: bool, n_tokens: int) -> float:
    """Growth in MiB while a corpus on disk is read."""
    with tempfile.TemporaryDirectory() as folder:
        X, y = make_stump_tasks(n_tokens // N, N, random_state=4)
        offsets, arrays = X.offsets, {"values": X.values, "labels": X.labels}
        for name, array in arrays.items():
            np.save(Path(folder) / f"{name}.npy", array)
        del X, arrays
        values, labels = (
            np.load(Path(folder) / f"{name}.npy", mmap_mode="r")
            for name in ("values", "labels")
        )
        on_disk = Contexts.from_arrays(values, labels, offsets)
        if fit:
            call = partial(stump().fit, on_disk, y)
        else:
            call = partial(frozen_stump().predict, on_disk)
        return traced_growth(partial(quietly, call)) / MIB


def memory_section(extent: Extent) -> Section:
    fit_sizes = extent.memory_sizes[:2]
    largest = extent.memory_sizes[-1]
    in_fits = {
        (head, n): in_fresh_process(memory_of_fit, head, n)
        for head in HEADS
        for n in fit_sizes
    }
    shares = [[head, *(f"{in_fits[head, n]:.2f}" for n in fit_sizes)] for head in HEADS]
    rows, most = [], 0.0
    for head in HEADS:
        for n_contexts, size in ((largest // N, N), (1, largest)):
            if head == "gibbs" and n_contexts == 1:
                continue
            grown = in_fresh_process(memory_of_predict, head, n_contexts, size)
            most = max(most, grown)
            what = f"predict, {head}, {n_contexts:,} x {size:,}"
            rows.append([what, f"{grown:.0f}"])
    for fit in (False, True):
        grown = in_fresh_process(memory_on_disk, fit, fit_sizes[-1])
        what = f"{'fit' if fit else 'predict'} on disk, {fit_sizes[-1] // N:,} x {N:,}"
        rows.append([what, f"{grown:.0f}"])
        most = most if fit else max(most, grown)
    text = f"""
    Peaks of resident memory in fresh processes. Of `fit`, the data included, in units
    of the flat data (nine bytes a token), for contexts of {N:,} tokens:
    """
    further = """
    Above what there was before, in MiB, for `predict` and for corpora on disk (those by
    what NumPy and Python allocate):
    """
    parts = [
        prose(text),
        table(["head", *(f"{n:,} tokens" for n in fit_sizes)], shares),
        prose(further),
        table(["", "MiB"], rows),
    ]
    at_most = max(share for (head, _), share in in_fits.items() if head != "gibbs")
    gibbs = max(share for (head, _), share in in_fits.items() if head == "gibbs")
    targets = [
        Target("memory of fit, two-score heads", 5, at_most, "times the data"),
        Target("memory of fit, Gibbs head", 5, gibbs, "times the data"),
        Target("memory of predict above the data", 200, most, "MiB"),
    ]
    return Section("Memory", parts, targets)


# Profiles.


# What this script said when it was first run, in passes or times the data, and what was
# then done about the functions on top of its profiles.
BEFORE = (
    (
        "predict 10,000 x 100, single",
        "18.7",
        "tokens were split by label first, and then left out for being far from an "
        "edge; now those with attention are found first, and they alone are split",
    ),
    ("predict 10,000 x 100, reflected", "23", "the same"),
    ("against the loop of trees, single", "201 times", "the same, and larger blocks"),
    (
        "contexts of 1,000 tokens: evaluation, a = 500",
        "2.35 times from 1e5 to 1e8 tokens",
        "fewer calls of Python code for each evaluation",
    ),
    (
        "memory of fit, Gibbs head",
        "6.17 times the data",
        "packs and windows are made in pieces of 2^15 tokens, and label counts kept in "
        "single precision, which holds them exactly",
    ),
)


def profile_section() -> Section:
    X, y = make_stump_tasks(N, N, random_state=0)
    array = as_array(make_stump_tasks(10_000, 100, random_state=1)[0])
    parts = [
        prose(
            """Own time of the functions that take most of it, by `cProfile`. Array
            operations that are no calls, such as `a * b` or `numpy.exp`, count as own
            time of the function that they stand in."""
        )
    ]
    work: dict[str, Callable[[], object]] = {
        "newton, 1,000 x 1,000": partial(stump().fit, X, y),
        "flow, 1,000 x 1,000": partial(stump(solver="flow", horizon=HORIZON).fit, X, y),
    }
    for head in HEADS:
        name = f"predict 10,000 x 100, {head}"
        work[name] = partial(frozen_stump(head).predict, array)
    for name, call in work.items():
        quietly(call)
        parts += [f"### {name}", table(["function", "share"], profile_rows(call))]
    text = """
    What this page said at first (commit d93f2bc), and what was then done; the targets
    above say what it is now.
    """
    before = table(["figure", "at first", "what was done"], list(map(list, BEFORE)))
    parts += ["### Before", prose(text), before]
    return Section("Where the time goes", parts, [])


def profile_rows(call: Callable[[], object]) -> Iterator[list[str]]:
    profiler = cProfile.Profile()
    profiler.runcall(quietly, call)
    stats = pstats.Stats(profiler)
    total = stats.total_tt
    own = sorted(stats.stats.items(), key=lambda item: -item[1][2])
    for (file, _, function), (_, n_calls, seconds, *_) in own[:8]:
        where = "" if file == "~" else f"{Path(file).stem}."
        yield [f"`{where}{function}`, {n_calls:,} calls", f"{seconds / total:.0%}"]
