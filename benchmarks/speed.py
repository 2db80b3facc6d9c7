"""Speed, memory and scale, in passes of `numpy.exp`, with targets met and missed.

Writes ``docs/speed.md``. Run from the repository root; it takes about five minutes and
7 GB of memory:

    python -m pip install ".[benchmark]"
    python benchmarks/speed.py

``--quick`` prints a page of few repetitions and small sizes instead, as a smoke run.
JAX is left out where it is not installed. Memory is measured on Linux alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from naive import HAS_JAX, JaxLoss, NumpyLoss, model_of, tree_loop
from numpy.typing import NDArray
from passes import Figure, measure, one_processor
from report import prose, table, write
from scale import linear_section, memory_section, profile_section, threads_section
from targets import (
    FULL,
    HORIZON,
    QUICK,
    Extent,
    N,
    Section,
    Target,
    as_array,
    frozen_stump,
    name_of,
    points,
    quietly,
    stump,
)

from sklearn_attnstump import Contexts
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.heads import HEADS
from sklearn_attnstump.objective import CorpusLoss
from sklearn_attnstump.solvers import SOLVERS, Options

FloatArray = NDArray[np.float64]

SETTINGS: dict[str, dict[str, Any]] = {  # the estimator's own budgets
    "newton": {"max_iter": 200},
    "flow": {"max_iter": 1000, "horizon": HORIZON},
}


# Evaluations.


class Evaluation(NamedTuple):
    """An evaluation of loss and gradient, by the package and by its rivals."""

    ours: Figure
    rivals: dict[str, Figure]

    @property
    def ratio(self) -> float:
        """How many times faster than the faster rival."""
        return min(rival.passes for rival in self.rivals.values()) / self.ours.passes


def evaluations(extent: Extent) -> dict[str, Evaluation]:
    X, y = make_stump_tasks(N, N, random_state=0)
    found = {}
    for head in HEADS:
        ours = CorpusLoss(HEADS[head]().pack_corpus(X), y)
        model = model_of(head, X)
        rivals: dict[str, Any] = {"NumPy": NumpyLoss(model, y)}
        if HAS_JAX:
            rivals["JAX"] = JaxLoss(model, y)
        for coef in points(head):
            for rival in rivals.values():
                require_agreement(ours, rival, coef)
            calls = {"": ours, **rivals}
            figures = {
                name: measure(partial(loss.evaluate, coef), X.n_tokens, pairs=extent[0])
                for name, loss in calls.items()
            }
            found[name_of(head, coef)] = Evaluation(figures.pop(""), figures)
    return found


def require_agreement(ours: Any, theirs: Any, coef: FloatArray) -> None:
    """Losses, and slopes in the logarithm of the scale and in `b`, agree to 1e-10."""
    mine, other = ours.evaluate(coef), theirs.evaluate(coef)
    unit = np.array([coef[0], 1.0])
    apart = np.append(mine.loss - other.loss, unit * (mine.gradient - other.gradient))
    if not np.abs(apart).max() <= 1e-10 * mine.loss:
        raise AssertionError(f"{type(theirs).__name__} disagrees at {coef}: {apart}")


def evaluation_section(extent: Extent) -> Section:
    found = evaluations(extent)
    rivals = ["NumPy", *(["JAX"] if HAS_JAX else [])]
    rows = (
        [
            name,
            f"**{each.ours}**",
            each.ours.ms(),
            *(each.rivals[rival] for rival in rivals),
            f"{each.ratio:.1f}",
        ]
        for name, each in found.items()
    )
    header = ["head, scale", "passes", "ms", *rivals, "times faster"]
    text = f"""
    Loss and gradient on {N:,} contexts of {N:,} tokens, one thread. NumPy is the same
    model written down naively, on 2-D arrays, JAX the same compiled with automatic
    differentiation, in float64, both in passes; compilation is not counted. All agree
    to ten digits at every point. The last column compares with the faster of the two.
    The two-score heads are at calibrated scores, `b = a + 2 log a`; the Gibbs head has
    no scale in this sense, and is at three rates of wrong labels. Its naive version
    gets sorted gaps too.
    """
    targets = []
    for head in ("single", "reflected"):
        names = [name_of(head, coef) for coef in points(head)]
        start, later = found[names[0]], [found[name] for name in names[1:]]
        if head == "single":
            most = max(each.ours.passes for each in later)
            targets += [
                Target("evaluation, a = 30", 6, start.ours.passes, "passes"),
                Target("evaluation, a >= n/2", 1, most, "passes"),
            ]
        least = min(each.ratio for each in later)
        targets += [
            Target(f"against rivals, {head}, a = 30", 2, start.ratio, "times", True),
            Target(f"against rivals, {head}, a >= n/2", 10, least, "times", True),
        ]
    parts = [prose(text), table(header, rows)]
    first = "### First and later evaluations", *first_evaluations(extent)
    return Section("Evaluation", [*parts, *first], targets)


def first_evaluations(extent: Extent) -> list[str]:
    X, y = make_stump_tasks(N, N, random_state=0)
    timed = partial(measure, n_tokens=X.n_tokens, pairs=extent.pairs)
    rows = []
    for name, make in HEADS.items():
        head = make()
        packs = {"pack": timed(partial(head.pack, X)).passes}
        for coef in points(name)[:2]:

            def evaluate(loss: CorpusLoss, coef: FloatArray = coef) -> None:
                loss.evaluate(coef)

            first = timed(
                evaluate, fresh=lambda head=head: CorpusLoss(head.pack_corpus(X), y)
            )
            known = CorpusLoss(head.pack_corpus(X), y)
            later = timed(partial(evaluate, known))
            row = [name_of(name, coef), packs["pack"], first.passes, later.passes]
            rows.append([row[0], *(f"{passes:.3g}" for passes in row[1:])])
    text = """
    What is done once, in passes: a pack splits tokens by label (for the Gibbs head it
    sorts, counts and integrates the prior); the first evaluation takes distances to the
    edges and finds the tokens or gaps that matter at scales like its own; later ones
    at such scales use what is there.
    """
    header = ["head, scale", "pack", "first evaluation", "later evaluations"]
    return [prose(text), table(header, rows)]


# Fits.


class Fit(NamedTuple):
    """A fit from the door to the fitted estimator."""

    figure: Figure
    n_evaluations: int
    end: FloatArray
    loss: float
    status: str

    def row(self, name: str) -> list[str]:
        each = self.figure.passes / self.n_evaluations
        return [
            name,
            f"**{self.figure}**",
            self.figure.ms(),
            f"{self.n_evaluations:,}",
            f"{each:.3g}",
            f"{self.end[0]:.6g}",
            f"{self.loss:.8g}",
            self.status,
        ]


def fits(extent: Extent, X: Any, y: FloatArray) -> dict[str, Fit]:
    found = {}
    for solver, settings in SETTINGS.items():
        each = stump(solver=solver, **settings)
        pairs = min(extent.pairs, 5)
        figure = measure(partial(quietly, each.fit, X, y), N * N, pairs=pairs)
        result = each.n_evaluations_, each.coef_, each.loss_, each.status_
        found[solver] = Fit(figure, *result)
    return found


def autodiff_fit(solver: str, X: Contexts, y: FloatArray) -> Fit:
    """The same solver from the same start, on JAX's derivatives; one run."""
    head = HEADS["single"]()
    loss = JaxLoss(model_of("single", X), y)
    start = head.starts(10.0)[0]
    loss.evaluate(start, 2)  # compiles
    settings = SETTINGS[solver]
    horizon = settings.get("horizon", np.inf)
    options = Options(settings["max_iter"], 1e-8, horizon=horizon)
    evaluated = loss.n_evaluations
    results = []

    def run() -> None:
        coordinates = head.coordinates()
        end = SOLVERS[solver](loss, start, coordinates, options, lambda k, coef: False)
        results.append(end)

    figure = measure(run, X.n_tokens, pairs=1)
    (end,) = results
    n_evaluations = loss.n_evaluations - evaluated
    return Fit(figure, n_evaluations, end.coef, end.loss, end.status)


