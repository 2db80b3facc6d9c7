"""
Wrong labels, and why there is a Gibbs head
===========================================

One mislabelled observation beyond the threshold captures the heads that weigh
observations. The Gibbs head weighs the gaps between observations by the labels that a
threshold there would contradict; a single wrong label costs one contradiction, wherever
it lies. This head, and all that is said of noise, is this project's own.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.baselines import BayesStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.displays import AttentionDisplay, ThresholdErrorDisplay

# The two-score heads warn of noisy labels, and rightly so; here we want to see why.
warnings.filterwarnings("ignore", category=UserWarning)

# %%
# Pretrain each head on 300 tasks of 50 observations for each rate of wrong labels, and
# put it to fresh tasks of the same rate. ``BayesStump`` is told the rate.

rates = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2])
known = {"feature_range": (0, 1)}
stumps = {
    "single": PretrainedAttentionStump("single", anchors=True, **known),
    "reflected": PretrainedAttentionStump("reflected", anchors=True, **known),
    "Gibbs": PretrainedAttentionStump("gibbs", **known),
}
truths, inferred, least = [], {name: [] for name in stumps}, []
for rate in rates:
    X, y = make_stump_tasks(300, 50, label_noise=rate, random_state=0)
    fresh, truth = make_stump_tasks(4000, 50, label_noise=rate, random_state=1)
    for name, stump in stumps.items():
        inferred[name].append(stump.fit(X, y).predict(fresh))
    bayes = BayesStump(max(rate, 1e-9), **known).fit(fresh)
    least.append(np.sqrt(np.mean((bayes.predict(fresh) - truth) ** 2)))
    truths.append(truth)

# %%
# One context of twenty observations, of which one is mislabelled: the attention of the
# single head, frozen at ``a = 50``, and of the Gibbs head, pretrained on tasks with 2 %
# of wrong labels.

X, y = make_stump_tasks(300, 50, label_noise=0.02, random_state=0)
x = np.random.default_rng(2).uniform(size=20)
theta = 0.4
labels = x <= theta
wrong = np.argmin(np.abs(x - 0.8))
labels[wrong] ^= True

plt.rcParams.update({"font.size": 9})
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10.4, 4.0), layout="constrained"
)
single = PretrainedAttentionStump.from_coef((50.0, 58.0), **known)
gibbs = stumps["Gibbs"].fit(X, y)
for ax, stump, name in [
    (left, single, "single head, $a = 50$"),
    (middle, gibbs, "Gibbs head"),
]:
    AttentionDisplay.from_estimator(stump, [(x, labels)], [theta], ax=ax, name=name)
    arrow = {"arrowstyle": "->", "color": "0.3"}
    ax.annotate("wrong label", (x[wrong], 0.02), (0.62, 0.3), arrowprops=arrow)
    ax.get_legend().remove()

# Right: the errors. The Gibbs head's are those of Bayes; a constant's is 0.29.

display = ThresholdErrorDisplay.from_predictions(
    100 * rates,
    truths,
    inferred,
    references={"a constant": 1 / np.sqrt(12), "Bayes, rate known": least},
    x_name="labels flipped (%)",
    ax=right,
)
right.set_xscale("symlog", linthresh=0.2)
right.set(title="errors, 50 observations", xlim=(-0.02, 27), ylim=(8e-3, 0.9))
right.set_xticks([0, 0.2, 1, 5, 20], [0, 0.2, 1, 5, 20])
right.minorticks_off()
right.legend(fontsize=8, loc="upper left", ncols=2)
figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=4)
for name, error in display.errors.items():
    print(f"{name:10s}" + "".join(f"{value:8.4f}" for value in error))
