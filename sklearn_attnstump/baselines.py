"""Baselines: stump learners that find each context's threshold without pretraining.

They share the interface of `PretrainedAttentionStump`, so one `cross_validate` compares
them all. ``fit`` learns nothing but the direction, the range and the labels' spelling.

* `DecisionStump` and `LogisticStump` fit scikit-learn's estimators to each context.
* `ERMStump` and `BayesStump` weigh the gaps between observations by the labels that
  they contradict, on the Gibbs head's own kernel.
* `OneSidedStump` and `MidpointStump` are limits of the two-score heads.

A constant is scikit-learn's own ``DummyRegressor``, which reads contexts as well: it
looks at the thresholds alone.

Every baseline sees a context as if labels fell as the feature rises: ``">="`` is read
with the feature's sign turned, which is exact, and the threshold's is turned back.
"""

from __future__ import annotations

import math
import sys
import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from sklearn_attnstump.base import ContextRegressor
from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.gaps import find_gaps, label_edges
from sklearn_attnstump.gibbs import GibbsPack
from sklearn_attnstump.priors import Prior
from sklearn_attnstump.scaling import DIRECTIONS, AffineMap, Scaling, context_ranges

__all__ = [
    "BayesStump",
    "DecisionStump",
    "ERMStump",
    "LogisticStump",
    "MidpointStump",
    "OneSidedStump",
]

FloatArray = NDArray[np.float64]

# Tokens that are read at a time: the arrays made of them stay in the cache.
_BLOCK = 1 << 15

_UNIFORM = Prior.uniform()


class BaselineStump(ContextRegressor):
    """What the baselines share; they differ in `_infer` alone."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "direction": [StrOptions({*DIRECTIONS, "auto"})],
        "feature": [Interval(Integral, 0, None, closed="left"), str],
        "feature_range": ["array-like", None],
    }
    _scaling: Scaling

    def __init__(
        self,
        *,
        direction: str = "<=",
        feature: int | str = 0,
        feature_range: tuple[float, float] | None = None,
    ) -> None:
        self.direction = direction
        self.feature = feature
        self.feature_range = feature_range

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn the direction, the range and the labels' spelling; nothing else.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            The corpus's contexts; see `Contexts` for every form.
        y : array-like of shape (n_tasks,), optional
            Their thresholds, in the feature's units. Needed for ``direction="auto"``;
            otherwise they only widen a learned range.
        sample_weight : array-like of shape (n_tasks,), optional
            Weights of the tasks; a task of weight zero is no task.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For what `PretrainedAttentionStump.fit` refuses.
        """
        corpus = self._read_corpus(X, y, sample_weight)
        scaling = Scaling(
            kind="range",
            direction=corpus.settings["direction_"],
            feature_range=corpus.settings["feature_range_"],
            strict=self.feature_range is not None,
            anchors=False,
        )
        scaling.ends(corpus.contexts)  # refuses what lies outside a given range
        return self._adopt({**corpus.settings, "_scaling": scaling})

    def predict(self, X: Any) -> FloatArray:
        """Find the threshold of each context, from that context alone.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            Contexts of any size.

        Returns
        -------
        thresholds : ndarray of shape (n_tasks,)
            In the feature's units. An observation equal to its context's threshold
            counts as label 1, in both directions.

        Raises
        ------
        ValueError, TypeError
            For contexts that `Contexts` refuses, with another number of features than
            at fit, or outside a given `feature_range`.
        NotFittedError
            Before `fit`.

        Warns
        -----
        UserWarning
            If contexts lie outside the learned range.
        """
        contexts, lo, hi = self._read_falling(X)
        self._refuse(contexts)
        thresholds = np.empty(len(contexts))
        for tasks in contexts.blocks(_BLOCK):
            thresholds[tasks] = self._infer(contexts[tasks], lo[tasks], hi[tasks])
        return -thresholds if self.direction_ == ">=" else thresholds

    def _read_falling(self, X: Any) -> tuple[Contexts, FloatArray, FloatArray]:
        """Contexts whose labels fall as the feature rises, with their ranges."""
        contexts = self._read_fresh(X)
        lo, hi = self._scaling.ends(contexts)
        if self.direction_ == ">=":
            return contexts.with_values(-contexts.values), -hi, -lo
        return contexts, lo, hi

    def _refuse(self, contexts: Contexts) -> None:
        """Refuse what this baseline, beyond the others, cannot read; here nothing."""
        return

    @abstractmethod
    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        """Thresholds of contexts whose labels fall as the feature rises.

        `lo` and `hi`, of shape (n_tasks,), are the ends of each context's range.
        """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.direction == "auto"
        return tags


