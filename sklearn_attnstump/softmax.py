"""The two-score softmax heads: single and reflected.

The single head is the two-parameter softmax attention of the paper's abstract [1]_: a
fixed feature, a fixed direction, a score ``a x + b y`` for each token. Its
parametrization, the moment identity behind its derivatives, and the reflected head's
form as a change of sign are this project's own.

References
----------
.. [1] "Learning Decision-Stump Thresholds in Context: Dynamics of Softmax Attention",
   arXiv:2610.07074 (abstract).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from sklearn_attnstump.attended import Attended
from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.coordinates import Coordinates, ScoreCoordinates
from sklearn_attnstump.head import Derivatives, Head, Packed, as_pair
from sklearn_attnstump.moments import Cumulants, LabelGroups, label_positions, merge

FloatArray = NDArray[np.float64]


class SingleHead(Head):
    """Softmax attention with one score for the feature and one for the label.

    A token ``(x_i, y_i)`` of weight ``omega_i`` gets the attention

        w_i ~ omega_i exp(a x_i + b y_i),

    and the threshold is the attended observation, ``f = sum_i w_i x_i``. As ``a`` and
    ``b`` diverge together it becomes the largest observation with label 1.

    **Derivatives.** They are central moments under ``w``, and those follow from the
    two label groups alone. Let ``K_c(a)`` be the log-partition function of label group
    ``c`` (see `sklearn_attnstump.moments`), ``mu_c, v_c, k_c`` its first three
    derivatives, ``p = expit(b + K_1 - K_0)`` the attention on label 1, ``q = 1 - p``
    and ``D = mu_1 - mu_0``. Then

        f    = p mu_1 + q mu_0
        f_b  = p q D                       f_a  = p v_1 + q v_0 + p q D^2
        f_bb = p q (q - p) D               f_ab = p q [(v_1 - v_0) + (q - p) D^2]
        f_aa = p k_1 + q k_0 + 3 p q D (v_1 - v_0) + p q (q - p) D^3

    because ``p_b = p q`` and ``p_a = p q D``: each line is the derivative of the one
    it comes from. For a context with one label ``p`` is 0 or 1, exactly.

    See Also
    --------
    ReflectedHead : The mean of this head and of its mirror image.

    Examples
    --------
    >>> from sklearn_attnstump.heads import SingleHead
    >>> contexts = [([0.1, 0.3, 0.6, 0.9], [1, 1, 0, 0])]
    >>> SingleHead().predict(contexts, coef=(100.0, 100.0))
    array([0.3])
    >>> SingleHead().weights(contexts, coef=(0.0, 0.0))
    [array([0.25, 0.25, 0.25, 0.25])]
    """

    coef_names = ("feature_score", "label_score")
    needs_both_labels = True
    streams = True
    _sides: tuple[int, ...] = (1,)  # signs of the coefficients whose mean it is

    def pack(self, contexts: Contexts) -> Packed:
        """Do once what does not depend on the coefficients."""
        return _SinglePack(LabelGroups(contexts))

    def predict_stream(
        self, pieces: Iterable[Contexts], coef: FloatArray
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
        """Infer thresholds from contexts that come in pieces, or in one.

        Parameters
        ----------
        pieces : iterable of Contexts
            Each holding some of the tokens of every context.
        coef : ndarray of shape (2,)
            Feature score and label score.

        Returns
        -------
        thresholds : ndarray of shape (n_tasks,)
        edges : tuple (last, first) of ndarray of shape (n_tasks,)
            See `sklearn_attnstump.gaps.label_edges`.
        """
        sides = [float(sign) * coef for sign in self._sides]
        tilts: list[list[Cumulants]] = [[] for _ in sides]
        edges = []
        for piece in pieces:
            attended = Attended(piece, coef)
            for sign, side, parts in zip(self._sides, sides, tilts, strict=True):
                groups = attended.groups(sign)
                parts.append(groups.cumulants(float(side[0]), 0))
                if sign == 1:
                    edges.append(attended.label_edges(groups))
        shares = [  # of the mean, whose sum might overflow
            _mix(merge(parts, side[0]), side[0], side[1], order=0).prediction
            / len(sides)
            for side, parts in zip(sides, tilts, strict=True)
        ]
        last, first = zip(*edges, strict=True)
        return np.sum(shares, axis=0), (np.max(last, axis=0), np.min(first, axis=0))

    def predict(self, contexts: Any, coef: ArrayLike) -> FloatArray:
        """Infer the threshold of each context.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature; thresholds come in the same coordinates.
        coef : array-like of shape (2,)
            Feature score and label score.

        Returns
        -------
        thresholds : ndarray of shape (n_tasks,)
        """
        return self.predict_stream([Contexts(contexts)], as_pair(coef))[0]

    def starts(self, init_scale: float) -> list[FloatArray]:
        """The large-resolution start: ``a`` large, ``b`` calibrated to it.

        In the population ``b = a + 2 log a`` is where gradient descent carries the
        label score (the abstract's calibration; the constant 2 is this project's).
        """
        return [np.array([init_scale, init_scale + 2 * np.log(init_scale)])]

    def coordinates(self) -> Coordinates:
        """Coordinates in which a solver's steps are of order one."""
        return ScoreCoordinates()

    def weights(self, contexts: Any, coef: ArrayLike) -> list[FloatArray]:
        """The attention on each token.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature.
        coef : array-like of shape (2,)
            Feature score and label score.

        Returns
        -------
        weights : list of ndarray of shape (n_tokens,)
            One array for each context, in the order of its tokens, of sum 1.
        """
        contexts = Contexts(contexts)
        flat = _token_weights(contexts, LabelGroups(contexts), as_pair(coef))
        return np.split(flat, contexts.offsets[1:-1])


