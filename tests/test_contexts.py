"""The one door: forms of input, slices, and everything that is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import _safe_indexing, indexable, resample, shuffle

from sklearn_attnstump import Contexts

NAN = np.nan
X0, Y0 = [0.1, 0.4, 0.9], [1, 1, 0]
X1, Y1 = [0.2, 0.5], [1, 0]
ROWS0, ROWS1 = np.column_stack([X0, Y0]), np.column_stack([X1, Y1])
PADDED = np.array(
    [
        [[0.1, 1], [0.4, 1], [0.9, 0]],
        [[0.2, 1], [NAN, NAN], [0.5, 0]],  # padding may stand anywhere
    ]
)


def two_tasks(**kwargs):
    labels = np.array(Y0 + Y1, dtype=bool)
    return Contexts.from_arrays(X0 + X1, labels, [0, 3, 5], **kwargs)


def object_array(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


@pytest.fixture
def ragged():
    """Seven contexts of one to four tokens with weights and named tasks."""
    rng = np.random.RandomState(0)
    sizes = np.array([2, 1, 4, 3, 1, 2, 4])
    return Contexts.from_arrays(
        rng.uniform(size=(17, 2)),
        rng.uniform(size=17) < 0.5,
        np.concatenate([[0], np.cumsum(sizes)]),
        weights=rng.uniform(0.5, 2, size=17),
        task_ids=list("abcdefg"),
    )


class TestForms:
    @pytest.mark.parametrize(
        "X",
        [
            pytest.param([ROWS0, ROWS1], id="2-D arrays"),
            pytest.param((ROWS0, ROWS1), id="tuple of 2-D arrays"),
            pytest.param([ROWS0.tolist(), ROWS1.tolist()], id="nested lists"),
            pytest.param(object_array([ROWS0, ROWS1]), id="object array"),
            pytest.param([ROWS0.astype(object), ROWS1], id="rows of objects"),
            pytest.param([(X0, Y0), (X1, Y1)], id="pairs"),
            pytest.param(object_array([(X0, Y0), (X1, Y1)]), id="object array, pairs"),
            pytest.param(
                [(np.array(X0), np.array(Y0, bool)), (X1, np.array(Y1, float))],
                id="pairs of arrays",
            ),
            pytest.param([(np.c_[X0], Y0), ([[0.2], [0.5]], Y1)], id="columns"),
            pytest.param(
                [
                    (pd.Series(X0, index=[5, 5, 4]), pd.Series(Y0, index=[1, 2, 3])),
                    (pl.Series(X1), pa.array(Y1)),
                ],
                id="series",
            ),
            pytest.param([(X0, ["p", "p", "n"]), (X1, ["p", "n"])], id="strings"),
            pytest.param([(X0, Y0, None), (X1, Y1, None)], id="weights of None"),
            pytest.param([ROWS0, (X1, Y1)], id="mixed"),
            pytest.param(PADDED, id="padded 3-D array"),
            pytest.param(PADDED.astype(object), id="3-D array of objects"),
            pytest.param(Contexts([(X0, Y0), (X1, Y1)]), id="Contexts"),
            pytest.param([Contexts([(X0, Y0)]), Contexts([(X1, Y1)])], id="joined"),
            pytest.param(list(Contexts([(X0, Y0), (X1, Y1)])), id="iterated"),
        ],
    )
    def test_equal_contexts(self, X, assert_same_contexts):
        ids = [0, 0] if isinstance(X, list) and isinstance(X[0], Contexts) else [0, 1]
        contexts = Contexts(X, task_ids=[0, 1] if ids == [0, 0] else None)
        assert_same_contexts(contexts, two_tasks())
        assert contexts.values.dtype == np.float64
        assert contexts.labels.dtype == bool
        assert contexts.offsets.dtype == np.int64

    def test_several_features(self, assert_same_contexts):
        rows = np.array([[0.1, 7.0, 1], [0.4, 8.0, 0]])
        expected = Contexts.from_arrays(rows[:, :2], [1, 0], [0, 2])
        for X in ([rows], [rows.tolist()], rows[np.newaxis], [(rows[:, :2], [1, 0])]):
            assert_same_contexts(Contexts(X), expected)
        assert expected.n_features == 2

    def test_three_dimensions_without_padding(self, assert_same_contexts):
        X = np.arange(12.0).reshape(2, 3, 2)
        X[:, :, 1] = [1, 1, 0]
        assert_same_contexts(Contexts(X), Contexts(list(X)))

    def test_weights(self, assert_same_contexts):
        X = [(X0, Y0, [1.0, 2.0, 3.0]), (X1, Y1, [4, 5])]
        assert_same_contexts(Contexts(X), two_tasks(weights=[1, 2, 3, 4, 5]))

    def test_contexts_without_weights_get_ones_beside_others(self):
        mixed = Contexts([(X0, Y0), (X1, Y1, [4, 5])])
        assert mixed.weights.tolist() == [1, 1, 1, 4, 5]
        joined = Contexts([Contexts([(X0, Y0)]), Contexts([(X1, Y1, [4, 5])])])
        assert joined.weights.tolist() == [1, 1, 1, 4, 5]

    def test_kinds_of_numbers(self, assert_same_contexts):
        expected = Contexts([([0, 1, 2], [1, 1, 0])])
        for dtype in (np.int8, np.uint64, np.float16, np.float32, bool, object):
            x = np.array([0, 1, 2]).astype(dtype)
            if dtype is bool:
                expected = Contexts([([0, 1, 1], [1, 1, 0])])
            elif dtype is object:
                expected = Contexts([([0, 1, 2], [1, 1, 0])])
            assert_same_contexts(Contexts([(x, [1, 1, 0])]), expected)

    def test_one_context_of_one_token(self):
        contexts = Contexts([([0.5], [True])])
        assert (len(contexts), contexts.n_tokens) == (1, 1)

    def test_labels_are_encoded_over_all_contexts(self):
        """A context of one label is read by the others' two."""
        contexts = Contexts([([1, 2], ["no", "no"]), ([1, 2], ["yes", "no"])])
        assert contexts.labels.tolist() == [False, False, True, False]
        assert contexts.classes == ("no", "yes")

    def test_positive(self):
        contexts = Contexts([(X1, ["a", "b"])], positive="a")
        assert contexts.labels.tolist() == [True, False]
        assert contexts.classes == ("b", "a")

    def test_joined_contexts_keep_ids_names_and_classes(self):
        frame = pd.DataFrame({"t": ["u", "u", "v"], "x": [1, 2, 3], "l": list("aba")})
        contexts = Contexts.from_frame(frame, task="t", feature="x", label="l")
        joined = Contexts([contexts[1], contexts[0]])
        assert joined.task_ids.tolist() == ["v", "u"]
        assert joined.feature_names == ("x",)
        assert joined.classes == ("a", "b")

    def test_joined_contexts_without_names_are_numbered_anew(self):
        two, three = Contexts([(X0, Y0)] * 2), Contexts([(X0, Y0)] * 3)
        assert Contexts([two, three]).task_ids.tolist() == [0, 1, 2, 3, 4]
        # Numbers that say which task of a whole it is are names, and so are others.
        assert Contexts([three[2], three[2], two]).task_ids.tolist() == [2, 2, 0, 1]
        assert Contexts([three[::-1], two]).task_ids.tolist() == [2, 1, 0, 0, 1]
        named = Contexts(two, task_ids=[0.0, 1.0])
        assert Contexts([named, two]).task_ids.tolist() == [0.0, 1.0, 0, 1]

    def test_joined_contexts_know_the_classes_that_any_of_them_knows(self):
        one = Contexts([(X1, ["yes", "yes"])], positive="yes")
        two = Contexts([(X1, ["yes", "no"])], positive="yes")
        assert one.classes == (None, "yes")
        assert Contexts([one, two]).classes == ("no", "yes")

    def test_contexts_of_contexts_share_memory(self):
        contexts = two_tasks()
        again = Contexts(contexts)
        assert np.shares_memory(again.values, contexts.values)
        renamed = Contexts(contexts, task_ids=["a", "b"])
        assert renamed.task_ids.tolist() == ["a", "b"]
        assert contexts.task_ids.tolist() == [0, 1]

    def test_argument_is_left_as_it_was(self):
        X = PADDED.copy()
        Contexts(X)
        np.testing.assert_array_equal(X, PADDED)
        assert X.flags.writeable


