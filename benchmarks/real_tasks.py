"""Real tasks: browsers, turtles, and rain or snow, from eight labels each.

Writes ``docs/real_tasks.md``. Run from the repository root:

    python benchmarks/real_tasks.py --data FOLDER

The browsers come with the package. The others may not be shipped: `FOLDER` has
``NAME.csv`` (columns ``task``, ``x``, ``label``) and ``NAME_thresholds.csv`` (``task``,
``threshold``, ``threshold_se`` and, for rain or snow, the ecoregion's parent
``eco_l3``), ``NAME`` being "turtles" or "rainsnow". Without it their rows are left out.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from report import prose, table, write
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.baselines import DecisionStump, ERMStump
from sklearn_attnstump.datasets import load_browser_support

FloatArray = NDArray[np.float64]
Splits = Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]

N_POINTS = 8
N_DRAWS = 12  # the first three are the ones that are compared with the targets

# Genera of the turtles, by family (Turtle Taxonomy Working Group, 2021).
FAMILIES = {
    "Carettochelyidae": "Carettochelys",
    "Cheloniidae": "Caretta Chelonia Eretmochelys Lepidochelys Natator",
    "Chelydridae": "Chelydra",
    "Dermochelyidae": "Dermochelys",
    "Emydidae": "Chrysemys Clemmys Deirochelys Emys Graptemys Malaclemys Pseudemys "
    "Terrapene Trachemys",
    "Geoemydidae": "Cuora Mauremys",
    "Kinosternidae": "Kinosternon",
    "Podocnemididae": "Podocnemis",
    "Testudinidae": "Centrochelys Chelonoidis Gopherus Testudo",
}


class Tasks(NamedTuple):
    """A real corpus: whole contexts, thresholds, and groups that belong together."""

    name: str
    contexts: Contexts
    thresholds: FloatArray
    groups: NDArray[Any]
    group: str  # what a group is
    coverage: float  # that its calibration tasks suffice for
    best: str  # the settings that are recommended

    def draw(self, seed: int) -> Contexts:
        """A few random points of each context."""
        rng = np.random.default_rng(seed)
        items = []
        for context in self.contexts:
            chosen = rng.choice(len(context.labels), N_POINTS, replace=False)
            items.append((context.values[chosen], context.labels[chosen]))
        return Contexts(items, task_ids=self.contexts.task_ids)


# Reading.


def browsers() -> Tasks:
    corpus = load_browser_support()
    return Tasks(
        "browsers",
        corpus.contexts,
        corpus.thresholds,
        corpus.groups,
        "web feature",
        0.9,
        "Gibbs, corpus prior",
    )


def from_folder(folder: Path, name: str, worst_error: float) -> tuple[Contexts, Any]:
    """Contexts and the table of tasks whose threshold is known well enough."""
    known = pd.read_csv(folder / f"{name}_thresholds.csv")
    known = known[known["threshold_se"] < worst_error]
    frame = pd.read_csv(folder / f"{name}.csv")
    frame = frame[frame["task"].isin(known["task"])]
    contexts = Contexts.from_frame(frame, task="task", feature="x", label="label")
    return contexts, known.set_index("task").loc[list(contexts.task_ids)]


def turtles(folder: Path) -> Tasks:
    contexts, known = from_folder(folder, "turtles", 0.5)
    family = {g: f for f, genera in FAMILIES.items() for g in genera.split()}
    groups = np.array([family[task.partition("_")[0]] for task in known.index])
    return Tasks(
        "turtles",
        contexts,
        known["threshold"].to_numpy(),
        groups,
        "family",
        0.8,
        "Gibbs, corpus prior, ranks",
    )


def rainsnow(folder: Path) -> Tasks:
    contexts, known = from_folder(folder, "rainsnow", 0.6)
    return Tasks(
        "rain or snow",
        contexts,
        known["threshold"].to_numpy(),
        known["eco_l3"].to_numpy(),
        "level-3 ecoregion",
        0.8,
        "Gibbs, corpus prior",
    )


def read_all(folder: Path | None) -> list[Tasks]:
    found = [browsers()]
    if folder is not None:
        found += [turtles(folder), rainsnow(folder)]
    return found


# Methods.


def gibbs(prior: str, scaling: str = "range", **settings: Any) -> Any:
    return PretrainedAttentionStump(
        GibbsHead(prior, **settings), direction=">=", scaling=scaling
    )


METHODS = {
    "constant (mean)": DummyRegressor(),
    "constant (median)": DummyRegressor(strategy="median"),
    "scikit-learn stump": DecisionStump(direction=">="),
    "ERM, mean": ERMStump("mean", direction=">="),
    "Gibbs, uniform prior": gibbs("uniform"),
    "Gibbs, corpus prior": gibbs("corpus"),
    "Gibbs, corpus prior, half the bandwidth": gibbs("corpus", bandwidth=0.5),
    "Gibbs, uniform prior, ranks": gibbs("uniform", "rank"),
    "Gibbs, corpus prior, ranks": gibbs("corpus", "rank"),
}
SEARCHED = {"scaling": ["range", "rank"], "head__prior": ["uniform", "corpus"]}


def quietly(call: Callable[..., Any], *args: Any) -> Any:
    """Without the warnings of points beyond the corpus's and of mixed labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def error(method: Any, X: Contexts, y: FloatArray, splits: Splits) -> float:
    """Mean absolute error over tasks, each inferred when it was left out."""
    inferred = np.empty(len(y))
    for past, fresh in splits:
        stump = quietly(clone(method).fit, X[past], y[past])
        inferred[fresh] = quietly(stump.predict, X[fresh])
    return float(np.mean(np.abs(inferred - y)))


