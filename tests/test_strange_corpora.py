"""Slips that no head can tell from noise are spoken of at fit."""

import numpy as np
import pytest

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks


@pytest.fixture
def tasks():
    return make_stump_tasks(100, 20, label_noise=0.1, random_state=0)


@pytest.mark.parametrize("direction", ["<=", ">="])
def test_labels_on_the_wrong_side(direction):
    X, y = make_stump_tasks(
        100, 20, label_noise=0.1, direction=direction, random_state=0
    )
    other = {"<=": ">=", ">=": "<="}[direction]
    with pytest.warns(UserWarning, match="only 10% of the labels lie on the side"):
        PretrainedAttentionStump("gibbs", direction=other).fit(X, y)
    # The right direction and the learned one say nothing: warnings are errors.
    for right in (direction, "auto"):
        PretrainedAttentionStump("gibbs", direction=right).fit(X, y)


def test_thresholds_in_another_unit(tasks):
    X, y = tasks
    with pytest.warns(UserWarning) as said:
        PretrainedAttentionStump("gibbs").fit(X, y + 5)
    texts = [str(warning.message) for warning in said]
    assert any("100 of 100 thresholds lie beyond all observations" in t for t in texts)


@pytest.mark.parametrize("coverage", [-1, 0, 1, 1.5, 90, np.nan])
def test_summary_refuses_a_coverage_that_is_none(tasks, coverage):
    X, y = tasks
    stump = PretrainedAttentionStump("gibbs", feature_range=(0, 1)).fit(X, y)
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        stump.summary(X, coverage=coverage)