class TestTaskIds:
    @pytest.mark.parametrize(
        "ids",
        [
            ["a", "b"],
            [7, "7"],
            [1.5, 2.5],
            [("s", 1), ("s", 2)],
            [("s", 1), "s"],
            (None, "b"),
            np.array(["a", "b"]),
            pd.Series(["a", "b"], index=[4, 4]),
            pd.Index([10, 20]),
        ],
        ids=repr,
    )
    def test_are_kept_as_they_are(self, ids):
        contexts = Contexts([(X0, Y0), (X1, Y1)], task_ids=ids)
        assert contexts.task_ids.shape == (2,)
        assert contexts.task_ids.tolist() == list(ids)
        assert contexts[1].task_ids.tolist() == [list(ids)[1]]

    def test_default_to_positions(self):
        assert two_tasks().task_ids.tolist() == [0, 1]
        assert two_tasks()[1].task_ids.tolist() == [1]

    def test_name_tasks_in_messages(self):
        ids = pd.Series(["ann", "bob"], index=[8, 9])
        with pytest.raises(ValueError, match=r"task 1 \('bob'\), token 0, has the val"):
            Contexts([(X0, Y0), ([NAN, 1], Y1)], task_ids=ids)
        with pytest.raises(ValueError, match=r"task 1 \('bob'\), token 1, has the lab"):
            Contexts([(X0, Y0), (X1, [1, 5])], task_ids=ids)
        with pytest.raises(ValueError, match=r"task 1 \('bob'\), token 1, has the lab"):
            Contexts.from_arrays(X0 + X1, [1, 1, 0, 1, 5], [0, 3, 5], task_ids=ids)
        with pytest.raises(ValueError, match=r"task 1 \('bob'\) is empty"):
            Contexts.from_arrays(X0, Y0, [0, 3, 3], task_ids=ids)

    def test_a_slice_names_its_tasks(self, ragged):
        assert ragged[3:].name(0) == "task 0 ('d')"
        assert two_tasks()[1:].name(0) == "task 0 (1)"
        assert two_tasks().name(1) == "task 1"

    @pytest.mark.parametrize("ids", [["a"], ["a", "b", "c"], np.array([["a"], ["b"]])])
    def test_of_another_number_are_refused(self, ids):
        with pytest.raises(ValueError, match=r"task_ids have shape .* are 2 contexts"):
            Contexts([(X0, Y0), (X1, Y1)], task_ids=ids)
        with pytest.raises(ValueError, match=r"task_ids have shape .* are 2 contexts"):
            two_tasks(task_ids=ids)
        with pytest.raises(ValueError, match=r"task_ids have shape .* are 2 contexts"):
            Contexts(two_tasks(), task_ids=ids)


