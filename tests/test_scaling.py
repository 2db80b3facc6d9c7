"""Scalings: to the unit interval and back, in any units and either direction."""

import warnings

import numpy as np
import pytest
from scipy.stats import rankdata

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.scaling import (
    AffineMap,
    RankMap,
    Scaling,
    context_ranges,
    learned_range,
    shown_direction,
)

LARGEST = np.finfo(float).max
SMALLEST = 5e-324

both_directions = pytest.mark.parametrize("direction", ["<=", ">="])
all_kinds = pytest.mark.parametrize("kind", ["range", "context", "rank"])


def contexts_of(*lists, weights=None):
    """Contexts of given observations; labels play no part in a scaling."""
    parts = [(x, np.arange(len(x)) % 2) for x in lists]
    if weights is not None:
        parts = [(*part, w) for part, w in zip(parts, weights, strict=True)]
    return Contexts(parts)


def scaling(kind="range", direction="<=", feature_range=None, **kwargs):
    settings = {"strict": False, "anchors": False, **kwargs}
    return Scaling(kind, direction, feature_range, **settings)


@pytest.fixture
def ragged():
    rng = np.random.RandomState(0)
    return contexts_of(*(rng.normal(size=n) for n in (1, 2, 7, 20)))


class TestAffine:
    def test_range_of_a_corpus(self):
        unit, unit_map = scaling(feature_range=(2.0, 10.0)).apply(
            contexts_of([2, 4, 10], [6])
        )
        assert unit.values.ravel().tolist() == [0, 0.25, 1, 0.5]
        assert unit_map.to_unit(np.array([3.0, 8.0])).tolist() == [0.125, 0.75]
        assert unit_map.to_feature(np.array([0.125, 0.75])).tolist() == [3, 8]

    def test_range_of_each_context(self):
        unit, unit_map = scaling("context").apply(contexts_of([2, 4, 10], [-1, 1]))
        assert unit.values.ravel().tolist() == [0, 0.25, 1, 0, 1]
        assert unit_map.to_unit(np.array([3.0, 0.0])).tolist() == [0.125, 0.5]
        assert unit_map.to_feature(np.array([0.125, 0.5])).tolist() == [3, 0]

    def test_falling(self):
        unit, unit_map = scaling(direction=">=", feature_range=(2.0, 10.0)).apply(
            contexts_of([2, 4, 10])
        )
        assert unit.values.ravel().tolist() == [1, 0.75, 0]
        assert unit_map.to_unit(np.array([3.0])).tolist() == [0.875]
        assert unit_map.to_feature(np.array([0.875])).tolist() == [3]

    @both_directions
    @pytest.mark.parametrize("exponent", [-40, -1, 3, 60])
    def test_a_power_of_two_changes_no_bit(self, ragged, direction, exponent):
        factor = 2.0**exponent
        scaled = ragged.with_values(ragged.values * factor)
        thresholds = np.array([-1.0, 0.3, 0.1, 2.0])
        kinds = {"context": None, "range": learned_range(ragged, thresholds)}
        for kind, given in kinds.items():
            ends = None if given is None else tuple(factor * end for end in given)
            one, one_map = scaling(kind, direction, given).apply(ragged)
            two, two_map = scaling(kind, direction, ends).apply(scaled)
            np.testing.assert_array_equal(one.values, two.values)
            np.testing.assert_array_equal(
                one_map.to_unit(thresholds), two_map.to_unit(factor * thresholds)
            )
            unit = np.array([0.1, 0.2, 0.5, 1.0])
            np.testing.assert_array_equal(
                factor * one_map.to_feature(unit), two_map.to_feature(unit)
            )

    def test_a_shift_costs_its_own_rounding_only(self):
        x = np.array([0.0, 0.25, 1.0, 0.75])
        shifted, _ = scaling("context").apply(contexts_of(x + 2.0**40))
        np.testing.assert_array_equal(shifted.values.ravel(), x)

    @both_directions
    def test_a_range_too_wide_for_a_float(self, direction):
        x = [-1e308, -5e307, 0.0, 5e307, 1e308]
        unit, unit_map = scaling("context", direction).apply(contexts_of(x))
        expected = np.linspace(0, 1, 5)
        expected = expected if direction == "<=" else expected[::-1]
        np.testing.assert_allclose(unit.values.ravel(), expected, rtol=1e-15)
        back = unit_map.to_feature(unit.values.T)
        np.testing.assert_allclose(back.ravel(), x, rtol=1e-15)

    def test_the_whole_range_of_floats(self):
        unit, unit_map = scaling("context").apply(contexts_of([-LARGEST, 0, LARGEST]))
        assert unit.values.ravel().tolist() == [0, 0.5, 1]
        ends = unit_map.to_feature(np.array([[0.0, 0.5, 1.0]]))
        assert ends.tolist() == [[-LARGEST, 0, LARGEST]]

    @both_directions
    def test_a_wide_context_does_not_change_another(self, direction):
        tiny = [0.0, SMALLEST, 3 * SMALLEST]
        alone, alone_map = scaling("context", direction).apply(contexts_of(tiny))
        both, both_map = scaling("context", direction).apply(
            contexts_of([-1e308, 1e308], tiny)
        )
        np.testing.assert_array_equal(both.values[2:], alone.values)
        assert both_map.to_unit(np.array([0.0, SMALLEST]))[1] == alone_map.to_unit(
            np.array([SMALLEST])
        )
        assert both_map.to_feature(np.array([0.5, 0.4]))[1] == alone_map.to_feature(
            np.array([0.4])
        )

    def test_a_subnormal_range(self):
        x = np.array([0, 1, 2, 4]) * SMALLEST
        unit, unit_map = scaling("context").apply(contexts_of(x))
        assert unit.values.ravel().tolist() == [0, 0.25, 0.5, 1]
        assert unit_map.to_feature(np.array([0.5])).tolist() == [2 * SMALLEST]

    def test_observations_never_leave_the_unit_interval(self):
        rng = np.random.RandomState(0)
        for exponent in (-300, -3, 0, 3, 300):
            x = rng.normal(size=200) * 10.0**exponent
            unit, _ = scaling("context").apply(contexts_of(x))
            assert unit.values.min() == 0
            assert unit.values.max() == 1

    def test_equal_observations_come_back(self):
        unit, unit_map = scaling("context").apply(contexts_of([3.5, 3.5], [7.25]))
        assert unit.values.ravel().tolist() == [0, 0, 0]
        assert unit_map.to_feature(np.zeros(2)).tolist() == [3.5, 7.25]
        assert unit_map.to_unit(np.array([3.5, -1e9])).tolist() == [0, 0]

    def test_rows_of_unit_coordinates(self):
        maps = [
            scaling(kind).apply(contexts_of([0, 4], [1, 3]))[1]
            for kind in ("context", "rank")
        ]
        for unit_map in maps:
            rows = np.array([[0.25, 0.5, 0.75], [0.5, 0.25, 0.75]])
            table = unit_map.to_feature(rows)
            assert table.shape == (2, 3)
            for column in range(3):
                np.testing.assert_array_equal(
                    table[:, column], unit_map.to_feature(rows[:, column])
                )


