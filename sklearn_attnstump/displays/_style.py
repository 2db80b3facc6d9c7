"""What the displays share: axes, colours and style arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which readers with any common colour blindness tell apart,
# without the yellow, which is too light on white; markers tell the same without colour.
BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
PALETTE = (BLUE, VERMILION, GREEN, "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
REFERENCE: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.0}


def refuse_others(estimator: Any, display: str) -> None:
    """Refuse what is no stump with a head, and one that is not fitted."""
    if not hasattr(estimator, "attention"):
        raise TypeError(
            f"{display} draws a PretrainedAttentionStump, got "
            f"{type(estimator).__name__}. Of a search pass best_estimator_; of a "
            "pipeline the last step, pipeline[-1], and contexts as that step sees them."
        )
    check_is_fitted(estimator, "coef_")


def new_axes(n_panels: int, ax: Any) -> NDArray[Any]:
    """The axes to draw on: those given, or those of a new figure.

    Returns
    -------
    axes : ndarray of Axes of shape (n_panels,)
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays draw with matplotlib, which is not installed: pip install "
            "matplotlib."
        ) from error

    if ax is None:
        width = 6.4 if n_panels == 1 else 3.6 * n_panels
        height = 4.8 if n_panels == 1 else 3.2
        _, axes = plt.subplots(
            1,
            n_panels,
            figsize=(width, height),
            squeeze=False,
            layout="constrained",
        )
        return axes.ravel()
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(given) != n_panels:
        raise ValueError(
            f"ax must be {n_panels} axes, one for each panel, got {len(given)}."
        )
    return given


def line_style(given: dict[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """Style arguments of a line, under matplotlib's full names; those given win."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return {**defaults, **normalize_kwargs(given or {}, Line2D)}


def labelled(name: str | None, symbol: str) -> str:
    """The legend's text for one line of what is called `name`; may be empty."""
    return ", ".join(part for part in (name, symbol) if part)


def add_legend(ax: Axes) -> None:
    """A legend, where there is something to explain."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend()
