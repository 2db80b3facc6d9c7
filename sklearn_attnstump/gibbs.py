"""The Gibbs head: attention over gaps, for noisy labels (this project's own).

One mislabelled observation beyond the threshold captures a two-score head. This head is
a two-layer attention: its first layer counts, for each gap between neighbouring
observations, the labels that a threshold there would contradict; its second is a
softmax over the gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from sklearn_attnstump.contexts import Contexts
from sklearn_attnstump.coordinates import Coordinates, LogCoordinates
from sklearn_attnstump.gaps import Gaps, equal_rows, find_gaps
from sklearn_attnstump.head import Derivatives, Head, Packed, Penalty, as_pair
from sklearn_attnstump.moments import Recent, cut, positions
from sklearn_attnstump.priors import GapPrior, Prior, corpus_prior

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Where small corpora are drawn to. On 24 draws of 8 points from each of 23 and 42 real
# tasks, and on made corpora of 20 and 40, this centre and strength lowered the error of
# the plain loss on fresh tasks by 2 to 5 %, and by less than 1 % where only 2 % of the
# labels are wrong, which is far from the centre. Twice the strength is hardly better
# elsewhere and does harm there; benchmarks/shrinkage.py has the figures.
_CENTRE = (0.7, 1.0)


# Tokens, or gaps, of which pretraining makes a pack, or finds those that matter, at a
# time: what is made on the way is several times as much, and stays in the cache.
_PIECE = 1 << 15


class GibbsHead(Head):
    """Softmax over gaps by the labels that they contradict and their prior mass.

    A threshold in gap ``j`` contradicts labels of weight ``D_j`` and has the prior
    probability ``pi_j``. The gap gets the attention

        w_j ~ exp(-lam D_j) pi_j^kap,

    and the inferred threshold is ``f = sum_j w_j v_j``, ``v_j`` being the prior's mean
    within the gap. ``lam`` is the disagreement scale and ``kap`` the prior weight. If
    labels are flipped independently at a rate ``e``, thresholds follow the prior and
    ``kap = 1, lam = log((1 - e) / e)``, this is the exact posterior mean, and the
    weights are the posterior; in general they are a Gibbs posterior.

    **Derivatives.** The weights are an exponential family in ``(lam, kap)`` with the
    statistics ``t = (-D, log pi)``, so derivatives of ``f`` are central moments:

        df/dc_k        = E[(t_k - E t_k) (v - f)]
        d2f/dc_k dc_l  = E[(t_k - E t_k) (t_l - E t_l) (v - f)].

    Parameters
    ----------
    prior : {"uniform", "corpus"}, default="uniform"
        The prior over thresholds: uniform on the range, or a density of the corpus's
        own thresholds mixed with the uniform.
    uniform_share : float, default=0.02
        Share of the uniform in the "corpus" prior, so that no gap is impossible.
    bandwidth : float, default=1.0
        Width of the "corpus" prior's kernel, in units of the normal-reference rule.
    shrinkage : float, default=2.0
        How strongly pretraining on few tasks is drawn to ``lam = 0.7, kap = 1``: labels
        of which a third may be wrong, and the prior taken at its word. The minimized
        loss is ``L exp(s / m)``, with ``s = shrinkage [log(lam / 0.7)^2 + (kap -
        1)^2]`` and ``m`` the number of tasks (or the sum of their weights); see
        `sklearn_attnstump.objective.ShrunkLoss`. With hundreds of tasks it makes no
        difference; with 0, none ever.

    Attributes
    ----------
    prior_ : Prior
        After `learn`.

    See Also
    --------
    SingleHead, ReflectedHead : The two-score heads, for clean labels.

    Notes
    -----
    Contexts must lie in the unit interval, whose ends bound the outermost gaps. Tokens
    that are equal leave no gap between them; a gap of zero width is no candidate.

    To move a token of label 1 from ``x`` to ``x' > x`` lowers the density of thresholds
    between the two by ``exp(-lam)``, if ``kap = 1``. The prediction then moves to the
    right, or stays, if ``x'`` lies at or below it, and to the left, or stays, if ``x``
    lies at or above it: a stray label counts for less the further off it is. With
    another ``kap`` the weight of a gap is not its mass, and this need not hold.

    Examples
    --------
    >>> from sklearn_attnstump.heads import GibbsHead
    >>> contexts = [([0.2, 0.4, 0.5, 0.7], [1, 1, 0, 0])]
    >>> GibbsHead().predict(contexts, coef=(5.0, 1.0)).round(2)
    array([0.45])
    """

    coef_names = ("disagreement_scale", "prior_weight")
    has_posterior = True

    _parameter_constraints = {  # noqa: RUF012
        "prior": [StrOptions({"uniform", "corpus"})],
        "uniform_share": [Interval(Real, 0, 1, closed="right")],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prior: str = "uniform",
        *,
        uniform_share: float = 0.02,
        bandwidth: float = 1.0,
        shrinkage: float = 2.0,
    ) -> None:
        self.prior = prior
        self.uniform_share = uniform_share
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage

    def learn(self, thresholds: FloatArray, weights: FloatArray | None) -> Self:
        """Learn the prior from a corpus's thresholds, in unit coordinates.

        Parameters
        ----------
        thresholds : ndarray of shape (n_tasks,)
        weights : ndarray of shape (n_tasks,) or None
            Weights of the tasks.

        Returns
        -------
        self : GibbsHead
        """
        self._check_settings()
        self.prior_ = Prior.uniform()
        if self.prior == "corpus":
            self.prior_ = corpus_prior(
                thresholds,
                weights,
                uniform_share=self.uniform_share,
                bandwidth=self.bandwidth,
            )
        return self

    def pack(self, contexts: Contexts) -> GibbsPack:
        """Do once what does not depend on the coefficients: sort, count, integrate."""
        self._check_settings()
        x = contexts.values
        if contexts.weights is not None:  # tokens of weight zero may lie anywhere
            x = x[contexts.weights > 0]
        if x.min() < 0 or x.max() > 1:
            raise ValueError(
                "the Gibbs head reads contexts in the unit interval, found "
                f"observations from {x.min()} to {x.max()}. Bring them there, or use "
                "PretrainedAttentionStump, which does."
            )
        n_tasks = len(contexts)
        gaps = find_gaps(contexts, np.zeros(n_tasks), np.ones(n_tasks))
        return GibbsPack(gaps, self.prior_in_use())

    def pack_corpus(self, contexts: Contexts) -> Packed:
        """As `pack`, of what pretraining needs alone, and with little beside it."""
        pieces = (self.pack(contexts[tasks]).terms for tasks in contexts.blocks(_PIECE))
        return _CorpusPack(_join([piece.compact() for piece in pieces]))

    @property
    def shrinks(self) -> bool:
        """Whether `penalty` is to draw the coefficients of small corpora."""
        return self.shrinkage > 0

    def penalty(self, coef: FloatArray) -> Penalty:
        """``shrinkage [log(lam / 0.7)^2 + (kap - 1)^2]`` with its derivatives."""
        distance = np.log(max(abs(coef[0]), np.finfo(float).tiny) / _CENTRE[0])
        excess = coef[1] - _CENTRE[1]
        return Penalty(
            self.shrinkage * (distance**2 + excess**2),
            2 * self.shrinkage * np.array([distance / coef[0], excess]),
            2 * self.shrinkage * np.diag([(1 - distance) / coef[0] ** 2, 1.0]),
        )

    def starts(self, init_scale: float) -> list[FloatArray]:
        """Coefficients to pretrain from; the loss has local minima.

        First where small corpora are drawn to, then a coarse grid over label-noise
        rates from 40 % to 0.3 % and prior weights about 1. `init_scale` is the
        two-score heads' and plays no part.
        """
        grid = [(0.4, 0.4), (0.4, 1.0), (2.5, 0.4), (2.5, 1.0), (6.0, 1.0)]
        return [np.array(point) for point in (_CENTRE, *grid)]

    def coordinates(self) -> Coordinates:
        """Coordinates in which a solver's steps are of order one."""
        return LogCoordinates()

    def weights(self, contexts: Any, coef: ArrayLike) -> list[FloatArray]:
        """The attention on each gap.

        Parameters
        ----------
        contexts : Contexts, or any form of them
            Of one feature, in the unit interval.
        coef : array-like of shape (2,)
            Disagreement scale and prior weight.

        Returns
        -------
        weights : list of ndarray of shape (n_gaps,)
            One array for each context, from the leftmost gap to the rightmost, of sum
            1. Gaps of zero width are left out.
        """
        pack = self.pack(Contexts(contexts))
        return np.split(pack.attention(as_pair(coef)), pack.gaps.offsets[1:-1])

    def _check_settings(self) -> None:
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(), type(self).__name__
        )

    def prior_in_use(self) -> Prior:
        """The prior of the corpus, or the uniform before `learn`.

        Returns
        -------
        prior : Prior

        Raises
        ------
        ValueError
            If a corpus's prior is wanted and none was learned.
        """
        if self.prior == "corpus" and not hasattr(self, "prior_"):
            raise ValueError(
                "prior='corpus' needs a corpus: fit a PretrainedAttentionStump with "
                "this head, or call learn(thresholds, weights) first."
            )
        return getattr(self, "prior_", None) or Prior.uniform()


