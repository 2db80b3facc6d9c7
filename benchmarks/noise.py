"""Noisy labels: every head beside Bayes and the classical baselines.

Writes ``docs/noise.md``. Run from the repository root:

    python benchmarks/noise.py

All but the seconds is the same at each run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import prose, table, write
from scipy.special import expit

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.baselines import (
    BayesStump,
    DecisionStump,
    ERMStump,
    LogisticStump,
)
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.objective import CorpusLoss, ShrunkLoss
from sklearn_attnstump.solvers import Options, newton

FloatArray = NDArray[np.float64]

UNIT = {"feature_range": (0.0, 1.0)}
N_PAST, N_FRESH = 500, 4000
# Baselines that fit each context anew take a millisecond and more for each.
N_SLOW = 1000


def rmse(inferred: FloatArray, thresholds: FloatArray) -> float:
    return float(np.sqrt(np.mean((inferred - thresholds) ** 2)))


def mae(inferred: FloatArray, thresholds: FloatArray) -> float:
    return float(np.mean(np.abs(inferred - thresholds)))


def corpora(n_examples: int, seed: int = 0, **law: Any) -> tuple[Any, Any]:
    """Tasks to pretrain on, and fresh ones."""
    past = make_stump_tasks(N_PAST, n_examples, random_state=2 * seed, **law)
    return past, make_stump_tasks(N_FRESH, n_examples, random_state=2 * seed + 1, **law)


def pretrained(
    head: str | GibbsHead, X: Contexts, y: FloatArray, **settings: Any
) -> tuple[PretrainedAttentionStump, float]:
    """A fit from default settings, and the seconds that it took."""
    stump = PretrainedAttentionStump(head, **UNIT, **settings)
    start = time.perf_counter()
    with warnings.catch_warnings():  # mixed labels and minima at infinity: the subject
        warnings.simplefilter("ignore")
        stump.fit(X, y)
    return stump, time.perf_counter() - start


def inferred(stump: Any, X: Contexts) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stump.predict(X)


def baseline(stump: Any, X: Contexts) -> FloatArray:
    return inferred(stump.set_params(**UNIT).fit(X), X)


def errors_of_all(n_examples: int, law: dict[str, Any]) -> dict[str, Any]:
    """RMSE of every method on one law of labels, and what the Gibbs fit cost."""
    (X, y), (fresh, truth) = corpora(n_examples, **law)
    some = slice(N_SLOW)
    found: dict[str, Any] = {"constant": rmse(np.full(N_FRESH, y.mean()), truth)}
    for head, settings in (("single", {}), ("reflected", {"anchors": True})):
        stump, _ = pretrained(head, X, y, **settings)
        found[head] = rmse(inferred(stump, fresh), truth)
    found["tree"] = rmse(baseline(DecisionStump(), fresh[some]), truth[some])
    found["logistic"] = rmse(baseline(LogisticStump(), fresh[some]), truth[some])
    found["erm"] = rmse(baseline(ERMStump("mean"), fresh), truth)
    stump, found["seconds"] = pretrained("gibbs", X, y)
    found["gibbs"] = rmse(stump.predict(fresh), truth)
    found["evaluations"] = stump.n_evaluations_
    found["bayes"] = rmse(bayes(fresh, **law), truth)
    return found


def bayes(X: Contexts, label_noise: float, noise: str = "flip") -> FloatArray:
    """The exact posterior mean, for thresholds uniform on the range."""
    if noise == "flip":
        return baseline(BayesStump(label_noise), X)
    # By quadrature: the logistic likelihood is no step function.
    grid = (np.arange(2000) + 0.5) / 2000
    means = []
    for context in X:
        x, labels = context.values[:, :1], context.labels[:, np.newaxis]
        odds = (grid - x) / label_noise
        score = np.log(expit(np.where(labels, odds, -odds)) + 1e-300).sum(axis=0)
        weight = np.exp(score - score.max())
        means.append(weight @ grid / weight.sum())
    return np.array(means)


ORDER = ["constant", "single", "reflected", "tree", "logistic", "erm", "gibbs", "bayes"]
NAMES = [
    "constant",
    "single",
    "reflected, anchors",
    "scikit-learn stump",
    "logistic regression",
    "ERM, mean",
    "**Gibbs**",
    "Bayes",
]


def by_noise_and_size(laws: dict[str, dict[str, Any]], sizes: list[int]) -> str:
    header = ["labels", "n", *NAMES, "Gibbs / Bayes", "evaluations", "seconds"]
    rows = []
    for name, law in laws.items():
        for n_examples in sizes:
            found = errors_of_all(n_examples, law)
            rows.append(
                [
                    name,
                    n_examples,
                    *(f"{found[key]:.4f}" for key in ORDER),
                    f"{found['gibbs'] / found['bayes']:.3f}",
                    found["evaluations"],
                    f"{found['seconds']:.2f}",
                ]
            )
    return table(header, rows)


def few_points() -> str:
    """Mean absolute errors where a learned prior helps: thresholds on [0.1, 0.9]."""
    header = [
        *["flips", "n", "scikit-learn stump", "ERM, mean", "Gibbs, corpus prior"],
        *["Bayes mean", "ratio", "better than the stump by"],
        *["Gibbs median", "Bayes median", "ratio"],
    ]
    rows = []
    for n_examples in (5, 10, 20):
        for flips in (0.1, 0.2):
            law = {"label_noise": flips, "threshold_range": (0.1, 0.9)}
            (X, y), (fresh, truth) = corpora(n_examples, **law)
            stump, _ = pretrained(GibbsHead("corpus"), X, y)
            gibbs = mae(stump.predict(fresh), truth)
            median = mae(stump.predict_quantiles(fresh, [0.5])[:, 0], truth)
            tree = mae(baseline(DecisionStump(), fresh[:N_SLOW]), truth[:N_SLOW])
            beside = mae(stump.predict(fresh[:N_SLOW]), truth[:N_SLOW])
            cut = mae(baseline(ERMStump("mean"), fresh), truth)
            # The oracle knows the flip rate and the range of the thresholds.
            mean_cut, median_cut = exact_posterior(fresh, flips, 0.1, 0.9)
            least, least_median = mae(mean_cut, truth), mae(median_cut, truth)
            rows.append(
                [
                    *[f"{flips:.0%}", n_examples, f"{tree:.4f}", f"{cut:.4f}"],
                    *[f"**{gibbs:.4f}**", f"{least:.4f}", f"{gibbs / least:.3f}"],
                    *[f"{1 - beside / tree:.0%}", f"**{median:.4f}**"],
                    *[f"{least_median:.4f}", f"{median / least_median:.3f}"],
                ]
            )
    return table(header, rows)


def exact_posterior(
    X: Contexts, flips: float, lo: float, hi: float
) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and median under flips, for thresholds uniform on a range."""
    means, medians = [], []
    for context in X:
        order = np.argsort(context.values[:, 0])
        x, labels = context.values[order, 0], context.labels[order]
        knots = np.concatenate([[lo], np.clip(x, lo, hi), [hi]])
        wrong = labels.sum() + np.concatenate([[0], np.cumsum(1 - 2 * labels)])
        mass = (flips / (1 - flips)) ** (wrong - wrong.min()) * np.diff(knots)
        mass /= mass.sum()
        means.append(mass @ (knots[1:] + knots[:-1]) / 2)
        medians.append(np.interp(0.5, np.append(0.0, np.cumsum(mass)), knots))
    return np.array(means), np.array(medians)