class OneSidedStump(BaselineStump):
    """The largest observation with label 1.

    On clean labels this is where the single head ends as its scores diverge, and its
    mean squared error on ``N`` uniform observations is ``2 / N^2``, four times the
    midpoint's. One mislabelled observation captures it.

    Parameters
    ----------
    direction, feature, feature_range
        As for `PretrainedAttentionStump`. With ``direction=">="`` it is the smallest
        observation with label 1.

    Attributes
    ----------
    direction_, feature_range_, label_classes_, n_features_in_
        As for `PretrainedAttentionStump`.

    See Also
    --------
    MidpointStump : Looks from both sides.

    Notes
    -----
    In a context without label 1 it is the range's end on that side, where the single
    head with anchors ends. Without anchors that head would predict near the other end:
    its boundary limitation.

    Examples
    --------
    >>> from sklearn_attnstump.baselines import OneSidedStump
    >>> X = [([0.1, 0.3, 0.6, 0.9], [1, 1, 0, 0])]
    >>> OneSidedStump().fit(X).predict(X)
    array([0.3])
    """

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        last, _ = label_edges(contexts)
        return np.maximum(last, lo)


class MidpointStump(BaselineStump):
    """The middle between the largest observation with label 1 and the smallest with 0.

    On clean labels this is the posterior mean under a uniform prior, so nothing beats
    it: its mean squared error on ``N`` uniform observations is ``1 / (2 N^2)``. It is
    where the reflected head with anchors ends as its scores diverge. Labels that no
    threshold separates still give the middle of the two, which two mislabelled
    observations decide.

    Parameters
    ----------
    direction, feature, feature_range
        As for `PretrainedAttentionStump`.

    Attributes
    ----------
    direction_, feature_range_, label_classes_, n_features_in_
        As for `PretrainedAttentionStump`.

    See Also
    --------
    BayesStump : The posterior mean for noisy labels.

    Notes
    -----
    The range's ends stand in for a label that a context lacks. If the middle of two
    neighbouring floating-point numbers rounds to the upper one, the lower is taken, so
    that the observation there keeps its label 0.

    Examples
    --------
    >>> from sklearn_attnstump.baselines import MidpointStump
    >>> X = [([0.1, 0.3, 0.6, 0.9], [1, 1, 0, 0]), ([0.2, 0.4], [1, 1])]
    >>> MidpointStump(feature_range=(0, 1)).fit(X).predict(X)
    array([0.45, 0.7 ])
    """

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        last, first = label_edges(contexts)
        return _middle(np.maximum(last, lo), np.minimum(first, hi))


