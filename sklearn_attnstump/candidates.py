"""Candidate splits of tables: thresholds that a frozen attention infers in ranks.

All of it is this project's own. A table is made into contexts of the kind that the
frozen attention knows: for each feature, and each way of telling one class from the
rest, the tokens ``(rank, label)``. The attention's thresholds, which lie in ranks, are
the candidate splits; the criterion judges them, and the best is kept.

**Class costs.** The attention counts contradicted labels, a criterion weighs leaves.
The two meet in the tangents of the criterion: an impurity is a concave function of a
leaf's class shares, so it is the least of its tangents, each of which is linear in the
shares. The split of least impurity is thus the split of fewest label errors at certain
costs of the classes. For two classes and the Gini impurity these stand as ``1 - q`` to
``q``, with ``q`` the mean of the two leaves' shares of label 1. One of these shares is
at most the whole table's share ``s``, and the other at least: ``q`` lies between ``s /
2``, where one leaf is pure and the other like the table, and ``(1 + s) / 2``.

Costs with ``q`` between ``s``, which make the classes weigh the same, and one half,
which leave them as given, are even. With the others a small, pure leaf is cut off: a
boosted sum of stumps may need that, while a single stump errs more on fresh rows for
it, though its impurity be less (benchmarks/classifier.py). Some of both are tried; to
be chosen, a split at uneven costs must lower the impurity by a tenth more. (For
several classes, and for other criteria, these costs are as good a guess as any.)

**Sharp attention.** The mean over good thresholds may lie where none is: between two,
or, in a feature of few values, beside the only one that parts a rare class off. So the
Gibbs head is also asked with the disagreement scale enlarged without bounds, for the
gaps of fewest errors alone; what it then says has the same handicap.

What a threshold contradicts is a share of the weight, times a number of observations
that depends on no weight: the laws of the weights hold here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.estimators import PretrainedAttentionStump
from sklearn_attnstump.gaps import Gaps
from sklearn_attnstump.gibbs import GibbsPack
from sklearn_attnstump.heads import GibbsHead
from sklearn_attnstump.moments import positions
from sklearn_attnstump.splits import Block, Proposal

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# A feature counts as so many observations as it has distinct values, but as no fewer
# than this. Fewer make wide posteriors, which better the threshold where labels are
# noisy, but lose that of a rare class; benchmarks/classifier.py has the figures.
OBSERVATIONS = 300
# Tangents that are tried, see above. Even costs: from 1, q = s, to 0, q = 1 / 2.
EVEN = (1.0, 0.5, 0.0)
# Uneven costs: from -1, q = s / 2, to 1, q = (1 + s) / 2, each evenly in log odds.
UNEVEN = (-1.0, -0.5, 0.5, 1.0)
# How many times the gain of a split at even costs and with plain attention the gain of
# any other must be.
HANDICAP = 1.1
# Gaps that the labels make less likely than the best by exp(100) are not evaluated.
_REACH = 100.0
# What "without bounds" is: a thousandth of an observation tells gaps apart.
_SHARPER = 1e6
# Gaps that are evaluated at a time: of few rows, for many class costs at once, as each
# call of NumPy costs as much as some hundred gaps.
_AT_ONCE = 1 << 16
# Log odds of the costs at most: where a class hardly weighs anything.
_FAR = 650.0


class _Costs(NamedTuple):
    """What a contradicted label counts for; of mean one over the table."""

    one: float  # of the class that is told from the rest
    rest: float
    handicap: float


def _costs(one: float, rest: float) -> list[_Costs]:
    """Costs of a class and of the rest, whose weights these are, for each tangent."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ratios = np.array([one / (one + 2 * rest), (2 * one + rest) / rest, one / rest])
        low, high, odds = np.clip(np.log(ratios), -_FAR, _FAR)
    logits = [power * odds for power in EVEN]
    logits += [(low + high) / 2 + place * (high - low) / 2 for place in UNEVEN]
    handicaps = [1.0] * len(EVEN) + [HANDICAP] * len(UNEVEN)
    costs = []
    for logit, handicap in zip(logits, handicaps, strict=True):
        of_one, of_rest = expit(-logit), expit(logit)
        mean = (of_one * one + of_rest * rest) / (one + rest)
        costs.append(_Costs(of_one / mean, of_rest / mean, handicap))
    return costs


class _Counts(NamedTuple):
    """Whose labels are counted, and as how many observations."""

    block: Block
    label: int
    per_weight: FloatArray  # (n_features,): observations of a unit of weight


def _per_weight(block: Block, total: FloatArray) -> FloatArray:
    """Observations that a unit of weight counts as, for each feature."""
    return np.maximum(block.sizes, OBSERVATIONS) / total.sum()


