"""
Noisy labels: thresholds with intervals
=======================================

Real labels are noisy. Here every tenth label of a real corpus is flipped, and another
corpus has labels that only become likely around the threshold (a logistic curve). The
Gibbs head is pretrained on part of the tasks, its intervals are calibrated on a second
part, and both are put to the tasks of a third that it has never seen.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.datasets import load_browser_support, make_stump_tasks

# %%
# Two corpora: dates of browser releases with 10 % of the labels flipped, where label 1
# lies at or above the threshold, and made tasks with logistic labels, where it lies at
# or below. The dates that a feature is known to be supported from sometimes contradict
# the labels by years; such tasks are part of what the intervals have to cover.

rng = np.random.default_rng(0)
browsers = load_browser_support()
flipped = browsers.contexts.labels ^ (rng.random(browsers.contexts.n_tokens) < 0.1)
dates = Contexts.from_arrays(
    browsers.contexts.values, flipped, browsers.contexts.offsets
)
dose, doses = make_stump_tasks(
    400, 40, label_noise=0.05, noise="logistic", random_state=0
)

corpora = {
    "browser support, 10 % of labels flipped": (
        dates,
        browsers.thresholds,
        browsers.groups,
        ">=",
        "date (year)",
    ),
    "logistic labels": (dose, doses, np.arange(400), "<=", "dose"),
}

# %%
# Pretrain, calibrate, infer; whole groups stay together.


def split(X, y, groups, test_size, seed):
    shuffle = GroupShuffleSplit(test_size=test_size, random_state=seed)
    return next(shuffle.split(X, y, groups))


figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for axis, (name, (X, y, groups, direction, unit)) in zip(
    axes, corpora.items(), strict=True
):
    rest, fresh = split(X, y, groups, 0.3, 0)
    fit, calibrate = (
        rest[part] for part in split(X[rest], y[rest], groups[rest], 0.5, 1)
    )
    stump = PretrainedAttentionStump(GibbsHead(prior="corpus"), direction=direction)
    with warnings.catch_warnings():  # of contexts outside the range of the corpus
        warnings.simplefilter("ignore", UserWarning)
        stump.fit(X[fit], y[fit]).conformalize(X[calibrate], y[calibrate])
        inferred = stump.predict(X[fresh])
        lower, upper = stump.predict_interval(X[fresh], coverage=0.9).T
        reflected = PretrainedAttentionStump("reflected", direction=direction)
        captured = reflected.fit(X[fit], y[fit]).predict(X[fresh])
    held = (lower <= y[fresh]) & (y[fresh] <= upper)
    print(
        f"{name}: mean error {np.abs(inferred - y[fresh]).mean():.3f} (reflected "
        f"head {np.abs(captured - y[fresh]).mean():.3f}), 90 % intervals held "
        f"{held.mean():.0%}"
    )
    for mask, color, label in [
        (held, "#0072b2", "interval holds the true threshold"),
        (~held, "#d55e00", "interval misses it"),
    ]:
        axis.errorbar(
            y[fresh][mask],
            inferred[mask],
            [(inferred - lower)[mask], (upper - inferred)[mask]],
            fmt="o",
            ms=3,
            lw=0.8,
            color=color,
            label=label,
        )
    ends = [y[fresh].min(), y[fresh].max()]
    axis.plot(ends, ends, color="black", lw=1)
    axis.set(
        title=name, xlabel=f"true threshold, {unit}", ylabel="inferred, with interval"
    )
axes[1].legend(loc="upper left")
