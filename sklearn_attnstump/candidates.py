"""Candidate splits of tables: thresholds that a frozen attention infers in ranks.

All of it is this project's own. A table is made into contexts of the kind that the
frozen attention knows: for each feature, and each way of telling one class from the
rest, the tokens ``(rank, label)``. The attention's thresholds, which lie in ranks, are
the candidate splits; the criterion judges them, and the best is kept.

**Class costs.** The attention counts contradicted labels, a criterion weighs leaves.
The two meet in the tangents of the criterion: an impurity is a concave function of a
leaf's class shares, so it is the least of its tangents, each of which is linear in the
shares. The split of least impurity is thus the split of fewest label errors at certain
costs of the classes. For two classes and the Gini impurity the costs stand as ``(1 - q)
: q``, with ``q`` the mean of the two leaves' shares of label 1: as in a balanced table
if the leaves differ little from the whole, as given if one leaf is pure and the other
pure of the other label. Costs ``share^-t`` lead from the one, ``t = 1``, to the other,
``t = 0``; each ``t`` of a short list is tried, and the criterion chooses.

What a threshold contradicts is a share of the weight, times a number of observations
that depends on no weight: the laws of the weights hold here too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.estimators import PretrainedAttentionStump
from sklearn_attnstump.gaps import Gaps
from sklearn_attnstump.gibbs import GibbsPack
from sklearn_attnstump.heads import GibbsHead, Head
from sklearn_attnstump.splits import Block

FloatArray = NDArray[np.float64]

# A feature counts as so many observations as it has distinct values, but as no fewer
# than this. Fewer make wide posteriors, which better the threshold where labels are
# noisy, but lose that of a rare class; benchmarks/classifier.py has the figures.
OBSERVATIONS = 1000
# Exponents of the class costs, see above.
POWERS = (1.0, 0.5, 0.0)
# Gaps whose attention is below exp(-100) of the best gap's are not evaluated.
_REACH = 100.0


def _costs(share: float) -> list[tuple[float, float]]:
    """Costs of a class and of the rest for each power, of mean one over the table."""
    pairs = [(share**-power, (1 - share) ** -power) for power in POWERS]
    means = [one * share + rest * (1 - share) for one, rest in pairs]
    return [(one / m, rest / m) for (one, rest), m in zip(pairs, means, strict=True)]


def _per_weight(block: Block, total: FloatArray) -> FloatArray:
    """Observations that a unit of weight counts as, for each feature."""
    return np.maximum(block.sizes, OBSERVATIONS) / total.sum()


def _gibbs_units(
    head: GibbsHead, coef: FloatArray, block: Block, label: int, total: FloatArray
) -> Iterator[FloatArray]:
    """Thresholds in ranks that the Gibbs head infers, see `propose`.

    Outermost gaps split nothing and are left out. The complement of a labelling
    contradicts what the labelling does not, so that ``-D`` stands for its ``D``: only
    differences of ``D`` matter. Gaps of no weight are left out before the softmax.
    """
    left, sizes = block.gaps()
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    per_weight = np.repeat(_per_weight(block, total), sizes)
    one = np.cumsum(block.weights_of(label), axis=1).ravel()[block.ends[left]]
    rest = (block.upto[left] - one) * per_weight
    one *= per_weight
    prior = head.prior_in_use()
    reach = _REACH / coef[0] if coef[0] > 0 else np.inf
    for cost_one, cost_rest in _costs(total[label] / total.sum()):
        disagreement = cost_rest * rest - cost_one * one
        for sign, extreme in ((1.0, np.minimum), (-1.0, np.maximum)):
            least = extreme.reduceat(disagreement, starts)
            bound = np.repeat(least + sign * reach, sizes)
            compare = np.less_equal if sign > 0 else np.greater_equal
            near = np.flatnonzero(compare(disagreement, bound))
            offsets = np.searchsorted(near, np.append(starts, len(left)))
            excess = disagreement[near] - np.repeat(least, np.diff(offsets))
            lo = left[near]
            gaps = Gaps(block.ranks[lo], block.ranks[lo + 1], sign * excess, offsets)
            yield GibbsPack(gaps, prior).evaluate(coef, 0).prediction


def _head_units(
    head: Head, coef: FloatArray, block: Block, label: int, total: FloatArray
) -> Iterator[FloatArray]:
    """Thresholds in ranks that any head infers, see `propose`.

    Rows of one value and label are one token of their summed weight.
    """
    first = np.concatenate([[0], block.ends[:-1] + 1])
    first[block.offsets[:-1]] = np.arange(len(block.columns)) * block.x.shape[1]
    of_label = block.weights_of(label)
    mass = [
        np.add.reduceat(weights.ravel(), first)
        for weights in (of_label, block.weights - of_label)
    ]
    per_weight = np.repeat(_per_weight(block, total), block.sizes)
    ranks, labels = np.repeat(block.ranks, 2), np.tile([True, False], len(block.ranks))
    for costs in _costs(total[label] / total.sum()):
        tokens = np.stack(
            [cost * per_weight * m for cost, m in zip(costs, mass, strict=True)], axis=1
        ).ravel()
        kept = tokens > 0
        counts = np.add.reduceat(kept, 2 * block.offsets[:-1], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        for side in (labels, ~labels):
            contexts = Contexts.from_arrays(
                ranks[kept], side[kept], offsets, weights=tokens[kept]
            )
            yield head.predict(contexts, coef)


def propose(
    stump: PretrainedAttentionStump, block: Block, total: FloatArray
) -> FloatArray:
    """Inferred thresholds in ranks, of shape (n_candidates, n_features).

    For each class against the rest (for two classes, the second against the first),
    for each pair of class costs: label 1 at or below the threshold, then above it.
    """
    present = np.flatnonzero(total)
    head, coef = stump.head_, stump.coef_
    units: list[FloatArray] = []
    for label in present[1:] if len(present) == 2 else present:
        if type(head) is GibbsHead:
            units.extend(_gibbs_units(head, coef, block, label, total))
        else:
            units.extend(_head_units(head, coef, block, label, total))
    return np.stack(units)
