"""`PretrainingPathDisplay`: scores, calibration and loss against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_attnstump.displays._style import (
    BLUE,
    REFERENCE,
    add_legend,
    labelled,
    line_style,
    new_axes,
    refuse_others,
)
from sklearn_attnstump.theory import asymptotic_path, population_flow, population_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FloatArray = NDArray[np.float64]

_QUANTITIES = ("scores", "gap", "loss")
_AXIS_LABELS = {
    "scores": "scores $a$, $b$",
    "gap": r"calibration gap $b - a - 2\,\log a$",
    "loss": "loss $L$",
}


class PretrainingPathDisplay:
    r"""The path of pretraining against time, in up to three panels.

    They show both scores ``a`` and ``b``, the calibration gap ``b - a - 2 log a`` and
    the loss. In the population the gap tends to 0, ``a`` to ``(4t)^(1/4)`` and the loss
    to ``(4t)^(-1/2)``: the rates are claims of the abstract of arXiv:2610.07074, the
    constants this project's own. On a finite corpus the path follows them for a while.

    Parameters
    ----------
    times : array-like of shape (n_points,)
        Times t, such as ``step_size * steps``. Times of 0 are not drawn: the axis is
        logarithmic.
    coef : array-like of shape (n_points, 2)
        Feature scores a and label scores b.
    loss : array-like of shape (n_points,), optional
        Losses, in unit coordinates.
    name : str, optional
        What the path is called in the legends.
    time_name : str, default="time $t$"
        Label of the horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : ndarray of Axes of shape (n_panels,)
        All panels.
    figure_ : matplotlib Figure
    lines_ : dict of list of Line2D
        The path's lines by quantity: two of the scores, one of the gap and of the loss.
    asymptotes_ : dict of list of Line2D
        The population's limits, by quantity; empty where they are not drawn.

    See Also
    --------
    LossLandscapeDisplay : The same path over the two scores.
    sklearn_attnstump.theory.population_flow : The path on infinite corpora.

    Notes
    -----
    For the mirrored head, ``a < 0``, the gap is that of its mirror image, and scores
    are drawn without their signs if both are negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_attnstump.displays import PretrainingPathDisplay
    >>> from sklearn_attnstump.theory import population_flow
    >>> times = np.logspace(0, 8)
    >>> display = PretrainingPathDisplay(times, population_flow([10.0, 12.0], times))
    >>> display.plot(quantities=("scores", "gap")).ax_.get_xlabel()
    'time $t$'
    """

    ax_: Axes
    axes_: NDArray[Any]
    figure_: Figure
    lines_: dict[str, list[Line2D]]
    asymptotes_: dict[str, list[Line2D]]

    def __init__(
        self,
        times: ArrayLike,
        coef: ArrayLike,
        loss: ArrayLike | None = None,
        *,
        name: str | None = None,
        time_name: str = "time $t$",
    ) -> None:
        self.times = times
        self.coef = coef
        self.loss = loss
        self.name = name
        self.time_name = time_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        quantities: Sequence[str] = _QUANTITIES,
        asymptotes: bool | None = None,
        ax: Any = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the path that a fitted estimator's solver took.

        Parameters
        ----------
        estimator : PretrainedAttentionStump
            Fitted, of a head with a feature score and a label score.
        quantities : sequence of {"scores", "gap", "loss"}
            As for `plot`.
        asymptotes : bool, optional
            Whether to draw the population's limits. By default where the path is one in
            time: Newton's iterations are none.
        ax : Axes or array-like of Axes of shape (n_panels,), optional
            As for `plot`.
        name : str, optional
            What the path is called; by default it has no name.
        **line_kw : dict
            Style of the path's lines.

        Returns
        -------
        display : PretrainingPathDisplay

        Raises
        ------
        ValueError
            If the estimator has no path, or other coefficients than the two scores.

        See Also
        --------
        from_population : The path on infinite corpora.

        Examples
        --------
        >>> from sklearn_attnstump import PretrainedAttentionStump
        >>> from sklearn_attnstump.datasets import make_stump_tasks
        >>> from sklearn_attnstump.displays import PretrainingPathDisplay
        >>> X, y = make_stump_tasks(50, 50, threshold_range=(0.2, 0.8), random_state=0)
        >>> stump = PretrainedAttentionStump(solver="flow", stop_scale="certified")
        >>> display = PretrainingPathDisplay.from_estimator(
        ...     stump.fit(X, y), quantities=["loss"]
        ... )
        >>> display.ax_.get_ylabel()
        'loss $L$'
        """
        refuse_others(estimator, "PretrainingPathDisplay")
        path = getattr(estimator, "path_", None)
        if path is None:
            raise ValueError(
                "The estimator has no path_: fit it (from_coef gives none) first."
            )
        names = tuple(estimator.head_.coef_names)
        if names != ("feature_score", "label_score"):
            raise ValueError(
                "A path of scores needs a head with a feature score and a label score; "
                f"this one has {names[0]} and {names[1]}."
            )
        iterates = estimator.solver == "newton"
        display = cls(
            path.t,
            path.coef,
            path.loss,
            name=name,
            time_name="iteration" if iterates else "time $t$",
        )
        return display.plot(
            ax,
            quantities=quantities,
            asymptotes=not iterates if asymptotes is None else asymptotes,
            line_kw=line_kw,
        )

    @classmethod
    def from_population(
        cls,
        init: ArrayLike,
        times: ArrayLike,
        *,
        quantities: Sequence[str] = _QUANTITIES,
        asymptotes: bool = True,
        ax: Any = None,
        name: str | None = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the gradient flow on infinite corpora.

        Parameters
        ----------
        init : array-like of shape (2,)
            Feature score and label score at time 0.
        times : array-like of shape (n_points,)
            Times at which the path is reckoned.
        quantities, asymptotes, ax
            As for `plot`.
        name : str, optional
            What the path is called; by default it has no name.
        **line_kw : dict
            Style of the path's lines.

        Returns
        -------
        display : PretrainingPathDisplay

        Raises
        ------
        ValueError
            As for `sklearn_attnstump.theory.population_flow` and `plot`.

        See Also
        --------
        from_estimator : The path on a corpus.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_attnstump.displays import PretrainingPathDisplay
        >>> display = PretrainingPathDisplay.from_population(
        ...     [10.0, 12.0], np.logspace(0, 8), quantities=("gap",)
        ... )
        >>> bool(abs(display.lines_["gap"][0].get_ydata()[-1]) < 0.01)
        True
        """
        coef = population_flow(init, times)
        loss = population_loss(coef[:, 0], coef[:, 1])
        display = cls(times, coef, loss, name=name)
        return display.plot(
            ax, quantities=quantities, asymptotes=asymptotes, line_kw=line_kw
        )

    def plot(
        self,
        ax: Any = None,
        *,
        quantities: Sequence[str] = _QUANTITIES,
        asymptotes: bool = True,
        name: str | None = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the path.

        Parameters
        ----------
        ax : Axes or array-like of Axes of shape (n_panels,), optional
            One for each quantity. By default those of a new figure.
        quantities : sequence of {"scores", "gap", "loss"}
            What to draw, in this order. The loss is left out where it is not known.
        asymptotes : bool, default=True
            Whether to draw the population's limits, which hold in time.
        name : str, optional
            What the path is called; by default `name` of the display.
        line_kw : dict, optional
            Style of the path's lines.

        Returns
        -------
        self : PretrainingPathDisplay

        Raises
        ------
        ValueError
            If a quantity is unknown, no time is positive, or `ax` has not one for each
            panel.
        """
        unknown = [name for name in quantities if name not in _QUANTITIES]
        if unknown or not quantities:
            raise ValueError(
                f"quantities must be some of {_QUANTITIES}, got {quantities!r}."
            )
        shown = [q for q in quantities if q != "loss" or self.loss is not None]
        name = self.name if name is None else name
        style = line_style(line_kw, color=BLUE)
        self.axes_ = new_axes(len(shown), ax)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_, self.asymptotes_ = {}, {}
        times, curves = self._curves()
        for panel, quantity in zip(self.axes_, shown, strict=True):
            self.lines_[quantity] = [
                panel.plot(
                    times,
                    values,
                    **{"label": labelled(name, symbol), "linestyle": dashes, **style},
                )[0]
                for symbol, dashes, values in curves[quantity]
            ]
            self.asymptotes_[quantity] = (
                _draw_asymptotes(panel, quantity, times) if asymptotes else []
            )
            panel.set(xscale="log", xlabel=self.time_name)
            panel.set_ylabel(_AXIS_LABELS[quantity])
            if quantity != "gap" and (np.concatenate(_ordinates(panel)) > 0).all():
                panel.set_yscale("log")
            add_legend(panel)
        return self

    def _curves(self) -> tuple[FloatArray, dict[str, list[Any]]]:
        """Times, and for each quantity symbol, line style and values of its curves."""
        times = np.asarray(self.times, dtype=np.float64)
        drawn = times > 0
        if not drawn.any():
            raise ValueError("None of the times is positive: there is nothing to draw.")
        a, b = np.asarray(self.coef, dtype=np.float64)[drawn].T
        side = np.sign(a)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = side * (b - a) - 2 * np.log(np.abs(a))
        gap[a == 0] = np.nan
        if (a < 0).all() and (b < 0).all():
            a, b = -a, -b
        curves = {
            "scores": [("$a$", "-", a), ("$b$", "-.", b)],
            "gap": [("", "-", gap)],
        }
        if self.loss is not None:
            loss = np.asarray(self.loss, dtype=np.float64)[drawn]
            curves["loss"] = [("", "-", loss)]
        return times[drawn], curves


def _draw_asymptotes(ax: Axes, quantity: str, times: FloatArray) -> list[Line2D]:
    """The limits of the population for large times; see `asymptotic_path`."""
    if quantity == "gap":
        return [ax.axhline(0.0, **REFERENCE)]
    times = times[times > 0.25]  # where a > 1 and b > 0; a limit is none before
    if len(times) == 0:
        return []
    a, b = asymptotic_path(times).T
    limits: dict[str, list[tuple[FloatArray, str | None]]] = {
        "scores": [(a, "$(4t)^{1/4}$"), (b, None)],
        "loss": [(a**-2, "$(4t)^{-1/2}$")],
    }
    return [
        ax.plot(times, values, **{**REFERENCE, "label": label})[0]
        for values, label in limits[quantity]
    ]


def _ordinates(ax: Axes) -> list[FloatArray]:
    return [np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.get_lines()]
