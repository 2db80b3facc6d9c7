"""Two-valued labels: any spelling in, booleans out.

Labels are encoded by equality, never by rounding, order of appearance or string
replacement, so that a third value, a missing value or two swapped arguments are errors
and not a wrong threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Spellings whose positive value needs no telling; `False == 0` and `True == 1`.
_CANONICAL = ((0, 1), (-1, 1))

# Labels that are read at a time: they stay in the processor's cache.
_CHUNK = 1 << 15


def is_missing(value: Any) -> bool:
    """Whether a scalar stands for "not observed".

    None, NaN, NaT, ``pandas.NA`` and the empty string are one and the same thing here.
    """
    if value is None or (isinstance(value, str) and value == ""):
        return True
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA refuses to say
        return True


def canonical(classes: tuple[Any, Any] | None) -> bool:
    """Whether a pair ``(negative, positive)`` is 0/1, -1/1 or False/True."""
    return classes in _CANONICAL


def same_sense(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Whether two pairs ``(negative, positive)`` may stand for the same labels.

    0/1, -1/1 and booleans go with any spelling but the opposite. Two other spellings
    must be equal: "Yes" beside "yes" is a slip of the pen, and would be read as "no".
    A pair of one label alone has None for its negative one.
    """
    if _plain(one) or _plain(other):
        return one[0] != other[1] and one[1] != other[0]
    return one[1] == other[1] and (one[0] == other[0] or None in (one[0], other[0]))


def _plain(pair: tuple[Any, Any]) -> bool:
    return canonical(pair) or pair in ((None, 1), (None, True))


def encode_labels(
    raw: NDArray[Any],
    name: Callable[[int], str],
    *,
    positive: Any = None,
    classes: tuple[Any, Any] | None = None,
) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """Encode two-valued labels as booleans.

    Parameters
    ----------
    raw : ndarray of shape (n_tokens,)
        The labels as the user wrote them: booleans, whole numbers, strings.
    name : callable
        ``name(token)`` says where token number `token` stands, for messages.
    positive : scalar, optional
        The value that means "label 1". By default 1 or True where the values are
        0/1, -1/1 or booleans, else the larger of the two values in sorted order.
    classes : tuple (negative, positive), optional
        The only two values allowed, as an earlier call returned them.

    Returns
    -------
    labels : ndarray of bool of shape (n_tokens,)
    classes : tuple (negative, positive)

    Raises
    ------
    ValueError
        If a label is missing or not a whole number, if there are three values, if
        there is one value and nothing tells whether it is the positive one, or if
        `positive` is none of the two values, or not the positive one of `classes`.
    """
    if classes is not None and positive is not None and positive != classes[1]:
        raise ValueError(
            f"positive={positive!r} contradicts classes={classes}, whose second is "
            "label 1. Pass one of the two."
        )
    boolean = raw.dtype == np.bool_
    if boolean and positive in (None, True) and _may_be_canonical(classes):
        return raw, (False, True) if classes is None else classes
    if raw.dtype.kind in "iuf" and positive is None and _may_be_canonical(classes):
        labels, negative = _encode_canonical(raw)
        if negative is not None:
            return labels, (negative, 1) if classes is None else classes
    _refuse_missing(raw, name)
    _refuse_fractions(raw, name)
    values = _two_values(raw, name, classes)
    negative, positive = _order(values, positive, classes, name)
    return np.asarray(raw == positive, dtype=bool), (negative, positive)


def _may_be_canonical(classes: tuple[Any, Any] | None) -> bool:
    return classes is None or canonical(classes)