class _Terms(NamedTuple):
    """What the weights of gaps are made of, flat, one context after another."""

    excess: NDArray[np.floating[Any]]  # (n_gaps,): D_j less the least of its context
    log_mass: FloatArray  # (n_gaps,): log pi_j
    value: FloatArray  # (n_gaps,): v_j
    starts: IntArray  # (n_tasks,): where the gaps of each context start
    sizes: IntArray  # (n_tasks,)

    def mass(self, coef: FloatArray) -> FloatArray:
        """The weights up to a factor for each context; the largest is 1."""
        with np.errstate(over="ignore"):  # a score of minus infinity: a weight of zero
            score = coef[1] * self.log_mass
            score -= coef[0] * self.excess
        score -= np.repeat(np.maximum.reduceat(score, self.starts), self.sizes)
        return np.exp(score, out=score)

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        """Predictions, with derivatives up to `order`; see `GibbsHead`."""
        mass = self.mass(coef)
        total = self.sum(mass)
        prediction = self.sum(mass * self.value) / total
        if order == 0:
            return Derivatives(prediction)
        t = [
            self.centred(t_k, self.sum(mass * t_k) / total)
            for t_k in (-self.excess, self.log_mass)
        ]
        pull = self.centred(self.value, prediction)
        pull *= mass
        jacobian = np.stack([self.sum(t_k * pull) / total for t_k in t], axis=-1)
        if order == 1:
            return Derivatives(prediction, jacobian)
        hessian = np.empty((len(prediction), 2, 2))
        for k, m in ((0, 0), (0, 1), (1, 1)):
            hessian[:, k, m] = hessian[:, m, k] = self.sum(t[k] * t[m] * pull) / total
        return Derivatives(prediction, jacobian, hessian)

    def within(self, lam: float, kap: tuple[float, float]) -> _Terms:
        """The gaps that matter from `lam` on, and between two prior weights.

        Beside the best gap, derivatives hang on the next, the one of least positive
        excess, or the likeliest of these. A gap whose score is lower than the next's by
        more than ``c = 37 + log n``, for all those coefficients, is left out: all of
        them together are below the rounding of the next.
        """
        near = np.concatenate([part._near(lam, kap) for part in self._pieces()])
        if near.all():
            return self
        sizes = np.add.reduceat(near, self.starts, dtype=np.int64)
        kept = positions(near)
        return _Terms(
            self.excess.take(kept),
            self.log_mass.take(kept),
            self.value.take(kept),
            np.cumsum(sizes) - sizes,
            sizes,
        )

    def compact(self) -> _Terms:
        """The same with `excess` in half the memory, where that holds it exactly.

        As it does where labels are counted.
        """
        with np.errstate(over="ignore"):
            excess = self.excess.astype(np.float32)
        return self._replace(excess=excess) if (excess == self.excess).all() else self

    def _pieces(self) -> Iterator[_Terms]:
        """Runs of tasks with about `_PIECE` gaps together."""
        ends = self.starts + self.sizes
        start = 0
        while start < len(ends):
            first = self.starts[start]
            stop = int(np.searchsorted(ends, first + _PIECE, side="right"))
            stop = max(stop, start + 1)
            gaps = slice(first, ends[stop - 1])
            yield _Terms(
                self.excess[gaps],
                self.log_mass[gaps],
                self.value[gaps],
                self.starts[start:stop] - first,
                self.sizes[start:stop],
            )
            start = stop

    def _near(self, lam: float, kap: tuple[float, float]) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore", over="ignore"):  # no next gap: all are kept
            least = np.where(self.excess > 0, self.excess, np.inf)
            least = np.repeat(np.minimum.reduceat(least, self.starts), self.sizes)
            log_next = np.where(self.excess == least, self.log_mass, -np.inf)
            log_next = np.repeat(np.maximum.reduceat(log_next, self.starts), self.sizes)
            gain = self.log_mass - log_next
            gain *= np.where(gain > 0, kap[1], kap[0])
            behind = np.float64(lam) * (self.excess - least) - gain
        return ~(behind > np.repeat(cut(self.sizes), self.sizes))

    def sum(self, weighted: FloatArray) -> FloatArray:
        """ndarray of shape (n_tasks,): sums over the gaps of each context."""
        return np.add.reduceat(weighted, self.starts)

    def centred(
        self, values: NDArray[np.floating[Any]], means: FloatArray
    ) -> FloatArray:
        """Values of gaps less what is said of their context."""
        return np.subtract(values, np.repeat(means, self.sizes), dtype=np.float64)