def _gibbs_units(
    stump: PretrainedAttentionStump, counts: _Counts, costs: list[_Costs]
) -> Iterator[tuple[FloatArray, float]]:
    """Thresholds in ranks that the Gibbs head infers, and their handicaps.

    Outermost gaps split nothing and are left out. The complement of a labelling
    contradicts what the labelling does not, so that ``-D`` stands for its ``D``: only
    differences of ``D`` matter. Gaps of no weight are left out before the softmax.
    """
    head, coef = stump.head_, stump.coef_
    block, label, per_feature = counts
    left, sizes = block.gaps()
    per_weight = np.repeat(per_feature, sizes)
    one = np.cumsum(block.weights_of(label), axis=1).ravel()[block.ends[left]]
    rest = (block.upto[left] - one) * per_weight
    one *= per_weight
    prior = head.prior_in_use()
    reach = _REACH / coef[0] if coef[0] > 0 else np.inf
    sharp = coef * (_SHARPER, 1.0)
    at_once = max(1, _AT_ONCE // len(left))
    for first in range(0, len(costs), at_once):
        some = costs[first : first + at_once]
        disagreement = np.empty((len(some), len(left)))
        for cost, row in zip(some, disagreement, strict=True):
            np.subtract(cost.rest * rest, cost.one * one, out=row)
        units = []
        for sign in (1.0, -1.0):
            near = _near(disagreement.ravel(), sign, block.ranks, left, sizes, reach)
            pack = GibbsPack(near, prior)
            for scores in (coef, sharp):
                found = pack.evaluate(scores, 0).prediction
                units.append(found.reshape(len(some), -1))
        for cost, *of_cost in zip(some, *units, strict=True):
            yield from zip(of_cost, (cost.handicap, HANDICAP) * 2, strict=True)


def _near(
    disagreement: FloatArray,
    sign: float,
    ranks: FloatArray,
    left: IntArray,
    sizes: IntArray,
    reach: float,
) -> Gaps:
    """Gaps that contradict at most `reach` observations more than the best of theirs.

    ``sign * disagreement`` is of the gaps on the right of the values `left`, `sizes` of
    them a feature, over and over.
    """
    extreme = np.minimum if sign > 0 else np.maximum
    compare = np.less_equal if sign > 0 else np.greater_equal
    sizes = np.tile(sizes, len(disagreement) // len(left))
    starts = np.cumsum(sizes) - sizes
    least = extreme.reduceat(disagreement, starts)
    near = positions(compare(disagreement, np.repeat(least + sign * reach, sizes)))
    offsets = np.searchsorted(near, np.append(starts, len(disagreement)))
    excess = disagreement[near] - np.repeat(least, np.diff(offsets))
    if len(disagreement) > len(left):
        near %= len(left)
    lo = left[near]
    return Gaps(ranks[lo], ranks[lo + 1], sign * excess, offsets)


def _head_units(
    stump: PretrainedAttentionStump, counts: _Counts, costs: list[_Costs]
) -> Iterator[tuple[FloatArray, float]]:
    """Thresholds in ranks that any head infers, and their handicaps.

    Rows of one value and label are one token of their summed weight.
    """
    block, label, per_feature = counts
    first = np.concatenate([[0], block.ends[:-1] + 1])  # rows of each value
    first[block.offsets[:-1]] = np.arange(len(block.columns)) * block.x.shape[1]
    of_label = block.weights_of(label)
    mass = [
        np.add.reduceat(weights.ravel(), first)
        for weights in (of_label, block.weights - of_label)
    ]
    per_weight = np.repeat(per_feature, block.sizes)
    ranks, labels = np.repeat(block.ranks, 2), np.tile([True, False], len(block.ranks))
    for *pair, handicap in costs:
        tokens = np.stack(
            [cost * (per_weight * m) for cost, m in zip(pair, mass, strict=True)],
            axis=1,
        ).ravel()
        kept = tokens > 0
        n_kept = np.add.reduceat(kept, 2 * block.offsets[:-1], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(n_kept)])
        for side in (labels, ~labels):
            contexts = Contexts.from_arrays(
                ranks[kept], side[kept], offsets, weights=tokens[kept]
            )
            yield stump.head_.predict(contexts, stump.coef_), handicap


def propose(
    stump: PretrainedAttentionStump, block: Block, total: FloatArray
) -> Proposal:
    """Inferred thresholds in ranks.

    For each class against the rest (for two classes, the second against the first),
    for each pair of class costs: label 1 at or below the threshold, then above it.
    """
    present = np.flatnonzero(total)
    infer = _gibbs_units if type(stump.head_) is GibbsHead else _head_units
    per_weight = _per_weight(block, total)
    found: list[tuple[FloatArray, float]] = []
    for label in present[1:] if len(present) == 2 else present:
        costs = _costs(total[label], np.delete(total, label).sum())
        found.extend(infer(stump, _Counts(block, label, per_weight), costs))
    units, handicap = zip(*found, strict=True)
    return Proposal(np.stack(units), np.array(handicap))
