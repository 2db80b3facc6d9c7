"""Every method on the same tasks: pretrained, fitted to each context, and from outside.

Writes ``docs/comparison.md``. Run from the repository root:

    python -m pip install ".[benchmark]"
    python benchmarks/compare.py --data FOLDER

Takes about five minutes, of which psignifit takes one or two. `FOLDER` is that of
``real_tasks.py``; without it the turtles and rain or snow are left out. All but the
times is the same at each run.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from real_tasks import read_all
from report import prose, table, write
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import KFold

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.baselines import (
    BaselineStump,
    BayesStump,
    DecisionStump,
    ERMStump,
    LogisticStump,
    MidpointStump,
    OneSidedStump,
)
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.scaling import context_ranges

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

N_PAST, N_FRESH = 500, 600
SIZES = (5, 20, 50, 200)
RATES = (0.0, 0.02, 0.1, 0.2)

# The one pretrained setting that verdicts are about, chosen before any figure was seen:
# it uses all that a corpus knows.
OURS = "Gibbs, corpus"
TOLD = "Bayes, told"

# Rivals from outside, each for one context: observations and labels that should fall,
# to a threshold, or None where it finds no split.


def mdlp(x: FloatArray, labels: BoolArray) -> float | None:
    """Of the splits of the minimum description length principle, the best one."""
    from optbinning import MDLP

    bins = MDLP(min_samples_leaf=1, max_candidates=len(x)).fit(x, labels.astype(int))
    return min(bins.splits, key=lambda t: np.sum((x <= t) != labels), default=None)


def kernel_cpd(x: FloatArray, labels: BoolArray) -> float | None:
    """The one change point of the labels, in the order of the observations."""
    from ruptures import KernelCPD

    order = np.argsort(x, kind="stable")
    signal = labels[order].astype(np.float64)[:, np.newaxis]
    change = KernelCPD(kernel="linear", min_size=1).fit(signal).predict(n_bkps=1)[0]
    return x[order[change - 1 : change + 1]].mean()


def cutoffs(x: FloatArray, labels: BoolArray) -> float | None:
    """The cut-off of best accuracy, an observation; scores must be probabilities."""
    from optimal_cutoffs import get_optimal_threshold

    span = max(np.ptp(x), np.finfo(np.float64).tiny)
    scores = (x.max() - x) / span
    found = get_optimal_threshold(
        labels.astype(int), scores, metric="accuracy", comparison=">="
    )
    return x.max() - span * float(np.ravel(found.thresholds)[0])


def psychometric(x: FloatArray, labels: BoolArray) -> float | None:
    """The threshold of a psychometric function with lapses and guesses."""
    from psignifit import psignifit

    trials = np.column_stack([x, ~labels, np.ones_like(x)])
    fit = psignifit(trials, experiment_type="yes/no", sigmoid="logistic")
    return float(fit.parameter_estimate["threshold"])


# Name of a rival, the module that it needs, and its call.
RIVALS = {
    "MDLP": ("optbinning", mdlp),
    "KernelCPD": ("ruptures", kernel_cpd),
    "cut-offs": ("optimal_cutoffs", cutoffs),
    "psignifit": ("psignifit", psychometric),
}
MISSING = [name for name, (module, _) in RIVALS.items() if not find_spec(module)]


class Rival(BaselineStump):
    """A rival on many contexts. Where it finds no split it is treated as the tree is:
    the threshold gives all observations the label of most."""

    def __init__(
        self,
        cut: Callable[[FloatArray, BoolArray], float | None] = mdlp,
        *,
        direction: str = "<=",
        feature: int = 0,
        feature_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(
            direction=direction, feature=feature, feature_range=feature_range
        )
        self.cut = cut

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        least, largest = context_ranges(contexts)
        thresholds = np.empty(len(contexts))
        for task, context in enumerate(contexts):
            x, labels = context.values[:, 0], context.labels
            mixed = labels.any() and not labels.all() and len(np.unique(x)) > 1
            found = self.cut(x, labels) if mixed else None
            if found is None:
                most = labels.mean() > 0.5
                ends = (largest[task], hi[task]) if most else (lo[task], least[task])
                found = np.mean(ends)
            thresholds[task] = found
        return np.clip(thresholds, lo, hi)


def methods(rate: float | None = None, **settings: Any) -> dict[str, Any]:
    """All that are compared; psignifit, which takes its time, stands apart."""
    found = {
        "constant": DummyRegressor(strategy="median"),
        "one-sided": OneSidedStump(**settings),
        "midpoint": MidpointStump(**settings),
        "tree": DecisionStump(**settings),
        "ERM": ERMStump(**settings),
        "ERM, mean": ERMStump("mean", **settings),
        "logistic": LogisticStump(**settings),
    }
    for name, (_, cut) in RIVALS.items():
        if name not in MISSING and cut is not psychometric:
            found[name] = Rival(cut, **settings)
    found["single"] = PretrainedAttentionStump("single", **settings)
    found["reflected"] = PretrainedAttentionStump("reflected", anchors=True, **settings)
    found["Gibbs"] = PretrainedAttentionStump("gibbs", **settings)
    found[OURS] = PretrainedAttentionStump(GibbsHead("corpus"), **settings)
    if rate is not None:
        found[TOLD] = BayesStump(rate, **settings)
    return found


# Errors, winners, verdicts.


class Result(NamedTuple):
    """What all methods made of the same tasks."""

    errors: dict[str, FloatArray]  # absolute errors, each of shape (n_fresh,)
    seconds: dict[
        str, float
    ]  # to predict 1,000 contexts, anything fitted there included

    @property
    def best(self) -> str:
        """The method of least mean error that is told nothing.

        The first of those that are the same to four digits: on clean labels many are
        the same rule, and differ by rounding.
        """
        means = {name: e.mean() for name, e in self.errors.items() if name != TOLD}
        bound = min(means.values()) * (1 + 1e-4)
        return next(name for name, mean in means.items() if mean <= bound)

    def behind(self, name: str) -> bool:
        """Whether a method's mean error exceeds the best one's by two standard errors.

        The errors are of the same tasks, and so compared task by task.
        """
        excess = self.errors[name] - self.errors[self.best]
        standard_error = excess.std(ddof=1) / np.sqrt(len(excess))
        return bool(excess.mean() > 2 * standard_error)

    def verdict(self) -> str:
        """How the pretrained attention did."""
        if self.best == OURS:
            return "best"
        least = max(self.errors[self.best].mean(), np.finfo(float).tiny)
        ratio = self.errors[OURS].mean() / least - 1
        if not self.behind(OURS):
            return "level"
        # Next to no error: the threshold is what that method says, by definition.
        return f"loses, +{ratio:.0%}" if ratio < 50 else "loses to no error"

    def row(self, scale: float) -> list[str]:
        """Cells: each method's error, in bold if it is not behind; winner, verdict."""
        cells = []
        for name, error in self.errors.items():
            cell = f"{scale * error.mean():.3g}"
            told_or_behind = name == TOLD or self.behind(name)
            cells.append(cell if told_or_behind else f"**{cell}**")
        times = [f"{1000 * self.seconds[name]:.0f}" for name in (self.best, OURS)]
        return [*cells, self.best, self.verdict(), " / ".join(times)]


