"""`ThresholdErrorDisplay`: errors of thresholds against one setting."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_attnstump.displays._style import (
    MARKERS,
    PALETTE,
    REFERENCE,
    add_legend,
    line_style,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FloatArray = NDArray[np.float64]

# Lines of theory differ in their dashes.
_DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))


class ThresholdErrorDisplay:
    """Errors of one or several estimators against one setting of the tasks.

    The setting may be the size of the contexts, the size of the corpus, the threshold
    or the share of wrong labels. Lines of theory can be laid under the points.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        Values of the setting.
    errors : dict of str to array-like of shape (n_points,)
        Errors, by the name of the estimator.
    standard_errors : dict of str to array-like of shape (n_points,), optional
        Standard errors of these errors, drawn as bars.
    references : dict of str to array-like of shape (n_points,), optional
        Lines of theory, by their names.
    x_name : str, default="context size $N$"
        Label of the horizontal axis.
    error_name : str, default="root mean squared error"
        Label of the vertical axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of ErrorbarContainer
        One for each estimator.
    references_ : list of Line2D
        One for each line of theory.

    See Also
    --------
    sklearn_attnstump.theory.context_risk : Risks for lines of theory.
    sklearn.model_selection.LearningCurveDisplay : One estimator and the corpus's size.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_attnstump.displays import ThresholdErrorDisplay
    >>> from sklearn_attnstump.theory import context_risk
    >>> sizes = np.array([10, 100, 1000])
    >>> display = ThresholdErrorDisplay(
    ...     sizes,
    ...     {"midpoint": [0.068, 0.0072, 0.00071]},
    ...     references={"Bayes": np.sqrt(context_risk("midpoint", sizes))},
    ... )
    >>> display.plot().ax_.get_xscale()
    'log'
    """

    ax_: Axes
    figure_: Figure
    lines_: list[ErrorbarContainer]
    references_: list[Line2D]

    def __init__(
        self,
        x: ArrayLike,
        errors: Mapping[str, ArrayLike],
        *,
        standard_errors: Mapping[str, ArrayLike] | None = None,
        references: Mapping[str, ArrayLike] | None = None,
        x_name: str = "context size $N$",
        error_name: str = "root mean squared error",
    ) -> None:
        self.x = x
        self.errors = errors
        self.standard_errors = standard_errors
        self.references = references
        self.x_name = x_name
        self.error_name = error_name

    @classmethod
    def from_predictions(
        cls,
        x: ArrayLike,
        y_true: Sequence[ArrayLike],
        y_pred: Mapping[str, Sequence[ArrayLike]],
        *,
        references: Mapping[str, ArrayLike] | None = None,
        x_name: str = "context size $N$",
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw root mean squared errors of inferred thresholds.

        Parameters
        ----------
        x : array-like of shape (n_points,)
            Values of the setting.
        y_true : sequence of n_points array-likes, each of shape (n_tasks,)
            True thresholds at each value; their number may differ.
        y_pred : dict of str to sequence of n_points array-likes of shape (n_tasks,)
            Inferred thresholds, by the name of the estimator.
        references, x_name
            As for the class.
        ax : Axes, optional
            By default that of a new figure.
        **line_kw : dict
            Style of the points and lines.

        Returns
        -------
        display : ThresholdErrorDisplay
            With standard errors: those of the mean squared error over tasks, through
            the square root.

        Raises
        ------
        ValueError
            If the lengths disagree.

        See Also
        --------
        from_estimator : Let fitted estimators infer the thresholds.

        Examples
        --------
        >>> from sklearn_attnstump.displays import ThresholdErrorDisplay
        >>> display = ThresholdErrorDisplay.from_predictions(
        ...     [10, 20], [[0.5, 0.7], [0.5, 0.7]], {"a": [[0.6, 0.6], [0.5, 0.6]]}
        ... )
        >>> display.errors["a"].round(3)
        array([0.1  , 0.071])
        """
        errors: dict[str, ArrayLike] = {}
        standard_errors: dict[str, ArrayLike] = {}
        for name, inferred in y_pred.items():
            found = [
                _rmse(np.asarray(true, dtype=float), np.asarray(pred, dtype=float))
                for true, pred in zip(y_true, inferred, strict=True)
            ]
            errors[name], standard_errors[name] = np.array(found).T
        display = cls(
            x,
            errors,
            standard_errors=standard_errors,
            references=references,
            x_name=x_name,
        )
        return display.plot(ax, line_kw=line_kw)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: ArrayLike,
        corpora: Sequence[tuple[Any, ArrayLike]],
        *,
        references: Mapping[str, ArrayLike] | None = None,
        x_name: str = "context size $N$",
        ax: Axes | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw root mean squared errors of fitted estimators on fresh tasks.

        Parameters
        ----------
        estimator : estimator or dict of str to estimator
            Fitted, one or several by their names; each infers the thresholds of all
            corpora.
        x : array-like of shape (n_points,)
            Values of the setting.
        corpora : sequence of n_points tuples (X, y)
            Fresh contexts and their thresholds at each value.
        references, x_name, ax
            As for `from_predictions`.
        **line_kw : dict
            Style of the points and lines.

        Returns
        -------
        display : ThresholdErrorDisplay

        Raises
        ------
        ValueError
            If the lengths disagree; otherwise as for the estimators' `predict`.

        See Also
        --------
        from_predictions : Draw thresholds that are inferred already.

        Notes
        -----
        Warnings of hard contexts are not shown: what they warn of shows in the errors.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> from sklearn_attnstump.datasets import make_stump_tasks
        >>> from sklearn_attnstump.displays import ThresholdErrorDisplay
        >>> stump = PretrainedAttentionStump.from_coef((50, 58), feature_range=(0, 1))
        >>> fresh = [
        ...     make_stump_tasks(500, n, threshold_range=(0.2, 0.8), random_state=n)
        ...     for n in (100, 1000)
        ... ]
        >>> display = ThresholdErrorDisplay.from_estimator(stump, [100, 1000], fresh)
        >>> print(display.errors["PretrainedAttentionStump"].round(3))  # 1/50 is left
        [0.026 0.021]
        """
        named = estimator
        if not isinstance(estimator, Mapping):
            named = {type(estimator).__name__: estimator}
        inferred = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for name, each in named.items():
                inferred[name] = [each.predict(X) for X, _ in corpora]
        return cls.from_predictions(
            x,
            [thresholds for _, thresholds in corpora],
            inferred,
            references=references,
            x_name=x_name,
            ax=ax,
            **line_kw,
        )

    def plot(
        self, ax: Axes | None = None, *, line_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the errors.

        Parameters
        ----------
        ax : Axes, optional
            By default that of a new figure.
        line_kw : dict, optional
            Style of the points and lines of all estimators.

        Returns
        -------
        self : ThresholdErrorDisplay

        Notes
        -----
        The axes are logarithmic where what they show is positive and, on the horizontal
        axis, where the largest value is more than five times the least.
        """
        (self.ax_,) = new_axes(1, ax)
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        x = np.asarray(self.x, dtype=np.float64)
        self.references_ = [
            self.ax_.plot(
                x,
                np.broadcast_to(np.asarray(values, dtype=np.float64), x.shape),
                **{**REFERENCE, "linestyle": _DASHES[i % len(_DASHES)], "label": name},
            )[0]
            for i, (name, values) in enumerate((self.references or {}).items())
        ]
        self.lines_ = []
        bars = self.standard_errors or {}
        for i, (name, values) in enumerate(self.errors.items()):
            style = line_style(
                line_kw,
                color=PALETTE[i % len(PALETTE)],
                marker=MARKERS[i % len(MARKERS)],
                markersize=5.0,
                label=name,
            )
            error = np.asarray(values, dtype=np.float64)
            self.lines_.append(
                self.ax_.errorbar(x, error, yerr=bars.get(name), capsize=2.0, **style)
            )
        if x.min() > 0 and x.max() > 5 * x.min():
            self.ax_.set_xscale("log")
            if len(np.unique(x)) <= 6:  # name what was measured, not powers of ten
                self.ax_.set_xticks(x, [f"{value:g}" for value in x])
                self.ax_.set_xticks([], minor=True)
        if all((np.asarray(error) > 0).all() for error in self.errors.values()):
            self.ax_.set_yscale("log")
        self.ax_.set(xlabel=self.x_name, ylabel=self.error_name)
        add_legend(self.ax_)
        return self


def _rmse(y_true: FloatArray, y_pred: FloatArray) -> tuple[float, float]:
    """Root mean squared error and its standard error, s(e^2) / sqrt(n) / (2 rmse)."""
    if y_true.shape != y_pred.shape:
        raise ValueError(
            f"There are true thresholds of the shape {y_true.shape} but inferred ones "
            f"of the shape {y_pred.shape}."
        )
    squares = (y_pred - y_true) ** 2
    error = float(np.sqrt(squares.mean()))
    if len(squares) < 2 or error == 0:
        return error, 0.0
    return error, float(squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * error))