class TestFromArrays:
    def test_shares_memory(self):
        values, labels = np.array(X0 + X1), np.array(Y0 + Y1, dtype=bool)
        weights, offsets = np.ones(5), np.array([0, 3, 5])
        contexts = Contexts.from_arrays(values, labels, offsets, weights=weights)
        assert np.shares_memory(contexts.values, values)
        assert np.shares_memory(contexts.labels, labels)
        assert np.shares_memory(contexts.weights, weights)
        assert contexts.values.shape == (5, 1)

    def test_shares_memory_of_several_features(self):
        values = np.zeros((4, 3))
        contexts = Contexts.from_arrays(values, [1, 0, 1, 0], [0, 2, 4])
        assert np.shares_memory(contexts.values, values)
        assert contexts.n_features == 3

    def test_a_memory_map_stays_on_disk(self, tmp_path):
        path = tmp_path / "values.npy"
        np.save(path, np.linspace(0, 1, 10))
        values = np.load(path, mmap_mode="r")
        contexts = Contexts.from_arrays(values, np.arange(10) < 5, [0, 6, 10])
        assert isinstance(contexts.values, np.memmap)
        assert np.shares_memory(contexts.values, values)
        part = contexts[1:]
        assert isinstance(part.values, np.memmap)
        assert np.shares_memory(part.values, values)

    def test_read_only_arrays(self):
        arrays = [np.array(X0), np.array(Y0, dtype=bool), np.array([0, 3])]
        for array in arrays:
            array.flags.writeable = False
        assert Contexts.from_arrays(*arrays).values.ravel().tolist() == X0

    def test_the_arguments_stay_writeable_and_the_view_does_not(self):
        values, labels = np.array(X0), np.array(Y0, dtype=bool)
        contexts = Contexts.from_arrays(values, labels, [0, 3], weights=np.ones(3))
        assert values.flags.writeable
        assert labels.flags.writeable
        for name in ("values", "labels", "offsets", "weights"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(contexts, name)[0] = 1

    def test_positive_and_classes(self):
        contexts = Contexts.from_arrays(X1, ["a", "b"], [0, 2], positive="a")
        assert contexts.labels.tolist() == [True, False]
        contexts = Contexts.from_arrays(X1, ["b", "b"], [0, 2], classes=("b", "a"))
        assert contexts.labels.tolist() == [False, False]

    @pytest.mark.parametrize(
        ("values", "labels", "offsets", "message"),
        [
            (X1, Y1, [0, 2, 2], r"task 1 is empty: its offsets are 2 and 2"),
            (X0, Y0, [0, 2, 1, 3], r"task 1 is empty: its offsets are 2 and 1"),
            (X1, Y1, [1, 2], r"offsets run from 1 to 2; they must run from 0 to .* 2"),
            (X1, Y1, [0, 3], r"offsets run from 0 to 3"),
            (X1, Y1, [0], r"offsets must be a 1-D array of n_tasks \+ 1 integers"),
            (X1, Y1, [[0, 2]], r"offsets must be a 1-D array"),
            (X1, Y1, [0.0, 2.0], r"offsets must be a 1-D array .* integers"),
            (X1, [1], [0, 2], r"labels have shape \(1,\) but there are 2 values"),
            (X1, [[1], [0]], [0, 2], r"labels have shape \(2, 1\)"),
            ([[[0.1]]], [1], [0, 1], r"values have shape \(1, 1, 1\)"),
            (np.zeros((2, 0)), Y1, [0, 2], r"values have shape \(2, 0\)"),
            ([0.1, NAN], Y1, [0, 1, 2], r"task 1, token 0, has the value nan"),
            ([0.1, -np.inf], Y1, [0, 2], r"task 0, token 1, has the value -inf"),
        ],
    )
    def test_refused(self, values, labels, offsets, message):
        with pytest.raises(ValueError, match=message):
            Contexts.from_arrays(values, labels, offsets)

    def test_nan_past_the_first_chunk_is_found(self, monkeypatch):
        monkeypatch.setattr("sklearn_attnstump.contexts._CHUNK", 4)
        values = np.zeros((10, 2))
        values[9, 1] = NAN
        with pytest.raises(ValueError, match=r"task 1, token 3, has the value nan"):
            Contexts.from_arrays(values, np.ones(10, bool), [0, 6, 10])

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, 1, 1, 1, -0.5], r"task 1, token 1, has the weight -0\.5"),
            ([1, 1, NAN, 1, 1], r"task 0, token 2, has the weight nan"),
            ([1, np.inf, 1, 1, 1], r"task 0, token 1, has the weight inf"),
            ([1, 1, 1, 0, 0], r"task 1 has no token of positive weight"),
            ([1, 1, 1, 1], r"weights have shape \(4,\) but there are 5 tokens"),
            (2.0, r"weights have shape \(\) but there are 5 tokens"),
        ],
    )
    def test_weights_are_refused(self, weights, message):
        with pytest.raises(ValueError, match=message):
            two_tasks(weights=weights)


