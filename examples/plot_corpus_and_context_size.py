"""
Two sizes: corpus and context
=============================

The error of the frozen single head at an interior threshold is at most of the order of
``1 / (m ^ n) + 1 / N``, up to a logarithm: ``m ^ n`` is the smaller of the number of
tasks and of examples per task that it was pretrained on, ``N`` the size of the fresh
context. The rates are a claim of the abstract of `arXiv:2610.07074
<https://arxiv.org/abs/2610.07074>`_. Each size has its own share: more of the one does
not make up for the other.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.displays import ThresholdErrorDisplay
from sklearn_attnstump.theory import certified_scale, context_risk

# %%
# Pretrain on corpora of ``m = n`` from 50 to 800 up to the certified scale
# ``a = (m ^ n) / log(m ^ n)``; further on, pretraining would fit the corpus itself.

ranks = np.array([50, 100, 200, 400, 800])
stumps = {}
with warnings.catch_warnings():  # of the few tasks that have one label only
    warnings.simplefilter("ignore", UserWarning)
    for k in ranks:
        stump = PretrainedAttentionStump(
            solver="flow", stop_scale="certified", init_scale=5, feature_range=(0, 1)
        )
        stumps[k] = stump.fit(*make_stump_tasks(k, k, random_state=k))

# %%
# Fresh contexts with thresholds from 0.4 to 0.6. On the left those of 50,000
# observations: what is left is the share of the corpus, ``1/a``.

interior = {"threshold_range": (0.4, 0.6)}
plt.rcParams.update({"font.size": 9})
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
fresh, truth = make_stump_tasks(100, 50_000, random_state=1, **interior)
ThresholdErrorDisplay.from_predictions(
    ranks,
    [truth] * len(ranks),
    {"frozen at the certified scale": [stumps[k].predict(fresh) for k in ranks]},
    references={
        r"$\log(m \wedge n) / (m \wedge n)$": 1 / certified_scale(ranks, ranks)
    },
    x_name=r"corpus size $m \wedge n$",
    ax=left,
    linestyle="none",
)
ticks = np.array([0.01, 0.02, 0.05, 0.1])
left.set(title="large contexts", xticks=ranks, xticklabels=ranks)
left.set(yticks=ticks, yticklabels=ticks, ylim=(6e-3, 0.12))
left.minorticks_off()

# On the right the same stumps on contexts of all sizes: the error follows ``1 / N``
# until it comes to the floor that its corpus has set.

sizes = np.array([10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000])
tasks = [
    make_stump_tasks(4_000_000 // max(n, 1000), n, random_state=n, **interior)
    for n in sizes
]
display = ThresholdErrorDisplay.from_estimator(
    {rf"$m \wedge n = {k}$": stumps[k] for k in (50, 200, 800)},
    sizes,
    tasks,
    references={r"$\sqrt{2} / N$": np.sqrt(context_risk("one_sided", sizes))},
    ax=right,
)
for k, line in zip((50, 200, 800), display.lines_, strict=True):
    floor = 1 / certified_scale(k, k)
    right.axhline(floor, color=line[0].get_color(), lw=1, ls=":")
right.set(title="contexts of all sizes; dotted: $1/a$", ylim=(3e-3, 0.2), ylabel=None)