def _encode_canonical(raw: NDArray[Any]) -> tuple[NDArray[np.bool_], int | None]:
    """Numbers that are 0/1 or -1/1, and the negative one; None if any is neither.

    A missing value equals nothing, so that it is neither.
    """
    labels = np.empty(len(raw), dtype=bool)
    n_others = n_zeros = n_minus = 0
    for start in range(0, len(raw), _CHUNK):
        chunk = np.ascontiguousarray(raw[start : start + _CHUNK])
        ones = np.equal(chunk, 1, out=labels[start : start + _CHUNK])
        others = len(chunk) - np.count_nonzero(ones)
        zeros = np.count_nonzero(chunk == 0)
        n_others, n_zeros = n_others + int(others), n_zeros + int(zeros)
        if zeros < others and raw.dtype.kind != "u":
            n_minus += int(np.count_nonzero(chunk == -1))
        if n_others not in (n_zeros, n_minus):
            return labels, None
    return labels, 0 if n_zeros == n_others else -1


def _refuse_missing(raw: NDArray[Any], name: Callable[[int], str]) -> None:
    if raw.dtype.kind == "f":
        bad = np.isnan(raw)
    elif raw.dtype.kind in "iub":
        return
    else:
        bad = np.fromiter(map(is_missing, raw.tolist()), bool, len(raw))
    if bad.any():
        raise ValueError(
            f"{name(int(np.argmax(bad)))} has a missing label. Drop the observation "
            "(Contexts.from_frame has missing='drop') or give it a label."
        )


def _refuse_fractions(raw: NDArray[Any], name: Callable[[int], str]) -> None:
    """Numbers such as 0.37 among the labels mean that arguments were swapped."""
    if raw.dtype.kind == "c":
        raise ValueError(f"{name(0)} has complex labels; labels must be two-valued.")
    if raw.dtype.kind == "f":
        bad = ~np.isfinite(raw) | (raw != np.rint(raw))
    elif raw.dtype == object:
        bad = np.fromiter(
            (isinstance(v, float) and not v.is_integer() for v in raw), bool, len(raw)
        )
    else:
        return
    if bad.any():
        token = int(np.argmax(bad))
        raise ValueError(
            f"{name(token)} has the label {raw.item(token)!r}; labels must be "
            "two-valued (booleans, 0/1, -1/1, strings). Are observations and labels "
            "swapped?"
        )


def _two_values(
    raw: NDArray[Any], name: Callable[[int], str], classes: tuple[Any, Any] | None
) -> list[Any]:
    """The distinct labels, at most two, in order of first appearance."""
    items = raw.tolist()
    values = list(dict.fromkeys(items))
    allowed = values[:2] if classes is None else list(classes)
    extra = [value for value in values if value not in allowed]
    if extra:
        known = " and ".join(map(repr, allowed))
        raise ValueError(
            f"{name(items.index(extra[0]))} has the label {extra[0]!r} beside {known}; "
            "labels must be two-valued, the same two in every context and in fit and "
            "predict. Recode them, or say which value is label 1 by "
            "Contexts(X, positive=...)."
        )
    return values


def _order(
    values: list[Any],
    positive: Any,
    classes: tuple[Any, Any] | None,
    name: Callable[[int], str],
) -> tuple[Any, Any]:
    """Which of the values is negative and which is positive."""
    if classes is not None:
        return classes
    if positive is not None:
        others = [value for value in values if value != positive]
        if len(others) == 2:
            raise ValueError(
                f"positive={positive!r} is none of the labels {others[0]!r} and "
                f"{others[1]!r}. Pass one of them."
            )
        return (others[0] if others else None), positive
    for pair in _CANONICAL:  # reached by numbers kept as Python objects
        if set(values) <= set(pair):
            return pair
    if len(values) == 1:
        raise ValueError(
            f"{name(0)} and all others have the one label {values[0]!r}, and nothing "
            "says whether that is label 1. Pass Contexts(X, positive=...)."
        )
    try:
        low, high = sorted(values)
    except TypeError:
        raise ValueError(
            f"labels {values[0]!r} and {values[1]!r} cannot be put in order. Say "
            "which of them is label 1 by Contexts(X, positive=...)."
        ) from None
    return low, high