def _join(parts: list[_Terms]) -> _Terms:
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([part.sizes for part in parts])
    return _Terms(
        np.concatenate([part.excess for part in parts]),
        np.concatenate([part.log_mass for part in parts]),
        np.concatenate([part.value for part in parts]),
        np.cumsum(sizes) - sizes,
        sizes,
    )


def _terms(gaps: Gaps, of_gaps: GapPrior) -> _Terms:
    # Only differences of D within a context matter; taken from the least, they stay
    # small and the best gap's score is exact at any scale.
    least = np.minimum.reduceat(gaps.disagreement, gaps.starts)
    excess = gaps.disagreement - np.repeat(least, gaps.sizes)
    return _Terms(excess, of_gaps.log_mass, of_gaps.mean, gaps.starts, gaps.sizes)


class _CorpusPack:
    """Contexts to be evaluated over and over: gaps that do not matter are passed over.

    Which gaps do is found anew for each octave of the coefficients, and depends on
    nothing else.
    """

    def __init__(self, terms: _Terms) -> None:
        self.terms = terms
        self.windows = Recent()

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        """Predictions, with derivatives up to `order`; see `GibbsHead`."""
        if coef.min() <= 0:
            return self.terms.evaluate(coef, order)
        octaves = np.floor(np.log2(coef)).tolist()
        lam, kap = np.exp2(octaves).tolist()
        terms: _Terms = self.windows.get(
            tuple(octaves), lambda: self.terms.within(lam, (kap, 2 * kap))
        )
        if 8 * len(terms.value) > len(self.terms.value):
            self.windows.forget_others(tuple(octaves))  # memory for one at most
        return terms.evaluate(coef, order)


