"""
The boundary: where one head fails, and what anchors do
=======================================================

A threshold close to the range's lower end may leave a context without any observation
of label 1. The single head then has nothing to attend to, and answers near the other
end of the range. That the single head has a boundary limitation is a claim of the
abstract of `arXiv:2610.07074 <https://arxiv.org/abs/2610.07074>`_; the chance
``(1 - theta)^N``, and anchors as a remedy, are this project's own.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_attnstump import Contexts, PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.displays import ThresholdErrorDisplay
from sklearn_attnstump.theory import context_risk, no_positive_probability

# %%
# Three heads, pretrained on one corpus up to the certified scale. Anchors are two
# observations that are true of every task whose range is known: label 1 at its lower
# end, label 0 at its upper end.

X, y = make_stump_tasks(1000, 1000, random_state=0)
settings = {"solver": "flow", "stop_scale": "certified", "feature_range": (0, 1)}
stumps = {
    "single": PretrainedAttentionStump("single", **settings),
    "reflected": PretrainedAttentionStump("reflected", **settings),
    "single, anchors": PretrainedAttentionStump("single", anchors=True, **settings),
    "reflected, anchors": PretrainedAttentionStump(
        "reflected", anchors=True, **settings
    ),
}
with warnings.catch_warnings():  # of the tasks that lack a label
    warnings.simplefilter("ignore", UserWarning)
    for name, stump in stumps.items():
        stump.fit(X, y)
        print(
            f"{name:20s} a = {stump.feature_score_:.0f}, b = {stump.label_score_:.0f}"
        )

# %%
# Fresh contexts of ``N = 100`` observations with a threshold of ``c / N`` each, from
# deep within the boundary to the interior.

size, n_contexts = 100, 4000
c = np.array([0.01, 0.03, 0.1, 0.3, 1, 2, 3, 5, 7, 10, 20, 50])
rng = np.random.default_rng(1)
x = rng.uniform(size=n_contexts * size)
offsets = np.arange(n_contexts + 1) * size
corpora = [
    (Contexts.from_arrays(x, x <= theta, offsets), np.full(n_contexts, theta))
    for theta in c / size
]

# %%
# Right: the share of contexts that the single head misses by more than half the range
# is the chance of no label 1.

plt.rcParams.update({"font.size": 9})
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.9), layout="constrained")
ThresholdErrorDisplay.from_estimator(
    stumps,
    c,
    corpora,
    references={
        r"$(1 - \theta)^{N/2}$": np.sqrt(no_positive_probability(c / size, size)),
        r"$1 / (\sqrt{2} N)$": np.full(
            len(c), np.sqrt(context_risk("anchored_reflected", size))
        ),
    },
    x_name=r"threshold, in units of $1/N$: $\theta N$",
    ax=left,
)
left.set(title="errors", ylim=(2e-3, 30))
left.legend(fontsize=8, ncols=2, loc="upper right")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)
    errors = [np.abs(stumps["single"].predict(X) - y) for X, y in corpora]
share = [np.mean(error > 0.5) for error in errors]
right.plot(c, no_positive_probability(c / size, size), "--", color="black", lw=1)
right.plot(c, share, "o", color="#0072b2")
right.text(1.3, 0.45, r"$(1 - \theta)^N \approx e^{-\theta N}$")
right.set(xscale="log", title="share of contexts where the single head fails")
right.set(xlabel=r"threshold, in units of $1/N$: $\theta N$", ylabel="share")