def errors(tasks: Tasks, draws: list[Contexts]) -> Iterator[list[str]]:
    """Rows: a method's errors, tasks left out and whole groups left out."""
    y = tasks.thresholds
    schemes = [
        list(KFold(5, shuffle=True, random_state=0).split(y)),
        list(GroupKFold(5).split(y, groups=tasks.groups)),
    ]
    for name, method in METHODS.items():
        row = [f"**{name}**" if name == tasks.best else name]
        for splits in schemes:
            found = [error(method, X, y, splits) for X in draws]
            row += [f"{np.mean(found[:3]):.3f}", f"{np.mean(found):.3f}"]
            row.append(f"{np.std(found, ddof=1):.2f}")
        yield row


def searched(tasks: Tasks, draws: list[Contexts]) -> list[Any]:
    """A row: the error of an inner search, and what it chose how often."""
    found, chosen = [], Counter[str]()
    for X in draws[:3]:
        inferred = np.empty(len(X))
        for past, fresh in KFold(5, shuffle=True, random_state=0).split(
            tasks.thresholds
        ):
            search = GridSearchCV(
                gibbs("uniform"),
                SEARCHED,
                scoring="neg_mean_absolute_error",
                cv=KFold(5, shuffle=True, random_state=1),
            )
            quietly(search.fit, X[past], tasks.thresholds[past])
            inferred[fresh] = quietly(search.predict, X[fresh])
            chosen["{head__prior}, {scaling}".format(**search.best_params_)] += 1
        found.append(np.mean(np.abs(inferred - tasks.thresholds)))
    choices = "; ".join(f"{what}: {n}" for what, n in chosen.most_common())
    return [tasks.name, f"{np.mean(found):.3f}", choices]


# Coverage.


def three_parts(
    groups: NDArray[Any], rng: np.random.Generator
) -> tuple[NDArray[np.intp], Callable[[], tuple[NDArray[np.intp], NDArray[np.intp]]]]:
    """Past tasks, and a way to split the rest in two at random, by whole groups.

    Splits that leave a part without tasks are drawn anew.
    """

    def cut(among: NDArray[np.intp], share: float) -> Any:
        while True:
            order = rng.permutation(np.unique(groups[among]))
            sizes = np.array([np.sum(groups[among] == group) for group in order])
            n_first = int(np.searchsorted(np.cumsum(sizes), share * len(among))) + 1
            first = np.isin(groups[among], order[:n_first])
            if 4 <= first.sum() <= len(among) - 2:
                return among[first], among[~first]

    past, rest = cut(np.arange(len(groups)), 0.35)
    return past, lambda: cut(rest, 0.5)


def coverages(tasks: Tasks, head: Any, groups: NDArray[Any]) -> FloatArray:
    """Share of fresh thresholds inside their interval, for 20 times 10 splits."""
    y, scaling = tasks.thresholds, "rank" if "ranks" in tasks.best else "range"
    found = []
    for seed in range(20):
        X, rng = tasks.draw(seed), np.random.default_rng(seed)
        past, split = three_parts(groups, rng)
        stump = PretrainedAttentionStump(head, direction=">=", scaling=scaling)
        quietly(stump.fit, X[past], y[past])
        for _ in range(10):
            calibration, fresh = split()
            quietly(stump.conformalize, X[calibration], y[calibration])
            ends = quietly(stump.predict_interval, X[fresh], tasks.coverage)
            found.append(np.mean((ends[:, 0] <= y[fresh]) & (y[fresh] <= ends[:, 1])))
    return np.array(found)


