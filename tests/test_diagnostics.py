"""Flags of hard contexts, and the warnings that two-score heads give for them."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.diagnostics import diagnose, least_label_error
from sklearn_attnstump.gaps import label_edges

CLEAN = ([0.1, 0.2, 0.3, 0.8], [1, 1, 0, 0])
MIXED = ([0.1, 0.2, 0.3, 0.8], [1, 0, 1, 0])  # the best cut contradicts one of four
WORSE = ([0.1, 0.2, 0.3, 0.8], [0, 0, 1, 1])  # the best cut contradicts two of four
LONE = ([0.1, 0.2], [1, 1])


def frozen(head="reflected", **settings):
    return PretrainedAttentionStump.from_coef(
        (20.0, 25.0), head, **{"feature_range": (0, 1), **settings}
    )


def heard(call):
    """Messages of the warnings that a call gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    for warning in caught:
        assert warning.category is UserWarning
        # It points here, at the user's own line.
        assert warning.filename == __file__
    return [str(warning.message) for warning in caught]


# Flags.


@pytest.mark.parametrize(
    ("item", "one_label", "not_separable", "error"),
    [
        (CLEAN, False, False, 0),
        (MIXED, False, True, 1 / 4),
        (WORSE, False, True, 2 / 4),
        (LONE, True, False, 0),
        (([0.5], [0]), True, False, 0),
        # Equal observations with both labels: no threshold tells them apart.
        (([0.5, 0.5, 0.5], [1, 1, 0]), False, True, 1 / 3),
        # Tokens of weight zero do not count, and weights weigh the error.
        (([0.1, 0.2, 0.3], [1, 0, 1], [1.0, 1.0, 0.0]), False, False, 0),
        (([0.1, 0.2], [1, 0], [1.0, 0.0]), True, False, 0),
        (([0.1, 0.2, 0.3], [1, 0, 1], [1.0, 3.0, 1.0]), False, True, 1 / 5),
    ],
)
def test_flags(item, one_label, not_separable, error):
    contexts = Contexts([item])
    hard = diagnose(label_edges(contexts))
    assert hard.one_label.tolist() == [one_label]
    assert hard.not_separable.tolist() == [not_separable]
    assert_allclose(least_label_error(contexts), error, rtol=1e-15)


def test_least_label_error_is_that_of_the_best_threshold():
    contexts, _ = make_stump_tasks(50, (1, 15), label_noise=0.3, random_state=0)
    cuts = np.append(-1.0, contexts.values[:, 0])
    bounds = contexts.offsets[1:-1]
    expected = [
        ((x[:, np.newaxis] <= cuts) != y[:, np.newaxis]).mean(axis=0).min()
        for x, y in zip(
            np.split(contexts.values[:, 0], bounds),
            np.split(contexts.labels, bounds),
            strict=True,
        )
    ]
    assert_allclose(least_label_error(contexts), expected, atol=1e-15)


# Warnings.


@pytest.mark.parametrize("head", ["single", "reflected"])
def test_what_is_said_of_mixed_labels(head):
    X = [CLEAN, MIXED, WORSE, CLEAN]
    (said,) = heard(lambda: frozen(head).predict(X))
    assert "no threshold separates the labels of 2 of 4 contexts (50%)" in said
    assert "the first is task 1" in said or "the first is context 1" in said
    assert "still contradict 37.5% of their labels" in said  # the mean of 1/4 and 2/4
    assert f"captures the {head.capitalize()}Head" in said
    assert "Use head='gibbs'" in said


def test_the_first_mixed_context_is_named():
    X = Contexts([CLEAN, MIXED], task_ids=["ann", "bob"])
    (said,) = heard(lambda: frozen().predict(X))
    assert "'bob'" in said


@pytest.mark.parametrize("head", ["single", "reflected"])
def test_what_is_said_of_one_label(head):
    (said,) = heard(lambda: frozen(head).predict([CLEAN, LONE, LONE]))
    assert "2 of 3 contexts have one label only" in said
    assert "use anchors=True" in said


def test_one_warning_of_each_kind_for_many_contexts():
    said = heard(lambda: frozen().predict([MIXED, LONE] * 500))
    assert len(said) == 2
    assert all("500 of 1000 contexts" in message for message in said)


@pytest.mark.parametrize("head", ["single", "reflected"])
def test_at_fit_and_again_at_predict(head):
    X, y = make_stump_tasks(60, 30, label_noise=0.1, random_state=1)
    stump = PretrainedAttentionStump(head, solver="flow", horizon=10.0, tol=0)
    for call in (lambda: stump.fit(X, y), lambda: stump.predict(X)):
        mixed = [said for said in heard(call) if "no threshold" in said]
        assert len(mixed) == 1
        assert "head='gibbs'" in mixed[0]


def test_anchors_give_every_context_both_labels():
    assert heard(lambda: frozen(anchors=True).predict([CLEAN, LONE])) == []


def test_anchors_do_not_hide_mixed_labels():
    (said,) = heard(lambda: frozen(anchors=True).predict([CLEAN, MIXED]))
    assert "1 of 2 contexts (50%)" in said


@pytest.mark.parametrize("scaling", ["range", "context", "rank"])
def test_direction(scaling):
    settings = {"scaling": scaling, "feature_range": (0, 1)}
    turned = ([0.2, 0.7, 0.8, 0.9], [0, 0, 1, 1])
    stump = frozen(direction=">=", **settings)
    assert heard(lambda: stump.predict([turned])) == []
    (said,) = heard(lambda: stump.predict([CLEAN]))
    assert "(100%)" in said


def test_the_gibbs_head_takes_them_all():
    X, y = make_stump_tasks(60, (1, 8), label_noise=0.2, random_state=2)
    stump = PretrainedAttentionStump("gibbs", feature_range=(0, 1))
    assert heard(lambda: stump.fit(X, y).predict([MIXED, WORSE, LONE])) == []


def test_clean_contexts_are_passed_in_silence():
    assert heard(lambda: frozen().predict([CLEAN] * 3)) == []
