"""Laws that hold for every context, tried on generated ones.

Observations are multiples of 1/256, of which shifts, mirror images and powers of two
are exact: a law that says "exact" is tested bit for bit. Hypothesis is told to draw the
same examples in every run.
"""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.baselines import (
    BayesStump,
    DecisionStump,
    ERMStump,
    LogisticStump,
    MidpointStump,
    OneSidedStump,
)
from sklearn_attnstump.classifier import AttentionStumpClassifier
from sklearn_attnstump.heads import GibbsHead, ReflectedHead, SingleHead

pytestmark = [
    pytest.mark.filterwarnings("ignore:no threshold separates:UserWarning"),
    pytest.mark.filterwarnings(
        r"ignore:\d+ of \d+ contexts have one label:UserWarning"
    ),
]

laws = settings(derandomize=True, deadline=None, max_examples=50, database=None)

grid = st.integers(0, 256).map(lambda k: k / 256)


@st.composite
def contexts(draw, clean=False, min_size=1):
    """One context in [0, 1]: (x, labels) of any labels, or of a threshold's."""
    x = np.array(draw(st.lists(grid, min_size=min_size, max_size=12)))
    if clean:
        return x, x <= draw(grid)
    flags = st.lists(st.booleans(), min_size=len(x), max_size=len(x))
    return x, np.array(draw(flags))


@st.composite
def coefficients(draw):
    """Two scores of moderate size."""
    return draw(st.sampled_from([(3.0, 1.0), (20.0, 26.0), (0.5, -2.0), (90.0, 99.0)]))


HEADS = {
    "single": {"head": "single"},
    "single anchored": {"head": "single", "anchors": True},
    "reflected": {"head": "reflected"},
    "reflected anchored": {"head": "reflected", "anchors": True},
    "gibbs": {"head": "gibbs"},
}
BASELINES = {
    "Bayes": BayesStump,
    "tree": DecisionStump,
    "ERM": ERMStump,
    "logistic": LogisticStump,
    "midpoint": MidpointStump,
    "one-sided": OneSidedStump,
}
# Continuous in the observations, so that rounding can be spoken of: the others jump
# from one gap to another that is as good.
SMOOTH = [*HEADS, "Bayes", "midpoint", "one-sided"]
ALL = [*HEADS, *BASELINES]


def predict(
    name, x, labels, *, weights=None, coef=(20.0, 26.0), lo=0.0, hi=1.0, **more
):
    """The threshold of one context on a known range."""
    item = (x, labels) if weights is None else (x, labels, weights)
    given_range = {"feature_range": (lo, hi), **more}
    if name in HEADS:
        if name == "gibbs":
            coef = (abs(coef[0]) / 10, 1.0)
        stump = PretrainedAttentionStump.from_coef(coef, **HEADS[name], **given_range)
    else:
        stump = BASELINES[name](**given_range).fit([([lo, hi], [0, 1])])
    return float(stump.predict([item])[0])


every = pytest.mark.parametrize("name", ALL)
smooth = pytest.mark.parametrize("name", SMOOTH)


@every
@laws
@given(contexts(), st.randoms(use_true_random=False))
def test_order_of_tokens_plays_no_part(name, context, random):
    x, labels = context
    order = random.sample(range(len(x)), len(x))
    turned = predict(name, x[order], labels[order])
    assert turned == pytest.approx(predict(name, x, labels), rel=1e-12, abs=1e-14)


@every
@laws
@given(st.lists(contexts(), min_size=2, max_size=5))
def test_order_of_tasks_plays_no_part(name, tasks):
    """Exact: a context's prediction does not depend on the others."""
    alone = [predict(name, *task) for task in tasks]
    kinds = {**HEADS, **BASELINES}
    if name in HEADS:
        coef = (2.0, 1.0) if name == "gibbs" else (20.0, 26.0)
        stump = PretrainedAttentionStump.from_coef(
            coef, **kinds[name], feature_range=(0, 1)
        )
    else:
        stump = kinds[name](feature_range=(0, 1)).fit([([0, 1], [0, 1])])
    assert stump.predict(tasks).tolist() == alone
    assert stump.predict(tasks[::-1]).tolist() == alone[::-1]


