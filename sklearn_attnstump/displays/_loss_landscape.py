"""`LossLandscapeDisplay`: the loss over the two scores, with a path on it."""

from __future__ import annotations

import warnings
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.displays._style import (
    VERMILION,
    add_legend,
    line_style,
    new_axes,
    refuse_others,
)
from sklearn_attnstump.theory import population_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


class LossLandscapeDisplay:
    """The loss over the two scores of a softmax head, with a path on it.

    Parameters
    ----------
    feature_score : array-like of shape (n_columns,)
        Feature scores a, along the horizontal axis.
    label_score : array-like of shape (n_rows,)
        Label scores b, or offsets ``b - a``, along the vertical axis.
    loss : array-like of shape (n_rows, n_columns)
        Losses, positive, in unit coordinates.
    path : array-like of shape (n_points, 2), optional
        Feature scores and label scores of a path.
    offset : bool, default=False
        Whether `label_score` holds offsets ``b - a``. On these the valley of calibrated
        scores, ``b - a = 2 log a``, is wide at any scale; on the label score it is a
        narrow diagonal.
    name : str, optional
        What the path is called in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    contours_ : matplotlib QuadContourSet
        Filled contours of the loss, at logarithmic levels.
    colorbar_ : matplotlib Colorbar
    line_ : Line2D or None
        The path.

    See Also
    --------
    PretrainingPathDisplay : The path against time.
    sklearn_attnstump.theory.population_loss : The loss on infinite corpora.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_attnstump.displays import LossLandscapeDisplay
    >>> from sklearn_attnstump.theory import population_flow
    >>> display = LossLandscapeDisplay.from_population(
    ...     np.linspace(2, 40, 20),
    ...     np.linspace(-5, 15, 20),
    ...     offset=True,
    ...     path=population_flow([5.0, 5.0], np.logspace(0, 5)),
    ... )
    >>> display.loss.shape, display.ax_.get_ylabel()
    ((20, 20), 'offset $b - a$')
    """

    ax_: Axes
    figure_: Figure
    contours_: QuadContourSet
    colorbar_: Colorbar
    line_: Line2D | None

    def __init__(
        self,
        feature_score: ArrayLike,
        label_score: ArrayLike,
        loss: ArrayLike,
        *,
        path: ArrayLike | None = None,
        offset: bool = False,
        name: str | None = None,
    ) -> None:
        self.feature_score = feature_score
        self.label_score = label_score
        self.loss = loss
        self.path = path
        self.offset = offset
        self.name = name

    @classmethod
    def from_population(
        cls,
        feature_score: ArrayLike,
        label_score: ArrayLike,
        *,
        path: ArrayLike | None = None,
        offset: bool = False,
        ax: Axes | None = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the loss on infinite corpora.

        Parameters
        ----------
        feature_score : array-like of shape (n_columns,)
            Feature scores a.
        label_score : array-like of shape (n_rows,)
            Label scores b, or offsets ``b - a``.
        path : array-like of shape (n_points, 2), optional
            A path to draw on it.
        offset : bool, default=False
            Whether `label_score` holds offsets.
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            What the path is called in the legend.
        **line_kw : dict
            Style of the path.

        Returns
        -------
        display : LossLandscapeDisplay

        Raises
        ------
        ValueError
            If a score is not finite.

        See Also
        --------
        from_estimator : The loss on a corpus.

        Examples
        --------
        >>> from sklearn_attnstump.displays import LossLandscapeDisplay
        >>> display = LossLandscapeDisplay.from_population(
        ...     [-20.0, 0.0, 20.0], [-20.0, 0.0, 20.0]
        ... )
        >>> print(display.loss.round(3))  # a head and its mirror image are as good
        [[0.023 0.083 0.286]
         [0.286 0.083 0.286]
         [0.286 0.083 0.023]]
        """
        a, b = _grid(feature_score, label_score, offset=offset)
        loss = population_loss(a, b)
        display = cls(
            feature_score, label_score, loss, path=path, offset=offset, name=name
        )
        return display.plot(ax, line_kw=line_kw)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        feature_score: ArrayLike,
        label_score: ArrayLike,
        offset: bool = False,
        ax: Axes | None = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the loss on a corpus, with the path that the solver took.

        Parameters
        ----------
        estimator : PretrainedAttentionStump
            Fitted, with ``scaling="range"``.
        X : Contexts, array of shape (n_tasks, n_examples, n_features + 1) or sequence
            The corpus's contexts.
        y : array-like of shape (n_tasks,)
            Their thresholds, in the feature's units.
        feature_score : array-like of shape (n_columns,)
            The head's first coefficient.
        label_score : array-like of shape (n_rows,)
            The head's second coefficient, or offsets from the first.
        offset : bool, default=False
            Whether `label_score` holds offsets.
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            What the path is called in the legend.
        **line_kw : dict
            Style of the path.

        Returns
        -------
        display : LossLandscapeDisplay

        Raises
        ------
        ValueError
            If the estimator has another scaling, whose unit differs between contexts;
            otherwise as for the estimator's `predict`.

        See Also
        --------
        from_population : The loss on infinite corpora.

        Notes
        -----
        The loss is the mean squared error over the squared length of the range, all
        tasks alike: what `fit` minimizes without `sample_weight` and shrinkage.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> from sklearn_attnstump.datasets import make_stump_tasks
        >>> from sklearn_attnstump.displays import LossLandscapeDisplay
        >>> X, y = make_stump_tasks(30, 30, threshold_range=(0.2, 0.8), random_state=0)
        >>> stump = PretrainedAttentionStump(solver="flow", stop_scale=20)
        >>> display = LossLandscapeDisplay.from_estimator(
        ...     stump.fit(X, y), X, y, feature_score=[10, 20], label_score=[10, 30]
        ... )
        >>> print(display.loss.round(4))
        [[0.0119 0.095 ]
         [0.0128 0.0053]]
        """
        refuse_others(estimator, "LossLandscapeDisplay")
        if estimator.scaling != "range":
            raise ValueError(
                "A landscape needs one unit of length for all contexts, that of "
                f"scaling='range'; the estimator has scaling={estimator.scaling!r}."
            )
        contexts = Contexts(X, classes=estimator.label_classes_)
        lo, hi = estimator.feature_range_
        a, b = _grid(feature_score, label_score, offset=offset)
        loss = np.empty(a.shape)
        probe = copy(estimator)
        with warnings.catch_warnings():  # the same of the contexts at every point
            warnings.simplefilter("ignore", UserWarning)
            for point in np.ndindex(a.shape):
                probe.coef_ = np.array([a[point], b[point]])
                error = probe.predict(contexts) - np.asarray(y, dtype=np.float64)
                loss[point] = np.mean((error / (hi - lo)) ** 2)
        path = getattr(estimator, "path_", None)
        display = cls(
            feature_score,
            label_score,
            loss,
            path=None if path is None else path.coef,
            offset=offset,
            name=name,
        )
        return display.plot(ax, line_kw=line_kw)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        levels: int | ArrayLike = 30,
        cmap: Any = "cividis",
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the landscape.

        Parameters
        ----------
        ax : Axes, optional
            By default that of a new figure.
        name : str, optional
            What the path is called; by default `name` of the display.
        levels : int or array-like of shape (n_levels,), default=30
            Losses between which to fill, or how many of them, in equal ratios.
        cmap : str or Colormap, default="cividis"
            Colours, from the least loss to the largest.
        line_kw : dict, optional
            Style of the path.

        Returns
        -------
        self : LossLandscapeDisplay
        """
        (self.ax_,) = new_axes(1, ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        from matplotlib.colors import LogNorm

        loss = np.asarray(self.loss, dtype=np.float64)
        steps = np.asarray(levels, dtype=np.float64)
        given = steps.ndim > 0  # these may leave out some losses
        if not given:
            steps = np.geomspace(loss.min(), loss.max(), int(steps) + 1)
        self.contours_ = self.ax_.contourf(
            np.asarray(self.feature_score, dtype=np.float64),
            np.asarray(self.label_score, dtype=np.float64),
            loss,
            levels=steps,
            cmap=cmap,
            norm=LogNorm(steps[0], steps[-1]),
            extend="both" if given else "neither",
        )
        self.colorbar_ = self.figure_.colorbar(
            self.contours_, ax=self.ax_, label="loss $L$"
        )
        self._mark_decades(steps)
        self.line_ = None
        if self.path is not None:
            limits = self.ax_.axis()
            a, b = np.asarray(self.path, dtype=np.float64).T
            name = self.name if name is None else name
            style = line_style(line_kw, color=VERMILION, linewidth=2.0, label=name)
            (self.line_,) = self.ax_.plot(a, b - a if self.offset else b, **style)
            self.ax_.axis(limits)
        self.ax_.set_xlabel("feature score $a$")
        self.ax_.set_ylabel("offset $b - a$" if self.offset else "label score $b$")
        add_legend(self.ax_)
        return self

    def _mark_decades(self, steps: Any) -> None:
        """Ticks at round losses, which equal ratios between other ends do not give."""
        from matplotlib.ticker import LogFormatterSciNotation, LogLocator

        wide = steps[-1] >= 100 * steps[0]
        self.colorbar_.set_ticks(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
        self.colorbar_.formatter = LogFormatterSciNotation(labelOnlyBase=wide)
        self.colorbar_.update_ticks()


def _grid(
    feature_score: ArrayLike, label_score: ArrayLike, *, offset: bool
) -> tuple[Any, Any]:
    """Both scores at every point of the landscape, of shape (n_rows, n_columns)."""
    a, b = np.meshgrid(
        np.asarray(feature_score, dtype=np.float64),
        np.asarray(label_score, dtype=np.float64),
    )
    return a, a + b if offset else b
