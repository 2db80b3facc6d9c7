"""Contexts: the ragged container of labelled observations, and the one door to it.

Everything that reaches a scaling, a head or a baseline has passed through `Contexts`,
so the code behind it trusts its arrays: values and weights are finite, labels are
booleans, no context is empty, every context has some weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_attnstump.forms import (
    FloatArray,
    Parts,
    as_floats,
    join_weights,
    label_array,
    offsets_of,
    read_form,
)
from sklearn_attnstump.frames import read_frame
from sklearn_attnstump.labels import encode_labels, is_missing, same_sense

__all__ = ["Contexts"]

# Whole-array checks run over chunks, so that a memory-mapped corpus is never copied.
_CHUNK = 1 << 20


class Contexts(Sequence["Contexts"]):
    """Contexts of any size: for each task, observations of its features with labels.

    A context is a set of labelled observations; a task is a context with the threshold
    where its label flips. The container keeps all contexts in flat arrays and is what
    every estimator of this package converts its ``X`` to. Its slices are `Contexts`,
    so scikit-learn's splitters and searches work on it.

    Parameters
    ----------
    X : Contexts, ndarray or sequence
        One of

        * an array of shape (n_tasks, n_examples, n_features + 1), the label last, rows
          of NaN alone being padding;
        * a sequence of 2-D arrays of shape (n_examples, n_features + 1), the label
          last, of any length each;
        * a sequence of tuples ``(x, labels)`` or ``(x, labels, weights)``, `x` of shape
          (n_examples,) or (n_examples, n_features);
        * a sequence of `Contexts`, which are joined. Ids are kept, one after another,
          also where two parts have the same one; but if no part has names, only its
          own 0, 1, 2, ..., all tasks are numbered anew.

        For data frames see `Contexts.from_frame`, for flat arrays
        `Contexts.from_arrays`.
    positive : scalar, optional
        The label that counts as 1. By default 1 or True among 0/1, -1/1 and booleans,
        else the larger of the two labels in sorted order.
    classes : tuple (negative, positive), optional
        The only two labels allowed.
    task_ids : array-like of shape (n_tasks,), optional
        Names of the tasks. By default those that `X` has, else 0, 1, 2, ... They need
        not be unique, and nothing is fitted or inferred by them; but `align` gives
        tasks of one id one threshold.

    Attributes
    ----------
    values : ndarray of shape (n_tokens, n_features)
        The observations, in the feature's units, one context after another. Read-only.
    labels : ndarray of bool of shape (n_tokens,)
        Read-only.
    offsets : ndarray of int64 of shape (n_tasks + 1,)
        Context ``i`` holds the tokens ``offsets[i]:offsets[i + 1]``.
    weights : ndarray of shape (n_tokens,) or None
        Weights of the tokens; None stands for ones.
    task_ids : ndarray of shape (n_tasks,)
    classes : tuple (negative, positive)
        The two labels as the user wrote them.
    feature_names : tuple of str or None
        The feature columns of the frame that the contexts came from.

    Raises
    ------
    TypeError
        If `X` is a frame, sparse, masked or of any other form than the above.
    ValueError
        If a context is empty, a value or weight not finite, a label missing or a third
        one, a weight negative, or all weights of a context zero. The message names the
        task. Also if `X` is `Contexts` whose labels `positive` or `classes` would turn
        round.

    See Also
    --------
    sklearn_attnstump.PretrainedAttentionStump : Takes contexts at fit and predict.

    Examples
    --------
    >>> from sklearn_attnstump import Contexts
    >>> contexts = Contexts([([0.1, 0.4, 0.9], [1, 1, 0]), ([0.2, 0.5], [1, 0])])
    >>> contexts
    Contexts(n_tasks=2, n_tokens=5, n_features=1)
    >>> contexts[1].values.ravel()
    array([0.2, 0.5])
    """

    values: FloatArray
    labels: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    weights: FloatArray | None
    task_ids: NDArray[Any]
    classes: tuple[Any, Any]
    feature_names: tuple[str, ...] | None

    def __init__(
        self,
        X: Any,
        *,
        positive: Any = None,
        classes: tuple[Any, Any] | None = None,
        task_ids: ArrayLike | None = None,
    ) -> None:
        parts = _read(X)
        ids = parts.task_ids if task_ids is None else _id_array(task_ids)
        if parts.encoded is None:
            labels, classes = encode_labels(
                parts.labels,
                lambda token: _name_token(token, parts.offsets, ids),
                positive=positive,
                classes=classes,
            )
        else:
            _refuse_opposite(parts.encoded, positive, classes)
            labels, classes = parts.labels, parts.encoded
        self._set(
            parts.values,
            labels,
            parts.offsets,
            parts.weights,
            ids,
            classes,
            parts.feature_names,
        )
        if parts.encoded is None or task_ids is not None or len(self) == 0:
            self._check()

    @classmethod
    def from_arrays(
        cls,
        values: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        task_ids: ArrayLike | None = None,
        positive: Any = None,
        classes: tuple[Any, Any] | None = None,
    ) -> Contexts:
        """Contexts over flat arrays, without a copy where the types allow it.

        Parameters
        ----------
        values : array-like of shape (n_tokens,) or (n_tokens, n_features)
            Observations, one context after another. Not copied if float64; a
            `numpy.memmap` stays on disk.
        labels : array-like of shape (n_tokens,)
            Not copied if boolean.
        offsets : array-like of int of shape (n_tasks + 1,)
            Context ``i`` holds the tokens ``offsets[i]:offsets[i + 1]``.
        weights : array-like of shape (n_tokens,), optional
            Weights of the tokens, at least 0; not copied if float64.
        task_ids, positive, classes
            As for `Contexts`.

        Returns
        -------
        contexts : Contexts

        Raises
        ------
        ValueError
            As for `Contexts`; also if the arrays' lengths disagree.

        See Also
        --------
        from_frame : Contexts from a long data frame.

        Examples
        --------
        >>> from sklearn_attnstump import Contexts
        >>> Contexts.from_arrays([0.1, 0.7, 0.3], [True, False, True], [0, 2, 3])
        Contexts(n_tasks=2, n_tokens=3, n_features=1)
        """
        flat = as_floats(values, "values")
        if flat.ndim == 1:
            flat = flat[:, np.newaxis]
        names = None if task_ids is None else _id_array(task_ids)
        bounds = _check_offsets(offsets, flat, names)
        raw = label_array(labels)
        if raw.shape != flat.shape[:1]:
            raise ValueError(
                f"labels have shape {raw.shape} but there are {flat.shape[0]} values. "
                "Pass one label for each value."
            )
        encoded, classes = encode_labels(
            raw,
            lambda token: _name_token(token, bounds, names),
            positive=positive,
            classes=classes,
        )
        mass = None if weights is None else as_floats(weights, "weights")
        ids = np.arange(len(bounds) - 1) if names is None else names
        return cls._of(flat, encoded, bounds, mass, ids, classes, None)._check()

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        task: str | Sequence[str],
        feature: str | Sequence[str],
        label: str,
        weight: str | None = None,
        positive: Any = None,
        classes: tuple[Any, Any] | None = None,
        missing: str = "raise",
    ) -> Contexts:
        """Contexts from a long data frame: one row for each observation.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or another
            Any eager frame that narwhals reads. Rows of a task need not be neighbours;
            a frame's index plays no part.
        task : str or sequence of str
            The column, or columns, that name the task of a row.
        feature : str or sequence of str
            The column, or columns, of the observations.
        label : str
            The column of the two-valued labels.
        weight : str, optional
            The column of the tokens' weights.
        positive, classes
            As for `Contexts`.
        missing : {"raise", "drop"}, default="raise"
            What to do with a row that lacks a task, value, label or weight (null, NaN,
            NaT or an empty string). A task whose rows are all dropped is gone, with a
            warning.

        Returns
        -------
        contexts : Contexts
            Tasks in order of first appearance, `task_ids` being their names (tuples if
            there are several task columns), `feature_names` the feature columns.

        Raises
        ------
        TypeError
            If `frame` is no eager data frame, or a feature column holds no numbers.
        ValueError
            If a column is not there, a row lacks something and ``missing="raise"``, or
            for any reason that `Contexts` has.

        See Also
        --------
        from_arrays : Contexts over flat arrays, also on disk.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn_attnstump import Contexts
        >>> frame = pd.DataFrame({
        ...     "patient": ["ann", "bob", "ann", "bob"],
        ...     "dose": [1.0, 2.0, 3.0, 4.0],
        ...     "alive": ["yes", "yes", "no", "no"],
        ... })
        >>> contexts = Contexts.from_frame(
        ...     frame, task="patient", feature="dose", label="alive", positive="yes"
        ... )
        >>> contexts.task_ids.tolist()
        ['ann', 'bob']
        """
        columns = read_frame(
            frame,
            task=task,
            feature=feature,
            label=label,
            weight=weight,
            missing=missing,
        )
        contexts = cls.from_arrays(
            columns.values,
            columns.labels,
            columns.offsets,
            weights=columns.weights,
            task_ids=columns.task_ids,
            positive=positive,
            classes=classes,
        )
        contexts.feature_names = columns.feature_names
        return contexts

    @classmethod
    def _of(cls, *fields: Any) -> Contexts:
        """A container of fields that are known to be sound."""
        contexts = cls.__new__(cls)
        contexts._set(*fields)
        return contexts

    def _set(
        self,
        values: FloatArray,
        labels: NDArray[np.bool_],
        offsets: NDArray[np.int64],
        weights: FloatArray | None,
        task_ids: NDArray[Any],
        classes: tuple[Any, Any],
        feature_names: tuple[str, ...] | None,
    ) -> None:
        self.values = _read_only(values)
        self.labels = _read_only(labels)
        self.offsets = _read_only(offsets)
        self.weights = None if weights is None else _read_only(weights)
        self.task_ids = task_ids
        self.classes = classes
        self.feature_names = feature_names

    def _check(self) -> Contexts:
        """Refuse what no later code should have to think of."""
        if len(self) == 0:
            raise ValueError("there are no contexts. Pass at least one.")
        if self.task_ids.shape != (len(self),):
            raise ValueError(
                f"task_ids have shape {self.task_ids.shape} but there are {len(self)} "
                "contexts. Pass one id for each context."
            )
        _refuse_non_finite(self.values, self, "value")
        if self.weights is not None:
            self._check_weights(self.weights)
        return self

    def _check_weights(self, weights: FloatArray) -> None:
        if weights.shape != self.labels.shape:
            raise ValueError(
                f"weights have shape {weights.shape} but there are {len(self.labels)} "
                "tokens. Pass one weight for each token."
            )
        _refuse_non_finite(weights, self, "weight")
        if weights.min() < 0:
            token = int(np.argmax(weights < 0))
            raise ValueError(
                f"{self._name_token(token)} has the weight {weights[token]}. "
                "Weights must be at least 0."
            )
        empty = np.maximum.reduceat(weights, self.offsets[:-1]) == 0
        if empty.any():
            raise ValueError(
                f"{self.name(int(np.argmax(empty)))} has no token of positive weight. "
                "Leave the task out, or give a token some weight."
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies and pickles keep a checked array checked: arrays are read-only."""
        self.__dict__.update(state)
        for name in ("values", "labels", "offsets", "weights"):
            if state[name] is not None:
                setattr(self, name, _read_only(state[name]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """``(n_tasks,)``: what scikit-learn's splitters count and index."""
        return (len(self),)

    @property
    def n_features(self) -> int:
        """Number of features of an observation."""
        return self.values.shape[1]

    @property
    def n_tokens(self) -> int:
        """Number of observations in all contexts."""
        return self.values.shape[0]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """ndarray of shape (n_tasks,): number of tokens of each context."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        return (
            f"Contexts(n_tasks={len(self)}, n_tokens={self.n_tokens}, "
            f"n_features={self.n_features})"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise TypeError(
            "Contexts are ragged and cannot become one array. Use their flat values, "
            "labels and offsets."
        )

    def __iter__(self) -> Iterator[Contexts]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Contexts:
        """Some of the contexts, by position: int, slice, mask or array of ints.

        An int gives `Contexts` of length one. Slices of step one share memory. A
        trailing ellipsis, with which scikit-learn indexes whatever has a shape, says
        nothing here.
        """
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if isinstance(key, Integral):
            index = int(key) + (len(self) if key < 0 else 0)
            if not 0 <= index < len(self):
                raise IndexError(f"task {key} of {len(self)}: there is none")
            return self._run(index, index + 1)
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._run(start, max(start, stop))
            return self._gather(np.arange(start, stop, step))
        return self._gather(_as_positions(key, len(self)))

    def _run(self, start: int, stop: int) -> Contexts:
        first, last = self.offsets[start], self.offsets[stop]
        return self._of(
            self.values[first:last],
            self.labels[first:last],
            self.offsets[start : stop + 1] - first,
            None if self.weights is None else self.weights[first:last],
            self.task_ids[start:stop],
            self.classes,
            self.feature_names,
        )

    def _gather(self, tasks: NDArray[np.intp]) -> Contexts:
        sizes = self.sizes[tasks]
        offsets = offsets_of(sizes)
        tokens = np.arange(offsets[-1])
        tokens += np.repeat(self.offsets[tasks] - offsets[:-1], sizes)
        return self._of(
            self.values[tokens],
            self.labels[tokens],
            offsets,
            None if self.weights is None else self.weights[tokens],
            self.task_ids[tasks],
            self.classes,
            self.feature_names,
        )

    def piece(self, start: int, stop: int) -> Contexts:
        """Some of the tokens of a single context, as a context.

        Parameters
        ----------
        start, stop : int
            First token and the one after the last.

        Returns
        -------
        piece : Contexts
            Sharing memory with this one.

        See Also
        --------
        blocks : Runs of whole contexts.

        Examples
        --------
        >>> from sklearn_attnstump import Contexts
        >>> Contexts([([0.1, 0.4, 0.9], [1, 1, 0])]).piece(1, 3).values.ravel()
        array([0.4, 0.9])
        """
        return self._of(
            self.values[start:stop],
            self.labels[start:stop],
            np.array([0, min(stop, self.n_tokens) - start]),
            None if self.weights is None else self.weights[start:stop],
            self.task_ids,
            self.classes,
            self.feature_names,
        )

    def blocks(self, n_tokens: int) -> Iterator[slice]:
        """Slices of neighbouring tasks with about so many tokens together.

        Parameters
        ----------
        n_tokens : int
            A block holds no more, unless it is one context.

        Yields
        ------
        tasks : slice

        See Also
        --------
        piece : Some of the tokens of a single context.

        Examples
        --------
        >>> from sklearn_attnstump import Contexts
        >>> contexts = Contexts([([0.1, 0.9], [1, 0])] * 3)
        >>> list(contexts.blocks(4))
        [slice(0, 2, None), slice(2, 3, None)]
        """
        start = 0
        while start < len(self):
            limit = self.offsets[start] + n_tokens
            stop = int(np.searchsorted(self.offsets, limit, side="right")) - 1
            stop = max(stop, start + 1)
            yield slice(start, stop)
            start = stop

    def select_feature(self, feature: int) -> Contexts:
        """The same contexts with one of their features alone.

        Parameters
        ----------
        feature : int
            The feature's column.

        Returns
        -------
        contexts : Contexts
            Sharing memory with these.

        Raises
        ------
        IndexError
            If there is no such column.

        See Also
        --------
        with_values : The same contexts with other observations.

        Examples
        --------
        >>> from sklearn_attnstump import Contexts
        >>> contexts = Contexts([([[0.1, 5.0], [0.4, 7.0]], [1, 0])])
        >>> contexts.select_feature(1).values.ravel()
        array([5., 7.])
        """
        if not 0 <= feature < self.n_features:
            raise IndexError(f"feature {feature} of {self.n_features}: there is none")
        if self.n_features == 1:
            return self
        names = None if self.feature_names is None else (self.feature_names[feature],)
        return self._of(
            self.values[:, feature : feature + 1],
            self.labels,
            self.offsets,
            self.weights,
            self.task_ids,
            self.classes,
            names,
        )

    def with_values(self, values: ArrayLike) -> Contexts:
        """The same contexts with other observations, for transformers of a feature.

        Parameters
        ----------
        values : array-like of shape (n_tokens,) or (n_tokens, n_features)
            As many rows as `values` has.

        Returns
        -------
        contexts : Contexts
            With this object's labels, weights and task ids.

        Raises
        ------
        ValueError
            If the number of rows differs or a value is not finite.

        See Also
        --------
        select_feature : The same contexts with one of their features alone.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_attnstump import Contexts
        >>> contexts = Contexts([([1.0, 10.0, 100.0], [1, 1, 0])])
        >>> contexts.with_values(np.log10(contexts.values)).values.ravel()
        array([0., 1., 2.])
        """
        flat = as_floats(values, "values")
        flat = flat[:, np.newaxis] if flat.ndim == 1 else flat
        if len(flat) != self.n_tokens:
            raise ValueError(
                f"{len(flat)} rows of values for {self.n_tokens} tokens. Pass one row "
                "for each token."
            )
        names = self.feature_names if flat.shape[1] == self.n_features else None
        fields = (self.labels, self.offsets, self.weights, self.task_ids, self.classes)
        return self._of(flat, *fields, names)._check()

    def align(self, thresholds: Mapping[Any, float]) -> FloatArray:
        """Thresholds in the order of the contexts, looked up by task id.

        Parameters
        ----------
        thresholds : mapping
            From task id to threshold; it may hold more tasks than these.

        Returns
        -------
        thresholds : ndarray of shape (n_tasks,)

        Raises
        ------
        ValueError
            If a task has no threshold, or more than one.
        TypeError
            If `thresholds` is a data frame.

        Examples
        --------
        >>> from sklearn_attnstump import Contexts
        >>> contexts = Contexts([([0, 1], [1, 0])] * 2, task_ids=["ann", "bob"])
        >>> contexts.align({"bob": 0.5, "ann": 0.25, "cid": 0.75})
        array([0.25, 0.5 ])
        """
        if hasattr(thresholds, "columns"):
            raise TypeError(
                f"a {type(thresholds).__name__} is no mapping. Pass one "
                "from task id to threshold, such as frame.set_index(ids)[column]."
            )
        found = np.empty(len(self))
        for position, task in enumerate(self.task_ids.tolist()):
            value: Any = thresholds[task] if task in thresholds else None
            if np.ndim(value) > 0:  # a Series gives all that it has of a key
                raise ValueError(
                    f"{self.name(position)} has {len(value)} thresholds. Keep one."
                )
            if is_missing(value):
                known = next(iter(thresholds.keys()), None)
                raise ValueError(
                    f"{self.name(position)} has no threshold: the mapping has "
                    f"{len(thresholds)} tasks, the first is {known!r}. Add it, or "
                    "leave it out: contexts[numpy.isin(contexts.task_ids, known_ids)]."
                )
            found[position] = float(value)
        return found

    def name(self, task: int) -> str:
        """How messages call the task at a position.

        Parameters
        ----------
        task : int

        Returns
        -------
        name : str

        Examples
        --------
        >>> from sklearn_attnstump import Contexts
        >>> Contexts([([0.1, 0.9], [1, 0])], task_ids=["ann"]).name(0)
        "task 0 ('ann')"
        """
        return _name_task(task, self.task_ids)

    def _name_token(self, token: int) -> str:
        return _name_token(token, self.offsets, self.task_ids)


def _read(X: Any) -> Parts:
    """What is made of contexts already is taken over; every other form is read."""
    if isinstance(X, Contexts):
        return _join([X])
    if isinstance(X, (list, tuple)) and X:
        if all(isinstance(item, Contexts) for item in X):
            return _join(X)
    return read_form(X)


def _join(items: Sequence[Contexts]) -> Parts:
    first = items[0]
    if len(items) == 1:
        return _parts_of(first)
    for position, item in enumerate(items):
        if item.n_features != first.n_features:
            raise ValueError(
                f"contexts {position} have {item.n_features} features, the first have "
                f"{first.n_features}. Join contexts of the same features."
            )
        if not same_sense(item.classes, first.classes):
            raise ValueError(
                f"contexts {position} have the labels {item.classes} (negative, "
                f"positive), the first have {first.classes}. Make all of them with the "
                "same positive=..."
            )
    # Contexts of one label alone know no negative one.
    pairs = [item.classes for item in items]
    classes = next((pair for pair in pairs if pair[0] is not None), first.classes)
    return Parts(
        np.concatenate([item.values for item in items]),
        np.concatenate([item.labels for item in items]),
        offsets_of(np.concatenate([item.sizes for item in items])),
        join_weights([(item.weights, item.n_tokens) for item in items]),
        _join_ids([item.task_ids for item in items]),
        first.feature_names,
        classes,
    )


def _join_ids(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Ids one after another, or 0, 1, 2, ... if each part has but its own 0, 1, 2, ...

    Such numbers are places and no names: kept, they would give two tasks one id, and
    `Contexts.align` one threshold. Parts of a larger whole keep theirs.
    """
    whole = all(ids.dtype.kind == "i" for ids in parts)
    if whole and all(np.array_equal(ids, np.arange(len(ids))) for ids in parts):
        return np.arange(sum(map(len, parts)))
    return _id_array([name for ids in parts for name in ids.tolist()])


def _refuse_opposite(
    encoded: tuple[Any, Any], positive: Any, classes: tuple[Any, Any] | None
) -> None:
    """Labels that are encoded already are not to be read the other way round."""
    if positive is not None and positive != encoded[1]:
        raise ValueError(
            f"the contexts were made with {encoded[1]!r} as label 1. Pass "
            f"positive={positive!r} where they are made."
        )
    if classes is not None and not same_sense(encoded, classes):
        remedy = "Spell labels as at fit."
        if encoded[0] == classes[1] or encoded[1] == classes[0]:
            remedy = (
                "Say which of the two is label 1 where they are made: positive="
                f"{encoded[0]!r} or positive={encoded[1]!r}."
            )
        raise ValueError(
            f"the contexts' labels are {encoded} (negative, positive), but {classes} "
            f"are expected, as at fit. {remedy}"
        )


def _parts_of(contexts: Contexts) -> Parts:
    return Parts(
        contexts.values,
        contexts.labels,
        contexts.offsets,
        contexts.weights,
        contexts.task_ids,
        contexts.feature_names,
        contexts.classes,
    )


def _check_offsets(
    offsets: ArrayLike, values: FloatArray, task_ids: NDArray[Any] | None
) -> NDArray[np.int64]:
    bounds = np.asarray(offsets)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"values have shape {values.shape}; they must be (n_tokens,) or "
            "(n_tokens, n_features)."
        )
    if bounds.ndim != 1 or bounds.dtype.kind not in "iu" or len(bounds) < 2:
        raise ValueError(
            "offsets must be a 1-D array of n_tasks + 1 integers, at least two."
        )
    bounds = bounds.astype(np.int64, copy=False)
    if bounds[0] != 0 or bounds[-1] != len(values):
        raise ValueError(
            f"offsets run from {bounds[0]} to {bounds[-1]}; they must run from 0 to "
            f"the number of tokens, {len(values)}."
        )
    short = np.diff(bounds) <= 0
    if short.any():
        task = int(np.argmax(short))
        raise ValueError(
            f"{_name_task(task, task_ids)} is empty: its offsets are {bounds[task]} "
            f"and {bounds[task + 1]}. Leave it out."
        )
    return bounds


def _refuse_non_finite(array: FloatArray, contexts: Contexts, what: str) -> None:
    for start in range(0, len(array), _CHUNK):
        bad = ~np.isfinite(array[start : start + _CHUNK])
        if bad.any():
            row = np.argwhere(bad)[0]
            token = start + int(row[0])
            found = array[(token, *row[1:])]
            raise ValueError(
                f"{contexts._name_token(token)} has the {what} {found}. Only finite "
                "numbers are observations: drop the token (Contexts.from_frame has "
                "missing='drop' for NaN)."
            )


def _as_positions(key: Any, n_tasks: int) -> NDArray[np.intp]:
    positions = np.asarray(key)
    if positions.dtype == bool:
        if positions.shape != (n_tasks,):
            raise IndexError(
                f"a mask of shape {positions.shape} cannot select among {n_tasks} tasks"
            )
        return np.flatnonzero(positions)
    if positions.size == 0:
        return np.zeros(0, dtype=np.intp)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise IndexError(
            "contexts are indexed by an int, a slice, a mask or a 1-D array of ints"
        )
    if positions.min() < -n_tasks or positions.max() >= n_tasks:
        raise IndexError(f"a position is outside the {n_tasks} tasks")
    return np.where(positions < 0, positions + n_tasks, positions).astype(np.intp)


def _id_array(ids: ArrayLike) -> NDArray[Any]:
    """Task ids as an array that keeps each id what it is, tuples and mixtures too."""
    if isinstance(ids, np.ndarray) and ids.dtype != object:
        return ids
    items = list(ids)  # type: ignore[arg-type]
    kinds = {type(item) for item in items}
    if len(kinds) == 1 and kinds <= {int, str, float}:
        return np.asarray(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _name_task(task: int, task_ids: NDArray[Any] | None) -> str:
    if task_ids is None or len(task_ids) <= task:
        return f"task {task}"
    name = task_ids[task]
    name = name.item() if isinstance(name, np.generic) else name
    return f"task {task}" if name == task else f"task {task} ({name!r})"


def _name_token(
    token: int, offsets: NDArray[np.int64], task_ids: NDArray[Any] | None
) -> str:
    task = int(np.searchsorted(offsets, token, side="right")) - 1
    return f"{_name_task(task, task_ids)}, token {token - int(offsets[task])},"


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written through, so that a checked array stays checked."""
    view = array.view()
    view.flags.writeable = False
    return view
