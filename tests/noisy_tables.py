"""Tables that the tests of the stump for tables share, and a comparison of splits."""

import numpy as np
from numpy.testing import assert_allclose


def noisy_table(seed, *, n_rows=120, n_classes=2, ties=False):
    """A table of five columns, the first three of which tell the classes apart."""
    rng = np.random.RandomState(seed)
    y = rng.randint(n_classes, size=n_rows)
    X = rng.normal(size=(n_rows, 5))
    X[:, :3] += y[:, np.newaxis] * [0.5, -1.0, 1.5]
    return (np.round(X, 1) if ties else X), y


def assert_same_split(one, other, *, exactly=False):
    assert one.feature_ == other.feature_
    assert one.direction_ == other.direction_
    assert one.missing_go_to_left_ == other.missing_go_to_left_
    assert_allclose(one.threshold_, other.threshold_, rtol=0 if exactly else 1e-9)
    assert_allclose(one.value_, other.value_, rtol=0 if exactly else 1e-9)
