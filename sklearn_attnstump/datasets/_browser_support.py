"""The real corpus: since when a browser supports a web feature."""

from __future__ import annotations

import csv
import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch
from sklearn.utils._param_validation import validate_parameter_constraints

from sklearn_attnstump.contexts import Contexts

_DATA = files("sklearn_attnstump.datasets") / "data"


def load_browser_support(*, as_frame: bool = False) -> Bunch:
    """Load the browser support corpus: 391 real tasks, 44,677 observations.

    A task is one web feature in one of four browsers (Chrome, Edge, Firefox, Safari).
    Its context is that browser's release history: `x` is a release's date and the label
    says whether that release supports the feature without prefix or flag. The threshold
    is the date of first support according to another, separately kept data base. The
    labels rise with `x`, so the direction is ``">="``.

    ==================  ==================================
    Tasks               391 (120 features, 4 browsers)
    Observations        44,677; 51 to 160 a task
    Feature             date, decimal years, 2006 to 2026
    Thresholds          2003 to 2026
    Direction           ``">="``
    ==================  ==================================

    Parameters
    ----------
    as_frame : bool, default=False
        Whether to give the corpus as pandas data frames as well.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, all arrays in the order of the tasks:

        contexts : Contexts of shape (391,)
            Release dates in decimal years, and labels.
        thresholds : ndarray of shape (391,)
            Date of first support, in decimal years.
        groups : ndarray of shape (391,)
            Name of the web feature, for splitters such as
            :class:`~sklearn.model_selection.GroupKFold`: tasks of one feature in
            several browsers resemble each other and belong on one side of a split.
        task_ids : ndarray of shape (391,)
            ``"feature/browser"``, unique; also ``contexts.task_ids``.
        browser : ndarray of shape (391,)
            "chrome", "edge", "firefox" or "safari".
        in_gap : ndarray of shape (391,) of bool
            Whether the two data bases agree, that is whether the threshold lies in the
            gap between the last release without and the first with support.
        DESCR : str
            Description, sources and licences.
        frame : DataFrame of shape (44677, 3), or None
            With ``as_frame=True``: columns `task`, `x` and `label` (bool).
        thresholds_frame : DataFrame of shape (391, 9), or None
            With ``as_frame=True``: columns `task`, `threshold`, `feature`,
            `web_feature`, `browser`, `version_added`, `gap_lo`, `gap_hi` and `in_gap`;
            see ``DESCR``.

    Raises
    ------
    ImportError
        With ``as_frame=True`` where pandas is not installed.

    See Also
    --------
    make_stump_tasks : Synthetic tasks.

    Notes
    -----
    The tasks of a browser share their release dates and differ in their labels. In 82
    tasks the threshold lies outside the label gap: no method can find it from
    the labels alone. In 5 tasks no single cut explains all labels.

    Credits: labels from caniuse-db 1.0.30001813 by Alexis Deveria and contributors
    (CC-BY-4.0); release dates from @mdn/browser-compat-data 8.1.9 by MDN Web Docs
    (CC0-1.0); thresholds from web-features 3.40.0 by the W3C WebDX Community Group
    (Apache-2.0). Selected, joined and reshaped for this package; the file CREDITS says
    how.

    References
    ----------
    .. [1] caniuse, https://github.com/Fyrd/caniuse
    .. [2] MDN browser-compat-data, https://github.com/mdn/browser-compat-data
    .. [3] web-features, https://github.com/web-platform-dx/web-features

    Examples
    --------
    >>> from sklearn_attnstump.datasets import load_browser_support
    >>> corpus = load_browser_support()
    >>> corpus.contexts.shape, corpus.thresholds.shape
    ((391,), (391,))
    >>> print(corpus.task_ids[0], corpus.thresholds[0])
    css-marker-pseudo/chrome 2020.801
    """
    validate_parameter_constraints(
        {"as_frame": ["boolean"]},
        {"as_frame": as_frame},
        caller_name="load_browser_support",
    )
    tasks = _read_columns("browser_tasks.csv.gz")
    thresholds = tasks["threshold"].astype(np.float64)
    in_gap = tasks["in_gap"] == "1"
    task_ids = np.array(
        [f"{f}/{b}" for f, b in zip(tasks["feature"], tasks["browser"], strict=True)]
    )
    contexts = _release_histories(tasks["browser"], tasks["labels"], task_ids)

    frame = thresholds_frame = None
    if as_frame:
        columns = {
            "task": task_ids,
            "threshold": thresholds,
            "feature": tasks["feature"],
            "web_feature": tasks["web_feature"],
            "browser": tasks["browser"],
            "version_added": tasks["version_added"],
            "gap_lo": tasks["gap_lo"].astype(np.float64),
            "gap_hi": tasks["gap_hi"].astype(np.float64),
            "in_gap": in_gap,
        }
        frame, thresholds_frame = _to_frames(contexts, columns)

    return Bunch(
        contexts=contexts,
        thresholds=thresholds,
        groups=tasks["feature"],
        task_ids=task_ids,
        browser=tasks["browser"],
        in_gap=in_gap,
        frame=frame,
        thresholds_frame=thresholds_frame,
        DESCR=(_DATA / "browser_support.rst").read_text(encoding="utf-8"),
    )


def _read_columns(name: str) -> dict[str, NDArray[np.str_]]:
    """Read a shipped table as one array of strings for each column."""
    with (
        (_DATA / name).open("rb") as packed,
        gzip.open(packed, "rt", encoding="ascii", newline="") as text,
    ):
        header, *rows = csv.reader(text)
    return {
        column: np.array(cells)
        for column, cells in zip(header, zip(*rows, strict=True), strict=True)
    }


def _release_histories(
    browsers: NDArray[np.str_], labels: NDArray[np.str_], task_ids: NDArray[np.str_]
) -> Contexts:
    """Put the tasks' labels beside the release dates of their browsers.

    The tasks of one browser share its dates, so a task is stored as a string of one
    "0" or "1" for each release, in the order of the dates.
    """
    releases = _read_columns("browser_releases.csv.gz")
    dates = releases["date"].astype(np.float64)
    calendars = {b: dates[releases["browser"] == b] for b in np.unique(browsers)}
    values = [calendars[browser] for browser in browsers]
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in values])])
    flat_labels = np.array(list("".join(labels))) == "1"
    return Contexts.from_arrays(
        np.concatenate(values), flat_labels, offsets, task_ids=task_ids
    )


def _to_frames(contexts: Contexts, columns: dict[str, NDArray[Any]]) -> tuple[Any, Any]:
    """Long frame of the observations, and frame of the tasks."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "load_browser_support(as_frame=True) needs pandas: pip install pandas. "
            "The arrays of as_frame=False hold the same corpus."
        ) from error
    frame = pd.DataFrame(
        {
            "task": np.repeat(columns["task"], contexts.sizes),
            "x": contexts.values[:, 0],
            "label": contexts.labels,
        }
    )
    return frame, pd.DataFrame(columns)
