"""Long data frames of three libraries: the same contexts, whatever their columns."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_attnstump import Contexts

# Rows of three tasks, interleaved; tasks appear in the order b, a, c.
ROWS = {
    "task": ["b", "a", "b", "c", "a", "b", "c"],
    "x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
    "label": [True, True, True, False, False, False, True],
    "w": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
}
ITEMS = [
    ([0.1, 0.3, 0.6], [1, 1, 0], [1.0, 3.0, 6.0]),
    ([0.2, 0.5], [1, 0], [2.0, 5.0]),
    ([0.4, 0.7], [0, 1], [4.0, 7.0]),
]
COLUMNS = {"task": "task", "feature": "x", "label": "label"}

make_frame = pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)


def expected(weights=False):
    items = ITEMS if weights else [item[:2] for item in ITEMS]
    return Contexts(items, task_ids=["b", "a", "c"])


@make_frame
class TestEveryLibrary:
    def test_rows_are_gathered_by_task(self, make, assert_same_contexts):
        contexts = Contexts.from_frame(make(ROWS), **COLUMNS)
        assert_same_contexts(contexts, expected())
        assert contexts.feature_names == ("x",)

    def test_weights(self, make, assert_same_contexts):
        contexts = Contexts.from_frame(make(ROWS), **COLUMNS, weight="w")
        assert_same_contexts(contexts, expected(weights=True))

    @pytest.mark.parametrize(
        "names",
        [
            ("label", "task", "x", "w"),
            ("", " ", "a b", "w"),
            ("columns", "shape", "values", "index"),
            ("größe", "§", "0", "1"),
        ],
    )
    def test_columns_have_any_names(self, make, names, assert_same_contexts):
        frame = make(dict(zip(names, ROWS.values(), strict=True)))
        task, feature, label, weight = names
        contexts = Contexts.from_frame(
            frame, task=task, feature=feature, label=label, weight=weight
        )
        assert_same_contexts(contexts, expected(weights=True))
        assert contexts.feature_names == (feature,)

    @pytest.mark.parametrize(
        ("spelling", "positive"),
        [
            ({True: 1, False: 0}, None),
            ({True: 1, False: -1}, None),
            ({True: 1.0, False: 0.0}, None),
            ({True: "yes", False: "no"}, None),
            ({True: "no", False: "yes"}, "no"),
            ({True: 0, False: 1}, 0),
            ({True: False, False: True}, False),
        ],
    )
    def test_labels_of_any_two_values(
        self, make, spelling, positive, assert_same_contexts
    ):
        rows = {**ROWS, "label": [spelling[label] for label in ROWS["label"]]}
        contexts = Contexts.from_frame(make(rows), **COLUMNS, positive=positive)
        assert_same_contexts(contexts, expected())

    def test_several_features(self, make):
        contexts = Contexts.from_frame(
            make(ROWS), task="task", feature=["w", "x"], label="label"
        )
        assert contexts.feature_names == ("w", "x")
        assert contexts[1].values.tolist() == [[2.0, 0.2], [5.0, 0.5]]

    def test_several_task_columns(self, make):
        frame = make(
            {"site": [1, 1, 2, 1], "name": list("aaab"), "x": range(4), "l": [0, 1] * 2}
        )
        contexts = Contexts.from_frame(
            frame, task=["site", "name"], feature="x", label="l"
        )
        assert contexts.task_ids.tolist() == [(1, "a"), (2, "a"), (1, "b")]
        assert contexts.sizes.tolist() == [2, 1, 1]
        assert contexts.align({(2, "a"): 2, (1, "b"): 3, (1, "a"): 1}).tolist() == [
            1,
            2,
            3,
        ]

    def test_one_task_column_in_a_list_names_tasks_as_itself(self, make):
        contexts = Contexts.from_frame(
            make(ROWS), task=["task"], feature=["x"], label="label"
        )
        assert contexts.task_ids.tolist() == ["b", "a", "c"]

    @pytest.mark.parametrize(
        ("column", "lacking", "shown"),
        [("task", 2, "None"), ("x", 4, "'a'"), ("label", 4, "'a'"), ("w", 6, "'c'")],
    )
    def test_a_row_that_lacks_something_is_refused(self, make, column, lacking, shown):
        rows = {name: list(values) for name, values in ROWS.items()}
        rows[column][lacking] = None
        message = rf"1 of 7 rows lack .*, first row {lacking} \(task ({shown}|nan)\)"
        with pytest.raises(ValueError, match=message):
            Contexts.from_frame(make(rows), **COLUMNS, weight="w")

    @pytest.mark.parametrize("column", ["task", "x", "label", "w"])
    def test_or_dropped(self, make, column, assert_same_contexts):
        rows = {name: list(values) for name, values in ROWS.items()}
        rows[column][5] = None
        contexts = Contexts.from_frame(
            make(rows), **COLUMNS, weight="w", missing="drop"
        )
        short = [tuple(part[:2] for part in ITEMS[0]), *ITEMS[1:]]
        assert_same_contexts(contexts, Contexts(short, task_ids=["b", "a", "c"]))

    def test_a_task_that_is_dropped_whole_is_told(self, make):
        rows = {**ROWS, "x": [0.1, None, 0.3, 0.4, None, 0.6, 0.7]}
        with pytest.warns(UserWarning, match=r"^1 tasks have .* example 'a'") as record:
            contexts = Contexts.from_frame(make(rows), **COLUMNS, missing="drop")
        assert contexts.task_ids.tolist() == ["b", "c"]
        assert record[0].filename == __file__

    def test_no_task_left(self, make):
        rows = {**ROWS, "x": [math.nan] * 7}
        message = "the frame has no rows"
        with (
            pytest.warns(UserWarning, match="^3 tasks"),
            pytest.raises(ValueError, match=message),
        ):
            Contexts.from_frame(make(rows), **COLUMNS, missing="drop")

    def test_nan_is_missing_and_infinity_is_not(self, make):
        rows = {**ROWS, "x": [0.1, 0.2, 0.3, 0.4, 0.5, math.inf, 0.7]}
        for missing in ("raise", "drop"):
            message = r"task 0 \('b'\), token 2, has the value inf"
            with pytest.raises(ValueError, match=message):
                Contexts.from_frame(make(rows), **COLUMNS, missing=missing)

    def test_third_label_names_its_task(self, make):
        rows = {**ROWS, "label": ["y", "y", "y", "n", "?", "n", "y"]}
        message = r"task 1 \('a'\), token 1, has the label '\?' beside 'y' and 'n'"
        with pytest.raises(ValueError, match=message):
            Contexts.from_frame(make(rows), **COLUMNS)

    def test_negative_weight_names_its_task(self, make):
        rows = {**ROWS, "w": [1.0, 2.0, 3.0, 4.0, -5.0, 6.0, 7.0]}
        message = r"task 1 \('a'\), token 1, has the weight -5\.0"
        with pytest.raises(ValueError, match=message):
            Contexts.from_frame(make(rows), **COLUMNS, weight="w")

    @pytest.mark.parametrize("role", ["task", "feature", "label", "weight"])
    def test_absent_column(self, make, role):
        with pytest.raises(ValueError, match=r"no column 'z'; its columns are \['task"):
            Contexts.from_frame(make(ROWS), **{**COLUMNS, role: "z"})

    def test_a_feature_is_a_number(self, make):
        rows = {**ROWS, "x": list("1234567")}
        with pytest.raises(TypeError, match=r"column 'x' holds String, not numbers"):
            Contexts.from_frame(make(rows), **COLUMNS)

    def test_no_rows(self, make):
        with pytest.raises(ValueError, match=r"the frame has no rows"):
            Contexts.from_frame(make(ROWS)[:0], **COLUMNS)

    def test_swapped_columns(self, make):
        with pytest.raises(ValueError, match=r"task 0 \('b'\), token 0, .* swapped"):
            Contexts.from_frame(make(ROWS), task="task", feature="label", label="x")

    @pytest.mark.parametrize("role", ["task", "feature"])
    def test_at_least_one_column(self, make, role):
        with pytest.raises(ValueError, match=r"name at least one task column and one"):
            Contexts.from_frame(make(ROWS), **{**COLUMNS, role: []})

    def test_missing_policy(self, make):
        with pytest.raises(ValueError, match=r"missing='skip': pass 'raise' or 'drop'"):
            Contexts.from_frame(make(ROWS), **COLUMNS, missing="skip")


class TestPandas:
    @pytest.mark.parametrize(
        "index",
        [[0] * 7, list("bacbacb"), [6, 5, 4, 3, 2, 1, 0], pd.RangeIndex(10, 17)],
    )
    def test_the_index_plays_no_part(self, index, assert_same_contexts):
        frame = pd.DataFrame(ROWS, index=index)
        contexts = Contexts.from_frame(frame, **COLUMNS)
        assert_same_contexts(contexts, expected())

    def test_rows_in_another_order(self, assert_same_contexts):
        frame = pd.DataFrame(ROWS).iloc[[3, 0, 2, 1, 6, 4, 5]]
        contexts = Contexts.from_frame(frame, **COLUMNS)
        assert contexts.task_ids.tolist() == ["c", "b", "a"]
        assert_same_contexts(contexts[[1, 2, 0]], expected())

    def test_integer_column_names(self, assert_same_contexts):
        frame = pd.DataFrame(ROWS).set_axis([3, 2, 1, 0], axis=1)
        contexts = Contexts.from_frame(frame, task=3, feature=2, label=1, weight=0)
        assert_same_contexts(contexts, expected(weights=True))
        assert contexts.feature_names is None

    @pytest.mark.parametrize(
        ("dtype", "labels"),
        [
            ("boolean", ROWS["label"]),
            ("Int8", [int(label) for label in ROWS["label"]]),
            ("category", ROWS["label"]),
            ("category", ["p" if label else "n" for label in ROWS["label"]]),
            ("string", ["p" if label else "n" for label in ROWS["label"]]),
            ("object", ROWS["label"]),
        ],
    )
    def test_kinds_of_labels(self, dtype, labels, assert_same_contexts):
        frame = pd.DataFrame(ROWS).assign(label=pd.Series(labels, dtype=dtype))
        assert_same_contexts(Contexts.from_frame(frame, **COLUMNS), expected())

    @pytest.mark.parametrize("dtype", ["boolean", "Int8", "category", "string"])
    def test_a_null_among_them_is_missing(self, dtype):
        labels = pd.Series([1, 1, 1, 0, 0, None, 1], dtype="Int8")
        if dtype in ("category", "string"):
            labels = labels.astype("string")
        frame = pd.DataFrame(ROWS).assign(label=labels.astype(dtype))
        with pytest.raises(ValueError, match=r"1 of 7 rows lack .* first row 5 \(task"):
            Contexts.from_frame(frame, **COLUMNS)
        kept = Contexts.from_frame(frame, **COLUMNS, missing="drop")
        assert kept.labels.tolist() == [True, True, True, False, False, True]

    @pytest.mark.parametrize("dtype", ["Float64", "float32", "object"])
    def test_kinds_of_numbers(self, dtype, assert_same_contexts):
        x = [1.0, 2.0, 3.0, 4.0, 5.0, None, 7.0]
        frame = pd.DataFrame(ROWS).assign(x=pd.Series(x, dtype=dtype))
        kept = Contexts.from_frame(frame, **COLUMNS, missing="drop")
        assert kept.values.ravel().tolist() == [1, 3, 2, 5, 4, 7]
        assert kept.values.dtype == np.float64

    def test_objects_that_are_no_numbers(self):
        frame = pd.DataFrame({**ROWS, "x": [1.0, object(), *range(5)]})
        with pytest.raises(TypeError, match=r"column 'x' holds something that is no"):
            Contexts.from_frame(frame, **COLUMNS)

    def test_ids_of_mixed_types_are_kept_apart(self):
        tasks = pd.Series([1, "1", 2.5, ("a", 1), 1, "1", 2.5], dtype=object)
        contexts = Contexts.from_frame(pd.DataFrame(ROWS).assign(task=tasks), **COLUMNS)
        assert contexts.task_ids.tolist() == [1, "1", 2.5, ("a", 1)]
        assert [type(name) for name in contexts.task_ids] == [int, str, float, tuple]

    @pytest.mark.parametrize("dtype", ["category", "Int64", "datetime64[s]"])
    def test_kinds_of_ids(self, dtype):
        tasks = pd.Series([2, 1, 2, 3, 1, 2, 3]).astype(dtype)
        contexts = Contexts.from_frame(pd.DataFrame(ROWS).assign(task=tasks), **COLUMNS)
        assert contexts.task_ids.tolist() == tasks.drop_duplicates().tolist()
        assert contexts.sizes.tolist() == [3, 2, 2]

    def test_part_of_a_name_is_no_vanished_task(self):
        frame = pd.DataFrame(ROWS).assign(site=["u", "u", "u", "v", "u", None, "v"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            contexts = Contexts.from_frame(
                frame, **{**COLUMNS, "task": ["site", "task"]}, missing="drop"
            )
        assert contexts.task_ids.tolist() == [("u", "b"), ("u", "a"), ("v", "c")]

    def test_the_frame_is_left_as_it_was(self):
        frame = pd.DataFrame(ROWS, index=list("abcdefg"))
        before = frame.copy(deep=True)
        contexts = Contexts.from_frame(frame, **COLUMNS, weight="w")
        pd.testing.assert_frame_equal(frame, before)
        assert not np.shares_memory(contexts.values, frame["x"].to_numpy())


class TestPolars:
    def test_null_and_nan_are_both_missing(self):
        frame = pl.DataFrame({**ROWS, "x": [0.1, None, 0.3, math.nan, 0.5, 0.6, 0.7]})
        with pytest.raises(ValueError, match=r"2 of 7 rows lack .* first row 1"):
            Contexts.from_frame(frame, **COLUMNS)
        kept = Contexts.from_frame(frame, **COLUMNS, missing="drop")
        assert kept.values.ravel().tolist() == [0.1, 0.3, 0.6, 0.5, 0.7]

    @pytest.mark.parametrize(
        "dtype", [pl.Categorical, pl.Enum(["n", "p"]), pl.String, pl.Boolean]
    )
    def test_kinds_of_labels(self, dtype, assert_same_contexts):
        labels = ROWS["label"]
        if dtype != pl.Boolean:
            labels = ["p" if label else "n" for label in labels]
        frame = pl.DataFrame(ROWS).with_columns(pl.Series("label", labels, dtype=dtype))
        assert_same_contexts(Contexts.from_frame(frame, **COLUMNS), expected())

    def test_decimals_are_numbers(self):
        frame = pl.DataFrame(ROWS).with_columns(pl.col("x").cast(pl.Decimal(10, 2)))
        contexts = Contexts.from_frame(frame, **COLUMNS)
        assert contexts.values.ravel().tolist() == expected().values.ravel().tolist()

    def test_a_lazy_frame_is_to_be_collected(self):
        with pytest.raises(TypeError, match=r"LazyFrame is not an eager data frame"):
            Contexts.from_frame(pl.LazyFrame(ROWS), **COLUMNS)


@pytest.mark.parametrize("frame", [ROWS, [(0.1, 1)], np.zeros((3, 3)), None])
def test_what_is_no_frame(frame):
    kind = type(frame).__name__
    with pytest.raises(TypeError, match=rf"{kind} is not an eager data frame"):
        Contexts.from_frame(frame, **COLUMNS)
