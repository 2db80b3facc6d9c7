"""How sure a prediction is: quantiles, intervals and tables of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_attnstump.base import ContextRegressor, check_thresholds, refuse_outside
from sklearn_attnstump.conformal import (
    check_coverage,
    conformity_scores,
    intervals,
    score_quantile,
)
from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.head import Head
from sklearn_attnstump.inference import Inference, infer, quantiles
from sklearn_attnstump.scaling import Scaling
from sklearn_attnstump.summaries import describe, make_frame

FloatArray = NDArray[np.float64]


class UncertaintyMixin(ContextRegressor):
    """Quantiles, conformal intervals and summaries for an estimator with a head."""

    n_jobs: int | None

    head_: Head
    coef_: FloatArray
    conformity_scores_: FloatArray
    _scaling: Scaling

    def predict_quantiles(self, X: Any, q: ArrayLike) -> FloatArray:
        """Quantiles of each threshold's Gibbs posterior; for the Gibbs head alone.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
        q : array-like of shape (n_levels,)
            Levels between 0 and 1.

        Returns
        -------
        quantiles : ndarray of shape (n_tasks, n_levels)
            In the feature's units. Exact: the posterior's distribution function rises
            by each gap's weight across that gap, in the shape of the prior.

        Raises
        ------
        ValueError
            If a level is not between 0 and 1, or the head has no posterior; otherwise
            as for `predict`.

        See Also
        --------
        predict_interval : Conformal intervals, which hold whatever the noise.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef(
        ...     (2.2, 1.0), head="gibbs", feature_range=(0, 1)
        ... )
        >>> X = [([0.1, 0.3, 0.4, 0.7, 0.8], [1, 1, 0, 0, 0])]
        >>> stump.predict_quantiles(X, [0.05, 0.5, 0.95]).round(2)
        array([[0.16, 0.36, 0.64]])
        """
        contexts = self._read_fresh(X)
        self._need_posterior("predict_quantiles")
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if levels.ndim != 1 or not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"q={q!r} must be levels between 0 and 1.")
        return self._quantiles(contexts, levels)

    def conformalize(self, X: Any, y: ArrayLike) -> Self:
        """Calibrate intervals on tasks that `fit` has not seen.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            Contexts of calibration tasks.
        y : array-like of shape (n_tasks,)
            Their thresholds, in the feature's units.

        Returns
        -------
        self : PretrainedAttentionStump
            With `conformity_scores_`.

        Raises
        ------
        ValueError, TypeError
            As for `fit` and `predict`.

        See Also
        --------
        predict_interval : Intervals of the calibrated coverage.

        Notes
        -----
        The names follow MAPIE. Its ``SplitConformalRegressor`` (1.6 was tried) cannot
        take contexts: it probes a fitted estimator with a 2-D array. So the few lines
        are this package's own; see `sklearn_attnstump.conformal`.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> from sklearn_attnstump.datasets import make_stump_tasks
        >>> stump = PretrainedAttentionStump.from_coef(
        ...     (2.2, 1.0), head="gibbs", feature_range=(0, 1)
        ... )
        >>> X, y = make_stump_tasks(200, 50, label_noise=0.1, random_state=0)
        >>> stump.conformalize(X, y).conformity_scores_.shape
        (200,)
        """
        contexts = self._read_fresh(X)
        thresholds = check_thresholds(y, contexts)
        if self._scaling.strict and self.feature_range_ is not None:
            refuse_outside(thresholds, self.feature_range_, contexts)
        inferred = self._infer(contexts)
        self.conformity_scores_ = conformity_scores(
            thresholds, inferred.thresholds, inferred.spread
        )
        return self

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Intervals that hold the threshold with at least a given probability.

        The promise is marginal and in finite samples: over fresh tasks exchangeable
        with the tasks that `conformalize` was given, however noisy the labels and
        whatever the head. For the Gibbs head the intervals' widths follow its own
        posterior's spread, for the others they are all the same.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        intervals : ndarray of shape (n_tasks, 2)
            Lower and upper ends about the prediction, in the feature's units; cut to
            `feature_range` if that was given.

        Raises
        ------
        ValueError
            If `conformalize` has not been called, or on too few tasks for `coverage`;
            otherwise as for `predict`.

        See Also
        --------
        predict_quantiles : Credible quantiles, which trust the model.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> from sklearn_attnstump.datasets import make_stump_tasks
        >>> X, y = make_stump_tasks(900, 50, label_noise=0.1, random_state=0)
        >>> stump = PretrainedAttentionStump("gibbs", feature_range=(0, 1))
        >>> stump = stump.fit(X[:300], y[:300]).conformalize(X[300:], y[300:])
        >>> fresh, truth = make_stump_tasks(1000, 50, label_noise=0.1, random_state=1)
        >>> lower, upper = stump.predict_interval(fresh, coverage=0.9).T
        >>> float(((lower <= truth) & (truth <= upper)).mean().round(2))
        0.93
        """
        contexts = self._read_fresh(X)
        if not hasattr(self, "conformity_scores_"):
            raise ValueError(
                "there are no conformity scores yet. Call conformalize(X, y) with "
                "tasks that fit has not seen."
            )
        return self._intervals(self._infer(contexts), coverage)

    def summary(
        self, X: Any, *, coverage: float = 0.9, backend: str | None = None
    ) -> Any:
        """A table with one row for each task.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
        coverage : float, default=0.9
            Of the intervals.
        backend : {"pandas", "polars", "pyarrow"}, optional
            The kind of frame. By default that of scikit-learn's `transform_output`
            setting, else the first of the three that is installed.

        Returns
        -------
        table : data frame
            Columns `task`, `threshold`; `lower` and `upper`, conformal after
            `conformalize`, else of the Gibbs posterior, absent for other heads; `n`
            and `n_positive`, the numbers of observations; `label_error`, the share of
            labels that the threshold contradicts; and the flags `one_label`,
            `not_separable` and `outside_range` (of the corpus).

        Raises
        ------
        ImportError
            If no frame library is installed.
        ValueError
            As for `predict`.

        See Also
        --------
        predict : The thresholds alone.

        Examples
        --------
        >>> from sklearn_attnstump import Contexts, PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef(
        ...     (90, 99), head="reflected", feature_range=(0, 1)
        ... )
        >>> X = Contexts([([0.1, 0.4, 0.9], [1, 1, 0])], task_ids=["ann"])
        >>> table = stump.summary(X, backend="pandas")
        >>> table[["task", "threshold", "n", "n_positive", "label_error"]].round(2)
          task  threshold  n  n_positive  label_error
        0  ann       0.65  3           2          0.0
        """
        contexts = self._read_fresh(X)
        check_coverage(coverage)
        inferred = self._infer(contexts)
        columns: dict[str, Any] = {
            "task": contexts.task_ids,
            "threshold": inferred.thresholds,
        }
        ends = None
        if hasattr(self, "conformity_scores_"):
            ends = self._intervals(inferred, coverage)
        elif self.head_.has_posterior:
            tail = (1 - coverage) / 2
            levels = np.array([tail, 1 - tail])
            ends = self._quantiles(contexts, levels, report=False)
        if ends is not None:
            columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
        columns |= describe(contexts, inferred.thresholds, self._scaling)
        return make_frame(columns, backend)

    def _infer(self, contexts: Contexts) -> Inference:
        return infer(
            contexts, self._scaling, self.head_, self.coef_, n_jobs=self.n_jobs
        )

    def _quantiles(
        self, contexts: Contexts, levels: FloatArray, *, report: bool = True
    ) -> FloatArray:
        return quantiles(
            contexts, self._scaling, self.head_, self.coef_, levels, report=report
        )

    def _intervals(self, inferred: Inference, coverage: float) -> FloatArray:
        score = score_quantile(self.conformity_scores_, coverage)
        ends = intervals(inferred.thresholds, inferred.spread, score)
        if self._scaling.strict and self.feature_range_ is not None:
            ends = np.clip(ends, *self.feature_range_)
        return ends

    def _need_posterior(self, what: str) -> None:
        if not self.head_.has_posterior:
            raise ValueError(
                f"{what} needs a posterior over thresholds, and {self.head_} has none. "
                "Use head='gibbs', or conformalize and predict_interval, which serve "
                "every head."
            )
