"""Tables of predictions: one row for each task."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.diagnostics import diagnose
from sklearn_attnstump.gaps import label_edges
from sklearn_attnstump.metrics import label_error
from sklearn_attnstump.scaling import Scaling, context_ranges

FloatArray = NDArray[np.float64]

_BACKENDS = ("pandas", "polars", "pyarrow")


def describe(
    contexts: Contexts, thresholds: FloatArray, scaling: Scaling
) -> dict[str, NDArray[Any]]:
    """What is worth knowing of each context beside its threshold.

    Parameters
    ----------
    contexts : Contexts
        Of one feature, in its units.
    thresholds : ndarray of shape (n_tasks,)
        In the feature's units.
    scaling : Scaling
        By which they were read.

    Returns
    -------
    columns : dict of str to ndarray of shape (n_tasks,)
    """
    starts = contexts.offsets[:-1]
    falling = replace(scaling, kind="context", feature_range=None, anchors=False)
    unit, _ = falling.apply(contexts)
    hard = diagnose(label_edges(unit))
    lo, hi = context_ranges(contexts)
    outside = np.zeros(len(contexts), dtype=bool)
    if scaling.feature_range is not None:
        outside = (lo < scaling.feature_range[0]) | (hi > scaling.feature_range[1])
    return {
        "n": contexts.sizes,
        "n_positive": np.add.reduceat(contexts.labels, starts, dtype=np.int64),
        "label_error": label_error(contexts, thresholds, direction=scaling.direction),
        "one_label": hard.one_label,
        "not_separable": hard.not_separable,
        "outside_range": outside,
    }


def make_frame(columns: dict[str, NDArray[Any]], backend: str | None) -> Any:
    """A frame of the library that is asked for, configured or installed."""
    if backend is None:
        backend = get_config()["transform_output"]
        if backend not in _BACKENDS:
            found = [name for name in _BACKENDS if importlib.util.find_spec(name)]
            if not found:
                raise ImportError(
                    "a table needs pandas, polars or pyarrow: install one of them."
                )
            backend = found[0]
    if backend not in _BACKENDS:
        raise ValueError(f"backend={backend!r}: pass one of {_BACKENDS}.")
    lists = {name: column.tolist() for name, column in columns.items()}
    library: Any = backend
    return nw.from_dict(lists, backend=library).to_native()