def coverage_rows(tasks: Tasks) -> Iterator[list[str]]:
    heads = {"single": "single", "reflected": "reflected", "Gibbs": GibbsHead("corpus")}
    for name, head in heads.items():
        row = [tasks.name, name, f"{tasks.coverage:.0%}"]
        for groups in (np.arange(len(tasks.thresholds)), tasks.groups):
            found = coverages(tasks, head, groups)
            standard_error = np.std(found, ddof=1) / np.sqrt(len(found))
            row.append(f"{np.mean(found):.1%} ± {standard_error:.1%}")
        yield row


# The page.

INTRODUCTION = f"""
Written by `benchmarks/real_tasks.py`. Of each context {N_POINTS} random observations
are kept; mean absolute errors of the thresholds inferred from them, in the feature's
units. First five folds over tasks (`KFold(5, shuffle=True, random_state=0)`), then five
folds of whole groups (`GroupKFold(5)`); the mean over three draws of the observations
(seeds 0, 1 and 2), and mean and standard deviation over {N_DRAWS} draws. Labels rise
with the feature, so `direction=">="`. The settings in bold were chosen with these very
figures in view; what an inner search chooses without that is below.
"""

SOURCES = """
Browsers: `load_browser_support`, years; 391 tasks of 120 features. Turtles: species
with temperature-dependent sex, degrees Celsius, from the ROSIE data base of reptile
incubation (CC-BY-4.0), thresholds with a standard error below 0.5. Rain or snow:
ecoregions, degrees Celsius, from the Mountain Rain or Snow observations (MIT),
thresholds with a standard error below 0.6. The thresholds of the latter two are the 50
% points of logistic fits to all observations of a task. These two are not shipped.
"""

WITHOUT_FOLDER = """
The turtles and rain or snow are not shipped, and no folder with them was given: their
rows are absent.
"""

NOTES = {
    "rain or snow": """
Eight labels say little here: they are rain or snow almost at random over several
degrees, and thresholds differ by about one. The corpus prior brings the Gibbs head near
the constant's error, below it on the first three draws and a little above on twelve;
the error of a single draw varies by more than the difference.
"""
}

ON_SEARCH = """
`GridSearchCV` over scaling and prior, by five folds inside each of the five folds of
three draws: the error, and how often what was chosen.
"""

ON_COVERAGE = """
Coverage of conformal intervals over 200 random splits, with the standard error of its
mean: 20 random parts of about a third to pretrain on, of each 10 splits of the rest
into tasks to calibrate on and fresh ones. Left single tasks are split at random, so
that fresh tasks are exchangeable with calibration tasks, and coverage is a promise;
right whole groups are, and it is none.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the unshipped tasks")
    everything = read_all(parser.parse_args().data)
    parts = [prose(INTRODUCTION), prose(SOURCES)]
    if len(everything) == 1:
        parts.append(prose(WITHOUT_FOLDER))
    search = []
    for tasks in everything:
        draws = [tasks.draw(seed) for seed in range(N_DRAWS)]
        n_groups = len(np.unique(tasks.groups))
        header = [
            f"{len(tasks.thresholds)} tasks",
            "tasks: 3 draws",
            f"{N_DRAWS}",
            "sd",
        ]
        header += [f"{n_groups} groups ({tasks.group}): 3 draws", f"{N_DRAWS}", "sd"]
        parts += [f"## {tasks.name.capitalize()}", table(header, errors(tasks, draws))]
        if tasks.name in NOTES:
            parts.append(prose(NOTES[tasks.name]))
        search.append(searched(tasks, draws))
    parts += ["## What a search chooses", prose(ON_SEARCH)]
    parts.append(table(["", "error", "chosen (prior, scaling)"], search))
    parts += ["## Coverage", prose(ON_COVERAGE)]
    header = ["", "head", "nominal", "tasks at random", "whole groups"]
    rows = [row for tasks in everything for row in coverage_rows(tasks)]
    write("real_tasks.md", "Real tasks", *parts, table(header, rows))


if __name__ == "__main__":
    main()
