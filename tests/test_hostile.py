"""Hostile input, as a table: what is done, and the right answer or clear error.

Each row runs one thing that a user may do by mistake, or that other tools for this job
have got wrong in public; the numbers of such faults stand beside their rows, and
`tests/README.md` says which of them cannot apply here. What is refused must be refused
with a message that fits; what is answered must be the right answer, without a warning
unless the row has one.
"""

import io
import json
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump, baselines
from sklearn_attnstump.baselines import (
    BayesStump,
    DecisionStump,
    ERMStump,
    MidpointStump,
)
from sklearn_attnstump.classifier import AttentionStumpClassifier
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.head import as_pair
from sklearn_attnstump.metrics import label_error
from sklearn_attnstump.theory import certified_scale

NAN, INF = np.nan, np.inf
MAX, TINY, SUB = 1.7976931348623157e308, 2.2250738585072014e-308, 5e-324
X, Y = [0.25, 0.5, 0.75], [1, 1, 0]
HEADS = ("single", "reflected", "gibbs")
BASELINES = [getattr(baselines, name) for name in baselines.__all__]


# --- Outcomes -------------------------------------------------------------------------


class Outcome(NamedTuple):
    """How a row has to end: `error` with a message, or a value, after a warning."""

    error: type[Exception] | None = None
    match: str = ""
    warning: type[Warning] | None = None
    check: Callable[[Any], Any] | None = None


def refused(match, error=ValueError):
    return Outcome(error=error, match=match)


def mistyped(match):
    return refused(match, TypeError)


def gives(expected, rtol=0.0):
    """These numbers; exactly, unless a relative tolerance says otherwise."""

    def check(found):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)
        return True

    return Outcome(check=check)


def true(check=bool):
    return Outcome(check=check)


def warned(match, check=lambda found: True, warning=UserWarning):
    return Outcome(match=match, warning=warning, check=check)


# --- Material -------------------------------------------------------------------------


def midpoint(form, **settings):
    """The middle of the label gap, on the range from 0 to 1 or as set."""
    settings = {"feature_range": (0, 1), **settings}
    return MidpointStump(**settings).fit(form).predict(form)


@cache
def frozen(head="reflected", lo=0.0, hi=1.0, **settings):
    """A sharp stump that needs no corpus."""
    coef = (3.0, 1.0) if head == "gibbs" else (900.0, 900.0)
    return PretrainedAttentionStump.from_coef(
        coef, head, feature_range=(lo, hi), **settings
    )


@cache
def corpus(n_tasks=20, n_examples=12, noise=0.0):
    return make_stump_tasks(
        n_tasks,
        n_examples,
        threshold_range=(0.3, 0.7),
        label_noise=noise,
        random_state=4,
    )


short = partial(
    PretrainedAttentionStump, solver="gd", step_size=30.0, max_iter=3, tol=0
)


def fit(estimator=None, contexts=None, y=None, weights=None):
    known, thresholds = corpus()
    estimator = short() if estimator is None else estimator
    contexts = known if contexts is None else contexts
    return estimator.fit(contexts, thresholds if y is None else y, weights)


def one(x, labels, weights=None):
    """A list of one context."""
    return [(x, labels) if weights is None else (x, labels, weights)]


def frame(**columns):
    known = {"task": ["a", "a", "a"], "x": X, "label": Y}
    return pd.DataFrame({**known, **columns})


def read(table, **names):
    names = {"task": "task", "feature": "x", "label": "label", **names}
    return Contexts.from_frame(table, **names)


def on_disk(array):
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=array.dtype, shape=array.shape)
    mapped[:] = array
    return mapped


def same_as_plain(form):
    """A form is read as the plain one."""
    return np.array_equal(midpoint(form), midpoint(one(X, Y)))


def message(form):
    with pytest.raises(ValueError) as refusal:
        Contexts(form)
    return str(refusal.value)


def all_baselines(form, **settings):
    settings = {"feature_range": (0, 1), **settings}
    return [kind(**settings).fit(form).predict(form)[0] for kind in BASELINES]


def all_heads(form, **settings):
    anchors = {"single": True, "reflected": True, "gibbs": False}
    return [
        frozen(head, anchors=anchors[head], **settings).predict(form)[0]
        for head in HEADS
    ]


def within(lo, hi):
    return true(lambda found: all(lo <= value <= hi for value in found))


# --- Rows: what, how, outcome, public faults ------------------------------------------

