"""The tokens that get attention: what is left out cannot be seen, what is kept is."""

import numpy as np
import pytest

from sklearn_attnstump import Contexts
from sklearn_attnstump.attended import Attended
from sklearn_attnstump.gaps import label_edges
from sklearn_attnstump.heads import HEADS
from sklearn_attnstump.moments import LabelGroups, positions

SIGNS = {"single": (1,), "reflected": (1, -1)}
# Calibrated, balanced and odd scores.
COEFS = [
    (500.0, 512.4),
    (30.0, 36.8),
    (1e6, 1e6 + 27.6),
    (1e12, 1e12),
    (1e17, 1e17),
    (200.0, 20.0),
    (200.0, 0.0),
    (0.0, 5.0),
    (0.0, 0.0),
    (-50.0, 60.0),
    (-50.0, -60.0),
    (1e-300, 700.0),
    (1e300, 1e300),
]


def mixed(seed, *, weighted=False, ties=False, noise=0.1):
    """Contexts of 1 to 200 tokens, some of one label, some without a threshold."""
    rng = np.random.RandomState(seed)
    items = []
    for size in (1, 2, 3, 200, *rng.randint(1, 60, size=60)):
        x = rng.uniform(size=size)
        x = np.round(x, 1) if ties else x
        y = (x <= rng.uniform(-0.2, 1.2)) ^ (rng.uniform(size=size) < noise)
        weights = rng.choice([0.0, 1e-8, 1.0, 1e8], size=size)
        weights[rng.randint(size)] = 1.0
        items.append((x, y, weights) if weighted else (x, y))
    return Contexts(items, positive=True)


@pytest.mark.parametrize("coef", COEFS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("head", SIGNS)
def test_nothing_that_is_left_out_can_be_seen(head, ties, weighted, coef):
    contexts = mixed(0, weighted=weighted, ties=ties)
    attended = HEADS[head]().predict(contexts, coef)
    everything = HEADS[head]().pack_corpus(contexts).evaluate(np.array(coef), 0)
    np.testing.assert_allclose(attended, everything.prediction, rtol=0, atol=4e-16)


@pytest.mark.parametrize("coef", COEFS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0.0, -0.5, 3.0])
def test_edges_are_those_of_all_tokens(shift, weighted, coef):
    contexts = mixed(1, weighted=weighted, ties=True, noise=0.02)
    contexts = contexts.with_values(contexts.values + shift)
    attended = Attended(contexts, np.array(coef))
    found = attended.label_edges(attended.groups(1))
    np.testing.assert_array_equal(found, label_edges(contexts))


def test_few_tokens_are_kept():
    rng = np.random.RandomState(2)
    x = rng.uniform(size=(100, 1000))
    contexts = Contexts(np.stack([x, x <= 0.5], axis=-1))
    attended = Attended(contexts, np.array([500.0, 512.4]))
    # Of label 1, those within (37 + log 1000) / 500 of the last: 8.8 % of the interval.
    for sign in (1, -1):
        assert len(attended.groups(sign).x) == pytest.approx(8_782, rel=0.05)


def test_what_a_context_keeps_depends_on_nothing_else():
    contexts = mixed(3, weighted=True)
    coef = np.array([80.0, 88.0])
    together = Attended(contexts, coef).groups(1)
    alone = [Attended(context, coef).groups(1) for context in contexts]
    assert len(together.x) < contexts.n_tokens / 2
    assert len(together.x) == sum(len(groups.x) for groups in alone)


@pytest.mark.parametrize("scale", [1e200, 1e308])
def test_observations_that_overflow_are_kept(scale):
    x = np.array([0.1, 0.2, 0.9]) * scale
    contexts = Contexts([(x, [1, 1, 0])])
    groups = Attended(contexts, np.array([1e3, 1e3 * scale])).groups(1)
    assert x[1] in groups.x
    assert HEADS["single"]().predict(contexts, (1e3, 1.0)) == x[2]


@pytest.mark.parametrize("head", SIGNS)
def test_a_mean_of_huge_predictions_is_finite(head):
    contexts = Contexts([([1.2e308, 1.3e308, 1.4e308], [1, 1, 0])])
    found = HEADS[head]().predict(contexts, (1e-300, 1.0))
    assert 1.2e308 <= found[0] <= 1.4e308


def test_a_context_of_one_label_keeps_its_label():
    contexts = Contexts([([0.2, 0.4], [1, 1]), ([0.3, 0.6], [0, 0])])
    groups = Attended(contexts, np.array([1e4, 1e4])).groups(1)
    assert groups.groups.tolist() == [1, 2]  # label 0 of task 1, label 1 of task 0
    assert isinstance(groups, LabelGroups)
    assert groups.x.tolist() == [0.6, 0.4]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.039, 0.05, 0.08, 0.0999, 0.2, 1.0])
@pytest.mark.parametrize("size", [0, 1, 7, 1000, 12345])
def test_positions(size, share):
    mask = np.random.RandomState(4).uniform(size=size) < share
    np.testing.assert_array_equal(positions(mask), np.flatnonzero(mask))
