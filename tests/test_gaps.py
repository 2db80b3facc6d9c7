"""Gaps against a count over every token, and their laws.

`brute_gaps` is the definition: a gap lies between two distinct neighbours among the
observations of positive weight and the range's ends, and a threshold in it contradicts
the label-0 tokens at or below it and the label-1 tokens above it.
"""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_attnstump import Contexts
from sklearn_attnstump.diagnostics import least_label_error
from sklearn_attnstump.gaps import equal_rows, find_gaps, label_edges


def gaps_of(items, lo=0.0, hi=1.0):
    contexts = Contexts(items)
    ends = np.ones(len(contexts))
    return find_gaps(contexts, lo * ends, hi * ends)


def one_by_one(gaps):
    """The gaps of each context, as columns ``lo, hi, disagreement``."""
    columns = np.column_stack([gaps.lo, gaps.hi, gaps.disagreement])
    return np.split(columns, gaps.offsets[1:-1])


def brute_gaps(x, labels, weights=None, *, lo=0.0, hi=1.0):
    x, labels = np.asarray(x), np.asarray(labels, dtype=bool)
    weights = np.ones(len(x)) if weights is None else np.asarray(weights)
    knots = np.unique(np.concatenate([[lo, hi], x[weights > 0]]))
    return np.array(
        [
            [left, right, weights[(x <= left) != labels].sum()]
            for left, right in pairwise(knots)
        ]
    )


def ragged(seed, n_tasks=30, *, weighted=True):
    """Contexts of 1 to 12 tokens at tenths, the ends among them: ties in plenty."""
    rng = np.random.default_rng(seed)
    items = []
    for size in rng.integers(1, 13, n_tasks):
        x, labels = rng.integers(0, 11, size) / 10, rng.integers(0, 2, size)
        omega = rng.integers(0, 4, size).astype(float)
        omega[rng.integers(size)] = 2.0
        items.append((x, labels, omega) if weighted else (x, labels))
    return items


# Against the definition.


@pytest.mark.parametrize("weighted", [False, True])
def test_brute_force(weighted):
    items = ragged(0, 200, weighted=weighted)
    found = one_by_one(gaps_of(items))
    assert len(found) == len(items)
    for rows, item in zip(found, items, strict=True):
        assert_array_equal(rows, brute_gaps(*item))


def test_weights_that_float64_cannot_add_exactly():
    rng = np.random.default_rng(1)
    items = [
        (rng.uniform(size=40), rng.integers(0, 2, 40), rng.exponential(size=40))
        for _ in range(20)
    ]
    for rows, item in zip(one_by_one(gaps_of(items)), items, strict=True):
        assert_allclose(rows, brute_gaps(*item), rtol=1e-13, atol=0)


def test_what_contradicts_nothing_has_no_disagreement():
    # 0.1 + 0.2 - 0.1 - 0.2 is -2.8e-17 when taken off one by one.
    gaps = gaps_of([([0.2, 0.4], [1, 1], [0.1, 0.2]), ([0.2, 0.4], [1, 1], [0.3, 0.6])])
    assert gaps.disagreement[[2, 5]].tolist() == [0, 0]


def test_small_weights_keep_their_digits_beside_large_ones():
    gaps = gaps_of([([0.2, 0.4, 0.6, 0.8], [1, 1, 0, 1], [1e9, 1e9, 1e-9, 1e-9])])
    assert gaps.disagreement[2:].tolist() == [1e-9, 2e-9, 1e-9]


def test_an_own_range_for_each_context():
    items = [([0.2, 0.4], [1, 0]), ([0.2, 0.4], [1, 0])]
    lo, hi = np.array([0.0, 0.2]), np.array([1.0, 0.4])
    first, second = one_by_one(find_gaps(Contexts(items), lo, hi))
    assert_array_equal(first, [[0.0, 0.2, 1], [0.2, 0.4, 0], [0.4, 1.0, 1]])
    assert_array_equal(second, [[0.2, 0.4, 0]])


# Special contexts.


@pytest.mark.parametrize(
    ("item", "rows"),
    [
        # A threshold equal to an observation lies in the gap to its right: x <= t.
        (([0.3], [1]), [[0, 0.3, 1], [0.3, 1, 0]]),
        (([0.3], [0]), [[0, 0.3, 0], [0.3, 1, 1]]),
        # Equal observations leave no gap between them, whatever their labels.
        (([0.3, 0.3, 0.3], [1, 0, 1]), [[0, 0.3, 2], [0.3, 1, 1]]),
        # At the range's ends there is no gap beyond.
        (([0.0, 1.0], [1, 0]), [[0, 1, 0]]),
        (([0.0, 0.0, 1.0], [0, 1, 1]), [[0, 1, 2]]),
        (([1.0], [1]), [[0, 1, 1]]),
        # One label only.
        (([0.2, 0.6], [1, 1]), [[0, 0.2, 2], [0.2, 0.6, 1], [0.6, 1, 0]]),
        (([0.2, 0.6], [0, 0]), [[0, 0.2, 0], [0.2, 0.6, 1], [0.6, 1, 2]]),
    ],
)
def test_by_hand(item, rows):
    (found,) = one_by_one(gaps_of([item]))
    assert_array_equal(found, rows)


