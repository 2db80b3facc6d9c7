"""What the parts of the speed benchmark share: extent, targets, sections, stumps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump import Contexts, PretrainedAttentionStump

FloatArray = NDArray[np.float64]

UNIT = (0.0, 1.0)
SCALES = (30.0, 500.0, 5000.0, 50_000.0)
RATES = (0.7, 2.5, 6.0)  # disagreement scales of the Gibbs head
HORIZON = 1e12
N = 1000  # contexts of the corpus, and tokens of each


class Extent(NamedTuple):
    """How much is measured."""

    pairs: int
    sizes: tuple[int, ...]  # tokens, for the linear cost
    memory_sizes: tuple[int, ...]


FULL = Extent(7, (10**4, 10**5, 10**6, 10**7, 10**8), (10**6, 10**7, 10**8))
QUICK = Extent(2, (10**4, 10**5, 10**6), (10**6,))


class Target(NamedTuple):
    """What was to be reached, and what was measured."""

    what: str
    bound: float
    found: float
    unit: str
    least: bool = False  # whether the bound is one from below

    def row(self) -> list[str]:
        met = self.found >= self.bound if self.least else self.found <= self.bound
        factor = max(self.found / self.bound, self.bound / self.found)
        digits = ".2f" if factor < 2 else ".2g"
        return [
            self.what,
            f"{'at least' if self.least else 'at most'} {self.bound:g} {self.unit}",
            f"{self.found:.3g}" if self.found < 999.5 else f"{self.found:,.0f}",
            "met" if met else f"**missed**, by a factor of {factor:{digits}}",
        ]


class Section(NamedTuple):
    """A part of the page."""

    title: str
    parts: list[str]
    targets: list[Target]


def points(head: str) -> list[FloatArray]:
    """Coefficients to evaluate a head at: calibrated scores, or noise rates."""
    if head == "gibbs":
        return [np.array([rate, 1.0]) for rate in RATES]
    return [np.array([a, a + 2 * np.log(a)]) for a in SCALES]


def name_of(head: str, coef: FloatArray) -> str:
    return f"{head}, {'lam' if head == 'gibbs' else 'a'} = {coef[0]:,g}"


def stump(head: str = "single", **settings: Any) -> PretrainedAttentionStump:
    return PretrainedAttentionStump(head, feature_range=UNIT, **settings)


def as_array(contexts: Contexts) -> FloatArray:
    """Contexts of one size as a 3-D array, the label last."""
    flat = np.column_stack([contexts.values, contexts.labels])
    return flat.reshape(len(contexts), -1, 2)


def frozen_stump(head: str = "single") -> PretrainedAttentionStump:
    coef = points(head)[1]
    return PretrainedAttentionStump.from_coef(coef, head, feature_range=UNIT)


def quietly(call: Callable[..., Any], *args: Any) -> Any:
    """Without warnings of minima at infinity and of contexts with one label."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args)