class TestRefused:
    """Every refusal names the task, what was found and what to do."""

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([], r"there are no contexts\. Pass at least one"),
            (np.zeros((0, 3, 2)), r"there are no contexts"),
            (
                np.zeros((3, 2)),
                r"a 2-D array of shape \(3, 2\) .* in place of contexts",
            ),
            (np.zeros(3), r"a 1-D array of shape \(3,\)"),
            (np.zeros((2, 2, 2, 2)), r"a 4-D array"),
            (np.zeros((2, 3, 1)), r"no room for a feature and a label"),
            (np.zeros((2, 0, 2)), r"task 0 is empty"),
            (np.full((1, 3, 2), NAN), r"task 0 is empty: every row is NaN"),
            ([X0, X1], r"task 0 has shape \(3,\); a context is a 2-D array"),
            ([ROWS0, X1], r"task 1 has shape \(2,\)"),
            ([(X0, Y0), 3.0], r"task 1 has shape \(\)"),
            ([ROWS0[:, :1]], r"task 0 has shape \(3, 1\)"),
            ([(X0, Y0), ([], [])], r"task 1 is empty\. Leave it out"),
            ([ROWS0, np.zeros((0, 2))], r"task 1 is empty"),
            ([(np.zeros((3, 0)), Y0)], r"task 0 is empty"),
            ([(X0, Y1)], r"task 0 has values of shape \(3, 1\) and labels .* \(2,\)"),
            ([(X0, np.c_[Y0])], r"task 0 has values .* and labels of shape \(3, 1\)"),
            ([(0.5, 1)], r"task 0 has values of shape \(\)"),
            ([(np.zeros((1, 1, 1)), [1])], r"task 0 has values of shape \(1, 1, 1\)"),
            (
                [(X0, Y0), (np.zeros((2, 2)), Y1)],
                r"task 1 has 2 features and task 0 has 1",
            ),
            ([(X0, Y0), ([0.1, NAN], Y1)], r"task 1, token 1, has the value nan"),
            ([(X0, Y0), ([None, 0.1], Y1)], r"task 1, token 0, has the value nan"),
            ([([0.1, np.inf], Y1)], r"task 0, token 1, has the value inf"),
            (PADDED[:, :, [1, 0]], r"task 0, token 0, has the label 0\.1; .* swapped"),
            ([(Y0, X0)], r"task 0, token 0, has the label 0\.1; .* swapped"),
            ([(X0, [0, 1, 2])], r"task 0, token 2, has the label 2 beside 0 and 1"),
            ([(X0, Y0), (X1, [1, 5])], r"task 1, token 1, has the label 5 beside"),
            ([(X0, Y0), (X1, [1, NAN])], r"task 1, token 1, has a missing label"),
            ([(X0, Y0), (X1, [1, None])], r"task 1, token 1, has a missing label"),
            ([(X0, [2, 2, 2])], r"task 0, token 0, and all others have the one label"),
            ([(X0, ["y"] * 3)], r"the one label 'y', .* Contexts\(X, positive"),
            ([(X0, Y0, [1, 2])], r"task 0 has weights of shape \(2,\) for 3 tokens"),
            ([(X0, Y0, [1, -1, 0])], r"task 0, token 1, has the weight -1\.0"),
            ([(X0, Y0, [0, 0, 0])], r"task 0 has no token of positive weight"),
            ([(X0, Y0, [1, NAN, 0])], r"task 0, token 1, has the weight nan"),
        ],
    )
    def test_values(self, X, message):
        with pytest.raises(ValueError, match=message):
            Contexts(X)

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([0.3, NAN], r"task 1, token 1, has a missing label"),
            ([NAN, 1], r"task 1, token 1, has the value nan"),
            ([np.inf, 1], r"task 1, token 1, has the value inf"),
            ([0.3, np.inf], r"task 1, token 1, has the label inf"),
        ],
    )
    def test_only_rows_of_nan_alone_are_padding(self, row, message):
        X = PADDED.copy()
        X[1, 1] = row
        with pytest.raises(ValueError, match=message):
            Contexts(X)

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.ma.masked_array(PADDED), r"a masked array would lose its mask"),
            ([np.ma.masked_array(ROWS0)], r"task 0: masked and sparse arrays"),
            ([(np.ma.masked_array(X0), Y0)], r"task 0: masked and sparse arrays"),
            ([(X0, np.ma.masked_array(Y0))], r"masked labels would lose their mask"),
            (sparse.csr_array(ROWS0), r"sparse input holds no contexts"),
            (sparse.coo_matrix(ROWS0), r"sparse input holds no contexts"),
            ([(sparse.csr_array(ROWS0), Y0)], r"task 0: masked and sparse arrays"),
            (pd.DataFrame(ROWS0), r"a DataFrame was passed .* Contexts\.from_frame"),
            (pl.DataFrame(ROWS0), r"a DataFrame was passed .* Contexts\.from_frame"),
            (pl.LazyFrame(ROWS0), r"a LazyFrame was passed .* Contexts\.from_frame"),
            (pa.table({"x": X0}), r"a Table was passed .* Contexts\.from_frame"),
            ({"a": (X0, Y0)}, r"contexts cannot be read from dict"),
            ("contexts", r"contexts cannot be read from str"),
            (None, r"contexts cannot be read from NoneType"),
            (((x, y) for x, y in [(X0, Y0)]), r"cannot be read from generator"),
            ([(["a", "b"], Y1)], r"task 0: numbers are needed, found the string"),
            ([(X0, Y0), (np.array(["a", "b"]), Y1)], r"task 1: numbers are needed"),
            ([(np.array([1j, 2]), Y1)], r"task 0: numbers are needed, found complex"),
            (
                [(np.array(["2020", "2021"], dtype="datetime64[Y]"), Y1)],
                r"task 0: numbers are needed, found datetime64",
            ),
            ([(X0, Y0, ["a", "b", "c"])], r"the weights of task 0: numbers are needed"),
            (np.full((1, 2, 2), "a"), r"X: numbers are needed"),
        ],
    )
    def test_kinds(self, X, message):
        with pytest.raises(TypeError, match=message):
            Contexts(X)

    def test_a_mask_inside_a_list_of_rows_is_not_lost(self):
        row = np.ma.masked_array(ROWS0, mask=[[0, 0], [1, 1], [0, 0]])
        with pytest.raises(TypeError, match=r"task 1: masked"):
            Contexts([ROWS0, row])

    def test_joined_contexts_of_other_features(self):
        two = Contexts([(np.zeros((2, 2)), Y1)])
        with pytest.raises(ValueError, match=r"contexts 1 have 2 features, the first"):
            Contexts([Contexts([(X0, Y0)]), two])

    def test_joined_contexts_of_opposite_labels(self):
        first = Contexts([(X1, ["a", "b"])])
        second = Contexts([(X1, ["a", "b"])], positive="a")
        with pytest.raises(ValueError, match=r"contexts 1 have the labels \('b', 'a'"):
            Contexts([first, second])

    def test_encoded_labels_are_not_turned_round(self):
        contexts = Contexts([(X1, ["a", "b"])])
        with pytest.raises(ValueError, match=r"made with 'b' as label 1\. Pass posit"):
            Contexts(contexts, positive="a")
        with pytest.raises(ValueError, match=r"labels are \('a', 'b'\) \(negative"):
            Contexts(contexts, classes=("b", "a"))
        assert Contexts(contexts, positive="b", classes=("a", "b")) is not contexts

    def test_no_contexts_in_contexts(self):
        nothing = two_tasks()[:0]
        with pytest.raises(ValueError, match=r"there are no contexts"):
            Contexts(nothing)
        with pytest.raises(ValueError, match=r"there are no contexts"):
            nothing.with_values(np.zeros(0))