class ReflectedHead(SingleHead):
    """The mean of the single head and of its mirror image.

    Seen through ``x -> 1 - x, y -> 1 - y`` the single head is ``f(-a, -b)``, whatever
    the coordinates: a softmax ignores a constant added to all scores, and the
    reflection of ``x`` only turns the sign of its score. So

        f_R(a, b) = [f(a, b) + f(-a, -b)] / 2

    is the reflected symmetrization that the paper's abstract names, in this project's
    parametrization. One half looks at the threshold from below and one from above; as
    the scores diverge it becomes the middle of the label gap.

    **Moving a token.** A softmax mean has the derivative ``w_i (1 + a (x_i - f))`` in
    the place of token ``i``: to move a token to the right moves either half to the
    right if the token lies no further than ``1 / a`` behind it, ``f(a, b) - 1 / a <=
    x_i <= f(-a, -b) + 1 / a`` (``a > 0``). A token that is left further behind can move
    the prediction a little to the left, as it draws attention away from those ahead;
    in the limit, on clean labels with anchors, nothing does.

    See Also
    --------
    SingleHead : One side alone.

    Examples
    --------
    >>> from sklearn_attnstump.heads import ReflectedHead
    >>> contexts = [([0.1, 0.3, 0.6, 0.9], [1, 1, 0, 0])]
    >>> ReflectedHead().predict(contexts, coef=(100.0, 100.0))
    array([0.45])
    """

    _sides = (1, -1)

    def pack(self, contexts: Contexts) -> Packed:
        """Do once what does not depend on the coefficients."""
        return _ReflectedPack(_SinglePack(LabelGroups(contexts)))

    def weights(self, contexts: Any, coef: ArrayLike) -> list[FloatArray]:
        """The attention on each token: the mean of the two sides'.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature.
        coef : array-like of shape (2,)
            Feature score and label score.

        Returns
        -------
        weights : list of ndarray of shape (n_tokens,)
            One array for each context, in the order of its tokens, of sum 1.
        """
        contexts = Contexts(contexts)
        groups, pair = LabelGroups(contexts), as_pair(coef)
        flat = _token_weights(contexts, groups, pair)
        flat += _token_weights(contexts, groups, -pair)
        return np.split(flat / 2, contexts.offsets[1:-1])


class _SinglePack:
    def __init__(self, groups: LabelGroups) -> None:
        self.groups = groups

    def label_edges(self) -> tuple[FloatArray, FloatArray]:
        return self.groups.label_edges()

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        scale, label_score = float(coef[0]), float(coef[1])
        tilted = self.groups.cumulants(scale, order)
        return _mix(tilted, scale, label_score, order=order)