def lowest_loss_elsewhere(
    stump: PretrainedAttentionStump, X: Contexts, y: FloatArray, starts: FloatArray
) -> float:
    """The least that Newton reaches from other starts."""
    head = stump.head_
    objective = ShrunkLoss(CorpusLoss(head.pack(X), y), head.penalty)
    ends = [
        newton(
            objective, start, head.coordinates(), Options(200, 1e-8), lambda k, c: False
        )
        for start in starts
    ]
    return min(end.loss for end in ends)


def over_corpora(n_examples: int, n_corpora: int, n_starts: int) -> Iterator[list[Any]]:
    """How the ratio to Bayes varies with the corpus, and whether starts matter."""
    for flips in (0.0, 0.02, 0.1, 0.3):
        ratios, evaluations, gains = [], [], []
        for seed in range(n_corpora):
            (X, y), (fresh, truth) = corpora(n_examples, seed, label_noise=flips)
            stump, _ = pretrained("gibbs", X, y)
            least = rmse(baseline(BayesStump(flips), fresh), truth)
            ratios.append(rmse(stump.predict(fresh), truth) / least)
            evaluations.append(stump.n_evaluations_)
            rng = np.random.default_rng(seed)
            # Log-uniform in lam from 0.1 to 20 and in kap from 0.1 to 3.
            starts = np.exp(
                rng.uniform(np.log([0.1, 0.1]), np.log([20, 3]), (n_starts, 2))
            )
            lowest = lowest_loss_elsewhere(stump, X, y, starts)
            gains.append(1 - lowest / stump.path_.loss[-1])
        yield [
            f"{flips:.0%}",
            n_examples,
            n_corpora,
            f"{np.mean(ratios):.4f}",
            f"{np.quantile(ratios, 0.9):.4f}",
            f"{max(ratios):.4f}",
            f"{max(evaluations)}",
            n_corpora * n_starts,
            f"{max(0.0, *gains):.0e}",
        ]


