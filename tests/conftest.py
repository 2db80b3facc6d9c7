"""What several test modules share: corpora and a way to write contexts by hand."""

import numpy as np
import pytest

from sklearn_attnstump import Contexts
from sklearn_attnstump.datasets import make_stump_tasks


@pytest.fixture(scope="session")
def corpus():
    """A clean ragged corpus, each context with both labels: (contexts, thresholds)."""
    contexts, thresholds = make_stump_tasks(
        40, (20, 40), threshold_range=(0.1, 0.9), random_state=0
    )
    positive = np.add.reduceat(contexts.labels, contexts.offsets[:-1])
    assert ((positive > 0) & (positive < contexts.sizes)).all()
    thresholds.flags.writeable = False
    return contexts, thresholds


@pytest.fixture(scope="session")
def fresh():
    """Clean contexts that no corpus has seen, each with both labels."""
    contexts, _ = make_stump_tasks(
        12, (10, 60), threshold_range=(0.2, 0.8), random_state=1
    )
    positive = np.add.reduceat(contexts.labels, contexts.offsets[:-1])
    assert ((positive > 0) & (positive < contexts.sizes)).all()
    return contexts


@pytest.fixture(scope="session")
def items():
    """A function that takes contexts apart into ``(x, labels[, weights])`` tuples."""

    def take_apart(contexts):
        bounds = contexts.offsets[1:-1]
        columns = [contexts.values, contexts.labels]
        if contexts.weights is not None:
            columns.append(contexts.weights)
        return list(zip(*(np.split(c, bounds) for c in columns), strict=True))

    return take_apart


@pytest.fixture(scope="session")
def assert_same_contexts():
    """A function that compares two containers field by field, bit for bit."""

    def check(one, other, *, task_ids=True):
        assert isinstance(one, Contexts)
        assert isinstance(other, Contexts)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.offsets, other.offsets)
        assert (one.weights is None) == (other.weights is None)
        if one.weights is not None:
            np.testing.assert_array_equal(one.weights, other.weights)
        if task_ids:
            assert one.task_ids.tolist() == other.task_ids.tolist()

    return check
