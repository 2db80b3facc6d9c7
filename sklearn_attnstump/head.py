"""What an attention head is: two coefficients and a context in, a threshold out.

A head turns contexts into thresholds in the coordinates the contexts are in; the
estimator hands it the unit interval. What does not depend on the coefficients is done
once, by `pack`; the packed contexts are then evaluated at any coefficients, with exact
derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.coordinates import Coordinates

FloatArray = NDArray[np.float64]


class Derivatives(NamedTuple):
    """Predictions of a head and their derivatives in its two coefficients."""

    prediction: FloatArray  # (n_tasks,)
    jacobian: FloatArray = np.empty(0)  # (n_tasks, 2), from order 1
    hessian: FloatArray = np.empty(0)  # (n_tasks, 2, 2), from order 2


class Penalty(NamedTuple):
    """What is added to a loss for coefficients that are far from a centre."""

    value: float
    gradient: FloatArray  # (2,)
    hessian: FloatArray  # (2, 2)


class Packed(Protocol):
    """Contexts made ready for one head."""

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        """Predictions, with derivatives up to `order` (0, 1 or 2)."""
        ...


class PosteriorPacked(Packed, Protocol):
    """Packed contexts whose thresholds have a posterior."""

    def deviation(self, coef: FloatArray) -> FloatArray:
        """ndarray of shape (n_tasks,): its standard deviations."""
        ...

    def quantiles(self, coef: FloatArray, levels: FloatArray) -> FloatArray:
        """ndarray of shape (n_tasks, n_levels): its quantiles."""
        ...


class Head(BaseEstimator, ABC):
    """What all heads share: everything that follows from `pack`.

    A head defines ``pack(contexts)`` and ``weights(contexts, coef)``, names its two
    coefficients in `coef_names`, gives the `starts` of pretraining and the
    `coordinates` in which a solver's steps are of order one.

    See Also
    --------
    SingleHead, ReflectedHead, GibbsHead : The heads of this package.

    Examples
    --------
    >>> from sklearn_attnstump.heads import Head, SingleHead
    >>> issubclass(SingleHead, Head), SingleHead.coef_names
    (True, ('feature_score', 'label_score'))
    """

    coef_names: tuple[str, str]
    # Whether a context of one label, or labels that no threshold separates, leave it at
    # a loss; its packs then have `label_edges`, see `sklearn_attnstump.gaps`.
    needs_both_labels = False
    streams = False  # whether a context may come in pieces, to `predict_stream`
    has_posterior = False  # whether its packs have `deviation` and `quantiles`

    @abstractmethod
    def pack(self, contexts: Contexts) -> Any:
        """Do once what does not depend on the coefficients.

        Parameters
        ----------
        contexts : Contexts
            Of one feature.

        Returns
        -------
        packed : Packed
            With `evaluate(coef, order)`; a `PosteriorPacked` where `has_posterior`.
        """

    def pack_corpus(self, contexts: Contexts) -> Packed:
        """As `pack`, of contexts whose pack is evaluated over and over.

        Parameters
        ----------
        contexts : Contexts
            Of one feature.

        Returns
        -------
        packed : Packed
            Which may leave out what `evaluate` does not need.
        """
        packed: Packed = self.pack(contexts)
        return packed

    @abstractmethod
    def weights(self, contexts: Any, coef: ArrayLike) -> list[FloatArray]:
        """The attention behind the predictions.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature.
        coef : array-like of shape (2,)
            The head's two coefficients.

        Returns
        -------
        weights : list of ndarray of shape (n_attended,)
            One array for each context, of sum 1.
        """

    def learn(self, thresholds: FloatArray, weights: FloatArray | None) -> Self:
        """Learn from a corpus's thresholds what is no coefficient; here nothing.

        Parameters
        ----------
        thresholds : ndarray of shape (n_tasks,)
            In unit coordinates.
        weights : ndarray of shape (n_tasks,) or None
            Weights of the tasks.

        Returns
        -------
        self : Head
        """
        return self

    @property
    def shrinks(self) -> bool:
        """Whether `penalty` is to draw the coefficients of small corpora."""
        return False

    def penalty(self, coef: FloatArray) -> Penalty:
        """Minus twice the logarithm of a prior density of the coefficients; here 0.

        Parameters
        ----------
        coef : ndarray of shape (2,)

        Returns
        -------
        penalty : Penalty
            Value, gradient and Hessian.
        """
        return Penalty(0.0, np.zeros(2), np.zeros((2, 2)))

    @abstractmethod
    def starts(self, init_scale: float) -> list[FloatArray]:
        """Coefficients to pretrain from: the first is the start of paths in time.

        A solver that only looks for the end is run from each, and the best end kept.

        Parameters
        ----------
        init_scale : float
            The attention scale to start from, for heads that have one.

        Returns
        -------
        starts : list of ndarray of shape (2,)
        """

    @abstractmethod
    def coordinates(self) -> Coordinates:
        """Coordinates in which a solver's steps are of order one.

        Returns
        -------
        coordinates : Coordinates
            See `sklearn_attnstump.coordinates`.
        """

    def predict(self, contexts: Any, coef: ArrayLike) -> FloatArray:
        """Infer the threshold of each context.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature; thresholds come in the same coordinates.
        coef : array-like of shape (2,)
            The head's two coefficients, in the order of `coef_names`.

        Returns
        -------
        thresholds : ndarray of shape (n_tasks,)
        """
        return self.pack(Contexts(contexts)).evaluate(as_pair(coef), 0).prediction

    def derivatives(
        self, contexts: Any, coef: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Predictions with their exact first and second derivatives.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature.
        coef : array-like of shape (2,)
            The head's two coefficients.

        Returns
        -------
        prediction : ndarray of shape (n_tasks,)
        jacobian : ndarray of shape (n_tasks, 2)
        hessian : ndarray of shape (n_tasks, 2, 2)
        """
        return self.pack(Contexts(contexts)).evaluate(as_pair(coef), 2)


def as_pair(coef: ArrayLike) -> FloatArray:
    """Two finite coefficients as an array."""
    pair = np.asarray(coef, dtype=np.float64)
    if pair.shape != (2,) or not np.isfinite(pair).all():
        raise ValueError(f"coef must be two finite numbers, got {coef!r}.")
    return pair