# fmt: off
VALUES = [
    ("NaN among values", lambda: midpoint(one([NAN, 1], [1, 0])),
     refused("task 0, token 0, has the value nan"), "B109"),
    ("+inf among values", lambda: midpoint(one([0.1, INF], [1, 0])),
     refused("task 0, token 1, has the value inf"), "B017 B039"),
    ("-inf among values", lambda: midpoint(one([-INF, 1], [1, 0])),
     refused("token 0, has the value -inf"), "B017"),
    ("NaN only at predict", lambda: frozen().predict(one([0.1, NAN], [1, 0])),
     refused("has the value nan"), "B147"),
    ("all values NaN", lambda: midpoint(one([NAN, NAN], [1, 0])),
     refused("has the value nan"), "B159"),
    ("None among values", lambda: midpoint(one([0.1, None], [1, 0])),
     refused("has the value nan"), "B167"),
    ("pandas.NA among values", lambda: midpoint(one([0.1, pd.NA], [1, 0])),
     refused("task 0, token 1, has the value nan.*drop the token"), "B167"),
    ("missing values are all alike", lambda: {message(one(form([0.1, gone]), [1, 0]))
     for gone in (None, NAN, pd.NA, pd.NaT) for form in (list, tuple, pd.Series,
     lambda pair: np.array(pair, object))} - {message(one([0.1, NAN], [1, 0]))},
     true(lambda f: not f), "B167"),
    ("a nullable column with a null", lambda: midpoint([([0.5], [1]), (pd.array([0.1,
     None], "Float64"), [1, 0])]), refused("task 1, token 1, has the value nan"),
     "B167"),
    ("pandas.NA in rows", lambda: midpoint([[[0.1, 1], [pd.NA, 0]]]),
     refused("task 0, token 1, has the value nan"), "B167"),
    ("rows of pandas.NA alone are padding", lambda: midpoint(np.array([[[0.25, 1],
     [pd.NA] * 2, [0.75, 0]]], object)), gives([0.5]), "B167"),
    ("NaN in a feature that is not used", lambda: frozen().predict([([[0.1, NAN], [0.9,
     1]], [1, 0])]), refused("has the value nan"), ""),
    ("NaN label in a 3-D array", lambda: Contexts(np.array([[[0.1, NAN], [0.9, 0]]])),
     refused("has a missing label"), ""),
    ("a row of NaN is padding", lambda: midpoint(np.array([[[0.25, 1], [NAN, NAN],
     [0.75, 0]]])), gives([0.5]), ""),
    ("no contexts", lambda: midpoint([]), refused("there are no contexts"), ""),
    ("no contexts in 3-D", lambda: midpoint(np.zeros((0, 4, 2))),
     refused("there are no contexts"), ""),
    ("no contexts at predict", lambda: frozen().predict([]),
     refused("there are no contexts"), ""),
    ("an empty context", lambda: midpoint([(X, Y), ([], [])]),
     refused("task 1 is empty"), ""),
    ("an empty slice", lambda: frozen().predict(Contexts(one(X, Y))[:0]),
     refused("there are no contexts"), ""),
    ("one token in each baseline", lambda: all_baselines(one([0.5], [1])), within(0.5,
     1), "B149"),
    ("one token in each head", lambda: all_heads(one([0.5], [1])), within(0.5, 1),
     "B149"),
    ("one label in each baseline", lambda: all_baselines(one([0.25, 0.5], [0, 0])),
     within(0, 0.25), "B043 B113 B121"),
    ("one label in each anchored head", lambda: all_heads(one([0.25, 0.5], [1, 1])),
     within(0.5, 1), "B113 B121"),
    ("one label without anchors", lambda: frozen().predict(one([0.25, 0.5], [0, 0])),
     warned("1 of 1 contexts have one label only.*anchors=True"), "B043 B113"),
    ("all values equal, each baseline", lambda: all_baselines(one([0.5, 0.5, 0.5], [1,
     0, 1])), within(0, 1), "B051"),
    ("all values equal, Gibbs", lambda: frozen("gibbs").predict(one([0.5] * 2, [1,
     0])), within(0, 1), "B051"),
    ("all values equal, context scaling", lambda:
     PretrainedAttentionStump.from_coef((9, 9), "gibbs",
     scaling="context").predict(one([0.5, 0.5], [1, 1])), gives([0.5]), "B051"),
    ("values one ulp apart", lambda: midpoint(one([0.5, np.nextafter(0.5, 1)], Y[1:])),
     gives([0.5]), "B071"),
    ("subnormal values", lambda: midpoint(one([0, 4.1e-320, 4.4e-314, 1], [1, 1, 0,
     0])), gives([(4.1e-320 + 4.4e-314) / 2]), "B079"),
    ("subnormal range, each baseline but the tree", lambda: [k().fit(one([SUB, 3 *
     SUB], [1, 0])).predict(one([SUB, 3 * SUB], [1, 0])) for k in BASELINES if k is not
     DecisionStump], true(lambda f: all(SUB <= v[0] < 3 * SUB for v in f)), "B079"),
    ("subnormal range, each head", lambda: all_heads(one([SUB, 4 * SUB], [1, 0]),
     lo=0.0, hi=8 * SUB), within(0, 8 * SUB), "B079"),
    ("values of 1e300", lambda: midpoint(one([-1e300, 1e300], [1, 0]),
     feature_range=None), gives([0]), ""),
    ("a range that overflows, each head", lambda: all_heads(one([-MAX, 0, MAX], [1, 1,
     0]), lo=-MAX, hi=MAX), within(-MAX, MAX), "B127"),
    ("a range that overflows, ranks", lambda: PretrainedAttentionStump.from_coef((9,
     9), "gibbs", scaling="rank").predict(one([-MAX, 0, MAX], [1, 1, 0])), within(0,
     MAX), "B127"),
    ("a range that overflows, tree", lambda: (DecisionStump() .fit(one([-MAX, MAX], [1,
     0])) .predict(one([-MAX, MAX], [1, 0]))), refused("beyond 3.403e.38.*ERMStump"),
     ""),
    ("score on all that fit accepts", lambda: (short() .fit([([-1e200, 1e200], [1, 0])]
     * 2, [0, 1e200]) .predict([([-1e200, 1e200], [1, 0])])), true(np.isfinite),
     "B081"),
    ("a million tokens", lambda: frozen(anchors=True).predict(one(np.arange(2**20) /
     2**20, np.arange(2**20) < 2**19)), gives([0.5], rtol=1e-5), "B073"),
]
# fmt: on

# fmt: off
ARRAYS = [
    ("integers", lambda: same_as_plain(one(np.array([0, 1]), [1, 0])), true(lambda f:
     not f), ""),
    ("integer values", lambda: midpoint(one(np.array([0, 1], np.int8), [1, 0])),
     gives([0.5]), ""),
    ("unsigned values", lambda: midpoint(one(np.array([0, 1], np.uint64), [1, 0])),
     gives([0.5]), ""),
    ("boolean values", lambda: midpoint(one([False, True], [1, 0])), gives([0.5]), ""),
    ("float16", lambda: same_as_plain(one(np.array(X, np.float16), Y)), true(), ""),
    ("float32", lambda: same_as_plain(one(np.array(X, np.float32), Y)), true(), "B061"),
    ("long double", lambda: same_as_plain(one(np.array(X, np.longdouble), Y)), true(),
     ""),
    ("big-endian", lambda: same_as_plain(one(np.array(X, ">f8"), np.array(Y, ">i4"))),
     true(), ""),
    ("Fortran-ordered", lambda: same_as_plain(np.asfortranarray(np.column_stack([X,
     Y])[None])), true(), ""),
    ("reversed views", lambda: same_as_plain(one(np.array(X)[::-1], Y[::-1])), true(),
     ""),
    ("read-only", lambda: same_as_plain(one(*(np.frombuffer(np.array(a).tobytes(),
     np.float64) for a in (X, [1.0, 1, 0])))), true(), ""),
    ("memory-mapped", lambda: midpoint(Contexts.from_arrays(on_disk(np.array(X)),
     on_disk(np.array(Y)), [0, 3])), gives([0.625]), ""),
    ("objects", lambda: same_as_plain(one(np.array(X, object), np.array(Y, object))),
     true(), ""),
    ("an object array of contexts", lambda: midpoint(np.array([np.column_stack([X, Y]),
     np.ones((1, 2))], object)), gives([0.625, 1]), ""),
    ("lists, tuples and arrays alike", lambda: [same_as_plain(f) for f in ([(X, Y)],
     [(tuple(X), tuple(Y))], ((X, Y),), one(np.array(X), np.array(Y)), [[[x, y] for x,
     y in zip(X, Y, strict=True)]])], true(all), "B027"),
    ("one feature as a column", lambda: same_as_plain(one(np.c_[X], Y)), true(),
     "B143"),
    ("pandas columns", lambda: same_as_plain(one(pd.Series(X, [3, 1, 2]), pd.Series(Y,
     list("zyx")))), true(), ""),
    ("polars columns", lambda: same_as_plain(one(pl.Series(X), pl.Series(Y))), true(),
     ""),
    ("pyarrow columns", lambda: same_as_plain(one(pa.array(X), pa.array(Y))), true(),
     ""),
    ("masked values", lambda: midpoint(one(np.ma.masked_equal(X, 0.5), Y)),
     mistyped("masked"), ""),
    ("masked labels", lambda: midpoint(one(X, np.ma.masked_equal(Y, 0))),
     mistyped("masked"), ""),
    ("masked 3-D", lambda: midpoint(np.ma.masked_equal(np.ones((1, 2, 2)), 1)),
     mistyped("lose its mask"), ""),
    ("masked thresholds", lambda: fit(y=np.ma.masked_less(corpus()[1], 0.5)),
     mistyped("masked thresholds"), ""),
    ("sparse", lambda: midpoint(sparse.csr_array(np.eye(2))),
     mistyped("sparse input holds no contexts"), ""),
    ("sparse values", lambda: midpoint(one(sparse.coo_array(np.eye(2)), [1, 0])),
     mistyped("sparse"), ""),
    ("a 2-D array", lambda: midpoint(np.zeros((5, 2))),
     refused(r"array\[np.newaxis\]"), ""),
    ("strings as values", lambda: midpoint(one(["0.1", "0.9"], [1, 0])),
     mistyped("task 0: numbers are needed, found the string '0.1'"), ""),
    ("a string in place of values", lambda: midpoint(one("0.1 0.9", [1, 0])),
     mistyped("found the string '0.1 0.9'. Convert"), ""),
    ("a string in place of contexts", lambda: midpoint("contexts.csv"),
     mistyped("contexts cannot be read from str"), ""),
    ("values of ragged rows", lambda: midpoint(one([[0.1], [0.2, 0.3]], [1, 0])),
     mistyped("found rows of different length"), ""),
    ("complex values", lambda: midpoint(one([0.1 + 0j, 1], [1, 0])),
     mistyped("numbers are needed"), ""),
    ("dates as values", lambda: midpoint(one(np.array(["2020", "2021"], "M8[D]"), [1,
     0])), mistyped("numbers are needed"), ""),
    ("a dict", lambda: midpoint({"a": (X, Y)}), mistyped("dict"), "B095"),
    ("a generator", lambda: midpoint(pair for pair in one(X, Y)),
     mistyped("generator"), ""),
    ("a frame at fit", lambda: MidpointStump().fit(frame()), mistyped("from_frame"),
     "B145"),
    ("a frame at predict", lambda: frozen().predict(frame()), mistyped("from_frame"),
     "B145"),
    ("contexts of mixed widths", lambda: midpoint([(X, Y), (np.ones((2, 2)), [1, 0])]),
     refused("task 1 has 2 features and task 0 has 1"), ""),
]
# fmt: on

