"""The forms in which contexts may be passed, each read into flat arrays.

Only the form is looked at here: shapes, kinds of numbers, what is padding. Whether the
numbers make contexts is checked by `Contexts`, once, for all forms.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sklearn_attnstump.labels import is_missing

FloatArray = NDArray[np.float64]


class Parts(NamedTuple):
    """What a form of input amounts to, before the checks."""

    values: FloatArray
    labels: NDArray[Any]
    offsets: NDArray[np.int64]
    weights: FloatArray | None
    task_ids: NDArray[Any]
    feature_names: tuple[str, ...] | None = None
    encoded: tuple[Any, Any] | None = None  # the classes, if labels are booleans


def read_form(X: Any) -> Parts:
    """Tell the forms of input apart."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "a masked array would lose its mask. Fill masked rows with NaN: rows of "
            "NaN alone are padding."
        )
    if sparse.issparse(X):
        raise TypeError("sparse input holds no contexts. Pass X.toarray() as 3-D.")
    # In this order: to ask a lazy frame for its columns is costly, and warns.
    if hasattr(X, "collect_schema") or hasattr(X, "columns"):
        raise TypeError(
            f"a {type(X).__name__} was passed as contexts. Use Contexts.from_frame("
            "frame, task=..., feature=..., label=...)."
        )
    if isinstance(X, np.ndarray) and not (X.dtype == object and X.ndim == 1):
        return _read_array(X)
    if isinstance(X, (list, tuple, np.ndarray)):
        return _read_sequence(list(X))
    raise TypeError(
        f"contexts cannot be read from {type(X).__name__}. Pass Contexts, a 3-D array, "
        "or a list of 2-D arrays or (x, labels) tuples."
    )


def _read_array(X: NDArray[Any]) -> Parts:
    if X.ndim != 3:
        raise ValueError(
            f"a {X.ndim}-D array of shape {X.shape} was passed in place of contexts. "
            "Pass (n_tasks, n_examples, n_features + 1), the label last; for one task "
            "that is array[np.newaxis]."
        )
    if X.shape[2] < 2:
        raise ValueError(
            f"an array of shape {X.shape} has no room for a feature and a label: its "
            "last axis must hold n_features + 1 numbers."
        )
    if X.shape[0] == 0:
        raise ValueError("there are no contexts. Pass at least one.")
    table = as_floats(X, "X")
    n_tasks, n_examples, width = table.shape
    rows = table.reshape(-1, width)
    sizes = np.full(n_tasks, n_examples)
    missing = np.isnan(rows[:, -1])
    if missing.any():
        missing &= np.isnan(rows).all(axis=1)
        sizes -= missing.reshape(n_tasks, n_examples).sum(axis=1)
        rows = rows[~missing]
    if not sizes.all():
        raise ValueError(
            f"task {int(np.argmin(sizes))} is empty: every row is NaN. Leave it out."
        )
    return Parts(
        np.ascontiguousarray(rows[:, :-1]),
        rows[:, -1],
        offsets_of(sizes),
        None,
        np.arange(n_tasks),
    )


def _read_sequence(X: Sequence[Any]) -> Parts:
    if len(X) == 0:
        raise ValueError("there are no contexts. Pass at least one.")
    items = [_read_item(item, position) for position, item in enumerate(X)]
    widths = [values.shape[1] for values, _, _ in items]
    odd = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        raise ValueError(
            f"task {odd} has {widths[odd]} features and task 0 has {widths[0]}. Give "
            "all contexts the same features."
        )
    return Parts(
        np.concatenate([values for values, _, _ in items]),
        _concatenate_labels([labels for _, labels, _ in items]),
        offsets_of(np.array([len(values) for values, _, _ in items])),
        join_weights([(mass, len(values)) for values, _, mass in items]),
        np.arange(len(items)),
    )