class GibbsPack:
    """Contexts as their gaps, with what the prior says of them."""

    def __init__(self, gaps: Gaps, prior: Prior) -> None:
        self.gaps = gaps
        self.prior = prior
        self.of_gaps: GapPrior = prior.of_gaps(gaps.lo, gaps.hi)
        self.terms = _terms(gaps, self.of_gaps)

    def attention(self, coef: FloatArray) -> FloatArray:
        """ndarray of shape (n_gaps,): the weights, of sum 1 in each context."""
        weight = self.terms.mass(coef)
        weight /= np.repeat(self.terms.sum(weight), self.terms.sizes)
        return weight

    def evaluate(self, coef: FloatArray, order: int) -> Derivatives:
        """Predictions, with derivatives up to `order`; see `GibbsHead`."""
        return self.terms.evaluate(coef, order)

    def deviation(self, coef: FloatArray) -> FloatArray:
        """ndarray of shape (n_tasks,): standard deviation of the Gibbs posterior."""
        weight, value = self.attention(coef), self.of_gaps.mean
        distance = self.terms.centred(value, self.terms.sum(weight * value))
        return np.sqrt(self.terms.sum(weight * (self.of_gaps.variance + distance**2)))

    def quantiles(self, coef: FloatArray, levels: FloatArray) -> FloatArray:
        """ndarray of shape (n_tasks, n_levels): quantiles of the Gibbs posterior.

        Its distribution function rises by a gap's weight across the gap, in the shape
        of the prior there. A level is sought among the sums of weights from the left;
        the rest of it is a share of the gap that it falls into.
        """
        gaps, weight = self.gaps, self.attention(coef)
        found = np.empty((len(gaps.starts), len(levels)))
        for rows in equal_rows(gaps.offsets):
            upto = np.cumsum(weight[rows], axis=1)
            upto /= upto[:, -1:]
            tasks = np.searchsorted(gaps.starts, rows[:, 0])
            for column, level in enumerate(levels):
                # The first gap that ends at or above the level, and has some weight.
                gap = np.argmax(upto >= max(level, np.finfo(float).tiny), axis=1)
                here = rows[np.arange(len(rows)), gap]
                above = upto[np.arange(len(rows)), gap] - level
                share = 1 - above / weight[here]
                found[tasks, column] = self.prior.quantile(
                    gaps.lo[here], gaps.hi[here], np.clip(share, 0.0, 1.0)
                )
        return found