class TestSlices:
    @pytest.mark.parametrize(
        "key",
        [
            slice(None),
            slice(2, 5),
            slice(None, -2),
            slice(None, None, 2),
            slice(None, None, -1),
            slice(5, 1, -3),
            slice(4, 2),
            slice(-100, 100),
            [0, 3],
            [-1, 0, 0],
            [],
            np.array([6, 1]),
            np.array([2], dtype=np.uint8),
            np.array([], dtype=int),
            np.array([True, False, True, False, False, False, True]),
            [False] * 7,
            (np.array([4, 2]), Ellipsis),
            (slice(1, 3), Ellipsis),
            range(2, 4),
        ],
        ids=repr,
    )
    def test_select_tasks(self, ragged, items, key):
        plain = key[0] if isinstance(key, tuple) else key
        if isinstance(plain, range):
            plain = list(plain)
        if not isinstance(plain, slice) and len(plain) == 0:
            plain = np.array([], dtype=int)
        kept = np.arange(7)[plain]
        part = ragged[key]
        whole = items(ragged)
        assert len(part) == len(kept)
        assert part.shape == (len(kept),)
        assert part.task_ids.tolist() == [list("abcdefg")[i] for i in kept]
        assert part.sizes.tolist() == ragged.sizes[kept].tolist()
        assert part.offsets[0] == 0
        for one, i in zip(part, kept, strict=True):
            values, labels, weights = whole[i]
            np.testing.assert_array_equal(one.values, values)
            np.testing.assert_array_equal(one.labels, labels)
            np.testing.assert_array_equal(one.weights, weights)

    @pytest.mark.parametrize(
        "key", [3, -4, np.int64(3), np.uint8(3), (3, Ellipsis), (np.int64(-4), ...)]
    )
    def test_an_int_selects_one_task(self, ragged, key):
        assert ragged[key].task_ids.tolist() == ["d"]
        assert ragged[key].shape == (1,)
        assert ragged[key].values.tolist() == ragged.values[7:10].tolist()

    @pytest.mark.parametrize("key", [slice(2, 5), 3, slice(None)])
    def test_runs_share_memory(self, ragged, key):
        assert np.shares_memory(ragged[key].values, ragged.values)
        assert np.shares_memory(ragged[key].labels, ragged.labels)

    def test_parts_are_read_only(self, ragged):
        for part in (ragged[1], ragged[1:3], ragged[[2, 0]]):
            assert not part.values.flags.writeable
            assert not part.labels.flags.writeable

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            (7, r"task 7 of 7"),
            (-8, r"task -8 of 7"),
            ([0, 7], r"outside the 7 tasks"),
            ([-8], r"outside the 7 tasks"),
            ([True, False], r"a mask of shape \(2,\)"),
            ([0.0, 1.0], r"by an int, a slice, a mask or a 1-D array"),
            ("a", r"by an int, a slice, a mask"),
            ([[0], [1]], r"1-D array of ints"),
            (None, r"by an int, a slice, a mask"),
            (Ellipsis, r"by an int, a slice, a mask"),
        ],
    )
    def test_no_such_task(self, ragged, key, message):
        with pytest.raises(IndexError, match=message):
            ragged[key]

    def test_iteration_ends(self, ragged):
        assert [one.task_ids[0] for one in ragged] == list("abcdefg")
        assert [one.task_ids[0] for one in reversed(ragged)] == list("gfedcba")

    def test_joining_all_slices_gives_the_whole(self, ragged, assert_same_contexts):
        assert_same_contexts(Contexts(list(ragged)), ragged)

    def test_classes_and_names_are_kept(self):
        frame = pd.DataFrame({"t": [1, 1, 2], "x": [1, 2, 3], "l": list("aba")})
        contexts = Contexts.from_frame(frame, task="t", feature="x", label="l")
        for part in (contexts[0], contexts[:1], contexts[[1, 0]]):
            assert part.classes == ("a", "b")
            assert part.feature_names == ("x",)


