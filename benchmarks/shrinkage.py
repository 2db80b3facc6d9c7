"""How strongly small corpora should be drawn: the default ``shrinkage`` of GibbsHead.

Writes ``docs/shrinkage.md``. Run from the repository root:

    python benchmarks/shrinkage.py --data FOLDER

`FOLDER` is that of ``real_tasks.py``; without it only the browsers are real.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from real_tasks import Tasks, error, gibbs, read_all
from report import prose, table, write
from sklearn.model_selection import GroupKFold, KFold

from sklearn_attnstump import GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.baselines import BayesStump
from sklearn_attnstump.datasets import make_stump_tasks

FloatArray = NDArray[np.float64]

STRENGTHS = (0.0, 1.0, 2.0, 4.0, 8.0)
N_DRAWS = {"browsers": 6}  # of 391 tasks: they vary little; 24 of the others


def change(found: FloatArray) -> list[str]:
    """Mean errors for each strength, as changes from the first, in percent.

    `found` is of shape (n_repetitions, n_strengths). The standard error is that of the
    mean difference.
    """
    start = found[:, 0].mean()
    cells = [f"{start:.4f}"]
    for column in found.T[1:]:
        gain = 100 * (column - found[:, 0]) / start
        wobble = gain.std(ddof=1) / np.sqrt(len(gain))
        cells.append(f"{gain.mean():+.1f} ± {wobble:.1f}")
    return cells


def on_real(tasks: Tasks) -> Iterator[list[str]]:
    """Mean absolute errors, single tasks left out, then whole groups."""
    y, scaling = tasks.thresholds, "rank" if "ranks" in tasks.best else "range"
    n_draws = N_DRAWS.get(tasks.name, 24)
    draws = [tasks.draw(seed) for seed in range(n_draws)]
    for scheme, splits in (
        ("tasks", list(KFold(5, shuffle=True, random_state=0).split(y))),
        ("groups", list(GroupKFold(5).split(y, groups=tasks.groups))),
    ):
        found = [
            [
                error(gibbs("corpus", scaling, shrinkage=s), X, y, splits)
                for s in STRENGTHS
            ]
            for X in draws
        ]
        name = f"{tasks.name}, {scheme} left out"
        yield [name, str(len(y) * 4 // 5), str(n_draws), *change(np.array(found))]


def on_made(
    n_tasks: int, n_examples: int, flips: float, n_corpora: int, prior: str
) -> list[str]:
    """Root mean squared errors on fresh tasks, in units of the Bayes error."""
    found = []
    for seed in range(n_corpora):
        law = {"label_noise": flips}
        X, y = make_stump_tasks(n_tasks, n_examples, random_state=2 * seed, **law)
        fresh, truth = make_stump_tasks(
            1000, n_examples, random_state=2 * seed + 1, **law
        )
        oracle = BayesStump(flips, feature_range=(0, 1)).fit(fresh)
        least = np.sqrt(np.mean((oracle.predict(fresh) - truth) ** 2))
        row = []
        for s in STRENGTHS:
            head = GibbsHead(prior, shrinkage=s)
            stump = PretrainedAttentionStump(head, feature_range=(0, 1))
            with warnings.catch_warnings():  # of minima at infinity, without shrinkage
                warnings.simplefilter("ignore")
                inferred = stump.fit(X, y).predict(fresh)
            row.append(np.sqrt(np.mean((inferred - truth) ** 2)) / least)
        found.append(row)
    name = f"made, n = {n_examples}, {flips:.0%} flipped, {prior} prior"
    return [name, str(n_tasks), str(n_corpora), *change(np.array(found))]


MADE = [
    (n_tasks, n_examples, flips, n_corpora, prior)
    for n_tasks, n_corpora in ((20, 40), (40, 40), (500, 6))
    for n_examples, flips, prior in (
        (8, 0.1, "uniform"),
        (8, 0.3, "uniform"),
        (8, 0.1, "corpus"),
        (50, 0.02, "uniform"),
        (50, 0.1, "uniform"),
    )
]

INTRODUCTION = """
Written by `benchmarks/shrinkage.py`. `GibbsHead(shrinkage=s)` draws the coefficients of
small corpora to a disagreement scale of 0.7 and a prior weight of 1. Without it (s = 0)
the error on tasks that were left out, or on fresh ones; beside it by how many percent
larger strengths change it, with the standard error of that change over repetitions.
Real tasks: mean absolute errors from 8 random observations, `GibbsHead("corpus")`,
turtles in ranks, new observations at each repetition, whose folds are those of
`real_tasks.md`. Made tasks: root mean squared errors over those of Bayes, a new corpus
at each repetition. The default is 2.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the unshipped tasks")
    rows = []
    for tasks in read_all(parser.parse_args().data):
        rows += on_real(tasks)
    rows += [on_made(*setting) for setting in MADE]
    header = ["", "tasks to learn from", "repetitions", "s = 0"]
    header += [f"s = {s:g}, %" for s in STRENGTHS[1:]]
    write("shrinkage.md", "Shrinkage", prose(INTRODUCTION), table(header, rows))


if __name__ == "__main__":
    main()
