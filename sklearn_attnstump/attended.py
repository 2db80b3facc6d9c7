"""The few tokens of a context that get attention, for contexts that are read once.

Pretraining looks at a corpus over and over, and splits it by label to begin with. Who
reads a fresh context with frozen scores needs it once, and of it only the tokens whose
attention float64 can see: to find them first, and to split by label what is left, costs
a few passes over the tokens instead of ten.

With ``u_i = x_i + (b / a) y_i`` the score of a token is ``a u_i``, so the attention is
greatest where ``u`` is (for the mirror image, ``-a`` and ``-b``, where it is least).
A token with ``u`` further than ``c / |a|`` from the extreme has less than ``exp(-c)``
of the greatest attention; with ``c = 37 + log n`` all ``n`` tokens of a context that
are left out together have less than half of float64's epsilon. ``u`` is rounded, by
less than ``eps (|u| + |b / a|)``; the limit is set back by four times that. A weight
``omega_i`` adds ``log(omega_i) / |a|`` on the side that is looked at.

The same ``u`` tells the edges of the labels. Where ``b / a > 1``, as in calibrated
scores, and observations lie in the unit interval, every label 1 lies above every label
0, whose ``u`` is ``x`` itself: the least ``u`` is the first label 0, and the last label
1 is among the tokens of greatest attention. (All this is this project's own.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.moments import LabelGroups, cut

FloatArray = NDArray[np.float64]

_EXTREME = {1: np.maximum, -1: np.minimum}


class Attended:
    """Contexts of one feature, as two scores see them.

    Parameters
    ----------
    contexts : Contexts
    coef : ndarray of shape (2,)
        Feature score and label score.
    """

    def __init__(self, contexts: Contexts, coef: FloatArray) -> None:
        self.contexts = contexts
        self.scale = float(abs(coef[0]))
        self.side = 1 if coef[0] >= 0 else -1
        with np.errstate(all="ignore"):  # a = 0: all tokens are looked at
            self.ratio = float(coef[1] / coef[0])
            self.u = contexts.labels.astype(np.float64)
            self.u *= self.ratio
            self.u += contexts.values[:, 0]
        self._extremes: dict[int, FloatArray] = {}

    def groups(self, sign: int) -> LabelGroups:
        """The tokens that get attention by the scores, or by minus the scores."""
        contexts, u, end = self.contexts, self.u, sign * self.side
        if not np.isfinite(self.ratio):
            return LabelGroups(contexts)
        with np.errstate(all="ignore"):
            if contexts.weights is None:
                best = self._extreme(end)
            else:
                u = u + end * np.log(contexts.weights) / self.scale
                best = _EXTREME[end].reduceat(u, contexts.offsets[:-1])
            reach = cut(contexts.sizes) / self.scale
            reach += 4 * np.finfo(float).eps * (np.abs(best) + abs(self.ratio))
            limit = np.repeat(best - end * reach, contexts.sizes)
            # What is no number is kept: huge numbers overflowed.
            apart = u < limit if end > 0 else u > limit
        return LabelGroups(contexts, kept=~apart)

    def _extreme(self, end: int) -> FloatArray:
        """ndarray of shape (n_tasks,): largest `u` of each context, or least."""
        if end not in self._extremes:
            starts = self.contexts.offsets[:-1]
            self._extremes[end] = _EXTREME[end].reduceat(self.u, starts)
        return self._extremes[end]

    def label_edges(self, ahead: LabelGroups) -> tuple[FloatArray, FloatArray]:
        """As `sklearn_attnstump.gaps.label_edges`; `ahead` being ``groups(1)``."""
        contexts, x = self.contexts, self.contexts.values
        plain = contexts.weights is None and self.side > 0 and 1 < self.ratio < np.inf
        if not (plain and x.min() >= 0 and x.max() <= 1):
            return LabelGroups(contexts).label_edges()
        last = ahead.edges(1)
        first = self._extreme(-1)
        return last, np.where(first <= 1, first, np.inf)