# fmt: off
LABELS = [
    *[(f"labels of {kind}", partial(lambda dtype: same_as_plain(one(X,
     np.array(Y).astype(dtype))), kind), true(), "") for kind in ("bool", "uint8",
     "int16", "float32", "float64", "object", ">f4")],
    ("labels of strings", lambda: midpoint(one(X, ["yes", "yes", "no"])),
     gives([0.625]), "B055 B069"),
    ("string labels, the positive sorts first", lambda: midpoint(Contexts(one(X,
     ["dead", "dead", "live"]), positive="dead")), gives([0.625]), "B053"),
    ("string labels, the larger is positive", lambda: Contexts(one(X, ["b", "b",
     "a"])).classes, true(lambda f: f == ("a", "b")), "B069"),
    ("numbers as strings", lambda: midpoint(one(X, ["1", "1", "0"])), gives([0.625]),
     "B135"),
    ("categorical labels", lambda: midpoint(one(X, pd.Categorical(["b", "b", "a"]))),
     gives([0.625]), ""),
    ("nullable labels", lambda: midpoint(one(X, pd.array([1, 1, 0], "Int8"))),
     gives([0.625]), ""),
    ("nullable boolean labels", lambda: midpoint(one(X, pd.array([True, True, False],
     "boolean"))), gives([0.625]), ""),
    ("nullable labels with a null", lambda: midpoint(one(X, pd.array([1, None, 0],
     "Int8"))), refused("missing label"), "B167"),
    ("pyarrow labels", lambda: midpoint(one(X, pa.array([True, True, False]))),
     gives([0.625]), ""),
    ("pyarrow dictionary labels", lambda: midpoint(one(X, pa.array(["b", "b",
     "a"]).dictionary_encode())), gives([0.625]), ""),
    ("labels of -1 and 1", lambda: midpoint(one(X, [1, 1, -1])), gives([0.625]), ""),
    ("labels of 1 and 2", lambda: midpoint(one(X, [2, 2, 1])), gives([0.625]), ""),
    ("labels of 0 and 2", lambda: midpoint(one(X, [2, 2, 0])), gives([0.625]), ""),
    ("three labels", lambda: midpoint(one(X, [0, 1, 2])),
     refused("label 2 beside 0 and 1"), "B129"),
    ("three labels over contexts", lambda: midpoint([(X, Y), (X, [0, 1, 3])]),
     refused("task 1, token 2, has the label 3"), "B129"),
    ("-1, 0 and 1", lambda: midpoint(one(X, [-1, 0, 1])), refused("label 1 beside"),
     "B129"),
    ("labels that are probabilities", lambda: midpoint(one(X, [0.2, 0.9, 1])),
     refused("swapped"), ""),
    ("values and labels swapped", lambda: midpoint(one(Y, X)), refused("swapped"),
     "B043"),
    ("True beside 'True'", lambda: midpoint(one(X, [True, "True", False])),
     refused("beside True and 'True'"), "B135"),
    ("1 beside '1'", lambda: midpoint(one(X, [1, "1", 0])), refused("beside"), "B135"),
    ("missing labels are all alike", lambda: [message(one([1, 2, 3], [1, gone, 0])) for
     gone in (None, NAN, pd.NA, pd.NaT, "")], true(lambda f:
     all("token 1, has a missing label" in m for m in f)), "B167"),
    ("one unknown label alone", lambda: midpoint(one(X, ["yes"] * 3)),
     refused("positive=..."), "B043"),
    ("one label alone, told which", lambda: midpoint(Contexts(one(X, ["yes"] * 3),
     positive="yes")), gives([0.875]), "B043"),
    ("other labels at predict", lambda: frozen().predict(one(X, ["b", "b", "a"])),
     refused("beside 0 and 1"), ""),
    ("turned labels at predict", lambda: (MidpointStump() .fit(Contexts(one(X, ["b",
     "b", "a"]))) .predict(Contexts(one(X, ["b", "b", "a"]), positive="a"))),
     refused("as at fit"), "B053"),
    ("labels of another length", lambda: midpoint(one(X, [1, 0])),
     refused("values of shape .* labels of shape"), ""),
    ("labels in a column", lambda: midpoint(one(X, np.c_[Y])),
     refused(r"labels of shape \(3, 1\)"), ""),
    ("counts of a summary agree", lambda: frozen().summary(one(X, Y),
     backend="pandas").iloc[0], true(lambda r: (r["n"], r["n_positive"]) == (3, 2)),
     "B137"),
]
# fmt: on