def _read_item(
    item: Any, position: int
) -> tuple[FloatArray, NDArray[Any], FloatArray | None]:
    """One context of a sequence: values (n, k), labels (n,), weights (n,) or None.

    A tuple of length two or three is ``(x, labels[, weights])``; anything else is rows.
    """
    where = f"task {position}"
    weights = None
    if isinstance(item, tuple) and len(item) in (2, 3):
        values = as_floats(item[0], where)
        labels = label_array(item[1])
        if len(item) == 3 and item[2] is not None:
            weights = as_floats(item[2], f"the weights of {where}")
        values = values[:, np.newaxis] if values.ndim == 1 else values
    else:
        _refuse_masked_or_sparse(item, where)
        rows = np.asarray(item)
        if rows.ndim != 2 or (rows.size and rows.shape[1] < 2):
            raise ValueError(
                f"{where} has shape {rows.shape}; a context is a 2-D array of shape "
                "(n_examples, n_features + 1), the label last, or a tuple (x, labels). "
                "A single context goes into a list of length one."
            )
        values, labels = as_floats(rows[:, :-1], where), rows[:, -1]
    if values.size == 0:
        raise ValueError(f"{where} is empty. Leave it out.")
    if values.ndim != 2 or labels.shape != values.shape[:1]:
        raise ValueError(
            f"{where} has values of shape {values.shape} and labels of shape "
            f"{labels.shape}. Pass one label for each observation."
        )
    if weights is not None and weights.shape != labels.shape:
        raise ValueError(
            f"{where} has weights of shape {weights.shape} for {len(labels)} tokens. "
            "Pass one weight for each token."
        )
    return values, labels, weights


def join_weights(parts: list[tuple[FloatArray | None, int]]) -> FloatArray | None:
    """Join ``(weights, n_tokens)``; contexts without weights get ones beside others."""
    if all(weights is None for weights, _ in parts):
        return None
    return np.concatenate([np.ones(n) if w is None else w for w, n in parts])


def _concatenate_labels(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Join label arrays without turning numbers into strings."""
    if not all(part.dtype.kind in "biuf" for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def label_array(labels: Any) -> NDArray[Any]:
    """Labels as an array whose elements compare by equality, whatever their kind."""
    if isinstance(labels, np.ma.MaskedArray):
        raise TypeError("masked labels would lose their mask. Drop masked tokens.")
    array = np.asarray(labels)
    if array.dtype.kind not in "biufO" and not isinstance(labels, np.ndarray):
        # A list of mixed kinds would become strings: [1, "1"] must stay two values.
        array = np.asarray(labels, dtype=object)
    return array


def as_floats(values: Any, where: str) -> FloatArray:
    """A float64 array of numbers; the array itself where it is one."""
    _refuse_masked_or_sparse(values, where)
    try:
        array = np.asanyarray(values)
        if array.dtype.kind in "cSUMm":
            raise TypeError
        return _nan_for_missing(array).astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise TypeError(
            f"{where}: numbers are needed, found {_no_number(values)}. Convert them to "
            "float."
        ) from None


def _nan_for_missing(array: NDArray[Any]) -> NDArray[Any]:
    """Objects such as None and ``pandas.NA`` as NaN, which later checks find and name.

    Arrays of another kind than objects are returned as they are.
    """
    if array.dtype != object:
        return array
    gone = np.fromiter(map(is_missing, array.flat), bool, array.size)
    return np.where(gone.reshape(array.shape), np.nan, array)


def _no_number(values: Any) -> str:
    """What stands where numbers should: an array's kind, or what a list has first."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    if isinstance(values, (list, tuple)):
        items = (item for item in values if not isinstance(item, Real))
        return next(map(_no_number, items), "rows of different length")
    if isinstance(values, str):
        return f"the string {reprlib.repr(values)}"
    if hasattr(values, "dtype"):
        return str(values.dtype)
    return type(values).__name__


def _refuse_masked_or_sparse(values: Any, where: str) -> None:
    """`numpy.asarray` would drop a mask without a word."""
    if isinstance(values, np.ma.MaskedArray) or sparse.issparse(values):
        raise TypeError(f"{where}: masked and sparse arrays hold no observations here.")


def offsets_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Where contexts of given sizes start and end in flat arrays."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
