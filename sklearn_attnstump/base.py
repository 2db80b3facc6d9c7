"""What all estimators over contexts share: the door at fit and at predict.

A corpus is read into one feature's contexts, thresholds and task weights, and into the
settings that the fitted estimator keeps; fresh contexts are read by those settings.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.forms import as_floats
from sklearn_attnstump.scaling import Range, learned_range, shown_direction

FloatArray = NDArray[np.float64]


class Corpus(NamedTuple):
    """A corpus of tasks as an estimator reads it."""

    contexts: Contexts  # of one feature
    thresholds: FloatArray | None  # (n_tasks,)
    weights: FloatArray | None  # (n_tasks,)
    settings: dict[str, Any]  # fitted attributes: direction_, feature_range_, ...


class ContextRegressor(RegressorMixin, BaseEstimator):
    """Base of the estimators that infer the threshold of each context.

    Subclasses have the parameters `direction`, `feature` and `feature_range`, call
    `_read_corpus` at fit and `_read_fresh` at predict, and install what they learned by
    `_adopt`.
    """

    direction: str
    feature: int | str
    feature_range: tuple[float, float] | None

    direction_: str
    feature_range_: Range | None
    label_classes_: tuple[Any, Any]
    n_features_in_: int
    _feature: int

    def _read_corpus(
        self,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        *,
        learn_range: bool = True,
    ) -> Corpus:
        """The corpus, checked; thresholds may be missing where nothing needs them."""
        contexts = Contexts(X)
        feature = _feature_position(self.feature, contexts)
        one = contexts.select_feature(feature)
        thresholds = None if y is None else check_thresholds(y, one)
        weights = _check_task_weights(sample_weight, one)
        feature_range = check_range(self.feature_range)
        if feature_range is not None:
            refuse_outside(thresholds, feature_range, one)
        if weights is not None and not weights.all():
            # A task of weight zero is no task: nothing is learned from it.
            kept = weights > 0
            one, weights = one[kept], weights[kept]
            thresholds = None if thresholds is None else thresholds[kept]
        direction = self.direction
        if direction == "auto":
            direction = shown_direction(one, required(thresholds), weights)
        if feature_range is None and learn_range:
            feature_range = learned_range(one, thresholds)
        settings: dict[str, Any] = {
            "direction_": direction,
            "feature_range_": feature_range,
            "label_classes_": contexts.classes,
            "n_features_in_": contexts.n_features,
            "_feature": feature,
        }
        if contexts.feature_names is not None:
            names = np.array(contexts.feature_names, dtype=object)
            settings["feature_names_in_"] = names
        return Corpus(one, thresholds, weights, settings)

    def _read_fresh(self, X: Any) -> Contexts:
        """Fresh contexts of the fitted feature, checked."""
        check_is_fitted(self, "direction_")
        contexts = Contexts(X, classes=self.label_classes_)
        expected = getattr(self, "n_features_in_", None)
        if expected is not None and contexts.n_features != expected:
            raise ValueError(
                f"{contexts.name(0)} and the others have {contexts.n_features} "
                f"features, but {type(self).__name__} was fitted on {expected}. Pass "
                "the same features as at fit, the label not counted."
            )
        self._refuse_other_names(contexts.feature_names)
        if contexts.n_features <= self._feature:
            raise ValueError(
                f"feature={self._feature} is not among the {contexts.n_features} of "
                "the contexts."
            )
        return contexts.select_feature(self._feature)

    def _refuse_other_names(self, names: tuple[str, ...] | None) -> None:
        """Named columns in another order would be another feature's."""
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise ValueError(
                f"the contexts have the features {list(names)}, but "
                f"{type(self).__name__} was fitted on {list(known)}. Pass the same "
                "features in the same order."
            )

    def _adopt(self, fitted: dict[str, Any]) -> Self:
        """Replace the whole fitted state at once, nothing of an earlier fit staying."""
        for name in list(vars(self)):
            if name.endswith("_") and not name.startswith("_") and name not in fitted:
                delattr(self, name)
        self.__dict__.update(fitted)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags


def required(thresholds: FloatArray | None) -> FloatArray:
    """Thresholds, or an error that says that they are missing."""
    if thresholds is None:
        raise ValueError("y is missing: the tasks' thresholds are needed here.")
    return thresholds


