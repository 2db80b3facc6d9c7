"""
The training interval grows with the corpus
===========================================

On a finite corpus pretraining follows the population only for a while. How long it does
so grows with ``m ^ n``, the smaller of the number of tasks and of examples per task:
the abstract of `arXiv:2610.07074 <https://arxiv.org/abs/2610.07074>`_ has the growing
interval, the measurement is this project's own.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.theory import certified_scale, population_flow

# %%
# Gradient flow on ten corpora of each size ``m = n``, from the same start as the
# flow of the population, whose scale is ``a`` of the population at the same times.

ranks, n_corpora, start = [50, 100, 200, 400, 800], 10, 10.0


def scales(k, seed):
    """Times of a path, its scale, the population's, and whether a context lacks 1s."""
    X, y = make_stump_tasks(k, k, random_state=100 * k + seed)
    stump = PretrainedAttentionStump(
        solver="flow", init_scale=start, horizon=1e10, tol=0, feature_range=(0, 1)
    )
    with warnings.catch_warnings():  # of tasks that have one label only
        warnings.simplefilter("ignore", UserWarning)
        path = stump.fit(X, y).path_
    population = population_flow((start, start + 2 * np.log(start)), path.t)
    lacking = not np.logical_or.reduceat(X.labels, X.offsets[:-1]).all()
    return path.t[1:], path.coef[1:, 0], population[1:, 0], lacking


paths = {k: [scales(k, seed) for seed in range(n_corpora)] for k in ranks}

# %%
# On the left the ratio of both scales in time, on the right the scale at which a path
# leaves the population's by 10 % for the first time. Hardly any does so before the
# certified scale ``(m ^ n) / log(m ^ n)``. A context without label 1 is fitted best by
# a small scale: with a share of ``1 / m`` of such tasks, a path leaves near ``0.58 m``,
# with more of them earlier (full markers); corpora without any (open markers) leave
# late or not at all. The theory page derives it.

plt.rcParams.update({"font.size": 9})
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
left.axhspan(1 / 1.1, 1.1, color="0.9")
for k, color, dashes in [
    (50, "#d55e00", ":"),
    (200, "#009e73", "--"),
    (800, "#0072b2", "-"),
]:
    for time, scale, population, _ in paths[k]:
        left.semilogx(time, scale / population, color=color, ls=dashes, lw=1)
    left.plot([], [], color=color, ls=dashes, label=rf"$m = n = {k}$")
left.set(xlim=(1e2, 1e10), ylim=(0, 1.5), xlabel="time $t$")
left.set_ylabel("scale $a$ on the corpus / in the population")
left.legend(loc="lower left")

blue, top = "#0072b2", 5e2
early = 0
for k in ranks:
    for i, (_, scale, population, lacking) in enumerate(paths[k]):
        gone = np.flatnonzero(np.abs(np.log(scale / population)) > np.log(1.1))
        at = population[gone[0]] if len(gone) else top
        early += at < certified_scale(k, k)
        place = k * (1 + 0.025 * (i - n_corpora / 2))
        fill, marker = (blue if lacking else "white"), ("o" if len(gone) else "^")
        right.plot(place, at, marker, mfc=fill, color=blue, ms=5)
print(f"{early} of {len(ranks) * n_corpora} leave before the certified scale")
right.plot([], [], "o", color=blue, ms=5, label="some context lacks label 1")
right.plot([], [], "o", mfc="white", color=blue, ms=5, label="none does")
right.plot([], [], "^", mfc="white", color=blue, ms=5, label="has not left (either)")
right.plot(ranks, 0.58 * np.array(ranks), "k:", label="one such context: $0.58 m$")
right.plot(ranks, certified_scale(ranks, ranks), "k--", label="certified scale")
right.set(xscale="log", yscale="log", xlabel=r"corpus size $m \wedge n$", ylim=(3, 700))
right.set_ylabel("scale $a$ where the path leaves")
right.set_xticks(ranks, ranks)
right.minorticks_off()
right.legend(loc="lower right")