def fit_section(extent: Extent) -> Section:
    X, y = make_stump_tasks(N, N, random_state=0)
    found = {f"{name}, Contexts": fit for name, fit in fits(extent, X, y).items()}
    ours = fits(extent, as_array(X), y)
    found |= {f"{name}, 3-D array": fit for name, fit in ours.items()}
    if HAS_JAX:
        found |= {f"{name} on JAX": autodiff_fit(name, X, y) for name in ours}
    header = ["solver, input", "passes", "ms", "evaluations", "passes each"]
    header += ["feature score", "loss", "ended"]
    text = f"""
    `PretrainedAttentionStump().fit` on `make_stump_tasks({N}, {N})`, from the door to
    the fitted estimator, one thread: `newton` to a stationary loss, `flow` to
    `t = {HORIZON:g}`. On JAX: the same solver from the same start, on compiled
    derivatives and second derivatives of the naive model, one run, without compilation
    and without a door. Where it ended in "budget", {SETTINGS["newton"]["max_iter"]}
    iterations were not enough: from scales of some 1e5 on, its second derivatives in
    `log a` are rounding errors.
    """
    rows = (fit.row(name) for name, fit in found.items())
    parts = [prose(text), table(header, rows), prose(constant_steps(X, y, ours))]
    targets = [
        Target(f"{name}, door to fitted", bound, ours[name].figure.passes, "passes")
        for name, bound in (("newton", 400), ("flow", 1500))
    ]
    return Section("Fit", parts, targets)


