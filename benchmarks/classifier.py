"""`AttentionStumpClassifier` against scikit-learn's stump: accuracy, time, memory.

Writes ``docs/classifier.md``. Run from the repository root; on two cores it takes some
sixty minutes, nearly all of it for AdaBoost:

    python benchmarks/classifier.py --jobs 2
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from unittest import mock

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from report import prose, table, write
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from sklearn_attnstump import candidates
from sklearn_attnstump.classifier import AttentionStumpClassifier

FloatArray = NDArray[np.float64]
Data = tuple[str, FloatArray, NDArray[np.intp]]

N_FOLDS = 5
N_REPEATS, N_FIRST = 100, 10
FURTHER = range(5, 105)  # seeds of made tables on which nothing was chosen
OBSERVATIONS = (100, 300, 1000, 3000, 10_000)
HANDICAPS = (1.0, 1.1, 1.25, np.inf)


def data_sets() -> Iterator[Data]:
    """The tables of the comparison: name, features, classes."""
    X, y = load_iris(return_X_y=True)
    yield "iris, last two classes", X[y > 0], y[y > 0]
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "wine, three classes", *load_wine(return_X_y=True)
    X, y = load_digits(return_X_y=True)
    yield "digits, even or odd", X, y % 2
    yield from (made(seed) for seed in range(5))


def made(seed: int) -> Data:
    """A made table; its share of wrong labels goes round with the seed."""
    share = 0.05 * (seed % 5)  # half of the labels that are drawn anew are wrong
    X, y = make_classification(
        500, 20, n_informative=5, flip_y=2 * share, random_state=seed
    )
    return f"made, seed {seed}, {round(100 * share)}% noise", X, y


def imbalanced_sets() -> Iterator[Data]:
    """Tables with a rare class, on which constants were chosen too."""
    for seed, share in enumerate((0.9, 0.95, 0.8, 0.85, 0.9, 0.7)):
        X, y = make_classification(
            1000,
            20,
            n_informative=5,
            flip_y=0.05,
            n_clusters_per_class=1 + seed // 3,
            weights=[share],
            random_state=10 + seed,
        )
        yield f"rare class, seed {10 + seed}", X, y


class Shaken(ClassifierMixin, BaseEstimator):
    """A model fitted to rows that are moved a little: how far chance alone goes."""

    def __init__(self, model: ClassifierMixin) -> None:
        self.model = model

    def fit(self, X: FloatArray, y: NDArray[np.intp]) -> Shaken:
        """Fit to `X` plus normal noise, of 2 % of each feature's deviation."""
        noise = np.random.RandomState(0).normal(
            scale=0.02 * X.std(axis=0), size=X.shape
        )
        self.model_ = clone(self.model).fit(X + noise, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: FloatArray) -> NDArray[np.intp]:
        """What the model predicts of rows as they are."""
        return self.model_.predict(X)


def tree() -> DecisionTreeClassifier:
    """Scikit-learn's stump."""
    return DecisionTreeClassifier(max_depth=1, random_state=0)


def boosted(stump: ClassifierMixin) -> AdaBoostClassifier:
    """A hundred stumps."""
    return AdaBoostClassifier(stump, n_estimators=100, random_state=0)


def one_repeat(
    model: ClassifierMixin, data: Data, seed: int, constants: dict[str, float]
) -> float:
    """Mean balanced accuracy, in percent, over the folds that a seed makes.

    `constants` are put in place of those of `candidates` that are shipped; here, as
    other processes do not see what this one has changed.
    """
    _, X, y = data
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y)
    with mock.patch.dict(vars(candidates), constants):
        scores = [
            balanced_accuracy_score(
                y[test], clone(model).fit(X[fit], y[fit]).predict(X[test])
            )
            for fit, test in folds
        ]
    return 100 * float(np.mean(scores))


def accuracies(
    models: list[ClassifierMixin],
    sets: list[Data],
    seeds: range,
    jobs: int,
    **constants: float,
) -> FloatArray:
    """ndarray of shape (n_models, n_sets, n_seeds)."""
    found = Parallel(n_jobs=jobs)(
        delayed(one_repeat)(model, data, seed, constants)
        for model in models
        for data in sets
        for seed in seeds
    )
    return np.reshape(found, (len(models), len(sets), len(seeds)))


