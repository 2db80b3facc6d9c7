"""Long data frames: columns in, flat arrays out, through narwhals."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.labels import is_missing


class Columns(NamedTuple):
    """The rows of a long frame, gathered by task."""

    values: NDArray[np.float64]
    labels: NDArray[Any]
    offsets: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    task_ids: list[Any]
    feature_names: tuple[str, ...] | None  # where columns are named by strings


def read_frame(
    frame: Any,
    *,
    task: Any,
    feature: Any,
    label: Any,
    weight: Any,
    missing: str,
) -> Columns:
    """Gather the rows of a long frame by task, tasks in order of first appearance.

    See `Contexts.from_frame` for the parameters. Rows keep their order within a task,
    and no index of the frame is ever read.
    """
    if missing not in ("raise", "drop"):
        raise ValueError(f"missing={missing!r}: pass 'raise' or 'drop'.")
    tasks, features = _names(task), _names(feature)
    table = _open(frame, [*tasks, *features, label] + [weight] * (weight is not None))
    column = table.get_column  # an integer is a column's name here, not a row
    keys = [_items(column(name)) for name in tasks]
    values = np.column_stack([_numbers(column(name), name) for name in features])
    labels = _label_column(column(label))
    weights = None if weight is None else _numbers(column(weight), weight)

    lacking = np.isnan(values).any(axis=1) | _missing(labels)
    for key in keys:
        lacking |= _missing(key)
    if weights is not None:
        lacking |= np.isnan(weights)
    ids = _row_ids(keys)
    if lacking.any():
        if missing == "raise":
            row = int(np.argmax(lacking))
            raise ValueError(
                f"{int(lacking.sum())} of {len(lacking)} rows lack a task, value, "
                f"label or weight, first row {row} (task {ids[row]!r}). Pass "
                "missing='drop' to leave such rows out."
            )
        ids = _drop(ids, lacking)
        values, labels = values[~lacking], labels[~lacking]
        weights = None if weights is None else weights[~lacking]
    if not ids:
        raise ValueError("the frame has no rows to make a context of.")
    names, order, offsets = _group(ids)
    return Columns(
        values[order],
        labels[order],
        offsets,
        None if weights is None else weights[order],
        names,
        tuple(features) if all(isinstance(name, str) for name in features) else None,
    )


def _names(columns: Any) -> list[Any]:
    several = isinstance(columns, Iterable) and not isinstance(columns, str)
    names = list(columns) if several else [columns]
    if not names:
        raise ValueError("name at least one task column and one feature column.")
    return names


def _open(frame: Any, columns: list[Any]) -> nw.DataFrame[Any]:
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"{type(frame).__name__} is not an eager data frame. Pass a pandas, polars "
            "or pyarrow table; collect a lazy frame first."
        ) from None
    absent = [name for name in columns if name not in table.columns]
    if absent:
        raise ValueError(
            f"the frame has no column {absent[0]!r}; its columns are {table.columns}."
        )
    return table


def _items(column: nw.Series[Any]) -> NDArray[Any]:
    """A column's elements as Python objects, so that each keeps its kind."""
    items = column.to_list()
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _numbers(column: nw.Series[Any], name: Any) -> NDArray[np.float64]:
    """A column of numbers as floats, nulls as NaN."""
    kind = column.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        if column.null_count() == 0:
            return column.to_numpy().astype(np.float64, copy=False)
    elif kind != nw.Object:
        raise TypeError(
            f"column {name!r} holds {kind}, not numbers. Convert it to float."
        )
    try:
        return np.array(
            [np.nan if is_missing(item) else float(item) for item in column.to_list()]
        )
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"column {name!r} holds something that is no number ({error}). Convert it "
            "to float."
        ) from None


def _label_column(column: nw.Series[Any]) -> NDArray[Any]:
    kind = column.dtype
    if (kind.is_numeric() or kind == nw.Boolean) and column.null_count() == 0:
        array = column.to_numpy()
        if array.dtype.kind in "biuf":
            return array
    return _items(column)


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "iub":
        return np.zeros(len(column), dtype=bool)
    return np.fromiter(map(is_missing, column), bool, len(column))


def _row_ids(keys: list[NDArray[Any]]) -> list[Any]:
    if len(keys) == 1:
        return list(keys[0])
    return list(zip(*keys, strict=True))


def _drop(ids: list[Any], lacking: NDArray[np.bool_]) -> list[Any]:
    kept = [name for name, gone in zip(ids, lacking, strict=True) if not gone]
    named = {name for name in ids if not _nameless(name)}
    vanished = named - set(kept)
    if vanished:
        example = min(vanished, key=str)
        warnings.warn(
            f"{len(vanished)} tasks have no complete row and were dropped, for example "
            f"{example!r}.",
            UserWarning,
            stacklevel=4,
        )
    return kept


def _nameless(name: Any) -> bool:
    return any(map(is_missing, name)) if isinstance(name, tuple) else is_missing(name)


def _group(
    ids: list[Any],
) -> tuple[list[Any], NDArray[np.intp], NDArray[np.int64]]:
    """Distinct ids by first appearance, the rows' stable order, and the offsets."""
    lookup: dict[Any, int] = {}
    codes = np.fromiter((lookup.setdefault(k, len(lookup)) for k in ids), np.intp)
    order = np.argsort(codes, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    return list(lookup), order, offsets