# fmt: off
FRAMES = [
    ("a duplicate index", lambda: midpoint(read(frame().set_axis([0, 0, 0]))),
     gives([0.625]), "B133"),
    ("an index out of order", lambda: midpoint(read(frame().set_axis([2, 0, 1]))),
     gives([0.625]), "B133"),
    ("an index like missing rows", lambda: midpoint(read(frame(x=[NAN, 0.5,
     0.75]).set_axis([5, 0, 1]), missing="drop")), gives([0.625]), "B133"),
    ("interleaved tasks", lambda: midpoint(read(pd.DataFrame({"task": ["a", "b", "a",
     "b"], "x": [0.25, 0.5, 0.75, 1.0], "label": [1, 1, 0, 0]}))), gives([0.5, 0.75]),
     ""),
    ("column names of the user's own", lambda: midpoint(read(frame().set_axis(["who",
     "mg", "suicide"], axis=1), task="who", feature="mg", label="suicide")),
     gives([0.625]), "B013"),
    ("a task of two columns is one of tuples", lambda: read(frame(site=[1, 2, 1]),
     task=["task", "site"]).task_ids.tolist(), true(lambda f: f == [("a", 1), ("a",
     2)]), "B093"),
    ("two columns group as one", lambda: [read(t, task=k).offsets.tolist() for t, k in
     ((frame(site=[1, 2, 1]), ["task", "site"]), (frame(task=["a1", "a2", "a1"]),
     "task"))], true(lambda f: f[0] == f[1]), "B093"),
    ("task ids of mixed type", lambda: read(frame(task=pd.Series([1, "1", 1.5],
     dtype=object))).task_ids.tolist(), true(lambda f: f == [1, "1", 1.5]), ""),
    ("a missing task id", lambda: read(frame(task=["a", None, "a"])),
     refused("lack a task"), "B167"),
    ("an empty string is missing", lambda: read(frame(task=["a", "", "a"])),
     refused("lack a task"), "B167"),
    ("a missing value", lambda: read(frame(x=[0.1, NAN, 0.3])),
     refused("1 of 3 rows lack"), "B109"),
    ("a task that vanishes", lambda: read(frame(task=["a", "a", "b"], x=[0.1, 0.2,
     NAN]), missing="drop"), warned("1 tasks have no complete row", lambda f: len(f) ==
     1), ""),
    ("infinity is not missing", lambda: read(frame(x=[0.1, INF, 0.3]), missing="drop"),
     refused("has the value inf"), "B017"),
    ("an absent column", lambda: read(frame(), feature="dose"),
     refused("no column 'dose'"), ""),
    ("a column of strings", lambda: read(frame(x=["1", "2", "3"])),
     mistyped("not numbers"), ""),
    ("no rows", lambda: read(frame().iloc[:0]), refused("no rows"), ""),
    ("a lazy frame", lambda: read(pl.DataFrame(frame().to_dict("list")).lazy()),
     mistyped("collect a lazy frame"), ""),
    ("a dict in place of a frame", lambda: read(frame().to_dict("list")),
     mistyped("dict is not an eager data frame"), "B095"),
    ("polars as pandas", lambda: midpoint(read(pl.DataFrame(frame().to_dict("list")))),
     gives([0.625]), ""),
    ("pyarrow as pandas", lambda: midpoint(read(pa.table(frame().to_dict("list")))),
     gives([0.625]), ""),
    ("nullable columns", lambda: midpoint(read(frame().convert_dtypes())),
     gives([0.625]), ""),
    ("columns of pyarrow in pandas", lambda:
     midpoint(read(frame().convert_dtypes(dtype_backend="pyarrow"))), gives([0.625]),
     ""),
    ("a wrong word for missing", lambda: read(frame(), missing="ignore"),
     refused("missing='ignore'"), "B009"),
    ("ids as a Series", lambda: Contexts(one(X, Y), task_ids=pd.Series(["ann"],
     [7])).task_ids.tolist(), true(lambda f: f == ["ann"]), "B095"),
    ("ids of the wrong number", lambda: Contexts(one(X, Y), task_ids=["ann", "bob"]),
     refused("task_ids have shape"), ""),
    ("offsets that do not fit", lambda: Contexts.from_arrays(X, Y, [0, 2]),
     refused("must run from 0"), ""),
    ("offsets of an empty task", lambda: Contexts.from_arrays(X, Y, [0, 3, 3]),
     refused("task 1 is empty"), ""),
    ("offsets of floats", lambda: Contexts.from_arrays(X, Y, [0.0, 3.0]),
     refused("integers"), ""),
    ("a position past the end", lambda: Contexts(one(X, Y))[1],
     refused("there is none", IndexError), ""),
    ("columns in another order at predict", lambda: (short(feature="x")
     .fit(read(frame(z=1.0), feature=["x", "z"]), [0.6]) .predict(read(frame(z=1.0),
     feature=["z", "x"]))), refused("same features in the same order"), ""),
    ("summaries keep their kinds with n_jobs", lambda:
     [clone_with_jobs(n).summary(one(X, Y), backend="pandas") for n in (1, 2)],
     true(lambda f: f[0].equals(f[1]) and (f[0].dtypes == f[1].dtypes).all()), "B007"),
]
# fmt: on

# fmt: off
WEIGHTS = [
    ("a negative weight", lambda: midpoint(one(X, Y, [1, -1, 1])),
     refused("task 0, token 1, has the weight -1.0"), ""),
    ("a weight of NaN", lambda: midpoint(one(X, Y, [1, NAN, 1])),
     refused("the weight nan"), ""),
    ("an infinite weight", lambda: midpoint(one(X, Y, [1, INF, 1])),
     refused("the weight inf"), ""),
    ("weights of another length", lambda: midpoint(one(X, Y, [1, 1])),
     refused("weights of shape"), ""),
    ("no weight at all", lambda: midpoint(one(X, Y, [0, 0, 0])),
     refused("no token of positive weight"), ""),
    ("zero weights in a row", lambda: all_baselines(one([0.1, 0.2, 0.3, 0.4, 0.5, 0.9],
     [1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1])), within(0.5, 0.9), "B077"),
    ("tiny weights", lambda: ERMStump().fit(one(X, Y)).predict(one(X, Y, [SUB, SUB,
     SUB])), gives([0.625]), ""),
    ("weights of any unit", lambda: [float(BayesStump(0.2).fit(one(X, [1, 0,
     0])).predict(one(X, [1, 0, 0], w))[0]) for w in ([1, 1, 1], None)], true(lambda f:
     f[0] == f[1]), "B063"),
    ("sample weights of any unit", lambda: [fit(weights=np.full(20, w)).coef_ for w in
     (1.0, 0.01, 2.0**-40)], true(lambda f: np.allclose(f, f[0], rtol=1e-12, atol=0)),
     "B063"),
    ("copies are weight", lambda: [BayesStump(0.2).fit(one(X, Y)).predict(form)[0] for
     form in (one([0.25, 0.5, 0.5, 0.75], [1, 0, 0, 1]), one(X, [1, 0, 1], [1, 2,
     1]))], true(lambda f: f[0] == pytest.approx(f[1], rel=1e-15)), "B075"),
    ("conflicting copies are not averaged", lambda: (ERMStump() .fit(one(X, Y))
     .predict(one([0.25, 0.5, 0.5, 0.5, 0.75], [1, 1, 0, 0, 0]))), gives([0.375]),
     "B075"),
    *[(f"sample_weight of {what}", partial(lambda w: fit(weights=w), weights),
     refused(match), "") for what, weights, match in (("wrong length", [1.0] * 3,
     "one weight for each"), ("NaN", [NAN] * 20, "has the weight nan"),
     ("None", [None] * 20, "has the weight nan"), ("pandas.NA", [1.0] * 19 + [pd.NA],
     "task 19 has the weight nan"), ("negative sign", [-1.0] * 20,
     "has the weight -1.0"), ("zero", [0.0] * 20, "all tasks have weight 0"))],
    ("sample_weight of text", lambda: fit(weights=["a"] * 20),
     mistyped("sample_weight: numbers are needed, found the string 'a'"), ""),
    ("pandas.NA among token weights", lambda: midpoint(one(X, Y, [1, pd.NA, 1])),
     refused("task 0, token 1, has the weight nan.*drop the token"), "B167"),
]
# fmt: on