def difference(ours: FloatArray, theirs: FloatArray) -> str:
    """Mean difference with its standard error over what is averaged."""
    gap = ours - theirs
    return f"{gap.mean():+.2f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.2f}"


def accuracy_row(
    name: str, size: str, scores: FloatArray, shaken: FloatArray
) -> list[str]:
    """Of the tree's and our score in each repeat, and of the shaken tree's."""
    theirs, ours = scores
    return [
        name,
        size,
        *(f"{score.mean():.2f}" for score in scores),
        difference(ours, theirs),
        difference(ours[:N_FIRST], theirs[:N_FIRST]),
        difference(shaken, theirs[:N_FIRST]),
    ]


def accuracy_table(make: Callable[..., ClassifierMixin], jobs: int) -> str:
    """One row a table, their mean, and the mean of further made tables."""
    sets, pair = list(data_sets()), [make(tree()), make(AttentionStumpClassifier())]
    found = accuracies(pair, sets, range(N_REPEATS), jobs)
    shaken = accuracies([Shaken(pair[0])], sets, range(N_FIRST), jobs)[0]
    rows = [
        accuracy_row(name, f"{X.shape[0]} x {X.shape[1]}", found[:, i], shaken[i])
        for i, (name, X, _) in enumerate(sets)
    ]
    means = found.mean(axis=1), shaken.mean(axis=0)
    rows.append(accuracy_row("**mean**", "", *means))
    further = [made(seed) for seed in FURTHER]
    theirs, ours = accuracies(pair, further, range(1), jobs)[..., 0]
    rows.append(
        [
            f"{len(further)} further made tables",
            "500 x 20",
            *(f"{score.mean():.2f}" for score in (theirs, ours)),
            difference(ours, theirs),
            *("", ""),
        ]
    )
    header = [
        *("table", "size", "tree", "attention"),
        *("difference", "first folds", "tree, shaken"),
    ]
    return table(header, rows)


class Trial(NamedTuple):
    """What a constant is tried on."""

    name: str
    make: Callable[..., ClassifierMixin]
    sets: list[Data]
    seeds: range


def choice_table(
    name: str, values: Sequence[float], trials: Sequence[Trial], jobs: int
) -> str:
    """What a constant of `candidates` does to the accuracy, the others as shipped."""
    shipped = getattr(candidates, name)
    rows = [[f"{value:,g}" + " (shipped)" * (value == shipped)] for value in values]
    header = [name.lower()]
    for trial in trials:
        header += [f"{trial.name}, mean", "worst"]
        on = trial.sets, trial.seeds, jobs
        theirs = accuracies([trial.make(tree())], *on)[0]
        model = trial.make(AttentionStumpClassifier())
        for value, row in zip(values, rows, strict=True):
            ours = accuracies([model], *on, **{name: value})[0]
            worst = (ours - theirs).mean(axis=1).min()
            row += [
                difference(ours.mean(axis=0), theirs.mean(axis=0)),
                f"{worst:+.2f}",
            ]
    return table(header, rows)


def seconds(model: ClassifierMixin, X: FloatArray, y: NDArray[np.intp]) -> float:
    """Time of one fit."""
    start = time.perf_counter()
    clone(model).fit(X, y)
    return time.perf_counter() - start


def timing_rows() -> Iterator[list[str]]:
    """Medians over pairs of fits, one of each kind in turn."""
    big = make_classification(100_000, 30, random_state=0)
    five = make_classification(
        100_000, 30, n_informative=8, n_classes=5, random_state=0
    )
    coarse = np.round(big[0] * 4)
    for name, X, y in (
        ("100,000 x 30", *big),
        ("the same in float32", big[0].astype(np.float32), big[1]),
        ("the same, some fifty values a feature", coarse, big[1]),
        ("100,000 x 30, five classes", *five),
        ("digits, ten classes, 1797 x 64", *load_digits(return_X_y=True)),
        ("breast cancer, 569 x 30", *load_breast_cancer(return_X_y=True)),
        ("iris, 150 x 4", *load_iris(return_X_y=True)),
    ):
        n_pairs = 5 if len(X) > 10_000 else 51
        pairs = np.array(
            [
                [seconds(tree(), X, y), seconds(AttentionStumpClassifier(), X, y)]
                for _ in range(n_pairs)
            ]
        )
        times = [f"{1000 * value:.3g}" for value in np.median(pairs, axis=0)]
        yield [name, *times, f"{np.median(pairs[:, 1] / pairs[:, 0]):.2f}"]


