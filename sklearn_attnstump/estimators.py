"""`PretrainedAttentionStump`: a frozen attention that infers thresholds in context."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.callback import CallbackContext, CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from sklearn_attnstump.base import check_range, required
from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.diagnostics import diagnose
from sklearn_attnstump.heads import HEADS, Head
from sklearn_attnstump.inference import warn_of_hard_contexts
from sklearn_attnstump.objective import CorpusLoss, Objective, ShrunkLoss
from sklearn_attnstump.packs import prepare
from sklearn_attnstump.persistence import JsonMixin
from sklearn_attnstump.scaling import (
    DIRECTIONS,
    SCALINGS,
    Range,
    Scaling,
    warn_of_strange_thresholds,
)
from sklearn_attnstump.solvers import ALARMING, SOLVERS, Options, SolverResult
from sklearn_attnstump.theory import certified_scale
from sklearn_attnstump.uncertainty import UncertaintyMixin
from sklearn_attnstump.workers import Workers

__all__ = ["PretrainedAttentionStump"]

FloatArray = NDArray[np.float64]

# Iterations after which a solver gives up, where max_iter is None. Newton needs some
# tens; a thousand integration steps span more decades of time than float64 has;
# constant steps would need 1e9 and more, and are for studying the path.
_MAX_ITER = {"newton": 200, "flow": 1000, "gd": 10_000}


class PretrainedAttentionStump(CallbackSupportMixin, JsonMixin, UncertaintyMixin):
    """Infer the threshold of a fresh context by a frozen, pretrained attention.

    `fit` pretrains two parameters of a softmax attention on a corpus of tasks, each a
    context (labelled observations of a feature) with its known threshold. `predict`
    infers the thresholds of fresh contexts of any size from the contexts alone: nothing
    is fitted then, and a context's prediction does not depend on the others.

    Parameters
    ----------
    head : {"single", "reflected", "gibbs"} or Head, default="single"
        The attention. "single", the default, is the abstract's one-head model [1]_,
        which looks at the threshold from one side; "reflected" is its mean with its
        mirror image, for clean labels; "gibbs" is for noisy labels, and the one to take
        in doubt. Head objects have settings of their own, such as
        ``GibbsHead(prior="corpus")``.
    anchors : bool, default=False
        Add to each context two observations that are true of every task: label 1 at the
        range's lower end and label 0 at its upper end (the other way round with
        ``direction=">="``). Removes the boundary limitation. Needs a range that the
        tasks share: ``scaling="range"``, or "rank" with a `feature_range`.
    direction : {"<=", ">=", "auto"}, default="<="
        The side of the threshold on which labels are 1; an observation equal to the
        threshold has label 1 on either. "auto" takes the side that the corpus shows.
    feature : int or str, default=0
        Which feature of the observations to use, by position, or by name for contexts
        from a data frame.
    feature_range : tuple (lo, hi), optional
        The feature's range, in its units, if known. By default that of the corpus'
        observations and thresholds; it is then widened, with a warning, for a context
        that lies outside, while a given range refuses such a context.
    scaling : {"range", "context", "rank"}, default="range"
        How contexts are brought to the unit interval: by one affine map from the range,
        by one from each context's own range, or by each context's own ranks, mapped
        back by interpolation.
    solver : {"newton", "flow", "gd"}, default="newton"
        "gd" is constant-step gradient descent, the abstract's rule; "flow" its
        small-step limit, integrated in log-time; "newton" goes to where the loss is
        stationary.
    init_scale : float, default=10.0
        The attention scale ``a`` to start from; the label score starts at
        ``a + 2 log a``. A large scale decides which of the two mirrored solutions is
        found.
    step_size : float or "auto", default="auto"
        The constant step of "gd". "auto" is one over the curvature at the start.
    horizon : float, optional
        The time at which "flow" ends. By default it runs until the loss is stationary.
    stop_scale : float or "certified", optional
        The attention scale at which "gd" and "flow" end. "certified" is
        ``k / log k``, ``k`` being the lesser of the number of tasks and that of
        examples in the smallest context.
    max_iter : int, optional
        At most so many iterations: by default 200 for "newton", 1,000 for "flow" and
        10,000 for "gd".
    tol : float, default=1e-8
        A loss is stationary where its gradient, in coordinates in which steps are of
        order one, is at most `tol` times the loss. With 0, "gd" makes exactly
        `max_iter` steps and "flow" ends exactly at `horizon`.
    warm_start : bool, default=False
        Start from the coefficients of an earlier fit.
    n_jobs : int, optional
        Workers for `fit` and `predict`: by default 1, or what
        `joblib.parallel_config` says; -1 for all processors. Threads, unless another
        backend is configured. The result is the same, bit for bit, for any number.

    Attributes
    ----------
    coef_ : ndarray of shape (2,)
        The two frozen coefficients, in unit coordinates.
    feature_score_, label_score_ : float
        The same by name; other heads name theirs.
    head_ : Head
    direction_ : {"<=", ">="}
    feature_range_ : tuple (lo, hi) or None
        In the feature's units; None where the scaling needs none.
    loss_ : float
        Mean squared error on the corpus, in unit coordinates.
    path_ : SolverPath
        `t` of shape (n_points,), `coef` (n_points, 2) and `loss` (n_points,), what the
        solver minimized: the way there, thinned where it is long. Time is
        ``step_size * steps`` for "gd" and the number of the iteration for "newton".
    n_iter_, n_evaluations_ : int
        Iterations of the solver on the path that is kept, and evaluations of the corpus
        loss in all: "newton" sets out from several starts.
    converged_ : bool
        Whether the loss is stationary.
    status_ : str
        Why the solver stopped; see `sklearn_attnstump.solvers.SolverResult`.
    label_classes_ : tuple (negative, positive)
        The two labels of the corpus.
    n_features_in_ : int
    feature_names_in_ : ndarray of str of shape (n_features,)
        Only if the corpus came from a data frame.

    See Also
    --------
    Contexts : What `X` may be, data frames included.

    Notes
    -----
    The loss, its solvers' small-step and Newton variants, anchors, scalings and all
    constants are this project's own; two parameters, large-resolution start, constant
    step, frozen use and symmetrization are those of the abstract [1]_.

    References
    ----------
    .. [1] "Learning Decision-Stump Thresholds in Context: Dynamics of Softmax
       Attention", arXiv:2610.07074 (abstract).

    Examples
    --------
    >>> from sklearn_attnstump import PretrainedAttentionStump
    >>> from sklearn_attnstump.datasets import make_stump_tasks
    >>> X, y = make_stump_tasks(200, 100, random_state=0)
    >>> stump = PretrainedAttentionStump(
    ...     "reflected", anchors=True, feature_range=(0, 1)
    ... ).fit(X, y)
    >>> stump.predict([([0.11, 0.34, 0.42, 0.87], [1, 1, 0, 0])])
    array([0.38])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "head": [StrOptions(set(HEADS)), HasMethods(["pack", "get_params"])],
        "anchors": ["boolean"],
        "direction": [StrOptions({*DIRECTIONS, "auto"})],
        "feature": [Interval(Integral, 0, None, closed="left"), str],
        "feature_range": ["array-like", None],
        "scaling": [StrOptions(set(SCALINGS))],
        "solver": [StrOptions(set(SOLVERS))],
        "init_scale": [Interval(Real, 0, None, closed="neither")],
        "step_size": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "horizon": [Interval(Real, 0, None, closed="neither"), None],
        "stop_scale": [
            StrOptions({"certified"}),
            Interval(Real, 0, None, closed="neither"),
            None,
        ],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        head: str | Head = "single",
        *,
        anchors: bool = False,
        direction: str = "<=",
        feature: int | str = 0,
        feature_range: tuple[float, float] | None = None,
        scaling: str = "range",
        solver: str = "newton",
        init_scale: float = 10.0,
        step_size: float | str = "auto",
        horizon: float | None = None,
        stop_scale: float | str | None = None,
        max_iter: int | None = None,
        tol: float = 1e-8,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.head = head
        self.anchors = anchors
        self.direction = direction
        self.feature = feature
        self.feature_range = feature_range
        self.scaling = scaling
        self.solver = solver
        self.init_scale = init_scale
        self.step_size = step_size
        self.horizon = horizon
        self.stop_scale = stop_scale
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @classmethod
    def from_coef(
        cls,
        coef: ArrayLike,
        head: str | Head = "single",
        *,
        anchors: bool = False,
        direction: str = "<=",
        feature: int = 0,
        feature_range: tuple[float, float] | None = None,
        scaling: str = "range",
    ) -> PretrainedAttentionStump:
        """A frozen estimator from known coefficients, without a corpus.

        Parameters
        ----------
        coef : array-like of shape (2,)
            The head's two coefficients, in unit coordinates.
        head, anchors, direction, feature, feature_range, scaling
            As for the class. ``direction="auto"`` and a learned range need a corpus.

        Returns
        -------
        stump : PretrainedAttentionStump
            Ready to predict.

        Raises
        ------
        ValueError
            If `coef` is not two finite numbers, or a setting needs a corpus.

        See Also
        --------
        fit : Pretrain the coefficients on a corpus.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef((50, 58), feature_range=(0, 1))
        >>> stump.predict([([0.1, 0.4, 0.9], [True, True, False])]).round(3)
        array([0.4])
        """
        stump = cls(
            head,
            anchors=anchors,
            direction=direction,
            feature=feature,
            feature_range=feature_range,
            scaling=scaling,
        )
        stump._validate_params()
        pair = np.array(coef, dtype=np.float64)
        if pair.shape != (2,) or not np.isfinite(pair).all():
            raise ValueError(f"coef must be two finite numbers, got {coef!r}.")
        if direction == "auto":
            raise ValueError("direction='auto' needs a corpus: say '<=' or '>='.")
        if not isinstance(feature, Integral):
            raise ValueError("a feature's name needs a corpus: give its position.")
        if scaling == "range" and feature_range is None:
            raise ValueError(
                "the range cannot be learned without a corpus: pass feature_range, or "
                "scaling='context' or 'rank'."
            )
        given = check_range(feature_range)
        made = _make_head(head)
        return stump._adopt(
            {
                "direction_": direction,
                "feature_range_": given,
                "label_classes_": (0, 1),
                "head_": made,
                "n_iter_": 0,
                "_feature": int(feature),
                "_scaling": stump._make_scaling(direction, given),
                **_coef_attributes(made, pair),
            }
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PretrainedAttentionStump:
        """Pretrain the two coefficients on a corpus of tasks.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            The corpus's contexts; see `Contexts` for every form.
        y : array-like of shape (n_tasks,)
            Their thresholds, in the feature's units.
        sample_weight : array-like of shape (n_tasks,), optional
            Weights of the tasks.

        Returns
        -------
        self : PretrainedAttentionStump

        Raises
        ------
        ValueError, TypeError
            For contexts that `Contexts` refuses; for thresholds of the wrong length,
            not finite, or outside `feature_range`; for negative or all-zero weights;
            for settings that contradict each other. A refused fit leaves an earlier one
            as it was.

        Warns
        -----
        ConvergenceWarning
            If the minimum lies at infinity, the step is too large, or `max_iter`
            iterations were not enough.
        UserWarning
            If contexts have one label only, or no threshold separates their labels; if
            most labels lie on the wrong side of their thresholds, or most thresholds
            beyond all observations.
        """
        report = self._init_callback_context(max_subtasks=self._max_reports())
        data = {"X": X, "y": y}
        if sample_weight is not None:
            data["metadata"] = {"sample_weight": sample_weight}
        report.call_on_fit_task_begin(estimator=self, **data)
        corpus = self._read_corpus(
            X, y, sample_weight, learn_range=self.scaling == "range"
        )
        thresholds = required(corpus.thresholds)
        warn_of_strange_thresholds(
            corpus.contexts,
            thresholds,
            corpus.weights,
            corpus.settings["direction_"],
            known_range=self.feature_range is not None,
        )
        head = _make_head(self.head)
        settings = {**corpus.settings, "head_": head}
        scaling = settings["_scaling"] = self._make_scaling(
            settings["direction_"], settings["feature_range_"]
        )
        options = self._options(corpus.contexts)
        with Workers(self.n_jobs) as workers:
            pack, targets = prepare(
                corpus.contexts,
                thresholds,
                corpus.weights,
                scaling=scaling,
                head=head,
                workers=workers,
            )
            if head.needs_both_labels:
                warn_of_hard_contexts(
                    corpus.contexts,
                    scaling,
                    diagnose(pack.label_edges()),
                    reader=f"the {type(head).__name__}",
                    stacklevel=3,
                )
            loss = CorpusLoss(pack, targets, corpus.weights)
            objective = ShrunkLoss(loss, head.penalty) if head.shrinks else loss
            reporter = _Reporter(self, report, data, settings)
            result = self._solve(objective, head, options, reporter)
            settings["loss_"] = loss.evaluate(result.coef, 0).loss
        if result.status in ALARMING:
            warnings.warn(
                f"solver={self.solver!r}: {result.message}",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._adopt({**settings, **_result_attributes(head, result)})
        report.call_on_fit_task_end(
            estimator=self, **data, reconstruction_attributes=dict
        )
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters, ``head__...`` being those of a head that is an object.

        Parameters
        ----------
        **params : dict
            Names and values, as for any estimator of scikit-learn.

        Returns
        -------
        self : PretrainedAttentionStump

        Raises
        ------
        ValueError
            If a parameter is unknown, or belongs to a head that is given by its name.

        See Also
        --------
        get_params : Their values.

        Examples
        --------
        >>> from sklearn_attnstump import GibbsHead, PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump(GibbsHead())
        >>> stump.set_params(head__prior="corpus").head
        GibbsHead(prior='corpus')
        """
        of_head = [name for name in params if name.startswith("head__")]
        head = params.get("head", self.head)
        if of_head and isinstance(head, str):
            raise ValueError(
                f"{of_head[0]} cannot be set on head={head!r}, which is a name. Pass "
                "the head as an object, such as head=GibbsHead(); in a search, give "
                "heads with settings a grid of their own: param_grid may be a list."
            )
        super().set_params(**params)
        return self

    def predict(
        self, X: Any, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Infer the threshold of each context; nothing is fitted.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            Contexts of any size.
        return_std : bool, default=False
            Also return the standard deviation of the Gibbs posterior; for the Gibbs
            head alone.

        Returns
        -------
        thresholds : ndarray of shape (n_tasks,)
            In the feature's units.
        std : ndarray of shape (n_tasks,)
            In the feature's units, if `return_std`. With ``scaling="rank"``, half of
            the distance between the thresholds one deviation to either side in ranks.

        Raises
        ------
        ValueError, TypeError
            For contexts that `Contexts` refuses, with another number of features than
            at fit, or outside a given `feature_range`; for `return_std` with a head
            that has no posterior.
        NotFittedError
            Before `fit`.

        Warns
        -----
        UserWarning
            If contexts have one label only, no threshold separates their labels, or
            they lie outside the learned range.

        See Also
        --------
        predict_interval : Intervals that hold whatever the noise.
        predict_quantiles : Quantiles of the Gibbs posterior.
        summary : All that is known of each task, in a table.
        """
        contexts = self._read_fresh(X)
        if return_std:
            self._need_posterior("return_std")
        inferred = self._infer(contexts)
        warn_of_hard_contexts(
            contexts,
            self._scaling,
            inferred.diagnosis,
            reader=f"the {type(self.head_).__name__}",
            stacklevel=2,
        )
        if return_std:
            return inferred.thresholds, inferred.spread
        return inferred.thresholds

    def attention(self, X: Any) -> list[FloatArray]:
        """The attention weights behind the predictions.

        Parameters
        ----------
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence

        Returns
        -------
        weights : list of ndarray of shape (n_tokens,)
            For each context the weights of its tokens, in their order, and, with
            anchors, those of the two anchors behind them. Each array's sum is 1. The
            Gibbs head has one weight for each gap instead, from the left to the right
            in unit coordinates.

        Raises
        ------
        ValueError, TypeError
            As for `predict`.

        See Also
        --------
        predict : The thresholds that the attention amounts to.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> stump = PretrainedAttentionStump.from_coef((50, 58), feature_range=(0, 1))
        >>> stump.attention([([0.1, 0.4, 0.9], [1, 1, 0])])[0].round(2)
        array([0., 1., 0.])
        """
        contexts = self._read_fresh(X)
        unit, _ = self._scaling.apply(contexts)
        return self.head_.weights(unit, self.coef_)

    def _make_scaling(self, direction: str, feature_range: Range | None) -> Scaling:
        shared = self.scaling == "range" or (
            self.scaling == "rank" and self.feature_range is not None
        )
        if self.anchors and not shared:
            raise ValueError(
                f"anchors are true only of a range that all tasks share; with "
                f"scaling={self.scaling!r} there is none. Use scaling='range', or "
                "'rank' with a feature_range."
            )
        return Scaling(
            kind=self.scaling,
            direction=direction,
            feature_range=feature_range,
            strict=self.feature_range is not None,
            anchors=self.anchors,
        )

    def _budget(self) -> int:
        return _MAX_ITER[self.solver] if self.max_iter is None else self.max_iter

    def _max_reports(self) -> int | None:
        """How many steps of progress callbacks hear of; None if not known ahead."""
        return min(100, self._budget()) if self.solver == "gd" else None

    def _options(self, contexts: Contexts) -> Options:
        if self.stop_scale is not None and self.solver == "newton":
            raise ValueError(
                "solver='newton' follows no path in time and cannot end at a "
                "stop_scale. Use solver='flow' or 'gd'."
            )
        stop_scale = np.inf if self.stop_scale is None else self.stop_scale
        if stop_scale == "certified":
            n_examples = int(contexts.sizes.min())
            stop_scale = float(certified_scale(len(contexts), n_examples))
        return Options(
            max_iter=self._budget(),
            tol=self.tol,
            step_size=None if self.step_size == "auto" else float(self.step_size),
            horizon=np.inf if self.horizon is None else float(self.horizon),
            stop_scale=float(stop_scale),
        )

    def _solve(
        self, objective: Objective, head: Head, options: Options, report: _Reporter
    ) -> SolverResult:
        """Run the solver from each of the head's starts and keep the best end."""
        starts = head.starts(self.init_scale)
        if self.solver != "newton":  # a path in time has one start
            starts = starts[:1]
        if self.warm_start and self._fitted_like(head):
            starts = [self.coef_.copy()]
        results = []
        for start in starts:
            result = SOLVERS[self.solver](
                objective, start, head.coordinates(), options, report
            )
            results.append(result)
            if result.status == "stopped":
                break
        best = min(results, key=lambda result: result.loss)
        return replace(best, n_evaluations=objective.n_evaluations)

    def _fitted_like(self, head: Head) -> bool:
        """Whether coefficients of an earlier fit mean the same as this head's."""
        return hasattr(self, "coef_") and self.head_.coef_names == head.coef_names


class _Reporter:
    """Tells scikit-learn's callbacks of a solver's progress.

    Of constant steps, of which there may be millions, it reports one in each percent.
    """

    def __init__(
        self,
        estimator: PretrainedAttentionStump,
        context: CallbackContext,
        data: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self.estimator = estimator
        self.context = context
        self.data = data
        self.settings = settings
        thinned = estimator.solver == "gd"
        # At least one in each percent, rounded up: at most 100 reports.
        self.every = max(1, -(-estimator._budget() // 100)) if thinned else 1

    def __call__(self, iteration: int, coef: FloatArray) -> bool:
        if iteration % self.every:
            return False
        task = self.context.subcontext(task_name=f"{self.estimator.solver} iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return task.call_on_fit_task_end(
            estimator=self.estimator,
            **self.data,
            reconstruction_attributes=lambda: {
                **self.settings,
                **_coef_attributes(self.settings["head_"], coef),
            },
        )


def _make_head(head: str | Head) -> Head:
    return HEADS[head]() if isinstance(head, str) else clone(head)


def _coef_attributes(head: Head, coef: FloatArray) -> dict[str, Any]:
    named = zip(head.coef_names, coef.tolist(), strict=True)
    return {"coef_": coef, **{f"{name}_": value for name, value in named}}


def _result_attributes(head: Head, result: SolverResult) -> dict[str, Any]:
    return {
        **_coef_attributes(head, result.coef),
        "path_": result.path,
        "n_iter_": result.n_iter,
        "n_evaluations_": result.n_evaluations,
        "converged_": result.converged,
        "status_": result.status,
    }