# fmt: off
THRESHOLDS = [
    ("a threshold outside feature_range", lambda: fit(short(feature_range=(0, 0.5))),
     refused("outside feature_range"), "B035"),
    ("thresholds at the range's ends", lambda: (short(feature_range=(0, 1),
     anchors=True) .fit([([0.2, 0.4], [0, 0]), ([0.2, 0.4], [1, 1])], [0, 1]) .coef_),
     true(lambda f: np.isfinite(f).all()), ""),
    ("a threshold equal to a token has label 1", lambda: label_error(one(X, Y), [0.5]),
     gives([0]), "B001 B021 B169"),
    ("so too with '>='", lambda: label_error(one(X, [0, 1, 1]), [0.5], direction=">="),
     gives([0]), "B001 B021 B169"),
    ("midpoints label alike for < and <=", lambda: [(np.array(X) <= midpoint(one(X,
     Y))[0]).tolist(), (np.array(X) < midpoint(one(X, Y))[0]).tolist()], true(lambda f:
     f[0] == f[1] == [True, True, False]), "B001"),
    ("an infinite threshold labels all alike", lambda: [label_error(one(X, [1, 1, 1]),
     [INF])[0], label_error(one(X, [1, 1, 1]), [-INF], direction=">=")[0]], gives([0,
     0]), "B041"),
    ("thresholds of the wrong number", lambda: fit(y=[0.5]),
     refused("20 contexts but 1 thresholds"), ""),
    ("thresholds that are NaN", lambda: fit(y=[NAN] * 20), refused("threshold nan"),
     ""),
    ("infinite thresholds", lambda: fit(y=[INF] * 20), refused("threshold inf"), ""),
    ("thresholds that are pandas.NA", lambda: fit(y=[0.5] * 19 + [pd.NA]),
     refused("task 19 has the threshold nan.*leave the others out"), "B167"),
    ("thresholds as text", lambda: fit(y=["a"] * 20), refused("array of numbers"), ""),
    ("thresholds as dates", lambda: fit(y=np.zeros(20, "M8[D]")),
     refused("array of numbers"), ""),
    ("thresholds in two columns", lambda: fit(y=np.ones((20, 2))), refused("1-D"), ""),
    ("no thresholds", lambda: short().fit(corpus()[0], None), refused("y is missing"),
     ""),
    ("equal thresholds of all tasks", lambda: fit(PretrainedAttentionStump("gibbs"),
     [([0.2, 0.4], [1, 0])] * 20, [0.3] * 20).predict(one([0.2, 0.4], [1, 0])),
     within(0.2, 0.4), "B153"),
    ("full precision reproduces the label error", lambda:
     [frozen("gibbs").summary(corpus(noise=0.2)[0], backend="pandas")["label_error"],
     label_error(corpus(noise=0.2)[0], [float(repr(float(t))) for t in
     frozen("gibbs").predict(corpus(noise=0.2)[0])])], true(lambda f:
     np.array_equal(f[0], f[1])), "B003 B103 B125"),
    ("thresholds are plain numbers", lambda: json.loads(json.dumps(midpoint(one(X,
     Y)).tolist())), gives([0.625]), "B131"),
    ("the best split is beyond the last token", lambda: (ERMStump(feature_range=(0,
     0.75)) .fit(one(X, [1, 1, 1])) .predict(one(X, [1, 1, 1]))), gives([0.75]),
     "B067 B101"),
    ("the best split is before the first token", lambda: (ERMStump(feature_range=(0,
     1)).fit(one(X, Y)).predict(one(X, [0, 0, 0]))), gives([0.125]), "B067"),
    ("no hidden grid", lambda: midpoint(one(np.arange(20.0), np.arange(20) <= 14),
     feature_range=None), gives([14.5]), "B115 B117"),
    ("eight points", lambda: midpoint(one(np.arange(8.0), np.arange(8) < 4),
     feature_range=None), gives([3.5]), "B115"),
    ("uneven values are mirrored by value", lambda: [midpoint(one([0.0, 0.125, 1.0],
     [1, 1, 0])), 1 - midpoint(one([1.0, 0.875, 0.0], [1, 1, 0]), direction=">=")],
     true(lambda f: f[0] == f[1]), "B015 B139"),
    ("direction 'auto' turns and says so", lambda: (fit(short(direction="auto"),
     Contexts.from_arrays(corpus()[0].values, ~corpus()[0].labels,
     corpus()[0].offsets)).direction_), true(lambda f: f == ">="), "B037 B047"),
    ("a given direction is kept, not in silence", lambda: fit(PretrainedAttentionStump(
     "gibbs", solver="flow", horizon=1.0, tol=0), Contexts.from_arrays(
     corpus()[0].values, ~corpus()[0].labels, corpus()[0].offsets)),
     warned("only 0% of the labels lie on the side"), "B047"),
    ("tasks of either direction together", lambda: frozen().predict([(X, Y), (X, [0, 1,
     1])]), warned("no threshold separates the labels of 1 of 2"), "B049"),
    ("tied gaps are the same on any unit", lambda: [ERMStump().fit(f).predict(f)[0] / u
     for u in (1, 2.0**-30, 2.0**40) for f in [one(np.array([0.1, 0.3, 0.5, 0.7]) * u,
     [1, 0, 1, 0])]], true(lambda f: len(set(f)) == 1), "B065"),
    ("as many thresholds as contexts", lambda: frozen(anchors=True).predict([(X, Y)] *
     7).shape, true(lambda f: f == (7,)), "B057 B107"),
    ("attention over gaps from left to right", lambda:
     frozen("gibbs").attention(one([0.75, 0.25, 0.5], [0, 1, 1]))[0], true(lambda f:
     np.argmax(f) == 2 and len(f) == 4), "B141"),
    ("each alone is as in the batch", lambda: [frozen("gibbs").predict(corpus()[0])[3],
     frozen("gibbs").predict(corpus()[0][3])[0]], true(lambda f: f[0] == f[1]), "B151"),
    ("the same answer a hundred times", lambda:
     {frozen("gibbs").predict(corpus(noise=0.2)[0]).tobytes() for _ in range(100)},
     true(lambda f: len(f) == 1), "B111"),
]
# fmt: on


def clone_with_jobs(n_jobs):
    return pickle.loads(pickle.dumps(frozen())).set_params(n_jobs=n_jobs)


