"""Frozen stumps as plain text: JSON that executes nothing, with every bit kept.

A frozen stump is two numbers and its settings; with a corpus's prior and conformity
scores some thousand numbers more. All of it is written as JSON, numbers in the shortest
decimal form that reads back to the same float64, and infinities, which JSON lacks, as
the strings "inf" and "-inf". The path of the solver is left out: it says how the stump
came about, not what it is.

A text is read entry by entry. Each must be there, be of its kind and make sense, and
none may be left over: whatever `to_json` would not have written is refused with a
reason. A digest of the content finds accidents, such as an altered digit; it is no
signature, and whoever means to change a model can renew it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_attnstump.base import ContextRegressor, check_range
from sklearn_attnstump.heads import HEADS, GibbsHead, Head
from sklearn_attnstump.priors import Prior
from sklearn_attnstump.scaling import DIRECTIONS, SCALINGS, Scaling

FloatArray = NDArray[np.float64]

FORMAT = "sklearn_attnstump.PretrainedAttentionStump"
# To be raised when older code could not read, or would misread, what is written.
SCHEMA = 1


class JsonMixin(ContextRegressor):
    """Writing a fitted stump as JSON text, and reading it back."""

    head_: Head
    coef_: FloatArray
    _scaling: Scaling

    def to_json(self) -> str:
        """The fitted stump as JSON text: settings, coefficients, prior and scores.

        Returns
        -------
        text : str
            Numbers keep every bit, so that the stump read from it predicts the same.
            The path of the solver, `path_`, is left out.

        Raises
        ------
        NotFittedError
            Before `fit`.
        TypeError
            For heads that are not this package's own, and for settings or label classes
            that JSON has no form for.

        See Also
        --------
        from_json : The way back.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef((50, 58), feature_range=(0, 1))
        >>> text = stump.to_json()
        >>> PretrainedAttentionStump.from_json(text).coef_
        array([50., 58.])
        """
        check_is_fitted(self, "direction_")
        content = _content(self)
        return json.dumps({**content, "digest": _digest(content)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted stump from text that `to_json` has written; nothing is executed.

        Parameters
        ----------
        text : str

        Returns
        -------
        stump : PretrainedAttentionStump
            Ready to predict; without `path_`.

        Raises
        ------
        TypeError
            If `text` is no str.
        ValueError
            If it is no such text, was written by a newer version, or was changed since.

        See Also
        --------
        to_json : Writes the text.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef(
        ...     (2.2, 1.0), head="gibbs", scaling="context"
        ... )
        >>> text = stump.to_json()
        >>> PretrainedAttentionStump.from_json(text).disagreement_scale_
        2.2
        """
        content = _open(text)
        params = content.take("params", _is_mapping)
        if isinstance(params.get("head"), dict):
            params["head"] = _read_head(_Entries(params["head"], "params.head"))
        if isinstance(params.get("feature_range"), list):
            params["feature_range"] = tuple(params["feature_range"])
        fitted = _read_fitted(content)
        try:
            stump = cls(**params)
            stump._validate_params()
            check_range(stump.feature_range)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the text's settings make no stump: {error}") from None
        return stump._adopt(fitted)


def _content(stump: JsonMixin) -> dict[str, Any]:
    """What is written, in the order of the text."""
    from sklearn_attnstump import __version__  # stated below the imports there

    params = stump.get_params(deep=False)
    if not isinstance(params["head"], str):
        params["head"] = _head_entries(params["head"])
    fitted = vars(stump)
    names = fitted.get("feature_names_in_")
    scores = fitted.get("conformity_scores_")
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "version": __version__,
        "params": _plain(params, "params"),
        "coef": _plain(stump.coef_, "coef_"),
        "head": {
            **_head_entries(stump.head_),
            "prior": _plain(_density(stump.head_), "prior_"),
        },
        "scaling": _plain(vars(stump._scaling), "scaling"),
        "label_classes": _plain(stump.label_classes_, "label_classes_"),
        "feature": _plain(stump._feature, "feature"),
        "n_features": _plain(fitted.get("n_features_in_"), "n_features_in_"),
        "feature_names": None if names is None else list(map(str, names)),
        "conformity_scores": _plain(scores, "conformity_scores_"),
        "record": {
            name: _plain(fitted[name], name) for name in _RECORD if name in fitted
        },
    }