@every
@laws
@given(contexts(), st.integers(-8, 40))
def test_powers_of_two_are_exact(name, context, power):
    x, labels = context
    unit = 2.0**power
    found = predict(name, x * unit, labels, hi=unit)
    assert found == predict(name, x, labels) * unit


@smooth
@laws
@given(contexts(), st.floats(1e-6, 1e6), st.floats(-100, 100, allow_subnormal=False))
def test_other_units_change_no_more_than_their_rounding(name, context, unit, shift):
    x, labels = context
    lo, hi = shift * unit, (1 + shift) * unit
    found = predict(name, (x + shift) * unit, labels, lo=lo, hi=hi)
    expected = (predict(name, x, labels) + shift) * unit
    assert found == pytest.approx(expected, rel=1e-13, abs=1e-10 * unit)


@every
@laws
@given(contexts())
def test_directions_are_mirror_images(name, context):
    """``>=`` reads the mirror image of what ``<=`` reads; exact."""
    x, labels = context
    mirrored = predict(name, -x, labels, lo=-1.0, hi=0.0, direction=">=")
    assert mirrored == -predict(name, x, labels)


@pytest.mark.parametrize("name", ["reflected", "reflected anchored", "gibbs", "Bayes"])
@laws
@given(contexts())
def test_complement_of_labels_is_reflection(name, context):
    """What looks at the threshold from both sides alike knows no difference."""
    x, labels = context
    turned = predict(name, 1 - x, ~labels)
    assert turned == pytest.approx(1 - predict(name, x, labels), abs=1e-13)


@laws
@given(contexts(clean=True))
def test_complement_of_labels_turns_the_midpoint(context):
    x, labels = context
    assert predict("midpoint", 1 - x, ~labels) == 1 - predict("midpoint", x, labels)


@every
@laws
@given(contexts(), st.data())
def test_copies_are_weight(name, context, data):
    x, labels = context
    copies = data.draw(st.lists(st.integers(1, 4), min_size=len(x), max_size=len(x)))
    weighted = predict(name, x, labels, weights=copies)
    replicated = predict(name, np.repeat(x, copies), np.repeat(labels, copies))
    tolerance = 1e-7 if name == "logistic" else 1e-12  # its solver's own
    assert weighted == pytest.approx(replicated, abs=tolerance)


@every
@laws
@given(contexts(), grid, st.booleans(), st.integers(0, 12))
def test_a_token_of_weight_zero_changes_nothing(name, context, stray, label, where):
    """Exact, wherever it lies, and out of the range as well."""
    x, labels = context
    expected = predict(name, x, labels, weights=np.ones(len(x)))
    for value in (stray, stray + 2, -stray - 1):
        with_stray = predict(
            name,
            np.insert(x, min(where, len(x)), value),
            np.insert(labels, min(where, len(x)), label),
            weights=np.insert(np.ones(len(x)), min(where, len(x)), 0.0),
        )
        tolerance = 1e-9 if name == "logistic" else 0.0
        assert with_stray == pytest.approx(expected, rel=0, abs=tolerance)


@every
@laws
@given(contexts(), coefficients())
def test_predictions_lie_in_the_range(name, context, coef):
    """Of the context for a mean of observations, else of the feature."""
    x, labels = context
    found = predict(name, x, labels, coef=coef)
    lo, hi = (x.min(), x.max()) if name in ("single", "reflected") else (0.0, 1.0)
    assert lo - 1e-15 <= found <= hi + 1e-15


@every
@laws
@given(contexts(), st.floats(0.125, 1024, width=32))
def test_single_precision_is_its_double_copy(name, context, unit):
    x, labels = context
    single = (x * unit).astype(np.float32)
    args = {"lo": 0.0, "hi": float(np.float32(unit))}
    assert predict(name, single, labels, **args) == predict(
        name, single.astype(np.float64), labels, **args
    )


@laws
@given(contexts(min_size=2), st.integers(-20, 20), st.floats(1e-3, 1e3))
def test_classifier_in_other_units(context, power, factor):
    """Ranks and weights know no unit: the same rows go left."""
    x, labels = context
    weights = np.linspace(1.0, 2.0, len(x))
    model = AttentionStumpClassifier().fit(x[:, None], labels, weights)
    scaled = AttentionStumpClassifier().fit(
        x[:, None] * 2.0**power, labels, weights * factor
    )
    assert scaled.predict(x[:, None] * 2.0**power).tolist() == (
        model.predict(x[:, None]).tolist()
    )
    assert model.feature_ == scaled.feature_