def wrong(kind, name, value):
    """A parameter of wrong type or value, refused by its name when fitted."""

    def run():
        estimator = kind(**{name: value})
        if kind is AttentionStumpClassifier:
            return estimator.fit([[0.0], [1.0]], [0, 1])
        return estimator.fit(*corpus())

    return (
        f"{kind.__name__}({name}={value!r})",
        run,
        refused(rf"'?{name}'?.* must be", ValueError),
        "B031",
    )


# fmt: off
PARAMETERS = [
    *[wrong(PretrainedAttentionStump, name, value) for name, value in (("head",
     "dual"), ("head", 3), ("head", None), ("anchors", "yes"), ("anchors", 2),
     ("direction", "<"), ("direction", None), ("feature", -1), ("feature", 0.5),
     ("feature_range", 3.0), ("feature_range", (1, 0)), ("feature_range", (0, INF)),
     ("feature_range", (0, NAN)), ("feature_range", (0, 1, 2)), ("feature_range", ("a",
     "b")), ("feature_range", (0.5, 0.5)), ("scaling", "minmax"), ("scaling", None),
     ("solver", "adam"), ("init_scale", 0), ("init_scale", -1.0), ("init_scale", "10"),
     ("init_scale", NAN), ("step_size", 0), ("step_size", "constant"), ("step_size",
     INF), ("horizon", 0), ("horizon", "long"), ("stop_scale", -3.0), ("stop_scale",
     "best"), ("max_iter", -1), ("max_iter", 2.5), ("tol", -1e-9), ("tol", None),
     ("warm_start", "no"), ("n_jobs", 1.5), ("n_jobs", "all"))],
    *[wrong(kind, name, value) for kind in BASELINES for name, value in (("direction",
     "=<"), ("feature", -1), ("feature_range", (2, 1)))],
    wrong(ERMStump, "ties", "last"),
    wrong(ERMStump, "ties", None),
    wrong(BayesStump, "flip_rate", 0.6),
    wrong(BayesStump, "flip_rate", "0.1"),
    *[wrong(AttentionStumpClassifier, name, value) for name, value in (("stump",
     "gibbs"), ("criterion", "mse"), ("criterion", None), ("max_features", 0),
     ("max_features", 1.5), ("max_features", "all"), ("random_state", "seed"))],
    *[(f"GibbsHead({name}={value!r})", partial(lambda n, v:
     fit(PretrainedAttentionStump(GibbsHead(**{n: v}))), name, value),
     refused(f"'{name}' parameter"), "B031") for name, value in (("prior", "jeffreys"),
     ("uniform_share", 0), ("uniform_share", 2), ("bandwidth", 0), ("bandwidth", None),
     ("shrinkage", -1))],
    *[(f"{kind.__name__} of an unknown keyword", partial(lambda k: k(**{"oc_manual":
     2.5}), kind), mistyped("oc_manual"), "B009 B099") for kind in
     (PretrainedAttentionStump, GibbsHead, AttentionStumpClassifier, Contexts,
     *BASELINES)],
    ("anchors without a shared range", lambda: fit(short(anchors=True,
     scaling="context")), refused("anchors are true only of a range"), ""),
    ("a scale to stop at, for newton", lambda:
     fit(PretrainedAttentionStump(stop_scale=20.0)),
     refused("cannot end at a stop_scale"), ""),
    ("all documented values of all options", lambda: [short(head, scaling=scaling,
     solver=solver, max_iter=9 if solver == "gd" else None, horizon=1.0,
     warm_start=warm, direction=direction) .fit(*corpus(), np.ones(20))
     .predict(corpus()[0]) .shape for head in HEADS for scaling in ("range", "context",
     "rank") for solver in ("flow", "gd") for warm in (True, False) for direction in
     ("<=", "auto")], true(lambda f: set(f) == {(20,)}), "B025 B029 B097"),
    ("all documented values of max_features", lambda:
     [AttentionStumpClassifier(max_features=m, criterion=c, random_state=0) .fit([[0.0,
     1], [1, 0], [2, 5]], [0, 0, 1]) .predict([[0, 0]]) .shape for m in (None, "sqrt",
     "log2", 1, 2, 0.5, 1.0) for c in ("gini", "entropy", "log_loss",
     "misclassification")], true(lambda f: set(f) == {(1,)}), "B025 B097"),
    ("ties are documented with their default", lambda: ERMStump.__doc__, true(lambda f:
     'default="widest"' in f), "B045"),
    ("coefficients that are not finite", lambda:
     PretrainedAttentionStump.from_coef((NAN, 1), feature_range=(0, 1)),
     refused("two finite numbers"), ""),
    ("three coefficients", lambda: as_pair([1, 2, 3]), refused("two finite numbers"),
     ""),
    ("from_coef without a range", lambda: PretrainedAttentionStump.from_coef((1, 2)),
     refused("cannot be learned without a corpus"), ""),
    ("from_coef with direction 'auto'", lambda: PretrainedAttentionStump.from_coef((1,
     2), direction="auto", feature_range=(0, 1)), refused("needs a corpus"), ""),
]
# fmt: on