def _head_entries(head: Head) -> dict[str, Any]:
    for name, kind in HEADS.items():
        if type(head) is kind:
            return {"kind": name, "params": _plain(head.get_params(), "head's params")}
    raise TypeError(
        f"{head} is not one of this package's heads, and a text could not say what it "
        "does. Use skops.io.dump."
    )


def _density(head: Head) -> FloatArray | None:
    prior = getattr(head, "prior_", None)
    return None if prior is None else prior.density


def _plain(value: Any, where: str) -> Any:
    """The same in JSON's own types; every number keeps its kind and its bits."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and not np.isnan(value):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item, where) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item, where) for key, item in value.items()}
    raise TypeError(
        f"{where} holds {value!r}, for which JSON has no form. Use skops.io.dump, or "
        "numbers and strings."
    )


def _digest(content: dict[str, Any]) -> str:
    """SHA-256 of the content, whatever its white space and order of entries."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class _Entries:
    """The entries of a JSON object, to be taken one by one until none is left."""

    def __init__(self, found: dict[str, Any], where: str) -> None:
        self.left = dict(found)
        self.where = where

    def take(self, key: str, sound: Callable[[Any], bool]) -> Any:
        """An entry that must be there, and pass a test."""
        name = f"{self.where}.{key}".lstrip(".")
        if key not in self.left:
            raise ValueError(f"the text lacks the entry {name!r}.")
        value = self.left.pop(key)
        if not sound(value):
            shown = repr(value) if len(repr(value)) < 60 else f"{repr(value)[:57]}..."
            raise ValueError(f"the text's entry {name!r} cannot be {shown}.")
        return value

    def entries(self, key: str) -> _Entries:
        """An entry that is an object itself."""
        name = f"{self.where}.{key}".lstrip(".")
        return _Entries(self.take(key, _is_mapping), name)

    def close(self) -> None:
        """Refuse what has not been taken."""
        if self.left:
            raise ValueError(
                f"the text has the unknown entries {sorted(self.left)}"
                + (f" in {self.where!r}." if self.where else ".")
            )


