"""What intervals of 90 % hold: few calibration tasks, one label only, other tasks.

Writes ``docs/coverage.md``. Run from the repository root, in a minute or two:

    python benchmarks/coverage.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from report import prose, table, write
from scipy.stats import beta

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.conformal import score_quantile
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.metrics import label_error

FloatArray = NDArray[np.float64]

COVERAGE = 0.9
SIZES = (9, 20, 45, 100, 300)  # of calibration sets
LONG = (12, 80)  # observations of a task
N_CORPORA = 40
N_DRAWS = 250  # of calibration sets for each corpus
N_SPLIT_CORPORA = 100
LAWS: dict[str, dict[str, Any]] = {
    "logistic": {"noise": "logistic", "label_noise": 0.05},
    "10 % flipped": {"noise": "flip", "label_noise": 0.1},
}


class Tasks(NamedTuple):
    """Contexts and their thresholds."""

    contexts: Contexts
    thresholds: FloatArray


def draw(
    n_tasks: int, n_examples: int | tuple[int, int], seed: int, **law: Any
) -> Tasks:
    """Made tasks; thresholds within 0.2 to 0.8 and logistic labels unless told."""
    law = {"threshold_range": (0.2, 0.8), **LAWS["logistic"], **law}
    return Tasks(*make_stump_tasks(n_tasks, n_examples, random_state=seed, **law))


def pretrain(tasks: Tasks, prior: str = "uniform") -> PretrainedAttentionStump:
    """A Gibbs stump."""
    stump = PretrainedAttentionStump(GibbsHead(prior), feature_range=(0, 1))
    return stump.fit(*tasks)


def held(ends: FloatArray, tasks: Tasks) -> NDArray[np.bool_]:
    """Which thresholds lie within their interval."""
    return (ends[:, 0] <= tasks.thresholds) & (tasks.thresholds <= ends[:, 1])


def rmse(inferred: FloatArray | float, tasks: Tasks) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((inferred - tasks.thresholds) ** 2)))


def promised(n: int) -> tuple[float, float, float]:
    """Mean, deviation and 5 % quantile of the coverage, from the beta law."""
    rank = int(np.ceil((n + 1) * COVERAGE * (1 - 1e-12)))
    law = beta(rank, n + 1 - rank)
    return float(law.mean()), float(law.std()), float(law.ppf(0.05))


def percent(*shares: float) -> list[str]:
    """Cells of percentages."""
    return [f"{100 * share:.1f}" for share in shares]


def by_size() -> Iterator[list[str]]:
    """Realized coverage over draws of calibration sets, beside the beta law.

    An interval holds a threshold if the task's conformity score is at most that of the
    calibration set's rank, so scores of two large banks are all that is needed.
    """
    rng = np.random.default_rng(0)
    found: dict[int, list[float]] = {n: [] for n in SIZES}
    for seed in range(N_CORPORA):
        calibration, fresh = (draw(10_000, LONG, 2 * seed + i) for i in (0, 1))
        stump = pretrain(draw(45, LONG, 200 + seed))
        bank = stump.conformalize(*calibration).conformity_scores_
        scores = stump.conformalize(*fresh).conformity_scores_  # sorted
        for n in SIZES:
            for _ in range(N_DRAWS):
                drawn = np.sort(rng.choice(bank, n, replace=False))
                score = score_quantile(drawn, COVERAGE)
                inside = np.searchsorted(scores, score, side="right")
                found[n].append(inside / len(scores))
    for n, shares in found.items():
        measured = np.mean(shares), np.std(shares), np.quantile(shares, 0.05)
        yield [str(n), *percent(*measured), *percent(*promised(n))]


def by_split(n_known: int, n_fit: int, prior: str) -> list[str]:
    """A corpus cut in two; with `n_fit` of `n_known`, all tasks serve for both.

    What the sharing costs is measured in pairs: the same tasks also calibrate a stump
    that was pretrained on others, for which the promise holds. Most of the chance in
    which tasks were drawn is then common to the two, and cancels.
    """
    fresh, other = draw(2000, LONG, 300), pretrain(draw(1000, LONG, 301), prior)
    shared = n_fit == n_known
    rest = slice(None) if shared else slice(n_fit, None)
    found = []
    for seed in range(N_SPLIT_CORPORA):
        X, y = draw(n_known, LONG, 1000 + seed)
        stump = pretrain(Tasks(X[:n_fit], y[:n_fit]), prior)
        ends, honest = (
            s.conformalize(X[rest], y[rest]).predict_interval(fresh.contexts, COVERAGE)
            for s in (stump, other)
        )
        change = held(ends, fresh).mean() - held(honest, fresh).mean()
        width = np.mean(ends[:, 1] - ends[:, 0])
        found.append((100 * change, width, rmse(stump.predict(fresh.contexts), fresh)))
    changes, widths, errors = np.array(found).T
    n = n_known if shared else n_known - n_fit
    wobble = changes.std(ddof=1) / np.sqrt(len(changes))
    return [
        f"{n_known}, {prior} prior",
        "all" if shared else str(n_fit),
        "the same" if shared else str(n),
        *percent(promised(n)[0]),
        f"{changes.mean():+.1f} ± {wobble:.1f}" if shared else "none",
        f"{widths.mean():.3f}",
        f"{errors.mean():.4f}",
    ]


def of_one_label(law: str, n_examples: int, prior: str) -> list[str]:
    """Both kinds of interval on tasks whose labels are all the same."""
    fit, calibration, fresh = (
        draw(n_tasks, n_examples, seed, **LAWS[law])
        for n_tasks, seed in ((200, 4), (5000, 5), (20_000, 6))
    )
    stump = pretrain(fit, prior).conformalize(*calibration)
    X, y = fresh
    starts = X.offsets[:-1]
    n_positive = np.add.reduceat(X.labels, starts, dtype=np.int64)
    one = (n_positive == 0) | (n_positive == X.sizes)
    values = X.values[:, 0]
    lowest = np.minimum.reduceat(values, starts)
    beyond = (y < lowest) | (y > np.maximum.reduceat(values, starts))
    cells = []
    for ends in (
        stump.predict_interval(X, COVERAGE),
        stump.predict_quantiles(X, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]),
    ):
        inside, width = held(ends, fresh), ends[:, 1] - ends[:, 0]
        cells += [
            *percent(inside.mean(), inside[one].mean()),
            f"{width[one].mean():.2f}",
        ]
    name = f"{law}, {n_examples} observations, {prior} prior"
    return [name, *percent(one.mean(), beyond[one].mean()), *cells]


class Change(NamedTuple):
    """What fresh tasks are like, the others than these being as at calibration."""

    name: str
    n_examples: int | tuple[int, int] = LONG
    law: dict[str, Any] = {}  # noqa: RUF012
    cut: bool = False  # pretrained and calibrated on as few observations


CHANGES = (
    Change("the same"),
    Change("4 observations", 4),
    Change("4 observations, at fit and calibration too", 4, cut=True),
    Change("200 observations", 200),
    Change("noise twice as wide", law={"label_noise": 0.1}),
    Change("noise half as wide", law={"label_noise": 0.025}),
    Change("thresholds in 0 to 0.2", law={"threshold_range": (0.0, 0.2)}),
)


def of_other_tasks(change: Change) -> list[str]:
    """Stumps calibrated on tasks of one kind, met with another kind."""
    known = change.n_examples if change.cut else LONG
    found = []
    for seed in range(5):
        corpus = draw(200, known, 10 + seed)
        calibration = draw(2000, known, 20 + seed)
        fresh = draw(2000, change.n_examples, 30 + seed, **change.law)
        row = [rmse(float(corpus.thresholds.mean()), fresh)]
        for prior in ("uniform", "corpus"):
            stump = pretrain(corpus, prior).conformalize(*calibration)
            inferred = stump.predict(fresh.contexts)
            ends = stump.predict_interval(fresh.contexts, COVERAGE)
            contradicted = label_error(fresh.contexts, inferred).mean()
            row += [held(ends, fresh).mean(), contradicted, rmse(inferred, fresh)]
        found.append(row)
    constant, *others = np.mean(found, axis=0)
    cells = []
    for share, contradicted, error in (others[:3], others[3:]):
        cells += [*percent(share, contradicted), f"{error:.3f}"]
    return [change.name, f"{constant:.3f}", *cells]


INTRODUCTION = """
Written by `benchmarks/coverage.py`. Gibbs heads on made tasks: observations uniform in
0 to 1, thresholds uniform in 0.2 to 0.8, 12 to 80 observations a task, logistic labels
of scale 0.05, unless a table says otherwise. Nominal coverage 90 %, in percent
throughout; widths and errors (root mean squared) in units of the feature.
"""

SIZE = f"""
The share of all fresh tasks whose interval holds the threshold, given one calibration
set, is a random number: another set gives another share. Measured over {N_CORPORA}
corpora of 45 tasks to pretrain on, with {N_DRAWS} calibration sets each. The law holds
for any estimator and any noise, where scores have no ties: of n calibration tasks the
k-th smallest score counts, k = ceil(0.9 (n + 1)), and the share has the law Beta(k, n +
1 - k) (V. Vovk, "Conditional validity of inductive conformal predictors", 2012). Its
mean, k / (n + 1), is 90 % where n + 1 is a multiple of 10, and more in between.
"""

SPLIT = f"""
Known tasks in two parts, or all of them for both, over {N_SPLIT_CORPORA} corpora.
"Promised" is k / (n + 1), what n calibration tasks give on average if `fit` has not
seen them. "Change by sharing": how much less tasks give that it has seen, in points,
with the standard error; measured beside a stump that was pretrained on 1,000 other
tasks and calibrated on the same.
"""

ONE_LABEL = """
Tasks whose labels are all the same, and how often their threshold lies beyond their
observations. Conformal: `predict_interval` after `conformalize` on 5,000 tasks of the
same kind. Quantiles: `predict_quantiles` at 5 % and 95 %. Pretrained on 200 tasks.
"""

OTHER = """
Pretrained on 200 tasks and calibrated on 2,000 others as above; then met with fresh
tasks of another kind, over 5 repetitions. "Contradicted" is the share of labels on the
wrong side of the inferred thresholds, the mean of `label_error` in `summary`.
"Constant" is the error of the corpus's mean threshold.
"""

SPLITS = (
    (10, 10, "uniform"),
    (20, 20, "uniform"),
    (20, 20, "corpus"),
    (20, 11, "uniform"),
    (45, 45, "uniform"),
    (45, 45, "corpus"),
    (45, 26, "uniform"),
    (45, 16, "uniform"),
    (100, 100, "uniform"),
    (100, 41, "uniform"),
)


def main() -> None:
    measured = ("mean", "deviation", "5 % quantile")
    kinds = (
        f"{kind}, {what}"
        for kind in ("conformal", "quantiles")
        for what in ("all", "one label", "width")
    )
    priors = (
        f"{prior} prior, {what}"
        for prior in ("uniform", "corpus")
        for what in ("coverage", "contradicted", "error")
    )
    write(
        "coverage.md",
        "Coverage of intervals",
        prose(INTRODUCTION),
        "## By the number of calibration tasks",
        prose(SIZE),
        table(
            ["calibration tasks", *measured, *(f"law: {m}" for m in measured)],
            by_size(),
        ),
        "## Fit and calibration share the known tasks",
        prose(SPLIT),
        table(
            [
                *("known", "fit", "calibrate", "promised", "change by sharing"),
                *("width", "error"),
            ],
            (by_split(*setting) for setting in SPLITS),
        ),
        "## One label only",
        prose(ONE_LABEL),
        table(
            ["", "one label", "of them beyond", *kinds],
            (
                of_one_label(law, n_examples, prior)
                for law in LAWS
                for n_examples in (4, 8)
                for prior in ("uniform", "corpus")
            ),
        ),
        "## Fresh tasks unlike those of the calibration",
        prose(OTHER),
        table(["fresh tasks", "constant", *priors], map(of_other_tasks, CHANGES)),
    )


if __name__ == "__main__":
    main()