class TestScikitLearn:
    """Splitters and indexing utilities take the container for an array of tasks."""

    def test_indexing(self, ragged, assert_same_contexts):
        mask = np.array([True, False, True, False, False, False, True])
        for key in (2, slice(1, 4), [0, 6], np.array([3, 1]), mask, mask.tolist()):
            assert_same_contexts(_safe_indexing(ragged, key), ragged[key])

    def test_splits(self, ragged):
        for train, test in KFold(3).split(ragged):
            assert len(ragged[train]) + len(ragged[test]) == 7
            assert not set(ragged[train].task_ids) & set(ragged[test].task_ids)

    def test_train_test_split_keeps_pairs(self, ragged):
        names = np.array(list("abcdefg"))
        parts = train_test_split(ragged, names, random_state=0)
        assert parts[0].task_ids.tolist() == parts[2].tolist()
        assert parts[1].task_ids.tolist() == parts[3].tolist()

    def test_shuffle_and_resample(self, ragged):
        names = np.array(list("abcdefg"))
        for mix in (shuffle, resample):
            contexts, same = mix(ragged, names, random_state=0)
            assert contexts.task_ids.tolist() == same.tolist()

    def test_indexable(self, ragged):
        assert indexable(ragged, np.arange(7))[0] is ragged
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            indexable(ragged, np.arange(6))

    def test_never_becomes_an_array_by_accident(self, ragged):
        with pytest.raises(TypeError, match=r"Contexts are ragged"):
            np.asarray(ragged)


