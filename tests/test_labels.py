"""Labels: any two values in, booleans out, and never a guess."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_attnstump import Contexts
from sklearn_attnstump.labels import canonical, encode_labels, is_missing, same_sense

EXPECTED = np.array([True, False, False, True])


def name(token):
    return f"token {token}"


def encode(raw, dtype=None, **kwargs):
    return encode_labels(np.asarray(raw, dtype=dtype), name, **kwargs)


@pytest.mark.parametrize(
    ("raw", "dtype", "classes"),
    [
        ([True, False, False, True], bool, (False, True)),
        ([1, 0, 0, 1], np.int64, (0, 1)),
        ([1, 0, 0, 1], np.uint8, (0, 1)),
        ([1.0, 0.0, 0.0, 1.0], np.float32, (0, 1)),
        ([1, -1, -1, 1], np.int8, (-1, 1)),
        ([1.0, -1.0, -1.0, 1.0], float, (-1, 1)),
        ([1, 0, 0, 1], object, (0, 1)),
        ([1, -1, -1, 1], object, (-1, 1)),
        ([True, False, False, True], object, (0, 1)),
        ([2, 1, 1, 2], np.int64, (1, 2)),
        ([0, -1, -1, 0], np.int64, (-1, 0)),
        (["yes", "no", "no", "yes"], None, ("no", "yes")),
        (["yes", "no", "no", "yes"], object, ("no", "yes")),
        (["b", "B", "B", "b"], object, ("B", "b")),
    ],
)
def test_two_values_are_encoded(raw, dtype, classes):
    labels, found = encode(raw, dtype)
    assert labels.dtype == bool
    np.testing.assert_array_equal(labels, EXPECTED)
    assert found == classes


def test_booleans_are_not_copied():
    raw = np.array([True, False])
    assert encode(raw)[0] is raw


@pytest.mark.parametrize(
    ("raw", "dtype", "positive", "classes"),
    [
        (["no", "yes", "yes", "no"], object, "no", ("yes", "no")),
        ([0, 1, 1, 0], np.int64, 0, (1, 0)),
        ([-1, 1, 1, -1], float, -1, (1, -1)),
        ([False, True, True, False], bool, False, (True, False)),
        ([True, False, False, True], bool, True, (False, True)),
        ([True, False, False, True], bool, 1, (False, True)),
        ([1, 2, 2, 1], np.int64, 1, (2, 1)),
    ],
)
def test_positive_says_which_is_label_1(raw, dtype, positive, classes):
    labels, found = encode(raw, dtype, positive=positive)
    np.testing.assert_array_equal(labels, EXPECTED)
    assert found == classes


@pytest.mark.parametrize("dtype", [bool, np.int64, float, object])
def test_classes_of_an_earlier_call_hold(dtype):
    """Also where they turn 0/1 round: the second is label 1, whatever it is."""
    _, classes = encode([1, 0], dtype, positive=0)
    labels, same = encode([0, 1, 1, 0], dtype, classes=classes)
    np.testing.assert_array_equal(labels, EXPECTED)
    assert same == classes


@pytest.mark.parametrize("only", ["no", "yes"])
def test_one_label_alone_is_told_by_classes(only):
    labels, _ = encode([only] * 3, object, classes=("no", "yes"))
    assert labels.tolist() == [only == "yes"] * 3


@pytest.mark.parametrize(
    ("raw", "expected", "classes"),
    [([1, 1], True, (0, 1)), ([0, 0], False, (0, 1)), ([-1, -1], False, (-1, 1))],
)
@pytest.mark.parametrize("dtype", [np.int64, float, object])
def test_one_canonical_label_alone_is_known(raw, dtype, expected, classes):
    labels, found = encode(raw, dtype)
    assert labels.tolist() == [expected] * 2
    assert found == classes


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_one_label_alone_is_told_by_positive(positive):
    labels, classes = encode(["yes", "yes"], object, positive=positive)
    assert labels.tolist() == [positive == "yes"] * 2
    assert classes[1] == positive


def test_numbers_and_strings_are_not_the_same_value():
    with pytest.raises(ValueError, match=r"token 2 has the label '1' beside 1 and 0"):
        encode([1, 0, "1"], object)


@pytest.mark.parametrize(
    ("raw", "dtype", "kwargs", "message"),
    [
        ([0, 1, 2], int, {}, r"token 2 has the label 2 beside 0 and 1"),
        ([0, 1, -1], int, {}, r"token 2 has the label -1 beside 0 and 1"),
        (["a", "b", "c"], object, {}, r"token 2 has the label 'c' beside 'a' and 'b'"),
        ([2, 2], int, {}, r"token 0 and all others have the one label 2"),
        (["yes", "yes"], None, {}, r"the one label 'yes'"),
        ([0.5, 1.0], float, {}, r"token 0 has the label 0\.5; .*swapped"),
        ([1, 0.25], object, {}, r"token 1 has the label 0\.25; .*swapped"),
        ([1.0, np.inf], float, {}, r"token 1 has the label inf"),
        ([0.0, -np.inf], float, {}, r"token 1 has the label -inf"),
        ([1, np.inf], object, {}, r"token 1 has the label inf"),
        ([1, 0], complex, {}, r"token 0 has complex labels"),
        ([1.0, np.nan], float, {}, r"token 1 has a missing label"),
        (["a", None], object, {}, r"token 1 has a missing label"),
        (["a", "", "b"], object, {}, r"token 1 has a missing label"),
        (["a", "b", ""], None, {}, r"token 2 has a missing label"),
        ([1, pd.NA], object, {}, r"token 1 has a missing label"),
        ([pd.NaT, 1], object, {}, r"token 0 has a missing label"),
        ([1, "a"], object, {}, r"labels 1 and 'a' cannot be put in order"),
        (["a", "b"], object, {"positive": "c"}, r"positive='c' is none of the labels"),
        ([0, 1], int, {"positive": 2}, r"positive=2 is none of the labels 0 and 1"),
        (
            [0, 1],
            int,
            {"positive": 0, "classes": (0, 1)},
            r"positive=0 contradicts classes=\(0, 1\)",
        ),
        (["no", "x"], object, {"classes": ("no", "yes")}, r"token 1 has the label 'x'"),
        ([0, 1], int, {"classes": ("no", "yes")}, r"token 0 has the label 0"),
        ([False], bool, {"classes": ("no", "yes")}, r"token 0 has the label False"),
        ([2, 0], int, {"classes": (0, 1)}, r"token 0 has the label 2 beside 0 and 1"),
    ],
)
def test_refused(raw, dtype, kwargs, message):
    with pytest.raises(ValueError, match=message):
        encode(raw, dtype, **kwargs)


@pytest.mark.parametrize("value", [None, np.nan, float("nan"), pd.NA, pd.NaT, ""])
def test_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, 0.0, False, "nan", " ", -1, np.inf, ()])
def test_not_missing(value):
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ((0, 1), True),
        ((False, True), True),
        ((-1, 1), True),
        ((-1.0, 1.0), True),
        ((1, 0), False),
        ((1, -1), False),
        ((True, False), False),
        (("0", "1"), False),
        (None, False),
    ],
)
def test_canonical_pairs_have_their_order(classes, expected):
    assert canonical(classes) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("no", "yes"), ("no", "yes"), True),
        (("no", "yes"), ("yes", "no"), False),
        (("no", "yes"), (False, True), True),
        ((None, "yes"), ("no", "yes"), True),
        ((None, "no"), ("no", "yes"), False),
        ((0, 1), (1, 2), False),
        ((0, 1), (-1, 1), True),
    ],
)
def test_same_sense(one, other, expected):
    assert same_sense(one, other) == expected
    assert same_sense(other, one) == expected


@pytest.mark.parametrize(
    "labels",
    [
        [True, False],
        ["yes", "no"],
        np.array(["yes", "no"]),
        np.array(["yes", "no"], dtype=np.dtypes.StringDType()),
        pd.Series([True, False], index=[7, 7]),
        pd.Series(["yes", "no"]),
        pd.Series(["yes", "no"], dtype="category"),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, 0], dtype="Int64"),
        pd.Series([1, 0], dtype="category"),
        pl.Series([True, False]),
        pl.Series(["yes", "no"]),
        pl.Series(["yes", "no"], dtype=pl.Categorical),
        (1, -1),
    ],
    ids=lambda labels: f"{type(labels).__module__}-{getattr(labels, 'dtype', '')}",
)
def test_every_kind_of_label_column_is_read(labels):
    assert Contexts([([0.1, 0.2], labels)]).labels.tolist() == [True, False]


def test_nullable_labels_with_a_null_are_refused():
    labels = pd.Series([True, None], dtype="boolean")
    with pytest.raises(ValueError, match=r"task 0, token 1, has a missing label"):
        Contexts([([0.1, 0.2], labels)])