def quietly(call: Callable[..., Any], *args: Any) -> Any:
    """Without the warnings of mixed labels, minima at infinity and widened ranges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)


def compare(
    fitted: dict[str, Any], fresh: Contexts, truth: FloatArray
) -> tuple[dict[str, FloatArray], dict[str, float]]:
    """Absolute errors of fitted methods, and seconds for 1,000 contexts."""
    errors, seconds = {}, {}
    for name, method in fitted.items():
        start = time.perf_counter()
        inferred = quietly(method.predict, fresh)
        seconds[name] = (time.perf_counter() - start) * 1000 / len(fresh)
        errors[name] = np.abs(inferred - truth)
    return errors, seconds


# Synthetic tasks.


def fitted_on(law: dict[str, Any], size: int, rate: float | None) -> dict[str, Any]:
    X, y = make_stump_tasks(N_PAST, size, random_state=0, **law)
    everyone = methods(rate, feature_range=(0.0, 1.0))
    return {name: quietly(each.fit, X, y) for name, each in everyone.items()}


def fresh_tasks(law: dict[str, Any], size: int) -> tuple[Contexts, FloatArray]:
    return make_stump_tasks(N_FRESH, size, random_state=1, **law)


def by_noise() -> Iterator[tuple[str, Result]]:
    """Uniform thresholds: flips at several rates, then logistic labels."""
    for rate in RATES:
        for size in SIZES:
            law = {"label_noise": rate}
            fitted = fitted_on(law, size, rate)
            yield (
                f"{rate:.0%}, N = {size}",
                Result(*compare(fitted, *fresh_tasks(law, size))),
            )
    for size in SIZES[1::2]:
        law = {"label_noise": 0.05, "noise": "logistic"}
        found = compare(fitted_on(law, size, None), *fresh_tasks(law, size))
        yield f"logistic, N = {size}", Result(*found)


def clustered() -> Iterator[tuple[str, Result]]:
    """Past thresholds say where to look: they lie in a fifth of the range."""
    for rate in (0.0, 0.1):
        for size in SIZES[:3]:
            law = {"label_noise": rate, "threshold_range": (0.2, 0.4)}
            found = compare(fitted_on(law, size, rate), *fresh_tasks(law, size))
            yield f"{rate:.0%}, N = {size}", Result(*found)


def near_the_boundary() -> Iterator[tuple[str, Result]]:
    """Pretrained on uniform thresholds, asked about one threshold close to an end."""
    size = 100
    for rate in (0.0, 0.1):
        fitted = fitted_on({"label_noise": rate}, size, rate)
        for text, threshold in [
            ("0", 0.0),
            ("1/2N", 0.5 / size),
            ("1/N", 1 / size),
            ("3/N", 3 / size),
            ("1/2", 0.5),
            ("1 - 1/N", 1 - 1 / size),
            ("1", 1.0),
        ]:
            law = {"label_noise": rate, "threshold_range": (threshold, threshold)}
            found = compare(fitted, *fresh_tasks(law, size))
            yield f"{rate:.0%}, {text}", Result(*found)


# Real tasks.


def of_real_tasks(folder: Path | None) -> Iterator[tuple[str, Result]]:
    """Five folds over tasks; of eight random points of each, and of all points."""
    for tasks in read_all(folder):
        draws = [tasks.draw(seed) for seed in range(3)]
        for text, corpora in [("8 points", draws), ("all points", [tasks.contexts])]:
            found = in_folds(corpora, tasks.thresholds)
            yield f"{tasks.name}, {text}", found


def in_folds(corpora: list[Contexts], y: FloatArray) -> Result:
    """Errors on tasks left out, each the mean over draws of its observations."""
    errors = {name: np.zeros(len(y)) for name in methods()}
    seconds: dict[str, float] = {}
    for X in corpora:
        for past, fresh in KFold(5, shuffle=True, random_state=0).split(y):
            everyone = methods(direction=">=")
            for each in everyone.values():
                quietly(each.fit, X[past], y[past])
            found, seconds = compare(everyone, X[fresh], y[fresh])
            for name, error in found.items():
                errors[name][fresh] += error / len(corpora)
    return Result(errors, seconds)


# Few contexts for the slowest, and times for all.


def with_psignifit(n_contexts: int) -> Iterator[tuple[str, Result]]:
    for text, law in [
        ("flips 10%, N = 50", {"label_noise": 0.1}),
        ("logistic, N = 50", {"label_noise": 0.05, "noise": "logistic"}),
    ]:
        fitted = fitted_on(law, 50, None)
        fitted["psignifit"] = Rival(psychometric, feature_range=(0.0, 1.0))
        X, y = fresh_tasks(law, 50)
        X, y = X[:n_contexts], y[:n_contexts]
        fitted["psignifit"].fit(X)
        yield f"{text}, {n_contexts} tasks", Result(*compare(fitted, X, y))


def run_times() -> dict[str, list[float]]:
    """Seconds to predict 1,000 contexts of 200 points, in several runs.

    The methods take turns, so that whatever else the machine does meets them all. What
    takes milliseconds is run five times a turn, the least counting: the first run
    after a method of seconds finds the caches cold.
    """
    law = {"label_noise": 0.1}
    fitted = fitted_on(law, 200, 0.1)
    X, _ = make_stump_tasks(1000, 200, random_state=1, **law)
    times: dict[str, list[float]] = {name: [] for name in fitted}
    for turn in range(20):
        for name, method in fitted.items():
            if turn > 2 and min(times[name]) > min(times["tree"]):
                continue
            took = [timed(method, X)]
            if took[0] < 0.05:
                took += [timed(method, X) for _ in range(4)]
            times[name].append(min(took))
    return times


def timed(method: object, X: Contexts) -> float:
    start = time.perf_counter()
    quietly(method.predict, X)
    return time.perf_counter() - start


def speed(times: dict[str, list[float]], name: str) -> float:
    """How many times faster than the tree, in the median of the turns."""
    both = zip(times["tree"], times[name], strict=False)  # slow ones have fewer turns
    return float(np.median([tree / took for tree, took in both]))


def rows_of_times(times: dict[str, list[float]]) -> Iterator[list[str]]:
    for name, took in sorted(times.items(), key=lambda item: min(item[1])):
        ratio = speed(times, name)
        of_tree = f"1/{ratio:.0f}" if ratio > 1 else f"{1 / ratio:.1f}"
        yield [name, f"{1000 * min(took):.1f}", of_tree]


# The page.

INTRODUCTION = f"""
Written by `benchmarks/compare.py`. Mean absolute errors of inferred thresholds; on
synthetic tasks in thousandths of the range, which is known to all methods, the feature
being uniform on it. The pretrained heads learn from {N_PAST} tasks of the same law and
size; every method then infers the same {N_FRESH} fresh ones.
"""

HOW_TO_READ = f"""
**Best** names the method of least error in the row, the leftmost of several that are
the same to four digits. Errors in bold are level with it: not larger by more than two
standard errors of the mean difference over the same tasks.
**Verdict** is about one pretrained setting, `GibbsHead(prior="corpus")`, chosen before
any figure was seen: best, level with the best, or by how much it loses. "{TOLD}" is the
posterior mean of one who is told the rate of flips and that thresholds are uniform; it
takes no part in the ranking. **Time** is that to predict 1,000 contexts of the row's
size, in milliseconds, of the best method and of the one that the verdict is about; it
includes whatever a method fits to each context, and not the pretraining.
"""

WHO_IS_WHO = """
constant: the median of the past thresholds (`DummyRegressor`). one-sided:
`OneSidedStump`. midpoint: `MidpointStump`. tree: `DecisionStump`, scikit-learn's tree
of depth one. ERM: `ERMStump`, fewest label errors, the widest gap; "mean": the mean of
the tied gaps. logistic: `LogisticStump`. MDLP: optbinning's, of its splits the one that
contradicts the fewest labels, with leaves of one observation and all candidates.
KernelCPD: ruptures' change point of the sorted labels. cut-offs:
optimal-classification-cutoffs, best accuracy. Those from outside are treated as the
tree is where they find no split. single, reflected (with anchors), Gibbs (uniform
prior) and Gibbs, corpus (corpus prior): the pretrained heads.
"""

ON_NOISE = """
Thresholds uniform on the range. Flips: each label is wrong with the given chance.
Logistic: the chance of label 1 falls from 1 to 0 about the threshold, on a scale of a
twentieth of the range; there is no rate to tell.
"""

ON_CLUSTERS = """
Thresholds uniform on [0.2, 0.4] of the range [0, 1]. Only what looks at past tasks can
know; the posterior mean that is told the rate takes them to be anywhere.
"""

ON_BOUNDARY = """
100 observations; pretrained on thresholds uniform on the range, asked about a single
one, at or near an end. The single head without anchors predicts near the upper end
where no label is 1, and that is its boundary limitation. Verdicts in this table are
about a point, not about an average: a method that leans to one side wins at that side.
"""

ON_REAL = """
Five folds over tasks (`KFold(5, shuffle=True, random_state=0)`), in the feature's
units: years for browsers, degrees Celsius for the others. 8 random observations of each
task, the mean over three draws, and then all observations. The page of real tasks says
what the tasks are. The range is learned from the corpus. With all observations what
wins is what defines the threshold: turtles' and rain's are 50 % points of logistic
regressions on these very observations, and a browser's is the date of a release, that
is, an observation.
"""

ON_PSIGNIFIT = """
psignifit integrates over five parameters, for each context anew, so it gets few
contexts: next to nothing is told apart by them.
"""

ON_TIMES = """
1,000 contexts of 200 points, a tenth of the labels flipped: the least of 20 turns
(three for what is slower than scikit-learn's tree; five runs a turn for what takes less
than 50 ms), the methods taking turns on one core; and the share of the tree's time in
the same turn, in the median.
"""

LOSSES = """
Counted over the tables below, for the setting that the verdicts are about. On clean
labels there is nothing to win: under a uniform prior the midpoint is the posterior
mean, and costs less.
"""


def of_results(results: list[tuple[str, Result]], what: str, scale: float) -> str:
    names = results[0][1].errors
    header = [what, *names, "best", "verdict", "time (ms)"]
    return table(header, ([text, *found.row(scale)] for text, found in results))


def losses(sections: dict[str, list[tuple[str, Result]]]) -> str:
    """Where the pretrained attention is best, level, and where it loses to what."""
    lines = []
    for title, results in sections.items():
        counts = {"best": 0, "level": 0}
        lost = []
        for text, found in results:
            verdict = found.verdict()
            if verdict in counts:
                counts[verdict] += 1
            else:
                lost.append(f"{text} to {found.best} ({verdict.split(maxsplit=1)[1]})")
        line = f"- {title}: best in {counts['best']} of {len(results)} rows, level in "
        line += f"{counts['level']}, **loses in {len(lost)}**"
        lines.append(line + (": " + "; ".join(lost) + "." if lost else "."))
    everything = [found for results in sections.values() for _, found in results]
    for name in ("single", "reflected", "Gibbs"):
        behind = sum(found.behind(name) for found in everything)
        line = f"- The other heads: {name} is behind the best in {behind} of "
        lines.append(line + f"{len(everything)} rows.")
    return "\n".join(lines)


def hundredfold(times: dict[str, list[float]]) -> str:
    """Whether each vectorized baseline is a hundred times faster than the tree."""
    vectorized = ["one-sided", "midpoint", "ERM", "ERM, mean", TOLD]
    slowest = min(vectorized, key=lambda name: speed(times, name))
    ratio = speed(times, slowest)
    return (
        f"The slowest of the baselines without a loop over contexts, '{slowest}', is "
        f"{ratio:.0f} times faster than the tree: "
        + ("each takes" if ratio > 100 else "not each of them takes")
        + " less than a hundredth of its time here."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the unshipped tasks")
    folder = parser.parse_args().data
    times = run_times()
    synthetic = {
        "By noise and context size": (list(by_noise()), ON_NOISE),
        "Thresholds that cluster": (list(clustered()), ON_CLUSTERS),
        "Near the boundary": (list(near_the_boundary()), ON_BOUNDARY),
    }
    real = list(of_real_tasks(folder))
    absent = "" if folder else "Turtles and rain or snow are not shipped, and absent."
    out = ", ".join(MISSING) or "none"
    sections = {title: results for title, (results, _) in synthetic.items()}
    parts = [prose(INTRODUCTION), prose(HOW_TO_READ), prose(WHO_IS_WHO)]
    parts.append(
        prose(
            f"Rivals that were not installed, and have no column: {out}. cutpointpy "
            "was left out: it needs Python 3.12.10, and this project begins at 3.11."
        )
    )
    parts += ["## Where the pretrained attention loses", prose(LOSSES)]
    parts.append(losses({**sections, "Real tasks": real}))
    for title, (results, text) in synthetic.items():
        parts += [f"## {title}", prose(text), of_results(results, "flips", 1000)]
    parts += ["## Real tasks", prose(ON_REAL + absent), of_results(real, "tasks", 1)]
    if "psignifit" not in MISSING:
        few = list(with_psignifit(3))
        seconds = np.mean([found.seconds["psignifit"] for _, found in few]) / 1000
        took = f"It took {seconds:.0f} s for each."
        parts += ["## psignifit", prose(ON_PSIGNIFIT + took)]
        parts.append(of_results(few, "labels", 1000))
    header = ["method", "ms", "of the tree's"]
    parts += ["## Run time", prose(ON_TIMES), table(header, rows_of_times(times))]
    write("comparison.md", "Comparison", *parts, prose(hundredfold(times)))


if __name__ == "__main__":
    main()
