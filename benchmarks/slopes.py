"""Exponents and constants of the theory page, measured on drawn contexts.

Writes ``docs/slopes.md``. Run from the repository root; it takes some minutes:

    OMP_NUM_THREADS=1 python benchmarks/slopes.py

All random numbers come from fixed seeds: the page is the same at each run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from report import prose, table, write
from scipy.optimize import brentq
from scipy.special import zeta

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.theory import (
    certified_scale,
    context_risk,
    no_positive_probability,
    population_flow,
)

FloatArray = NDArray[np.float64]

UNIT = (0.0, 1.0)
# Sizes of corpora with how many of each: most of the time goes to the largest.
CORPORA = {50: 40, 100: 40, 200: 40, 400: 20, 800: 10, 1600: 6}
_TOKENS = 4_000_000  # drawn at a time


class Estimate(NamedTuple):
    """A measured number with its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        digits = max(0, 1 - int(np.floor(np.log10(self.error))))
        return f"{self.value:.{digits}f} ± {self.error:.{digits}f}"

    def off(self, expected: float) -> float:
        """Distance from what is expected, in standard errors."""
        return abs(self.value - expected) / self.error


def slope(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Exponent of a power law: least squares on logarithms, all points alike."""
    x, y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    centred = x - x.mean()
    found = centred @ y / (centred @ centred)
    rest = y - y.mean() - found * centred
    variance = rest @ rest / (len(x) - 2) / (centred @ centred)
    return Estimate(float(found), float(np.sqrt(variance)))


def weighted_slope(x: ArrayLike, points: list[Estimate]) -> Estimate:
    """The same where the standard error of each point is known."""
    x = np.log(np.asarray(x, dtype=float))
    y = np.log([point.value for point in points])
    weight = np.array([(point.value / point.error) ** 2 for point in points])
    centred = x - np.average(x, weights=weight)
    moment = weight @ centred**2
    return Estimate(float(weight * centred @ y / moment), float(moment**-0.5))


def errors(
    stump: PretrainedAttentionStump,
    theta: float,
    n_examples: int,
    n_contexts: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Prediction less threshold on fresh contexts of one size and threshold."""
    found = []
    while n_contexts > 0:
        n_now = min(n_contexts, max(1, _TOKENS // n_examples))
        x = rng.uniform(size=n_now * n_examples)
        offsets = np.arange(n_now + 1) * n_examples
        X = Contexts.from_arrays(x, x <= theta, offsets)
        with warnings.catch_warnings():  # of contexts without label 1: the subject
            warnings.simplefilter("ignore", UserWarning)
            found.append(stump.predict(X) - theta)
        n_contexts -= n_now
    return np.concatenate(found)


def rmse(error: FloatArray) -> Estimate:
    squares = error**2
    root = np.sqrt(squares.mean())
    spread = squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * root)
    return Estimate(float(root), float(spread))


def frozen(a: float, head: str = "single") -> PretrainedAttentionStump:
    """A head frozen at a point of the population's path."""
    coef = (a, a + 2 * np.log(a))
    return PretrainedAttentionStump.from_coef(coef, head, feature_range=UNIT)


def pretrained(
    n_tasks: int, n_examples: int, seed: int, **settings: object
) -> PretrainedAttentionStump:
    X, y = make_stump_tasks(n_tasks, n_examples, random_state=seed)
    settings = {"solver": "flow", "init_scale": 5.0, **settings}
    stump = PretrainedAttentionStump(feature_range=UNIT, **settings)
    with warnings.catch_warnings():  # of tasks with one label only
        warnings.simplefilter("ignore")
        return stump.fit(X, y)


def certified_corpora() -> dict[int, list[PretrainedAttentionStump]]:
    """Heads pretrained up to the certified scale, by the size of their corpora."""
    return {
        k: [
            pretrained(k, k, 1000 * k + seed, stop_scale="certified")
            for seed in range(n_corpora)
        ]
        for k, n_corpora in CORPORA.items()
    }


def corpus_sizes(
    stumps: dict[int, list[PretrainedAttentionStump]],
) -> tuple[list[list[str]], list[list[str]]]:
    """Error against m ^ n on contexts so large that N plays no part."""
    rng = np.random.default_rng(0)
    rows, thetas = [], (0.5, 0.2, 0.8)
    ranks = np.concatenate([[k] * len(stumps[k]) for k in CORPORA])
    found = np.array(
        [
            [rmse(errors(stump, theta, 100_000, 20, rng)).value for theta in thetas]
            for k in CORPORA
            for stump in stumps[k]
        ]
    )
    scales = np.array([s.feature_score_ for k in CORPORA for s in stumps[k]])
    for k in CORPORA:
        here = ranks == k
        scale = float(certified_scale(k, k))
        reached = np.mean(scales[here] > 0.999 * scale)
        shown = (f"{error * scale:.3f}" for error in found[here].mean(axis=0))
        rows.append([str(k), str(here.sum()), f"{scale:.1f}", f"{reached:.0%}", *shown])
    slopes = []
    for theta, error in zip(thetas, found.T, strict=True):
        for first in (50, 200) if theta == min(thetas) else (50,):
            here = ranks >= first
            measured = slope(ranks[here], error[here] / np.log(ranks[here]))
            within = "yes" if abs(measured.value + 1) <= 0.1 else "no"
            what = f"error / log(m ^ n) against m ^ n, {first} to 1,600, θ = {theta}"
            slopes.append([what, "-1, within 0.1", str(measured), within])
    return slopes, rows


def context_sizes(trained: list[PretrainedAttentionStump]) -> Iterator[list[str]]:
    """Error against N below the floor."""
    rng = np.random.default_rng(1)
    scale = trained[0].feature_score_
    cases = {
        f"6 corpora of 1,600 (a = {scale:.0f}), N = 16 to 54": (
            trained,
            (16, 24, 36, 54),
            5000,
        ),
        "frozen at a = 10,000, N = 32 to 2,048": (
            [frozen(1e4)],
            (32, 64, 128, 256, 512, 1024, 2048),
            20_000,
        ),
    }
    for name, (stumps, sizes, n_contexts) in cases.items():
        points = [
            rmse(np.concatenate([errors(s, 0.5, n, n_contexts, rng) for s in stumps]))
            for n in sizes
        ]
        measured = weighted_slope(sizes, points)
        within = "yes" if abs(measured.value + 1) <= 0.1 else "no"
        yield [f"error against N, {name}", "-1, within 0.1", str(measured), within]


def floors() -> Iterator[list[str]]:
    """The single head's floor, and the reflected head without one."""
    rng = np.random.default_rng(2)
    scales, ratios = (20.0, 50.0, 100.0, 200.0), []
    for a in scales:
        ratios.append(rmse(errors(frozen(a), 0.5, int(1000 * a), 50, rng)))
    measured = weighted_slope(scales, ratios)
    yield [
        "single head's floor against a, 20 to 200",
        "-1, within 0.1",
        str(measured),
        "yes" if abs(measured.value + 1) <= 0.1 else "no",
    ]
    for a, found in zip(scales, ratios, strict=True):
        floor = Estimate(found.value * a, found.error * a)
        within = "yes" if abs(floor.value - 1) <= 0.03 else "no"
        yield [f"floor times a, a = {a:.0f}", "1, within 3 %", str(floor), within]
    for a in (20.0, 50.0, 100.0):
        n = int(200 * a)
        law = float(np.sqrt(context_risk("reflected", n, a)))
        found = rmse(errors(frozen(a, "reflected"), 0.5, n, 10_000, rng))
        ratio = Estimate(found.value / law, found.error / law)
        within = "yes" if abs(ratio.value - 1) <= 0.03 else "no"
        what = f"reflected head's error times sqrt(8aN), a = {a:.0f}, N = {n:,}"
        yield [what, "1, within 3 %", str(ratio), within]


def failures(stump: PretrainedAttentionStump) -> Iterator[list[str]]:
    """Share of contexts that the single head misses by more than half the range."""
    rng = np.random.default_rng(3)
    n_examples, n_contexts = 1000, 20_000
    for c in (0.25, 0.5, 1.0, 2.0, 4.0):
        theta = c / n_examples
        share = np.mean(np.abs(errors(stump, theta, n_examples, n_contexts, rng)) > 0.5)
        chance = np.exp(-c)
        measured = Estimate(
            float(share), float(np.sqrt(chance * (1 - chance) / n_contexts))
        )
        off = measured.off(chance)
        exact = no_positive_probability(theta, n_examples)
        yield [
            f"share of failures at θ = {c:g}/N (exactly {exact:.4f})",
            f"exp(-{c:g}) = {chance:.4f}, within 2 s.e.",
            str(measured),
            f"{'yes' if off <= 2 else 'no'} ({off:.1f} s.e.)",
        ]


def calibrated_gap(a: float, n_examples: int) -> float:
    """What b - a should be on a corpus of many tasks of n examples each.

    With kappa = q n / a and S_j = (n/a) (exp(a j / n) - 1) the loss has the layer
    sum_j (kappa / (kappa + S_j))^2 / n, less its product with the bias,
    2 (zeta(2) - 1) kappa / (n a); its derivative in log q is a^-3 (1 - a/n), since
    tasks without label 1 slow both scores: see the theory page.
    """
    density = a / n_examples
    positives = np.arange(1, 100_000)
    attended = np.expm1(np.minimum(density * positives, 90.0)) / density

    def excess(kappa: float) -> float:
        layer = np.sum(2 * kappa**2 * attended / (kappa + attended) ** 3)
        bias = 2 * (zeta(2) - 1) * kappa / a
        return float(layer - bias - n_examples / a**3 * (1 - density))

    return float(-np.log(brentq(excess, 1e-9, 1 / density) * density))


def calibration() -> Iterator[list[str]]:
    """Offset and speed on corpora of many tasks, where the scale passes some values."""
    for n_tasks, n_examples in ((20_000, 100), (20_000, 400), (20_000, 800)):
        stump = pretrained(
            n_tasks, n_examples, n_examples, stop_scale=n_examples / 5, init_scale=10.0
        )
        t, (a, b) = stump.path_.t, stump.path_.coef.T
        for scale in (15.0, 40.0, 80.0, 160.0, 320.0):
            if scale > a[-1]:
                break
            last = np.flatnonzero(a < scale)[-1]
            part = (scale - a[last]) / (a[last + 1] - a[last])
            gap, time = ((1 - part) * z[last] + part * z[last + 1] for z in (b - a, t))
            start = (10.0, 10.0 + 2 * np.log(10.0))
            ((population, _),) = population_flow(start, [time])
            yield [
                f"{n_tasks:,}",
                str(n_examples),
                f"{scale:g}",
                f"{gap:.2f}",
                f"{calibrated_gap(scale, n_examples):.2f}",
                f"{2 * np.log(scale):.2f}",
                f"{scale / population:.3f}",
                f"{(1 + 0.8 * scale / n_examples) ** -0.25:.3f}",
            ]


INTRODUCTION = """
Written by `benchmarks/slopes.py`. The exponents and constants of the [theory
page](theory.md), measured on drawn contexts: x uniform on [0, 1], clean labels, root
mean squared errors. Slopes are those of least squares on logarithms, ± one standard
error; "holds" judges the value itself by the bound that stands beside what is expected.
Rates in m ^ n and N, the boundary limitation and the reflection are claims of the
abstract of arXiv:2610.07074; constants are this project's own.
"""

CORPORA_TEXT = """
Corpora of m = n tasks drawn with thresholds on all of [0, 1], gradient flow from a
large-resolution start up to the certified scale k / log k, k = m ^ n; then 20 contexts
of 100,000 examples at each threshold. The last columns are mean errors times the
certified scale. That they are 1 is no accident: the floor at a given scale is 1/a, so
what is measured here is that corpora carry pretraining that far, with a label score
that holds the attention. Where a corpus has tasks without label 1, its loss may have a
minimum at a smaller scale, and pretraining ends there ("reached" counts the others).

At θ = 0.2 the smallest corpora are too small for the floor 1/a, and the slope over all
of them misses its bound: with a θ of 2.6 and 4.3, at 50 and 100 tasks, the tilt by
exp(a x) does not die out before the range's end, and some attention is left on label 0.
Both shorten the error, by the factor 1 - aθ / (exp(aθ) - 1) and more. From 200 on the
slope holds there too. "Each fixed interior threshold" is a statement about the limit.
"""

CALIBRATION_TEXT = """
On a finite corpus the scale keeps to the population's path much longer than the offset
b - a keeps to 2 log a. A corpus of n examples a task does not resolve the boundary
layer once it is narrower than the distance between observations, at a of the order of
n^(1/3). The [theory page](theory.md) derives what takes its place, and that the scale
does not mind, but for the tasks without label 1. The laws are for many tasks, and leave
out terms of higher order in a/n. What holds the offset are the m/n tasks with one label
1 and as many with two: on these corpora, 25 to 200 of each.
"""


def main() -> None:
    stumps = certified_corpora()
    slopes, corpora = corpus_sizes(stumps)
    rows = [
        *slopes,
        *context_sizes(stumps[1600]),
        *floors(),
        *failures(stumps[1600][0]),
    ]
    write(
        "slopes.md",
        "Slopes",
        prose(INTRODUCTION),
        table(["", "expected", "measured", "holds"], rows),
        "## Corpora up to the certified scale",
        *map(prose, CORPORA_TEXT.split("\n\n")),
        table(
            ["m = n", "corpora", "k / log k", "reached"]
            + [f"θ = {theta}" for theta in (0.5, 0.2, 0.8)],
            corpora,
        ),
        "## Calibration on finite corpora",
        prose(CALIBRATION_TEXT),
        table(
            ["m", "n", "a", "b - a", "law", "2 log a", "a / population's", "law"],
            calibration(),
        ),
    )


if __name__ == "__main__":
    main()