def refuse_outside(
    thresholds: FloatArray | None, feature_range: Range, contexts: Contexts
) -> None:
    """Refuse thresholds outside a range that the user has given."""
    if thresholds is None:
        return
    outside = (thresholds < feature_range[0]) | (thresholds > feature_range[1])
    if outside.any():
        task = int(np.argmax(outside))
        raise ValueError(
            f"{contexts.name(task)} has the threshold {float(thresholds[task])!r} "
            f"outside feature_range={feature_range}. Correct it, or widen "
            "feature_range."
        )


def check_range(feature_range: Any) -> Range | None:
    """A given range as two finite floats, the lower end first."""
    if feature_range is None:
        return None
    try:
        lo, hi = (float(end) for end in feature_range)
    except (TypeError, ValueError):
        raise ValueError(
            f"feature_range must be a pair of numbers, got {feature_range!r}."
        ) from None
    if not (np.isfinite([lo, hi]).all() and lo < hi):
        raise ValueError(
            f"feature_range=({lo}, {hi}) must be finite, the lower end first."
        )
    return lo, hi


def _feature_position(feature: int | str, contexts: Contexts) -> int:
    if isinstance(feature, str):
        names = contexts.feature_names
        if names is None or feature not in names:
            raise ValueError(
                f"feature={feature!r} is not among the contexts' features "
                f"({'unnamed' if names is None else list(names)}). Contexts.from_frame "
                "keeps the names of feature columns."
            )
        return names.index(feature)
    if feature >= contexts.n_features:
        raise ValueError(
            f"feature={feature} is not among the {contexts.n_features} of the contexts."
        )
    return int(feature)


def check_thresholds(y: ArrayLike, contexts: Contexts) -> FloatArray:
    """Known thresholds, one finite number for each context."""
    _refuse_masked(y, "thresholds", "tasks of unknown threshold")
    try:
        thresholds = as_floats(column_or_1d(y, warn=True), "thresholds").copy()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"thresholds must be a 1-D array of numbers: {error}"
        ) from None
    if len(thresholds) != len(contexts):
        raise ValueError(
            f"there are {len(contexts)} contexts but {len(thresholds)} thresholds. "
            "Pass one for each context (Contexts.align looks them up by task id)."
        )
    _refuse_other_order(y, contexts)
    bad = ~np.isfinite(thresholds)
    if bad.any():
        task = int(np.argmax(bad))
        raise ValueError(
            f"{contexts.name(task)} has the threshold {thresholds[task]}. Only tasks "
            "of known, finite threshold can be pretrained on; leave the others out."
        )
    return thresholds


def _refuse_other_order(y: Any, contexts: Contexts) -> None:
    """A series whose index has the tasks' names in another order is a slip."""
    names = contexts.task_ids.tolist()
    if not hasattr(y, "index") or callable(y.index) or names == list(range(len(names))):
        return
    index = list(y.index)
    if index != names and len(set(names)) == len(names) and set(index) == set(names):
        task = next(i for i, name in enumerate(names) if name != index[i])
        raise ValueError(
            f"{contexts.name(task)} stands beside the threshold of {index[task]!r}: "
            "the index of y has the tasks in another order. Pass contexts.align(y)."
        )


def _refuse_masked(array: Any, what: str, whom: str) -> None:
    """`numpy.asarray` would drop a mask without a word."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"masked {what} would lose their mask. Leave {whom} out.")


def _check_task_weights(
    sample_weight: ArrayLike | None, contexts: Contexts
) -> FloatArray | None:
    if sample_weight is None:
        return None
    _refuse_masked(sample_weight, "sample_weight", "tasks of no weight")
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (len(contexts),):
        raise ValueError(
            f"sample_weight has shape {weights.shape} but there are {len(contexts)} "
            "contexts. Pass one weight for each."
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        task = int(np.argmax(bad))
        raise ValueError(
            f"{contexts.name(task)} has the weight {weights[task]}. Weights must be "
            "finite and at least 0."
        )
    if not weights.any():
        raise ValueError("all tasks have weight 0. Give at least one some weight.")
    return weights