def test_offsets_count_the_gaps():
    gaps = gaps_of([([0.3, 0.3], [1, 0]), ([0.0, 0.5, 1.0], [1, 1, 0]), ([1.0], [0])])
    assert_array_equal(gaps.offsets, [0, 2, 4, 5])
    assert_array_equal(gaps.sizes, [2, 2, 1])
    assert_array_equal(gaps.starts, [0, 2, 4])
    assert (gaps.lo < gaps.hi).all()


def test_the_smallest_gap_of_float64():
    x = np.array([0.5, np.nextafter(0.5, 1)])
    (rows,) = one_by_one(gaps_of([(x, [1, 0])]))
    assert_array_equal(rows, [[0, x[0], 1], [x[0], x[1], 0], [x[1], 1, 1]])


# Laws.


def test_tokens_of_weight_zero_change_nothing():
    items = ragged(2)
    bare = [tuple(column[item[2] > 0] for column in item) for item in items]
    assert any(len(a[0]) < len(b[0]) for a, b in zip(bare, items, strict=True))
    for one, other in zip(gaps_of(items), gaps_of(bare), strict=True):
        assert_array_equal(one, other)


def test_weight_is_replication():
    items = ragged(3)
    copied = [
        (np.repeat(x, w.astype(int)), np.repeat(y, w.astype(int))) for x, y, w in items
    ]
    for one, other in zip(gaps_of(items), gaps_of(copied), strict=True):
        assert_array_equal(one, other)


def test_order_of_tokens_does_not_matter():
    items = ragged(4)
    rng = np.random.default_rng(5)
    shuffled = [
        tuple(column[order] for column in item)
        for item in items
        for order in [rng.permutation(len(item[0]))]
    ]
    for one, other in zip(gaps_of(items), gaps_of(shuffled), strict=True):
        assert_array_equal(one, other)


def test_a_context_knows_nothing_of_the_others():
    items = ragged(6)
    alone = [one_by_one(gaps_of([item]))[0] for item in items]
    for one, other in zip(one_by_one(gaps_of(items)), alone, strict=True):
        assert_array_equal(one, other)


def test_a_flipped_context_contradicts_the_rest():
    items = ragged(7)
    flipped = [(x, 1 - y, w) for x, y, w in items]
    total = np.repeat([w.sum() for *_, w in items], gaps_of(items).sizes)
    assert_array_equal(
        gaps_of(items).disagreement + gaps_of(flipped).disagreement, total
    )


# The kernels below.


def test_equal_rows_gives_each_position_once():
    offsets = np.array([0, 2, 5, 7, 8])
    rows = list(equal_rows(offsets))
    assert [row.tolist() for row in rows] == [[[7]], [[0, 1], [5, 6]], [[2, 3, 4]]]


def test_label_edges():
    items = [
        ([0.2, 0.6, 0.9], [1, 1, 0]),
        ([0.2, 0.6, 0.4], [0, 1, 1], [1.0, 0.0, 1.0]),
        ([0.5], [1]),
        ([0.5], [0]),
    ]
    last, first = label_edges(Contexts(items))
    assert_array_equal(last, [0.6, 0.4, 0.5, -np.inf])
    assert_array_equal(first, [0.9, 0.2, np.inf, 0.5])


@pytest.mark.parametrize("n_tokens", [1 << 15, (1 << 15) + 1])
def test_long_contexts_and_many_of_them(n_tokens):
    # Longer than a block of the sort, and more rows of one length than fit into one.
    rng = np.random.default_rng(9)
    sizes = [n_tokens, 3, n_tokens, *[7] * (n_tokens // 7 + 1)]
    items = [(rng.uniform(size=n), rng.integers(0, 2, n)) for n in sizes]
    found = one_by_one(gaps_of(items))
    for task in (1, 3, len(sizes) - 2, len(sizes) - 1):
        assert_array_equal(found[task], brute_gaps(*items[task]))
    for task in (0, 2):
        x, labels = items[task]
        order = np.argsort(x)
        count = labels.sum() + np.cumsum(1 - 2 * labels[order])
        assert_array_equal(found[task][1:, 0], x[order])
        assert_array_equal(found[task][1:, 2], count)


# What stands on them.


def test_least_label_error():
    items = ragged(8, 100)
    expected = [
        min(rows[:, 2]) / w.sum()
        for rows, (*_, w) in (
            # A range beyond all tokens, so that "none" and "all" are thresholds.
            (brute_gaps(*item, lo=-1.0, hi=2.0), item)
            for item in items
        )
    ]
    assert_allclose(least_label_error(Contexts(items)), expected, rtol=1e-15)
    assert min(expected) == 0
    assert max(expected) > 0.3