# fmt: off
SEQUENCE = [
    ("predict before fit", lambda: short().predict(one(X, Y)),
     refused("not fitted yet", NotFittedError), ""),
    ("intervals before conformalize", lambda: frozen().predict_interval(one(X, Y)),
     refused("conformalize"), ""),
    ("more features at predict", lambda: fit().predict([(np.ones((2, 2)), [1, 0])]),
     refused("2 features, but .* fitted on 1"), ""),
    ("fewer features at predict", lambda: short().fit([(np.c_[X, X], Y)],
     [0.6]).predict(one(X, Y)), refused("1 features, but .* fitted on 2"), ""),
    ("a feature that is not there", lambda: short(feature=3).fit(*corpus()),
     refused("feature=3 is not among"), ""),
    ("contexts change after fit", lambda: changed_after_fit(), true(), "B119 B163"),
    ("contexts cannot be changed in place", lambda: Contexts(one(X, Y)).values.fill(0),
     refused("read-only"), ""),
    ("outside a given range", lambda: frozen().predict(one([0.5, 1.5], [1, 0])),
     refused("outside feature_range"), ""),
    ("outside a learned range", lambda: fit().predict(one([0.5, 1.5], [1, 0])),
     warned("The range was widened", lambda f: 0.4 < f[0] < 1.5), ""),
    ("parameters set after fit", lambda: set_after_fit(), true(), "B163"),
    ("a solver that does not get there", lambda: fit(PretrainedAttentionStump("gibbs",
     max_iter=1)), warned("max_iter=1 iterations", lambda f: f.status_ == "budget" and
     not f.converged_, ConvergenceWarning), "B123"),
    ("no iterations at all", lambda: (fit(PretrainedAttentionStump("gibbs",
     solver="gd", max_iter=0, tol=0)).coef_), gives([0.7, 1.0]), ""),
    ("a step that is too large", lambda: fit(PretrainedAttentionStump(solver="gd",
     step_size=1e9, max_iter=20)), warned("smaller step_size", lambda f:
     np.isfinite(f.coef_).all(), ConvergenceWarning), "B123"),
    ("a step of 1e300", lambda: fit(PretrainedAttentionStump(solver="gd",
     step_size=1e300, max_iter=20)), warned("smaller step_size", lambda f:
     np.isfinite(f.coef_).all(), ConvergenceWarning), "B123"),
    ("a huge start", lambda: (fit(PretrainedAttentionStump(init_scale=1e15,
     solver="flow", horizon=1.0, tol=0)).coef_), true(lambda f: np.isfinite(f).all()),
     "B127"),
    ("a tiny start", lambda: (fit(PretrainedAttentionStump(init_scale=1e-300,
     solver="gd", max_iter=2, tol=0)).coef_), true(lambda f: np.isfinite(f).all()),
     "B127"),
    ("a plateau is no minimum", lambda: PretrainedAttentionStump().fit(one([0, 0.5, 1],
     [1, 1, 0]) * 3, [0.5] * 3), warned("levelled off", lambda f: f.status_ ==
     "plateau", ConvergenceWarning), "B123"),
    ("one task", lambda: short().fit(one(X, Y), [0.6]).predict(one(X, Y)), within(0.25,
     0.75), ""),
    ("the certified scale of one task", lambda: certified_scale(1, 1),
     refused("at least 2 tasks"), ""),
    ("the spread of a posterior", lambda: frozen("gibbs").predict(one(X, Y),
     return_std=True)[1], true(lambda f: 0 < f[0] < 0.3), "B083"),
    ("no posterior in other heads", lambda: frozen().predict(one(X, Y), True),
     refused("Use head='gibbs'"), "B165"),
    ("quantiles of levels that are none", lambda:
     frozen("gibbs").predict_quantiles(one(X, Y), [0.5, 1.5]),
     refused("levels between 0 and 1"), ""),
    ("quantiles of level NaN", lambda: frozen("gibbs").predict_quantiles(one(X, Y),
     NAN), refused("levels between 0 and 1"), ""),
    ("intervals hold the estimate", lambda: interval_and_prediction(0.5), true(lambda
     f: (f[0] <= f[1]).all() and (f[1] <= f[2]).all()), "B011 B023 B035"),
    ("too few tasks for the coverage", lambda: interval_and_prediction(0.99),
     refused("at least 99 calibration tasks"), "B023"),
    ("a coverage that is none", lambda: interval_and_prediction(1.0),
     refused("must lie between 0 and 1"), ""),
    ("fits leave their settings", lambda: (fit(head :=
     PretrainedAttentionStump(GibbsHead("corpus"))).head is head.head and not
     hasattr(head.head, "prior_")), true(), "B119"),
    ("a saved model is small", lambda: len(frozen().to_json()), true(lambda f: f <
     2000), "B155"),
    ("a search over heads", lambda: (GridSearchCV(short(feature_range=(0, 1)), {"head":
     list(HEADS)}, cv=2) .fit(*corpus()) .best_score_), true(np.isfinite), ""),
    ("cross-validation of all tasks", lambda: cross_val_predict(short(feature_range=(0,
     1)), *corpus(), cv=3).shape, true(lambda f: f == (20,)), "B057"),
]
# fmt: on


def changed_after_fit():
    values = corpus()[0].values.copy()
    contexts = Contexts.from_arrays(values, corpus()[0].labels, corpus()[0].offsets)
    stump = fit(contexts=contexts)
    before = stump.predict(corpus()[0])
    values[:] = 0.5
    return np.array_equal(stump.predict(corpus()[0]), before)


def set_after_fit():
    stump = fit()
    before = stump.predict(corpus()[0])
    stump.set_params(direction=">=", feature_range=(5, 9), head="gibbs", anchors=True)
    return np.array_equal(stump.predict(corpus()[0]), before)


def interval_and_prediction(coverage):
    stump = fit(short("gibbs", feature_range=(0, 1))).conformalize(*corpus())
    lower, upper = stump.predict_interval(corpus()[0], coverage).T
    return lower, stump.predict(corpus()[0]), upper


def classify(table, labels, at=None, **settings):
    model = AttentionStumpClassifier(**settings).fit(table, labels)
    return model.predict(table if at is None else at)


def column(x):
    return np.array(x, dtype=float)[:, None]