class _ReflectedPack:
    def __init__(self, side: _SinglePack) -> None:
        self.side = side

    def label_edges(self) -> tuple[FloatArray, FloatArray]:
        return self.side.label_edges()

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        below = self.side.evaluate(coef, order)
        above = self.side.evaluate(-coef, order)
        return Derivatives(
            below.prediction / 2 + above.prediction / 2,
            (below.jacobian - above.jacobian) / 2,
            (below.hessian + above.hessian) / 2,
        )


def _label_logit(tilted: Cumulants, scale: float, label_score: float) -> FloatArray:
    """``b + K_1 - K_0``, minus or plus infinity for a context with one label.

    Its largest part is ``b + a (e_1 - e_0)``, ``e_c`` being the edges. The two terms
    may both be huge and nearly cancel, as they do where the scores are calibrated to
    each other: what each operation rounds off is therefore kept, and added at the end.
    """
    absent = tilted.mass == 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        distance, lost_1 = _exact_sum(tilted.edge[1], -tilted.edge[0])
        product, lost_2 = _exact_product(scale, distance)
        logit, lost_3 = _exact_sum(product, label_score)
        lost = scale * lost_1 + lost_2 + lost_3
        logit += np.where(np.isfinite(lost), lost, 0.0)  # NaN after an overflow
        log_mass = np.log(tilted.mass)
        logit += log_mass[1] - log_mass[0]
    logit[absent[0]] = np.inf
    logit[absent[1]] = -np.inf
    return logit


def _exact_sum(x: FloatArray, y: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """``x + y`` rounded, and what the rounding lost (Knuth)."""
    total = x + y
    of_y = total - x
    return total, (x - (total - of_y)) + (y - of_y)


def _exact_product(x: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``x y`` rounded, and what the rounding lost (Dekker, by Veltkamp's halves)."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    lost = (x_high * y_high - product) + x_high * y_low + x_low * y_high
    return product, lost + x_low * y_low


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of 26 digits each, whose sum is `x`: their products are exact."""
    shifted = (2.0**27 + 1) * x
    high = shifted - (shifted - x)
    return high, x - high


def _mix(
    tilted: Cumulants, scale: float, label_score: float, *, order: int
) -> Derivatives:
    """Mix the two label groups; see `SingleHead` for the formulas."""
    logit = _label_logit(tilted, scale, label_score)
    p, q = expit(logit), expit(-logit)  # both, so that neither tail is rounded off
    mu_0, mu_1 = tilted.mean
    prediction = p * mu_1 + q * mu_0
    if order == 0:
        return Derivatives(prediction)
    gap = mu_1 - mu_0
    pull = p * q * gap  # 0 for a context with one label, whatever the gap
    v_0, v_1 = tilted.variance
    jacobian = np.empty((len(p), 2))
    np.add(p * v_1 + q * v_0, pull * gap, out=jacobian[:, 0])
    jacobian[:, 1] = pull
    if order == 1:
        return Derivatives(prediction, jacobian)
    k_0, k_1 = tilted.third
    skew, wider = q - p, v_1 - v_0
    hessian = np.empty((len(p), 2, 2))
    hessian[:, 0, 0] = p * k_1 + q * k_0 + pull * (3 * wider + skew * gap**2)
    hessian[:, 0, 1] = hessian[:, 1, 0] = p * q * wider + pull * skew * gap
    hessian[:, 1, 1] = pull * skew
    return Derivatives(prediction, jacobian, hessian)


def _token_weights(
    contexts: Contexts, groups: LabelGroups, coef: FloatArray
) -> FloatArray:
    """Attention on every token, flat, in the order of the contexts."""
    scale, label_score = float(coef[0]), float(coef[1])
    tilted = groups.cumulants(scale, 0)
    logit = _label_logit(tilted, scale, label_score)
    share = np.concatenate([expit(-logit), expit(logit)])[groups.groups]
    flat = np.zeros(contexts.n_tokens)
    tokens = np.concatenate(label_positions(contexts))
    flat[tokens] = groups.shares(scale) * np.repeat(share, groups.sizes)
    return flat