def memory_rows() -> Iterator[list[str]]:
    """Peak of what a fit allocates, and with the table, in units of the table."""
    for n_rows, n_columns in ((100_000, 30), (100_000, 5), (2000, 1000)):
        X, y = make_classification(n_rows, n_columns, n_redundant=0, random_state=0)
        tracemalloc.start()
        AttentionStumpClassifier().fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        yield [
            f"{n_rows:,} x {n_columns}",
            f"{X.nbytes / 2**20:.1f}",
            f"{peak / 2**20:.1f}",
            f"{1 + peak / X.nbytes:.2f}",
        ]


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes for accuracy")
    jobs = parser.parse_args().jobs
    time_table = table(
        ["table", "tree (ms)", "attention (ms)", "ratio"], list(timing_rows())
    )
    memory_table = table(
        ["table", "its size (MB)", "fit's peak (MB)", "with the table, in tables"],
        list(memory_rows()),
    )
    sets = list(data_sets())
    single = Trial("one stump", lambda stump: stump, sets, range(N_REPEATS))
    rare = Trial("rare class", single.make, list(imbalanced_sets()), single.seeds)
    boosting = Trial("AdaBoost", boosted, sets, range(N_FIRST))
    write(
        "classifier.md",
        "Stumps for tables",
        prose(
            """Written by `benchmarks/classifier.py`. `AttentionStumpClassifier()`,
            "attention", against `DecisionTreeClassifier(max_depth=1)`, "tree", both
            from their default settings."""
        ),
        "## Accuracy of one stump",
        prose(
            f"""Balanced accuracy in percent, {N_FOLDS}-fold cross-validation repeated
            {N_REPEATS} times with new folds; differences in points, with their
            standard error over the repeats (for the mean, over repeats of the mean of
            all tables). "First folds" are the differences in the first {N_FIRST}
            repeats alone. "Tree, shaken" is the tree's own difference in these if it is
            fitted to rows that are moved by 2 % of each feature's deviation: what
            chance alone does. The made tables are
            `make_classification(500, 20, n_informative=5, flip_y=2 * noise)`: a label
            that is drawn anew is wrong half of the time. The constants were chosen on
            these tables, see below, but not on those of the last row, which are no
            part of the mean: made with seeds {FURTHER[0]} to {FURTHER[-1]}, one repeat
            each, with the standard error over tables."""
        ),
        accuracy_table(lambda stump: stump, jobs),
        "## AdaBoost with 100 stumps",
        prose(
            """A hundred rounds carry the smallest difference of an early stump on into
            all later ones, so that ten repeats say little of a table: the tree itself,
            fitted to slightly shaken rows, moves by as much in them."""
        ),
        accuracy_table(boosted, jobs),
        "## How the constants were chosen",
        prose(
            """Differences to the tree as above, on the tables above and on six with a
            rare class, of 5 to 30 %. First, for the least number of observations that a
            feature counts as: of features with many distinct values, the number of
            these is what counts."""
        ),
        choice_table("OBSERVATIONS", OBSERVATIONS, (single, rare), jobs),
        prose(
            """Then for the handicap of splits at uneven class costs and of sharp
            attention ("inf": none are taken), in AdaBoost by the first folds. The
            handicap was lowered from 1.25 to 1.1 when all repeats were known, for the
            sake of the worst tables; all else was chosen by the first folds."""
        ),
        choice_table("HANDICAP", HANDICAPS, (single, rare, boosting), jobs),
        "## Time and memory of a fit",
        prose(
            """Medians over pairs of fits, one of each in turn, on one core that others
            may have used as well: the ratio is the median of the pairs' ratios. On
            small tables the calls of Python code outweigh the work, and trees are
            faster."""
        ),
        time_table,
        prose(
            """The work goes over blocks of columns, one column at least: a table of
            few and long columns has the memory of some columns on top."""
        ),
        memory_table,
    )


if __name__ == "__main__":
    main()