# fmt: off
CLASSIFIER = [
    ("infinity in the table", lambda: classify(column([0, INF]), [0, 1]),
     refused("infinity"), "B039"),
    ("NaN in the table is missing", lambda: classify(column([0, 1, NAN]), [0, 1, 1]),
     gives([0, 1, 1]), ""),
    ("a column of NaN", lambda: classify([[0, NAN], [1, NAN]], [0, 1]), gives([0, 1]),
     "B159"),
    ("all NaN", lambda: classify(column([NAN, NAN]), [0, 1], column([NAN, 3])),
     gives([0, 0]), "B159"),
    ("NaN only at predict", lambda: classify(column([0, 1, 2]), [0, 1, 1],
     column([NAN])), gives([1]), "B147"),
    ("no rows", lambda: classify(np.zeros((0, 2)), []), refused("minimum of 1"), ""),
    ("no columns", lambda: classify(np.zeros((3, 0)), [0, 1, 1]),
     refused("minimum of 1"), ""),
    ("a 1-D table", lambda: classify([0, 1], [0, 1]), refused("2D array"), ""),
    ("a 3-D table", lambda: classify(np.zeros((2, 2, 2)), [0, 1]), refused("dim 3"),
     ""),
    ("a sparse table", lambda: classify(sparse.csr_array(np.eye(2)), [0, 1]),
     mistyped("[Ss]parse"), ""),
    ("a table of strings", lambda: classify([["a"], ["b"]], [0, 1]),
     refused("could not convert|not compatible"), "B089"),
    ("a table of strings in a pipeline", lambda: (make_pipeline(OrdinalEncoder(),
     AttentionStumpClassifier()) .fit([["a"], ["b"], ["b"]], [0, 1, 1])
     .predict([["a"]])), gives([0]), "B089"),
    ("one row", lambda: classify(column([3]), ["a"]), true(lambda f: f.tolist() ==
     ["a"]), "B149"),
    ("one class", lambda: classify(column([1, 2, 3]), [7, 7, 7], column([9])),
     gives([7]), "B087 B153"),
    ("continuous labels", lambda: classify(column([0, 1]), [0.5, 1.5]),
     refused("continuous"), ""),
    ("missing labels", lambda: classify(column([0, 1]), [0, NAN]), refused("NaN"), ""),
    ("labels in two columns", lambda: classify(column([0, 1]), [[0, 1], [1, 0]]),
     refused("1d array"), ""),
    ("labels of another length", lambda: classify(column([0, 1]), [0, 1, 1]),
     refused("inconsistent"), ""),
    ("string labels come back", lambda: classify(column([0, 1]), ["yes", "no"]),
     true(lambda f: f.tolist() == ["yes", "no"]), "B055"),
    ("boolean labels come back", lambda: classify(column([0, 1]), [True, False]),
     true(lambda f: f.dtype == bool), "B055"),
    ("three classes", lambda: classify(column([0, 1, 2, 3]), [0, 0, 2, 2]), gives([0,
     0, 2, 2]), ""),
    ("a constant column", lambda: AttentionStumpClassifier().fit(column([5, 5, 5]), [0,
     1, 1]), true(lambda f: (f.feature_ is None and np.isnan(f.threshold_) and
     f.predict([[5]]) == 1)), "B051 B165"),
    ("x equal to the threshold goes left", lambda: at_threshold(np.float64), true(),
     "B059 B105"),
    ("float32 is compared in float64", lambda: at_threshold(np.float32), true(),
     "B059 B061"),
    ("1.9 in single precision", lambda: classify(np.array([[1.9],
     [np.nextafter(np.float32(1.9), np.float32(2))]], np.float32), [0, 1]), gives([0,
     1]), "B061"),
    ("neighbouring floats", lambda: classify(column([1, np.nextafter(1, 2)]), [0, 1]),
     gives([0, 1]), "B071"),
    ("the widest range", lambda: classify(column([-MAX, MAX]), [0, 1]), gives([0, 1]),
     ""),
    ("subnormal values", lambda: classify(column([0, SUB]), [0, 1]), gives([0, 1]),
     "B079"),
    ("a negative weight", lambda: AttentionStumpClassifier().fit(column([0, 1]), [0,
     1], [1, -1]), refused("[Nn]egative"), ""),
    ("weights of zero", lambda: AttentionStumpClassifier().fit(column([0, 1]), [0, 1],
     [0, 0]), refused("zero|positive"), ""),
    ("a weight of NaN", lambda: AttentionStumpClassifier().fit(column([0, 1]), [0, 1],
     [1, NAN]), refused("NaN"), ""),
    ("weights of any unit", lambda: {float(AttentionStumpClassifier() .fit(column([0,
     1, 2, 3]), [0, 1, 0, 1], np.array([1.0, 2, 3, 4]) * u) .threshold_) for u in (1,
     0.01, 1e-300)}, true(lambda f: max(f) - min(f) < 1e-12), "B063"),
    ("more columns at predict", lambda: classify(column([0, 1]), [0, 1], [[0, 1]]),
     refused("2 features, but AttentionStumpClassifier is expecting 1"), ""),
    ("an unfitted stump", lambda: classify(column([0, 1]), [0, 1], stump=short()),
     refused("not fitted", NotFittedError), ""),
    ("one against the rest", lambda: one_against_the_rest(), true(), "B085"),
    ("in an ensemble", lambda: (AdaBoostClassifier(AttentionStumpClassifier(),
     n_estimators=3) .fit(column(range(8)), [0, 0, 0, 1, 1, 0, 1, 1])
     .score(column(range(8)), [0, 0, 0, 1, 1, 0, 1, 1])), true(), ""),
    ("a wide table", lambda: classify(np.eye(20, 3000), np.arange(20) < 1).shape,
     true(), "B161"),
    ("rows one by one", lambda: [classify(column([0, 1, 2]), [0, 1, 1], column([v]))[0]
     for v in (0, 1, 2)], gives([0, 1, 1]), "B151"),
]
# fmt: on


def at_threshold(dtype):
    x = np.random.default_rng(0).normal(size=(60, 1)).astype(dtype)
    model = AttentionStumpClassifier().fit(x, x[:, 0] > 0.1)
    sides = np.nextafter(model.threshold_, [-INF, model.threshold_, INF])
    left, same, right = model.predict_proba(sides[:, None])[:, 1]
    return left == same != right


def one_against_the_rest():
    x = np.random.default_rng(1).normal(size=(60, 2))
    y = np.digitize(x[:, 0], [-0.5, 0.5])
    model = OneVsRestClassifier(AttentionStumpClassifier()).fit(x, y)
    return all(
        np.array_equal(each.predict(x) == 1, each.decision_function(x) > 0)
        for each in model.estimators_
    )


def in_frame(backend):
    with sklearn.config_context(transform_output=backend):
        return type(frozen().summary(one(X, Y))).__module__.partition(".")[0]


def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        weights = np.r_[np.zeros(10), np.ones(10)]
        stump = short(feature_range=(0, 1)).set_fit_request(sample_weight=True)
        found = cross_validate(
            stump.set_score_request(sample_weight=True),
            *corpus(),
            params={"sample_weight": weights},
            cv=[(np.arange(20), np.arange(20))],
            return_estimator=True,
        )
    return np.array_equal(
        found["estimator"][0].coef_, fit(clone(stump), weights=weights).coef_
    )


def unvalidated():
    with sklearn.config_context(skip_parameter_validation=True):
        same = np.array_equal(fit().coef_, fit().coef_)
        model = AttentionStumpClassifier().fit(column([0, 1]), [0, 1])
    return same and model.predict([[0.0]])[0] == 0


# fmt: off
CONFIG = [
    ("frames of pandas", lambda: in_frame("pandas"), true(lambda f: f == "pandas"), ""),
    ("frames of polars", lambda: in_frame("polars"), true(lambda f: f == "polars"), ""),
    ("metadata routing of sample_weight", routed, true(), ""),
    ("parameter validation skipped", unvalidated, true(), ""),
    ("missing data of contexts is still seen", lambda: missing_unvalidated(),
     refused("has the value nan"), ""),
    ("a clone is unfitted", lambda: clone(fit()).predict(one(X, Y)),
     refused("not fitted yet", NotFittedError), ""),
    ("a stump in a BytesIO", lambda:
     pickle.load(io.BytesIO(pickle.dumps(fit()))).coef_, true(lambda f:
     np.array_equal(f, fit().coef_)), ""),
]
# fmt: on


def missing_unvalidated():
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        return frozen().predict(one([NAN, 1], [1, 0]))


TABLE = {
    "values": VALUES,
    "arrays": ARRAYS,
    "labels": LABELS,
    "frames": FRAMES,
    "weights": WEIGHTS,
    "thresholds": THRESHOLDS,
    "parameters": PARAMETERS,
    "sequence": SEQUENCE,
    "classifier": CLASSIFIER,
    "config": CONFIG,
}


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        pytest.param(run, outcome, id=f"{area}: {what}")
        for area, rows in TABLE.items()
        for what, run, outcome, _ in rows
    ],
)
def test_hostile_input(run, outcome):
    if outcome.error is not None:
        with pytest.raises(outcome.error, match=outcome.match):
            run()
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = run()
    if outcome.warning is None:
        assert not [str(one.message) for one in said]
    else:
        assert len(said) == 1
        assert said[0].category is outcome.warning
        assert re.search(outcome.match, str(said[0].message))
    assert outcome.check(found)


def test_every_public_fault_has_a_row_or_a_reason():
    rows = {
        fault
        for rows in TABLE.values()
        for *_, faults in rows
        for fault in faults.split()
    }
    page = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    reasons = set(re.findall(r"^\| (B\d+) \|", page, re.M))
    assert not rows & reasons
    assert rows | reasons == {f"B{number:03}" for number in range(1, 170, 2)}


def test_the_page_names_every_test_file():
    page = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    files = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    assert files <= set(re.findall(r"`(test_\w+)`", page))