def _open(text: str) -> _Entries:
    """The content of a text of the right format, schema and digest."""
    if not isinstance(text, str):
        raise TypeError(
            f"from_json reads a str, got {type(text).__name__}. Open a file first: "
            "from_json(path.read_text())."
        )
    try:
        found = json.loads(
            text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        hint = "" if "{" in text else " It looks like a path: read the file first."
        raise ValueError(
            f"this is not JSON as to_json writes it: {error}.{hint}"
        ) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(
            f"this is JSON, but not a stump's: its 'format' is not {FORMAT!r}."
        )
    schema = found.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise ValueError(f"the text's entry 'schema' cannot be {schema!r}.")
    if schema > SCHEMA:
        raise ValueError(
            f"the text was written by sklearn_attnstump {found.get('version')}, with "
            f"schema {schema}; this version reads schemas up to {SCHEMA}. Upgrade "
            "sklearn_attnstump to read it."
        )
    if found.pop("digest", None) != _digest(found):
        raise ValueError(
            "the text was changed after it was written: its digest does not fit its "
            "content. Write it again, or make a stump by from_coef."
        )
    content = _Entries(found, "")
    for key in ("format", "schema", "version"):
        content.take(key, lambda _: True)
    return content


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an entry stands there twice")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _read_fitted(content: _Entries) -> dict[str, Any]:
    """The fitted attributes that a text holds."""
    head = _read_head(content.entries("head"), fitted=True)
    coef = _array(content.take("coef", _is_coef))
    scaling = _read_scaling(content.entries("scaling"))
    named = zip(head.coef_names, coef.tolist(), strict=True)
    fitted: dict[str, Any] = {
        "coef_": coef,
        **{f"{name}_": value for name, value in named},
        "head_": head,
        "direction_": scaling.direction,
        "feature_range_": scaling.feature_range,
        "label_classes_": tuple(content.take("label_classes", _is_classes)),
        "_feature": content.take("feature", _is_count),
        "_scaling": scaling,
    }
    n_features = content.take("n_features", lambda n: n is None or _is_count(n))
    names = content.take("feature_names", _is_names)
    scores = content.take("conformity_scores", _is_scores)
    if n_features is not None:
        fitted["n_features_in_"] = n_features
    if names is not None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    if scores is not None:
        fitted["conformity_scores_"] = _array(scores)
    record = content.entries("record")
    for name in [name for name in _RECORD if name in record.left]:
        fitted[name] = record.take(name, _RECORD[name])
    record.close()
    content.close()
    return fitted


def _read_head(entries: _Entries, *, fitted: bool = False) -> Head:
    kind = HEADS[entries.take("kind", lambda k: isinstance(k, str) and k in HEADS)]
    params = entries.take("params", _is_mapping)
    prior = entries.take("prior", _is_density) if fitted else None
    entries.close()
    # Settings that a later release adds have defaults that do what was done before.
    unknown = sorted(set(params) - set(kind().get_params()))
    if unknown:
        raise ValueError(
            f"the text has the settings {unknown}, which {kind.__name__} lacks."
        )
    head = kind(**params)
    if isinstance(head, GibbsHead):
        head._check_settings()
        if prior is not None:
            head.prior_ = Prior(_array(prior))
    return head


def _read_scaling(entries: _Entries) -> Scaling:
    ends = entries.take("feature_range", _is_range)
    found = Scaling(
        kind=entries.take("kind", lambda k: k in SCALINGS),
        direction=entries.take("direction", lambda d: d in DIRECTIONS),
        feature_range=None if ends is None else (ends[0], ends[1]),
        strict=entries.take("strict", _is_boolean),
        anchors=entries.take("anchors", _is_boolean),
    )
    entries.close()
    if found.feature_range is None and (found.kind == "range" or found.anchors):
        raise ValueError("the text's scaling lacks the 'feature_range' that it needs.")
    return found


def _array(numbers: list[Any]) -> FloatArray:
    return np.array([float(number) for number in numbers], dtype=np.float64)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isfinite(value))


def _is_coef(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_finite, value))


def _is_range(value: Any) -> bool:
    return value is None or (_is_coef(value) and value[0] <= value[1])


def _is_density(value: Any) -> bool:
    """A density on cells of equal width: positive, of mean one."""
    if value is None:
        return True
    if not (isinstance(value, list) and value and all(map(_is_finite, value))):
        return False
    return min(value) > 0 and abs(float(np.mean(value)) - 1) < 1e-9


def _is_scores(value: Any) -> bool:
    """Conformity scores: at least 0, infinite if need be, in ascending order."""
    if value is None:
        return True
    if not isinstance(value, list):
        return False
    if not all(_is_finite(score) or score == "inf" for score in value):
        return False
    scores = _array(value)
    return bool((scores >= 0).all() and (scores[:-1] <= scores[1:]).all())


def _is_classes(value: Any) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    scalar = all(item is None or isinstance(item, (str, int, float)) for item in value)
    return scalar and value[0] != value[1] and value[1] is not None


def _is_names(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(name, str) for name in value)
    )


# Fitted attributes that say how pretraining went, kept where there are some.
_RECORD: dict[str, Callable[[Any], bool]] = {
    "loss_": lambda value: _is_finite(value) and value >= 0,
    "n_iter_": _is_count,
    "n_evaluations_": _is_count,
    "converged_": _is_boolean,
    "status_": lambda value: isinstance(value, str),
}
