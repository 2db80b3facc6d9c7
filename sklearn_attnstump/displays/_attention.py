"""`AttentionDisplay`: what the attention looks at in one context."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.displays._style import (
    BLUE,
    VERMILION,
    add_legend,
    line_style,
    new_axes,
    refuse_others,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

FloatArray = NDArray[np.float64]


class AttentionDisplay:
    """The attention on one context: its observations, weights and thresholds.

    The single and the reflected head weigh observations: each has a marker at the
    height of its weight. The Gibbs head weighs the gaps between observations: each gap
    has a bar, and the observations lie on the axis. Markers are filled for label 1 and
    open for label 0.

    Parameters
    ----------
    values : array-like of shape (n_tokens,)
        The observations, in the feature's units; anchors count as observations.
    labels : array-like of bool of shape (n_tokens,)
        Their labels.
    weights : array-like of shape (n_tokens,) or (n_gaps,)
        Attention weights of the observations, or of the gaps if `edges` are given.
    edges : array-like of shape (n_gaps + 1,), optional
        Ends of the gaps, in rising order.
    prediction : float, optional
        The inferred threshold.
    threshold : float, optional
        The true threshold, if known.
    feature_name : str, default="feature $x$"
        Label of the horizontal axis.
    name : str, optional
        Title of the axes, such as the name of the head.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    weights_ : matplotlib LineCollection or StepPatch
        Stems of the observations, or bars of the gaps.
    tokens_ : tuple of Line2D
        Markers of the observations with label 1, and with label 0.
    prediction_line_, threshold_line_ : Line2D or None
        Vertical lines.

    See Also
    --------
    sklearn_attnstump.PretrainedAttentionStump.attention : The weights.

    Examples
    --------
    >>> from sklearn_attnstump import PretrainedAttentionStump
    >>> from sklearn_attnstump.displays import AttentionDisplay
    >>> stump = PretrainedAttentionStump.from_coef((20, 26), feature_range=(0, 1))
    >>> display = AttentionDisplay.from_estimator(
    ...     stump, [([0.1, 0.3, 0.4, 0.8], [1, 1, 1, 0])], [0.5]
    ... )
    >>> display.weights.round(2)
    array([0.  , 0.12, 0.88, 0.  ])
    """

    ax_: Axes
    figure_: Figure
    weights_: LineCollection | StepPatch
    tokens_: tuple[Line2D, Line2D]
    prediction_line_: Line2D | None
    threshold_line_: Line2D | None

    def __init__(
        self,
        values: ArrayLike,
        labels: ArrayLike,
        weights: ArrayLike,
        *,
        edges: ArrayLike | None = None,
        prediction: float | None = None,
        threshold: float | None = None,
        feature_name: str = "feature $x$",
        name: str | None = None,
    ) -> None:
        self.values = values
        self.labels = labels
        self.weights = weights
        self.edges = edges
        self.prediction = prediction
        self.threshold = threshold
        self.feature_name = feature_name
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        task: int = 0,
        ax: Axes | None = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the attention of a fitted estimator on one of some contexts.

        Parameters
        ----------
        estimator : PretrainedAttentionStump
            Fitted, with any head of this package.
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            Contexts.
        y : array-like of shape (n_tasks,), optional
            Their true thresholds, where known.
        task : int, default=0
            Position of the context to draw.
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            Title of the axes.
        **line_kw : dict
            Style of the markers.

        Returns
        -------
        display : AttentionDisplay

        Raises
        ------
        ValueError
            As for the estimator's `predict`.
        IndexError
            If there is no such task.

        See Also
        --------
        plot : Draw weights that are known.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> from sklearn_attnstump.displays import AttentionDisplay
        >>> stump = PretrainedAttentionStump.from_coef(
        ...     (2.2, 1.0), head="gibbs", feature_range=(0, 1)
        ... )
        >>> display = AttentionDisplay.from_estimator(
        ...     stump, [([0.1, 0.3, 0.8], [1, 1, 0])]
        ... )
        >>> display.edges, display.weights.round(2)
        (array([0. , 0.1, 0.3, 0.8, 1. ]), array([0.  , 0.04, 0.92, 0.04]))
        """
        refuse_others(estimator, "AttentionDisplay")
        context = Contexts(X, classes=estimator.label_classes_)[task]
        with warnings.catch_warnings():  # the picture shows what they would say
            warnings.simplefilter("ignore", UserWarning)
            (weights,) = estimator.attention(context)
            (prediction,) = estimator.predict(context)
        column = _column(estimator.feature, context)
        values, labels = context.values[:, column], context.labels
        seen = np.ones(len(values), dtype=bool)
        if context.weights is not None:
            seen = context.weights > 0
        lo, hi = _range(estimator.feature_range_, values[seen])
        falling = estimator.direction_ == ">="
        edges = None
        if _weighs_gaps(estimator):
            edges = _gap_edges(values[seen], (lo, hi), len(weights))
            # Gaps come from the left to the right in unit coordinates.
            weights = weights[::-1] if falling else weights
        if estimator.anchors:
            ends = [hi, lo] if falling else [lo, hi]
            values = np.append(values, ends)
            labels = np.append(labels, [True, False])
        display = cls(
            values,
            labels,
            weights,
            edges=edges,
            prediction=float(prediction),
            threshold=None if y is None else float(np.asarray(y)[task]),
            feature_name=_feature_name(context, column),
            name=name,
        )
        return display.plot(ax, line_kw=line_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the attention.

        Parameters
        ----------
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            Title of the axes; by default `name` of the display.
        line_kw : dict, optional
            Style of the markers.

        Returns
        -------
        self : AttentionDisplay

        Raises
        ------
        ValueError
            If there is not one weight for each observation, or for each gap.
        """
        values = np.asarray(self.values, dtype=np.float64)
        weights = np.asarray(self.weights, dtype=np.float64)
        n_expected = len(values) if self.edges is None else np.size(self.edges) - 1
        if weights.shape != (n_expected,):
            what = "observations" if self.edges is None else "gaps"
            raise ValueError(
                f"There are {n_expected} {what}, but weights have the shape "
                f"{weights.shape}."
            )
        (self.ax_,) = new_axes(1, ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        if self.edges is None:
            heights = weights
            self.weights_ = self.ax_.vlines(values, 0.0, weights, color=BLUE, lw=1.0)
            self.ax_.set_ylabel("attention $w_i$ on observations")
        else:
            heights = np.zeros(len(values))
            self.weights_ = self.ax_.stairs(
                weights, np.asarray(self.edges), fill=True, color=BLUE, alpha=0.4
            )
            self.ax_.set_ylabel("attention $w_j$ on gaps")
        self.tokens_ = self._draw_tokens(values, heights, line_kw)
        self.prediction_line_ = self._draw_threshold(
            self.prediction, label="inferred threshold", color=VERMILION, linewidth=2.0
        )
        self.threshold_line_ = self._draw_threshold(
            self.threshold, label=r"true threshold $\theta$", color="black", ls="--"
        )
        self.ax_.set_xlabel(self.feature_name)
        title = self.name if name is None else name
        if title is not None:
            self.ax_.set_title(title)
        add_legend(self.ax_)
        return self

    def _draw_tokens(
        self, values: FloatArray, heights: FloatArray, line_kw: dict[str, Any] | None
    ) -> tuple[Line2D, Line2D]:
        labels = np.asarray(self.labels, dtype=bool)
        lines = []
        for label, fill in ((True, BLUE), (False, "white")):
            style = line_style(
                line_kw,
                linestyle="none",
                marker="o",
                markersize=6.0,
                markeredgecolor=BLUE,
                markerfacecolor=fill,
                label=f"label {int(label)}",
                zorder=3,
            )
            kept = labels == label
            lines += self.ax_.plot(values[kept], heights[kept], **style)
        # Room for the lower halves of the markers on the axis.
        top = 1.05 * float(np.asarray(self.weights, dtype=np.float64).max())
        self.ax_.set_ylim(-0.03 * top, top)
        return lines[0], lines[1]

    def _draw_threshold(self, at: float | None, **style: Any) -> Line2D | None:
        return None if at is None else self.ax_.axvline(at, **style)


def _weighs_gaps(estimator: Any) -> bool:
    """Whether a head's attention is a posterior over gaps."""
    return bool(estimator.head_.has_posterior)


def _range(
    known: tuple[float, float] | None, values: FloatArray
) -> tuple[float, float]:
    """The range of a context: that of the corpus, widened, or its own."""
    lo, hi = float(values.min()), float(values.max())
    return (lo, hi) if known is None else (min(lo, known[0]), max(hi, known[1]))


def _gap_edges(
    values: FloatArray, ends: tuple[float, float], n_gaps: int
) -> FloatArray:
    """Ends of the gaps between observations, where a head found so many.

    In ranks the outermost gaps are of positive width there, though of none in a range
    that ends at the observations.
    """
    inner = np.unique(values)
    edges = np.unique(np.concatenate([inner, ends]))
    if len(edges) != n_gaps + 1:
        edges = np.concatenate([ends[:1], inner, ends[1:]])
    return edges


def _column(feature: int | str, context: Contexts) -> int:
    names = context.feature_names
    if isinstance(feature, str):
        return 0 if names is None else names.index(feature)
    return int(feature)


def _feature_name(context: Contexts, column: int) -> str:
    names = context.feature_names
    return "feature $x$" if names is None else names[column]