class TestRanks:
    @both_directions
    def test_mid_ranks(self, direction):
        rng = np.random.RandomState(0)
        lists = [rng.randint(0, 6, size=n).astype(float) for n in (1, 4, 15, 40)]
        unit, _ = scaling("rank", direction).apply(contexts_of(*lists))
        expected = np.concatenate([(rankdata(x) - 0.5) / len(x) for x in lists])
        if direction == ">=":
            expected = 1 - expected
        np.testing.assert_allclose(unit.values.ravel(), expected, rtol=1e-14)

    def test_weights_are_replications(self):
        weighted = contexts_of([3.0, 1.0, 2.0, 1.0], weights=[[1, 2, 3, 0]])
        replicated = contexts_of([3.0, 1.0, 1.0, 2.0, 2.0, 2.0])
        ranks = scaling("rank").apply(weighted)[0].values.ravel()
        expected = scaling("rank").apply(replicated)[0].values.ravel()
        np.testing.assert_allclose(ranks[:3], expected[[0, 1, 3]], rtol=1e-15)

    def test_a_token_of_no_weight_is_no_knot(self):
        with_ghost = contexts_of([1.0, 2.9, 3.0], weights=[[1, 0, 1]])
        without = contexts_of([1.0, 3.0])
        unit = np.array([[0.3, 0.5, 0.7]])
        np.testing.assert_array_equal(
            scaling("rank").apply(with_ghost)[1].to_feature(unit),
            scaling("rank").apply(without)[1].to_feature(unit),
        )

    @both_directions
    def test_observations_come_back(self, ragged, direction):
        unit, unit_map = scaling("rank", direction).apply(ragged)
        for task in range(len(ragged)):
            one, one_map = scaling("rank", direction).apply(ragged[task])
            back = one_map.to_feature(one.values.T)
            np.testing.assert_allclose(back.ravel(), ragged[task].values.ravel())
        first = unit.values[unit.offsets[:-1], 0]
        np.testing.assert_allclose(
            unit_map.to_feature(first), ragged.values[ragged.offsets[:-1], 0]
        )

    def test_between_observations_the_map_is_linear(self):
        _, unit_map = scaling("rank").apply(contexts_of([0.0, 1.0, 5.0, 9.0]))
        unit = np.array([[0.25, 0.5, 0.75]])
        np.testing.assert_allclose(unit_map.to_feature(unit), [[0.5, 3.0, 7.0]])
        assert unit_map.to_unit(np.array([3.0])).tolist() == [0.5]

    @both_directions
    def test_ends_are_the_ends_of_the_range(self, direction):
        given, own = (
            scaling("rank", direction, ends).apply(contexts_of([2.0, 6.0]))[1]
            for ends in ((0.0, 10.0), None)
        )
        unit = np.array([[0.0, 0.125, 0.875, 1.0]])
        order = slice(None, None, 1 if direction == "<=" else -1)
        assert given.to_feature(unit)[0, order].tolist() == [0, 1, 8, 10]
        assert own.to_feature(unit)[0, order].tolist() == [2, 2, 6, 6]
        sides = [given.to_unit(np.array([x]))[0] for x in (-1, 0, 10, 11)][order]
        assert sides == [0, 0, 1, 1]

    @both_directions
    @pytest.mark.parametrize(
        "x",
        [
            [-1e308, -1e307, 1e307, 1e308],
            [-LARGEST, 0.0, 1.0, LARGEST],
            [0.0, SMALLEST, 3 * SMALLEST, 8 * SMALLEST],
            [1e-320, 2e-320, 5e-320, 7e-320],
        ],
    )
    def test_slopes_do_not_overflow(self, direction, x):
        _, unit_map = scaling("rank", direction).apply(contexts_of(x))
        table = unit_map.to_feature(np.linspace(0, 1, 101)[np.newaxis])
        steps = np.diff(table / 4 if abs(x[0]) > 1 else table)
        assert (steps >= 0 if direction == "<=" else steps <= 0).all()
        assert table.min() == x[0]
        assert table.max() == x[-1]
        between = unit_map.to_unit(np.array([x[1] / 2 + x[2] / 2]))
        if direction == ">=":
            between = 1 - between
        assert 0.375 <= between[0] <= 0.625

    def test_a_power_of_two_changes_no_bit(self, ragged):
        one, one_map = scaling("rank").apply(ragged)
        two, two_map = scaling("rank").apply(ragged.with_values(ragged.values * 8))
        np.testing.assert_array_equal(one.values, two.values)
        unit = np.array([0.1, 0.2, 0.5, 0.9])
        np.testing.assert_array_equal(
            8 * one_map.to_feature(unit), two_map.to_feature(unit)
        )
        thresholds = np.array([0.1, 0.2, -0.1, 0.0])
        np.testing.assert_array_equal(
            one_map.to_unit(thresholds), two_map.to_unit(8 * thresholds)
        )

    def test_far_thresholds_stay_in_the_unit_interval(self):
        _, unit_map = scaling("rank").apply(contexts_of([1e-300, 2e-300]))
        assert unit_map.to_unit(np.array([1e300])).tolist() == [1.0]
        assert unit_map.to_unit(np.array([-1e300])).tolist() == [0.0]