class TestMonotone:
    """What moving a positive observation to the right does to the prediction.

    For a softmax ``f = sum w_i x_i`` the derivative in a token's place is ``w_i (1 + a
    (x_i - f))``. See `ReflectedHead` and `GibbsHead` for what follows.
    """

    @staticmethod
    def moved(x, token, to):
        after = x.copy()
        after[token] = to
        return after

    @laws
    @given(contexts(min_size=1), st.data(), coefficients())
    def test_reflected_head_near_the_threshold(self, context, data, coef):
        """Never left, within one over the scale of both halves."""
        x, labels = context
        assume(labels.any())
        token = data.draw(st.sampled_from(np.flatnonzero(labels).tolist()))
        step = data.draw(st.sampled_from([1 / 256, 1 / 4096, 2.0**-20]))
        pair = np.array(coef)
        anchored = [(np.append(x, [0, 1]), np.append(labels, [True, False]))]
        below, above = (SingleHead().predict(anchored, side) for side in (pair, -pair))
        # The halves move by no more than the step in between.
        reach = 1 / pair[0] - 3 * step
        assume(below[0] - reach <= x[token] <= above[0] + reach - step)
        before = ReflectedHead().predict(anchored, pair)[0]
        after = ReflectedHead().predict(
            [(self.moved(anchored[0][0], token, x[token] + step), anchored[0][1])], pair
        )[0]
        assert after >= before - 1e-15

    def test_reflected_head_far_from_the_threshold(self):
        """An observation that is left behind may move the prediction left."""
        labels = [True, True, False, True, False]
        before, after = (
            ReflectedHead().predict([([x, 0.75, 1, 0, 1], labels)], (10.0, 15.0))[0]
            for x in (0.375, 0.5)
        )
        assert after < before - 1e-3

    @laws
    @given(contexts(clean=True), st.data())
    def test_reflected_head_in_the_limit(self, context, data):
        """At scales that tell all observations apart it is the midpoint: everywhere."""
        x, labels = context
        assume(labels.any())
        token = data.draw(st.sampled_from(np.flatnonzero(labels).tolist()))
        top = min([1.0, *x[~labels]])
        to = data.draw(grid.filter(lambda v: x[token] <= v < top)) if top > 0 else 0
        before, after = (
            predict("reflected anchored", form, labels, coef=(1e6, 2e6))
            for form in (x, self.moved(x, token, max(to, x[token])))
        )
        assert after >= before

    @laws
    @given(contexts(), st.data(), st.sampled_from([0.0, 0.3, 2.0, 50.0]), grid)
    @example((np.array([0.5]), np.array([True])), None, 2.0, 0.625)
    def test_gibbs_head_as_posterior(self, context, data, lam, to):
        """With the prior at its word: towards a place left of the prediction, right;
        away from a place right of it, left.
        """
        x, labels = context
        assume(labels.any())
        choices = np.flatnonzero(labels).tolist()
        token = choices[0] if data is None else data.draw(st.sampled_from(choices))
        assume(to > x[token])
        before, after = (
            GibbsHead().predict([(form, labels)], (lam, 1.0))[0]
            for form in (x, self.moved(x, token, to))
        )
        if to <= before:
            assert after >= before - 1e-14
        if x[token] >= before:
            assert after <= before + 1e-14

    def test_gibbs_head_with_another_prior_weight(self):
        """Gaps then have a weight that is not their mass, and the law is lost."""
        labels = [True, True, False]
        before, after = (
            GibbsHead().predict([([x, 0.5, 0.75], labels)], (0.1, 0.2))[0]
            for x in (0.01, 0.03)
        )
        assert after < before - 1e-3


@laws
@given(st.lists(contexts(), min_size=1, max_size=4))
def test_contexts_come_apart_and_together(tasks):
    whole = Contexts([(x, labels) for x, labels in tasks])
    again = Contexts([whole[i] for i in range(len(whole))])
    np.testing.assert_array_equal(again.values, whole.values)
    np.testing.assert_array_equal(again.labels, whole.labels)
    np.testing.assert_array_equal(again.offsets, whole.offsets)