def constant_steps(X: Contexts, y: FloatArray, found: dict[str, Fit]) -> str:
    """How many steps of constant size lead where the fits ended."""
    one = quietly(stump(solver="gd", max_iter=1, tol=0).fit, X, y)
    step = one.path_.t[-1]  # time after one step
    start = CorpusLoss(HEADS["single"]().pack_corpus(X), y)
    figure = measure(partial(start.evaluate, found["flow"].end), X.n_tokens, pairs=3)
    n_steps = HORIZON / step
    days = n_steps * figure.seconds / (24 * 3600)
    excess = found["flow"].loss / found["newton"].loss - 1
    return f"""
    Constant steps to the end of the flow: {n_steps:.1e}. Gradient descent's own
    automatic step here is {step:.2g}, taken from the time on its path after one step,
    and `t` over it is the number of steps. At an evaluation each, of the kind that is
    cheapest, at the end of the way, that is {days:.2g} days on this machine. The
    flow's loss there is {excess:.1%} above that of `newton`, whose end constant steps
    would have to go on for.
    """


# Predictions.


def predict_section(extent: Extent) -> Section:
    many, _ = make_stump_tasks(10_000, 100, random_state=1)
    fewer, _ = make_stump_tasks(1000, 200, random_state=2)
    loop = measure(partial(tree_loop, as_array(fewer)), fewer.n_tokens, pairs=5)
    rows, targets = [], []
    for head in HEADS:
        each = frozen_stump(head)
        timed = {
            X: measure(partial(quietly, each.predict, as_array(X)), X.n_tokens, pairs=p)
            for X, p in ((many, extent.pairs), (fewer, extent.pairs))
        }
        faster = loop.seconds / timed[fewer].seconds
        cells = [cell for figure in timed.values() for cell in (figure, figure.ms())]
        rows.append([head, *cells, f"{faster:.0f}"])
        if head != "gibbs":
            what = f"predict 10,000 x 100, {head}"
            targets.append(Target(what, 15, timed[many].passes, "passes"))
        bound = 40 if head == "gibbs" else 300
        targets.append(
            Target(f"against the loop of trees, {head}", bound, faster, "times", True)
        )
    a_task = timed[fewer].seconds * 1000 / len(fewer)  # the Gibbs head is the last
    targets.append(Target("predict 1,000 x 200, Gibbs", 0.02, a_task, "ms a task"))
    rows.append(["loop of trees", "", "", loop, loop.ms(), "1"])
    text = """
    `predict` on 3-D arrays, validation included, one thread. The loop fits
    scikit-learn's `DecisionTreeClassifier(max_depth=1)` to one context after another,
    all of them, and was run five times.
    """
    sizes = ["10,000 x 100: passes", "ms", "1,000 x 200: passes", "ms"]
    header = ["head", *sizes, "times faster"]
    return Section("Predict", [prose(text), table(header, rows)], targets)


# The page.

WHY = """
Where a target is missed, it is for one of these reasons. At `a = n/2 = 500` the tokens
that matter, those within `(37 + log n) / a` of the edge of their label, are still
nearly a fifth of all: leaving the others out gains a factor of five or six, and no more
than two comes from what is done with each. In `predict`, reading the input (a copy, and
a look for missing rows, labels and values each) and finding the few tokens that get
attention are passes over all; the rest costs by the context, of which a hundred tokens
are small ones, and the reflected head does that on both sides.
"""

INTRODUCTION = """
Written by `benchmarks/speed.py`. The unit is one **pass**: `numpy.exp` over as many
float64 numbers as there are tokens, into an array that is there already, the least that
a softmax must do. Passes are timed before and after each run of the work; figures are
medians over at least five such pairs. One thread, kept on one processor, by the
processor's own clock, unless said.
"""


def machine() -> str:
    simd = np.show_config(mode="dicts")["SIMD Extensions"].get("found", ["none"])
    unit = measure(int, N * N, pairs=5).of_pass
    versions = f"NumPy {np.__version__} (vectors up to {simd[-1]})"
    versions += f", scikit-learn {sklearn.__version__}"
    if HAS_JAX:
        import jax

        versions += f", JAX {jax.__version__}"
    return f"""
    This run: {os.cpu_count()} processors, {platform.machine()}, Python
    {platform.python_version()}, {versions}. A pass over a million tokens took
    {1000 * unit:.2g} ms.
    """


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run, printed")
    extent = QUICK if parser.parse_args().quick else FULL
    with one_processor():
        about = machine()
        sections = [
            evaluation_section(extent),
            quietly(fit_section, extent),
            predict_section(extent),
            linear_section(extent),
        ]
        profiles = profile_section()
    sections.append(quietly(threads_section, extent))
    if sys.platform == "linux":
        sections.append(memory_section(extent))
    targets = [target.row() for section in sections for target in section.targets]
    parts = [prose(INTRODUCTION), prose(about), "## Targets"]
    parts += [table(["", "target", "measured", ""], targets), prose(WHY)]
    for section in (*sections, profiles):
        parts += [f"## {section.title}", *section.parts]
    if extent is FULL:
        write("speed.md", "Speed, memory and scale", *parts)
    else:
        print("\n\n".join(parts))


if __name__ == "__main__":
    main()