class TestDirection:
    @all_kinds
    def test_the_other_direction_is_the_mirror_image(self, ragged, kind):
        """``x >= theta`` is ``-x <= -theta``."""
        mirrored = ragged.with_values(-ragged.values)
        ends = {"range": ((-4.0, 3.0), (-3.0, 4.0))}.get(kind, (None, None))
        one, one_map = scaling(kind, ">=", ends[0]).apply(ragged)
        two, two_map = scaling(kind, "<=", ends[1]).apply(mirrored)
        np.testing.assert_allclose(one.values, two.values, rtol=1e-15, atol=1e-16)
        thresholds = np.array([-1.0, 0.4, 0.1, 2.0])
        np.testing.assert_allclose(
            one_map.to_unit(thresholds), two_map.to_unit(-thresholds), rtol=1e-14
        )
        unit = np.array([0.1, 0.2, 0.5, 1.0])
        np.testing.assert_allclose(
            one_map.to_feature(unit), -two_map.to_feature(unit), rtol=1e-14
        )

    @all_kinds
    def test_maps_are_monotone(self, ragged, kind):
        ends = (-4.0, 3.0) if kind == "range" else None
        for direction, sign in (("<=", 1), (">=", -1)):
            unit, unit_map = scaling(kind, direction, ends).apply(ragged[3])
            order = np.argsort(ragged[3].values[:, 0])
            assert (sign * np.diff(unit.values[order, 0]) > 0).all()
            line = np.linspace(0, 1, 50)[np.newaxis]
            assert (sign * np.diff(unit_map.to_feature(line)) >= 0).all()

    @pytest.mark.parametrize(
        ("labels", "direction"),
        [
            ([1, 1, 0, 0], "<="),
            ([0, 0, 1, 1], ">="),
            ([1, 0, 0, 0], "<="),
            ([1, 0, 1, 0], "<="),  # a tie
        ],
    )
    def test_shown_by_the_labels(self, labels, direction):
        contexts = Contexts([([1, 2, 3, 4], labels)])
        assert shown_direction(contexts, np.array([2.5])) == direction

    def test_observations_at_the_threshold_show_nothing(self):
        contexts = Contexts([([2, 2, 2, 3], [0, 0, 1, 1])])
        assert shown_direction(contexts, np.array([2.0])) == ">="

    def test_shown_by_weight(self):
        contexts = Contexts([([1, 3], [1, 0], [1, 1]), ([1, 3], [0, 1], [1, 4])])
        thresholds = np.array([2.0, 2.0])
        assert shown_direction(contexts, thresholds) == ">="
        assert shown_direction(contexts, thresholds, np.array([3.0, 1.0])) == "<="


