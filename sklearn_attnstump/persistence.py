"""Frozen stumps as plain text: JSON that executes nothing, with every bit kept.

A frozen stump is two numbers and its settings; with a corpus's prior and conformity
scores some thousand numbers more. All of it is written as JSON, numbers in their
shortest decimal form that reads back to the same float64, and infinities, which JSON
lacks, as the strings "inf" and "-inf". The path of the solver is left out: it says how
the stump came about, not what it is.

A text is read by its schema. Every entry must be there, be of its kind and make sense,
and none may be left over: whatever was not written by this module is refused with a
reason. A digest of the content finds accidents, such as an edited digit; it is no
signature, and whoever means to change a model can renew it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.base import ContextRegressor, check_range
from sklearn_attnstump.gibbs import GibbsHead
from sklearn_attnstump.heads import HEADS, Head
from sklearn_attnstump.priors import Prior
from sklearn_attnstump.scaling import DIRECTIONS, SCALINGS, Scaling

FloatArray = NDArray[np.float64]

FORMAT = "sklearn_attnstump stump"
# Raised when a text of the new kind cannot be read by the old code.
SCHEMA = 1

# Fitted attributes that say how pretraining went: kept where there are some.
_RECORD: dict[str, Callable[[Any], bool]] = {
    "loss_": lambda value: _is_number(value) and 0 <= value < np.inf,
    "n_iter_": lambda value: _is_integer(value) and value >= 0,
    "n_evaluations_": lambda value: _is_integer(value) and value >= 0,
    "converged_": lambda value: isinstance(value, bool),
    "status_": lambda value: isinstance(value, str),
}


class JsonMixin(ContextRegressor):
    """Writing a fitted stump as JSON text, and reading it."""

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
            For heads that are not this package's, and for label classes or settings
            that JSON has no word for.

        See Also
        --------
        from_json : The way back.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef((50, 58), feature_range=(0, 1))
        >>> text = stump.to_json()
        >>> X = [([0.1, 0.4, 0.9], [1, 1, 0])]
        >>> bool(PretrainedAttentionStump.from_json(text).predict(X) == stump.predict(X))
        True
        """
        content = _content(self)
        sealed = {**content, "digest": _digest(content)}
        return json.dumps(sealed, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A fitted stump from text that `to_json` has written; nothing is executed.

        Parameters
        ----------
        text : str

        Returns
        -------
        stump : PretrainedAttentionStump
            Ready to predict, without `path_`.

        Raises
        ------
        TypeError
            If `text` is no str.
        ValueError
            If it is not such a text, was written by a newer version, or was changed
            since.

        See Also
        --------
        to_json : Writes the text.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef(
        ...     (2.2, 1.0), head="gibbs", scaling="context"
        ... )
        >>> PretrainedAttentionStump.from_json(stump.to_json()).coef_
        array([2.2, 1. ])
        """
        content = _opened(text)
        head, params = content.entries("head"), content.entries("params")
        given = dict(params.rest())
        if given.get("head") == "object":
            given["head"] = head.made(learned=False)
        if isinstance(given.get("feature_range"), list):
            given["feature_range"] = tuple(given["feature_range"])
        try:
            stump = cls(**given)
            stump._validate_params()
        except (TypeError, ValueError) as error:
            raise ValueError(f"the settings make no stump: {error}") from None
        return stump._adopt(_fitted(content, head))


def _content(stump: JsonMixin) -> dict[str, Any]:
    from sklearn_attnstump import __version__

    stump._check_fitted()
    scaling = stump._scaling
    params = stump.get_params(deep=False)
    params["head"] = _plain_head(params["head"])
    names = getattr(stump, "feature_names_in_", None)
    scores = getattr(stump, "conformity_scores_", None)
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "version": __version__,
        "params": {key: _plain(value, key) for key, value in params.items()},
        "head": _written_head(stump.head_),
        "coef": _numbers(stump.coef_),
        "feature": stump._feature,
        "n_features": getattr(stump, "n_features_in_", None),
        "feature_names": None if names is None else list(map(str, names)),
        "label_classes": [_plain(c, "label_classes_") for c in stump.label_classes_],
        "scaling": {
            "kind": scaling.kind,
            "direction": scaling.direction,
            "feature_range": _plain(scaling.feature_range, "feature_range_"),
            "strict": scaling.strict,
            "anchors": bool(scaling.anchors),
        },
        "conformity_scores": None if scores is None else _numbers(scores),
        "record": {
            name: _plain(getattr(stump, name), name)
            for name in _RECORD
            if hasattr(stump, name)
        },
    }


def _fitted(content: _Entries, head: _HeadEntries) -> dict[str, Any]:
    """The fitted attributes that a text holds, each checked."""
    layout = content.entries("scaling")
    ends = layout.take("feature_range", _is_range)
    scaling = Scaling(
        kind=layout.take("kind", SCALINGS.__contains__),
        direction=layout.take("direction", DIRECTIONS.__contains__),
        feature_range=check_range(ends),
        strict=layout.take("strict", _is_boolean),
        anchors=layout.take("anchors", _is_boolean),
    )
    layout.close()
    if scaling.kind == "range" and ends is None:
        raise layout.refused("feature_range", ends)
    coef = content.array("coef", lambda c: len(c) == 2 and bool(np.isfinite(c).all()))
    fitted: dict[str, Any] = {
        "direction_": scaling.direction,
        "feature_range_": scaling.feature_range,
        "label_classes_": tuple(content.take("label_classes", _is_pair)),
        "head_": (made := head.made(learned=True)),
        "coef_": coef,
        **{f"{n}_": c for n, c in zip(made.coef_names, coef.tolist(), strict=True)},
        "_feature": content.take("feature", lambda f: _is_integer(f) and f >= 0),
        "_scaling": scaling,
    }
    head.close()
    n_features = content.take("n_features", lambda n: n is None or _is_integer(n))
    if n_features is not None:
        fitted["n_features_in_"] = n_features
    names = content.take("feature_names", _is_names)
    if names is not None:
        fitted["feature_names_in_"] = np.array(names, dtype=object)
    if content.take("conformity_scores", lambda s: True, keep=True) is not None:
        fitted["conformity_scores_"] = content.array("conformity_scores", _is_sorted)
    else:
        content.take("conformity_scores", lambda s: True)
    record = content.entries("record")
    for name, sound in _RECORD.items():
        if name in record:
            fitted[name] = record.take(name, sound)
    record.close()
    content.close()
    return fitted