class TestDerived:
    def test_shape_attributes(self, ragged):
        assert ragged.shape == (7,)
        assert len(ragged) == 7
        assert ragged.n_tokens == 17
        assert ragged.n_features == 2
        assert ragged.sizes.tolist() == [2, 1, 4, 3, 1, 2, 4]
        assert repr(ragged) == "Contexts(n_tasks=7, n_tokens=17, n_features=2)"

    def test_select_feature(self, ragged):
        for feature in (0, 1):
            one = ragged.select_feature(feature)
            assert one.n_features == 1
            np.testing.assert_array_equal(one.values[:, 0], ragged.values[:, feature])
            assert np.shares_memory(one.values, ragged.values)
            assert one.task_ids.tolist() == list("abcdefg")
            assert one.weights is not None
        assert one.select_feature(0) is one

    @pytest.mark.parametrize("feature", [2, -1])
    def test_no_such_feature(self, ragged, feature):
        with pytest.raises(IndexError, match=rf"feature {feature} of 2"):
            ragged.select_feature(feature)
        with pytest.raises(IndexError, match="of 1"):
            two_tasks().select_feature(feature)

    def test_select_feature_keeps_its_name(self):
        frame = pd.DataFrame({"t": [1], "x": [2.0], "z": [3.0], "l": [True]})
        contexts = Contexts.from_frame(frame, task="t", feature=["x", "z"], label="l")
        assert contexts.select_feature(1).feature_names == ("z",)

    def test_with_values(self, ragged, assert_same_contexts):
        other = ragged.with_values(ragged.values * 2)
        np.testing.assert_array_equal(other.values, 2 * ragged.values)
        np.testing.assert_array_equal(other.labels, ragged.labels)
        assert_same_contexts(other.with_values(ragged.values), ragged)
        flat = ragged.with_values(np.arange(17))
        assert flat.values.shape == (17, 1)
        assert flat.values.dtype == np.float64

    def test_with_values_keeps_names_of_the_same_features(self):
        frame = pd.DataFrame({"t": [1], "x": [2.0], "l": [True]})
        contexts = Contexts.from_frame(frame, task="t", feature="x", label="l")
        assert contexts.with_values([5.0]).feature_names == ("x",)
        assert contexts.with_values([[5.0, 6.0]]).feature_names is None

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (np.zeros(16), r"16 rows of values for 17 tokens"),
            (np.full(17, NAN), r"task 0 \('a'\), token 0, has the value nan"),
            (np.full(17, np.inf), r"task 0 \('a'\), token 0, has the value inf"),
        ],
    )
    def test_with_values_refuses(self, ragged, values, message):
        with pytest.raises(ValueError, match=message):
            ragged.with_values(values)

    def test_align(self, ragged):
        thresholds = {name: i / 10 for i, name in enumerate("gfedcbaxyz")}
        aligned = ragged.align(thresholds)
        assert aligned.tolist() == [0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
        assert aligned.dtype == np.float64
        assert ragged[[2, 0]].align(thresholds).tolist() == [0.4, 0.6]

    def test_align_by_tuples_and_series(self):
        contexts = two_tasks(task_ids=[("s", 1), ("s", 2)])
        assert contexts.align({("s", 2): 2, ("s", 1): 1}).tolist() == [1.0, 2.0]
        series = pd.Series([2.0, 1.0], index=["b", "a"])
        assert two_tasks(task_ids=["a", "b"]).align(series).tolist() == [1.0, 2.0]

    def test_align_needs_every_task(self, ragged):
        with pytest.raises(ValueError, match=r"task 1 \('b'\) has no threshold"):
            ragged.align({"a": 1.0})

    @pytest.mark.parametrize(
        "duplicate",
        [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))],
        ids=["copy", "deepcopy", "pickle"],
    )
    def test_copies(self, ragged, duplicate, assert_same_contexts):
        for contexts in (ragged, ragged[2:4], two_tasks()):
            same = duplicate(contexts)
            assert_same_contexts(same, contexts)
            assert same.classes == contexts.classes
            assert not same.values.flags.writeable
            assert not same.labels.flags.writeable

    def test_a_pickled_slice_does_not_carry_the_whole(self):
        contexts = Contexts([(np.arange(20_000), np.arange(20_000) < 5), (X1, Y1)])
        assert len(pickle.dumps(contexts[1])) < 5_000


class TestAlign:
    contexts = Contexts([([0, 1], [1, 0])] * 2, task_ids=["ann", "bob"])

    def test_a_task_without_threshold_is_named_beside_what_there_is(self):
        for known in ({"cid": 1.0}, {"ann": np.nan, "cid": 1.0}):
            match = r"task 0 \('ann'\) has no threshold.*the first is '(ann|cid)'"
            with pytest.raises(ValueError, match=match):
                self.contexts.align(known)

    def test_two_thresholds_are_one_too_many(self):
        known = pd.Series([1.0, 2.0, 3.0], ["ann", "bob", "bob"])
        with pytest.raises(ValueError, match=r"'bob'\) has 2 thresholds"):
            self.contexts.align(known)

    def test_a_frame_is_no_mapping(self):
        with pytest.raises(TypeError, match="set_index"):
            self.contexts.align(pd.DataFrame({"threshold": [1.0, 2.0]}))