class TestRanges:
    def test_of_contexts(self):
        contexts = contexts_of([3, 1, 2], [5])
        lo, hi = context_ranges(contexts)
        assert lo.tolist() == [1, 5]
        assert hi.tolist() == [3, 5]

    def test_of_tokens_with_weight(self):
        contexts = contexts_of([9, 1, 2, -9], [5], weights=[[0, 1, 1, 0], [1]])
        lo, hi = context_ranges(contexts)
        assert lo.tolist() == [1, 5]
        assert hi.tolist() == [2, 5]

    def test_learned_from_observations_and_thresholds(self):
        contexts = contexts_of([3, 1, 2], [5])
        assert learned_range(contexts, None) == (1, 5)
        assert learned_range(contexts, np.array([0.0, 2.0])) == (0, 5)
        assert learned_range(contexts, np.array([2.0, 7.0])) == (1, 7)

    @both_directions
    @pytest.mark.parametrize("kind", ["range", "rank"])
    def test_widening_warns_once_and_for_the_contexts_outside_only(
        self, kind, direction
    ):
        inside, below, above = [0.25, 0.5], [-1.0, 0.5], [0.5, 3.0]
        fitted = scaling(kind, direction, (0.0, 1.0))
        contexts = contexts_of(inside, below, inside, above)
        with pytest.warns(UserWarning, match=r"^2 of 4 contexts .* task 1\.") as record:
            unit, unit_map = fitted.apply(contexts)
        assert len(record) == 1
        assert unit.values.min() >= 0
        assert unit.values.max() <= 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            alone, alone_map = fitted.apply(contexts[[0, 2]])
        np.testing.assert_array_equal(unit.values[[0, 1, 4, 5]], alone.values)
        halves = unit_map.to_feature(np.full(4, 0.4))
        np.testing.assert_array_equal(
            halves[[0, 2]], alone_map.to_feature(np.full(2, 0.4))
        )
        ends = np.array([0.0, 1.0] if direction == "<=" else [1.0, 0.0])
        table = unit_map.to_feature(np.tile(ends, (4, 1)))
        assert table.tolist() == [[0, 1], [-1, 1], [0, 1], [0, 3]]

    @pytest.mark.parametrize("kind", ["range", "rank"])
    def test_a_given_range_refuses(self, kind):
        contexts = Contexts(contexts_of([0.5], [2.0]), task_ids=["a", "b"])
        message = r"task 1 \('b'\) has observations outside feature_range=\(0\.0, 1\.0"
        with pytest.raises(ValueError, match=message):
            scaling(kind, "<=", (0.0, 1.0), strict=True).apply(contexts)

    def test_the_ends_are_inside(self):
        fitted = scaling("range", "<=", (0.0, 1.0), strict=True)
        assert fitted.apply(contexts_of([0.0, 1.0]))[0].values.ravel().tolist() == [
            0,
            1,
        ]

    def test_a_ghost_outside_is_not_outside(self):
        contexts = contexts_of([0.5, 9.0], weights=[[1, 0]])
        unit, _ = scaling("range", "<=", (0.0, 1.0), strict=True).apply(contexts)
        assert unit.values[0, 0] == 0.5

    def test_context_scaling_has_no_range(self):
        unit, _ = scaling("context", "<=", (0.0, 1.0), strict=True).apply(
            contexts_of([5.0, 9.0])
        )
        assert unit.values.ravel().tolist() == [0, 1]