class ERMStump(BaselineStump):
    """The middle of the gap that contradicts the fewest labels.

    Empirical risk minimization over thresholds of the given direction, exact: all gaps
    between neighbouring observations are tried, the range's ends included.

    Parameters
    ----------
    ties : {"widest", "first", "mean"}, default="widest"
        Which of several best gaps to take: the widest; the first, on the side of label
        1; or the mean of the middles of all of them, which is closer to the threshold
        on average and may contradict more labels.
    direction, feature, feature_range
        As for `PretrainedAttentionStump`.

    Attributes
    ----------
    direction_, feature_range_, label_classes_, n_features_in_
        As for `PretrainedAttentionStump`.

    See Also
    --------
    DecisionStump : The classical stump, by impurity and in either direction.

    Notes
    -----
    Of several widest gaps the first is taken. Sums of token weights that differ by no
    more than their rounding tie. The range's upper end (lower, with
    ``direction=">="``) is a threshold too, of which all labels should be 1, even where
    an observation leaves no gap before it; the other end then has none beyond it.

    Examples
    --------
    >>> from sklearn_attnstump.baselines import ERMStump
    >>> X = [([0.1, 0.2, 0.3, 0.5, 0.6, 0.9], [1, 0, 1, 0, 1, 0])]
    >>> ERMStump().fit(X).predict(X)  # one label wrong in each of three gaps
    array([0.75])
    >>> ERMStump("first").fit(X).predict(X)
    array([0.15])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BaselineStump._parameter_constraints,
        "ties": [StrOptions({"widest", "first", "mean"})],
    }

    def __init__(
        self,
        ties: str = "widest",
        *,
        direction: str = "<=",
        feature: int | str = 0,
        feature_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(
            direction=direction, feature=feature, feature_range=feature_range
        )
        self.ties = ties

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        # A threshold lies at or above a gap's lower end and below its upper one: the
        # next number makes the range's upper end belong to a gap.
        gaps = find_gaps(contexts, lo, np.nextafter(hi, np.inf))
        right = np.minimum(gaps.hi, np.repeat(hi, gaps.sizes))
        bound = np.minimum.reduceat(gaps.disagreement, gaps.starts)
        if contexts.weights is not None:
            largest = np.maximum.reduceat(gaps.disagreement, gaps.starts)
            bound += largest * gaps.sizes * np.finfo(np.float64).eps
        best = gaps.disagreement <= np.repeat(bound, gaps.sizes)
        if self.ties == "mean":
            share = best / np.repeat(np.add.reduceat(best, gaps.starts), gaps.sizes)
            return np.add.reduceat(share * _middle(gaps.lo, right), gaps.starts)
        if self.ties == "widest":
            width = np.where(best, right / 2 - gaps.lo / 2, -1.0)
            widest = np.maximum.reduceat(width, gaps.starts)
            best = width == np.repeat(widest, gaps.sizes)
        found = np.flatnonzero(best)
        taken = found[np.searchsorted(found, gaps.starts)]
        return _middle(gaps.lo[taken], right[taken])


class BayesStump(BaselineStump):
    """The exact posterior mean under a uniform prior and a known rate of flips.

    Labels are flipped independently at the rate `flip_rate`, thresholds are uniform on
    the range. No estimator that knows no more has a smaller mean squared error: this is
    the bar for pretraining, which has to learn the rate from its corpus.

    Parameters
    ----------
    flip_rate : float, default=0.1
        Between 0, where it is `MidpointStump` on clean contexts, and 1/2, where labels
        say nothing.
    direction, feature, feature_range
        As for `PretrainedAttentionStump`. Give the range if it is known: the prior is
        uniform on it.

    Attributes
    ----------
    direction_, feature_range_, label_classes_, n_features_in_
        As for `PretrainedAttentionStump`.

    See Also
    --------
    sklearn_attnstump.heads.GibbsHead : The same with its two coefficients learned.

    Notes
    -----
    It is the Gibbs head at the disagreement scale ``log((1 - e) / e)``, ``e`` being the
    flip rate, and the prior weight 1, and computed by it. At ``e = 0`` only the gaps
    that contradict the fewest labels count.

    Examples
    --------
    >>> from sklearn_attnstump.baselines import BayesStump
    >>> X = [([0.1, 0.2, 0.3, 0.5, 0.6, 0.9], [1, 0, 1, 0, 1, 0])]
    >>> BayesStump(flip_rate=0.1, feature_range=(0, 1)).fit(X).predict(X).round(3)
    array([0.528])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BaselineStump._parameter_constraints,
        "flip_rate": [Interval(Real, 0, 0.5, closed="both")],
    }

    def __init__(
        self,
        flip_rate: float = 0.1,
        *,
        direction: str = "<=",
        feature: int | str = 0,
        feature_range: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(
            direction=direction, feature=feature, feature_range=feature_range
        )
        self.flip_rate = flip_rate

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        scale = sys.float_info.max  # stands for infinity
        if self.flip_rate > 0:
            scale = math.log1p(-self.flip_rate) - math.log(self.flip_rate)
        unit_map = AffineMap(contexts, lo, hi, falling=False)
        unit = contexts.with_values(unit_map.values())
        gaps = find_gaps(unit, np.zeros_like(lo), np.ones_like(hi))
        pack = GibbsPack(gaps, _UNIFORM)
        posterior_mean = pack.evaluate(np.array([scale, 1.0]), 0).prediction
        return unit_map.to_feature(posterior_mean)


class DecisionStump(BaselineStump):
    """The classical stump: scikit-learn's tree of depth one, fitted to each context.

    Parameters
    ----------
    direction, feature, feature_range
        As for `PretrainedAttentionStump`. The tree knows no direction: on noisy labels
        it may split where the labels rise. With ``direction=">="`` it is grown on the
        feature with its sign turned, so that ties and sides are the mirror image.

    Attributes
    ----------
    direction_, feature_range_, label_classes_, n_features_in_
        As for `PretrainedAttentionStump`.

    See Also
    --------
    ERMStump : Of one direction, by label errors, for all contexts at once.
    sklearn.tree.DecisionTreeClassifier : Fitted with ``max_depth=1``.

    Notes
    -----
    The tree does not split a context of one label or of equal observations, and then
    shows -2 where the threshold would be. It is one leaf that gives all observations
    one label, and so does the threshold that stands here, the middle between them and
    the range's end: the upper end if most weight is on label 1, else the lower one (the
    other way round with ``">="``). That is where `ERMStump` has it for one label.

    Trees compute in single precision and take observations less than 1e-7 apart, in the
    feature's units, for equal. The threshold is scikit-learn's, bit for bit, whatever
    that costs.

    Examples
    --------
    >>> from sklearn_attnstump.baselines import DecisionStump
    >>> X = [([1.0, 2.0, 5.0, 6.0], [1, 1, 0, 0]), ([1.0, 4.0], [0, 0])]
    >>> DecisionStump(feature_range=(0, 10)).fit(X).predict(X)
    array([3.5, 0.5])
    """

    def _refuse(self, contexts: Contexts) -> None:
        limit = np.finfo(np.float32).max
        beyond = np.abs(contexts.values[:, 0]) > limit
        if beyond.any():
            token = np.argmax(beyond)
            task = int(np.searchsorted(contexts.offsets, token, side="right")) - 1
            raise ValueError(
                f"{contexts.name(task)} has observations beyond {limit:.4g}, the "
                "largest number that scikit-learn's trees compute with. Rescale the "
                "feature, or use ERMStump."
            )

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        least, largest = context_ranges(contexts)
        # Thresholds that give all observations the label 0, and the label 1.
        beyond = np.stack([_middle(lo, least), _middle(largest, hi)])
        tree = DecisionTreeClassifier(max_depth=1, random_state=0)
        thresholds = np.empty(len(contexts))
        for task, context in enumerate(contexts):
            tree.fit(context.values, context.labels, context.weights)
            nodes = tree.tree_
            if nodes.node_count > 1:
                thresholds[task] = nodes.threshold[0]
            else:
                label = tree.classes_[np.argmax(nodes.value[0])]
                thresholds[task] = beyond[int(label), task]
        return thresholds


class LogisticStump(BaselineStump):
    """The 50 % point of a logistic regression, fitted to each context.

    Parameters
    ----------
    direction, feature, feature_range
        As for `PretrainedAttentionStump`. A 50 % point outside the range is moved to
        its end.

    Attributes
    ----------
    direction_, feature_range_, label_classes_, n_features_in_
        As for `PretrainedAttentionStump`.

    See Also
    --------
    sklearn.linear_model.LogisticRegression : Fitted with ``C=inf``: without a penalty,
        so that the feature's units play no part.

    Notes
    -----
    Where the likelihood has no maximum, its limit stands, and nothing is fitted:

    * labels that a threshold separates make the slope infinite, and the 50 % point goes
      to the middle of the label gap, the limit of a vanishing penalty (a context of one
      label has its gap at the range's end);
    * labels that do not fall as the feature rises (it is enough to look at their
      covariance, as the likelihood is concave) would be fitted by a curve of the wrong
      direction. The best curve of the right one is flat, and the threshold is the end
      of the range that gives all observations the label of most weight.

    Examples
    --------
    >>> from sklearn_attnstump.baselines import LogisticStump
    >>> X = [([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 1, 0, 1, 0, 0])]
    >>> LogisticStump().fit(X).predict(X).round(2)
    array([3.5])
    """

    def _infer(self, contexts: Contexts, lo: FloatArray, hi: FloatArray) -> FloatArray:
        last, first = label_edges(contexts)
        thresholds = _middle(np.maximum(last, lo), np.minimum(first, hi))
        mixed = np.flatnonzero(last > first)
        if len(mixed) == 0:
            return thresholds
        unit_map = AffineMap(contexts, lo, hi, falling=False)
        unit = contexts.with_values(unit_map.values())
        points = np.zeros(len(contexts))
        for task in mixed:
            context = unit[task]
            points[task] = _half_point(
                context.values[:, 0], context.labels, context.weights
            )
        fitted = np.clip(unit_map.to_feature(points), lo, hi)
        thresholds[mixed] = fitted[mixed]
        return thresholds


def _middle(lo: FloatArray, hi: FloatArray) -> FloatArray:
    """A number at or above `lo` and below `hi`, in the middle; also where they cross.

    Halves are added, as a sum could overflow.
    """
    middle = lo / 2 + hi / 2
    return np.where((middle < hi) | (lo >= hi), middle, lo)


def _half_point(
    x: FloatArray, labels: NDArray[np.bool_], weights: FloatArray | None
) -> float:
    """Where a logistic curve that falls crosses 1/2; infinite if the best is flat.

    For labels of one context, mixed; see `LogisticStump`.
    """
    mean, share = np.average(x, weights=weights), np.average(labels, weights=weights)
    distance = x - mean
    scale = np.sqrt(np.average(distance**2, weights=weights))
    covariance = np.average(distance * (labels - share), weights=weights)
    if covariance >= -1e-12 * scale:  # what rounding leaves of a covariance of zero
        return np.inf if share > 0.5 else -np.inf
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
    with warnings.catch_warnings():
        # Close to separation the solver says that it falls back to another one; what is
        # uncertain then is the slope, not where the curve crosses.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(distance[:, np.newaxis] / scale, labels, weights)
    return float(mean - scale * model.intercept_[0] / model.coef_[0, 0])