INTRODUCTION = f"""
Written by `benchmarks/noise.py`. Root mean squared errors on {N_FRESH:,} fresh tasks
after pretraining on {N_PAST}; thresholds and observations uniform on [0, 1], `n`
observations a task. Heads are used from their default settings with
`feature_range=(0, 1)` and `solver='newton'`; evaluations and seconds are those of the
Gibbs head's fit, on one core. The baselines are those of
`sklearn_attnstump.baselines`: scikit-learn's stump and its logistic regression are
fitted to each context anew (here to the first {N_SLOW:,}), "ERM, mean" is
`ERMStump("mean")`, the mean of the middles of all gaps that contradict the fewest
labels, and Bayes is the exact posterior mean for the law that made the labels.
"""

ON_CURVES = """
Labels drawn from a logistic curve around the threshold, of the given scale in units of
the range. There the Gibbs head is not the Bayes rule: it takes all labels to be equally
reliable. A logistic regression knows the shape of the curve and learns its slope from
each context, which pays from some fifty observations on.
"""

ON_FEW_POINTS = """
Mean absolute errors, thresholds uniform on [0.1, 0.9], which `GibbsHead("corpus")` has
to learn from the corpus and Bayes knows, as it does the flip rate. `predict` gives the
posterior mean; the median, `predict_quantiles(X, [0.5])`, is what minimizes this error.
`predict` and the stump are compared on the same tasks.
"""

ON_CORPORA = """
The ratio to Bayes over corpora drawn anew, the most evaluations that a fit took, and by
how much the lowest minimum found from random starts (log-uniform in `lam` from 0.1 to
20 and in `kap` from 0.1 to 3) lies below the one that the estimator found. What is left
above 1 is the corpus's sampling error: at 500 observations the few hardest of 500 tasks
decide, and about one corpus in twenty ends more than 3 % above Bayes.
"""


def main() -> None:
    flips = {
        f"{rate:.0%} flipped": {"label_noise": rate} for rate in (0.0, 0.02, 0.1, 0.3)
    }
    curves = {
        f"logistic, {scale}": {"label_noise": scale, "noise": "logistic"}
        for scale in (0.02, 0.1)
    }
    header = [
        *["flips", "n", "corpora", "mean ratio", "90 % of them below"],
        *["largest", "evaluations", "starts", "lower by"],
    ]
    write(
        "noise.md",
        "Noisy labels",
        prose(INTRODUCTION),
        by_noise_and_size(flips, [10, 50, 500]),
        prose(ON_CURVES),
        by_noise_and_size(curves, [10, 50, 500]),
        "## Few points",
        prose(ON_FEW_POINTS),
        few_points(),
        "## Over corpora, and from any start",
        prose(ON_CORPORA),
        table(header, [*over_corpora(50, 20, 5), *over_corpora(500, 10, 2)]),
    )


if __name__ == "__main__":
    main()