class TestAnchors:
    @both_directions
    def test_stand_behind_each_context(self, direction):
        contexts = contexts_of([2.0, 4.0], [6.0])
        fitted = scaling("range", direction, (2.0, 10.0), anchors=True)
        unit, unit_map = fitted.apply(contexts)
        assert unit.offsets.tolist() == [0, 4, 7]
        for part, plain in zip(unit, contexts, strict=True):
            assert part.values[-2:, 0].tolist() == [0, 1]
            assert part.labels[-2:].tolist() == [True, False]
            assert part.labels[:-2].tolist() == plain.labels.tolist()
        assert unit.weights is None
        assert unit.task_ids.tolist() == [0, 1]
        # In the feature's units: label 1 at the end where labels are 1.
        lo, hi = unit_map.to_feature(np.array([[0.0, 1.0]] * 2))[0]
        assert (lo, hi) == ((2, 10) if direction == "<=" else (10, 2))

    def test_have_weight_one(self):
        contexts = contexts_of([2.0, 4.0], [6.0], weights=[[5, 7], [3]])
        unit, _ = scaling("range", "<=", (0.0, 10.0), anchors=True).apply(contexts)
        assert unit.weights.tolist() == [5, 7, 1, 1, 3, 1, 1]

    def test_do_not_change_ranks(self):
        contexts = contexts_of([2.0, 4.0, 4.0, 5.0])
        plain, _ = scaling("rank", "<=", (0.0, 10.0)).apply(contexts)
        unit, _ = scaling("rank", "<=", (0.0, 10.0), anchors=True).apply(contexts)
        np.testing.assert_array_equal(unit.values[:4], plain.values)


def test_a_scaling_leaves_the_contexts_as_they_were(ragged):
    before = ragged.values.copy()
    for kind in ("context", "rank"):
        scaling(kind, ">=").apply(ragged)
    np.testing.assert_array_equal(ragged.values, before)


@all_kinds
def test_labels_weights_and_ids_go_through(kind):
    contexts = Contexts(
        [([1, 2], [1, 0], [2, 3]), ([4], [1], [5])], task_ids=["a", "b"]
    )
    unit, _ = scaling(kind, ">=", (0, 5)).apply(contexts)
    assert unit.labels.tolist() == [True, False, True]
    assert unit.weights.tolist() == [2, 3, 5]
    assert unit.task_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", [AffineMap, RankMap])
def test_maps_agree_with_themselves_on_one_context(ragged, kind):
    """A context's map does not depend on the other contexts."""
    lo, hi = context_ranges(ragged)
    whole = kind(ragged, lo, hi, falling=False)
    unit, values = np.full(4, 0.3), np.split(whole.values(), ragged.offsets[1:-1])
    for task in range(4):
        alone = kind(ragged[task], lo[[task]], hi[[task]], falling=False)
        np.testing.assert_array_equal(alone.values(), values[task])
        assert alone.to_feature(unit[:1])[0] == whole.to_feature(unit)[task]
        assert alone.to_unit(unit[:1])[0] == whole.to_unit(unit)[task]


@pytest.mark.parametrize("head", ["single", "reflected", "gibbs"])
@pytest.mark.parametrize("scaling", ["range", "context", "rank"])
@pytest.mark.parametrize("far", [1e308, -1e308])
def test_tokens_of_weight_zero_may_lie_anywhere(far, scaling, head):
    """As if they were not there, also where their place in the range overflows."""
    coef = (2.0, 1.0) if head == "gibbs" else (50.0, 58.0)
    known = {} if scaling == "context" else {"feature_range": (0, 1e-5)}
    frozen = PretrainedAttentionStump.from_coef(coef, head, scaling=scaling, **known)
    x, y, weights = [0.0, 2e-6, 4e-6, 1e-5], [1, 1, 0, 0], [1.0, 2.0, 1.0, 1.0]
    with_it = ([*x, far], [*y, 1], [*weights, 0.0])
    found = frozen.predict([with_it])
    assert found == pytest.approx(frozen.predict([(x, y, weights)]), rel=1e-12)
