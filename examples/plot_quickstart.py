"""
Quickstart: thresholds of features never seen before
====================================================

Since when does a browser support a web feature? For each of 391 real pairs of a feature
and a browser, the observations are the browser's release dates, each labelled with
whether that release supports the feature; the threshold is the date of first support,
as a second, independent data base gives it.

We keep eight labelled dates of each pair, pretrain on three quarters of the features,
and infer the dates of the others from their eight labels alone. Nothing is fitted then.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from sklearn_attnstump import Contexts, GibbsHead, PretrainedAttentionStump
from sklearn_attnstump.datasets import load_browser_support

browsers = load_browser_support()
rng = np.random.default_rng(0)
eight = [
    (x[chosen], label[chosen])
    for context in browsers.contexts
    for x, label in [(context.values.ravel(), context.labels)]
    for chosen in [rng.choice(len(x), 8, replace=False)]
]
X, y = Contexts(eight, task_ids=browsers.task_ids), browsers.thresholds

# %%
# Whole features are left out, so that no fact about them is known from another browser.

split = GroupShuffleSplit(test_size=0.25, random_state=0)
train, test = next(split.split(X, y, groups=browsers.groups))

# %%
# The reflected head is for clean labels: it ends in the middle of the gap between the
# labels. The Gibbs head weighs every gap, here also by where the thresholds of the past
# lie. The classical stump is fitted on each context anew; where all eight labels are
# the same it finds no split, and the mean of the known thresholds has to serve.

stumps = {
    "reflected": PretrainedAttentionStump("reflected", direction=">="),
    "gibbs": PretrainedAttentionStump(GibbsHead(prior="corpus"), direction=">="),
}
inferred = {}
for name, stump in stumps.items():
    with warnings.catch_warnings():  # of contexts with one label only
        warnings.simplefilter("ignore", UserWarning)
        inferred[name] = stump.fit(X[train], y[train]).predict(X[test])

inferred["classical"] = np.full(len(test), y[train].mean())
for row, context in enumerate(X[test]):
    tree = DecisionTreeClassifier(max_depth=1).fit(context.values, context.labels).tree_
    if tree.node_count > 1:
        inferred["classical"][row] = tree.threshold[0]

# %%
# Mean distance from the true date, and the share of dates found to within a year:

print(f"{len(train)} tasks to pretrain on, {len(test)} tasks of new features\n")
print("stump                   mean error (years)   within a year")
for name, label in [
    ("classical", "classical decision stump"),
    ("reflected", "reflected attention"),
    ("gibbs", "Gibbs attention"),
]:
    error = np.abs(inferred[name] - y[test])
    print(f"{label:25s}{error.mean():13.2f}{(error < 1).mean():19.0%}")

# %%
# On the left five of the new tasks, on the right all of them.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
shown = np.argsort(np.abs(inferred["gibbs"] - y[test]))[
    np.linspace(5, 75, 5).astype(int)
]
for row, task in enumerate(shown):
    context = X[test][int(task)]
    date, yes = context.values.ravel(), context.labels
    left.plot(date[~yes], np.full((~yes).sum(), row), "o", mfc="none", color="0.45")
    left.plot(date[yes], np.full(yes.sum(), row), "o", color="0.45")
    left.plot(inferred["gibbs"][task], row, "D", color="#0072b2", ms=8)
    left.plot(y[test][task], row, "|", color="#d55e00", ms=26, mew=3)
left.set_yticks(range(5), [X[test].task_ids[task] for task in shown], fontsize=8)
left.plot([], [], "o", mfc="none", color="0.45", label="release without support")
left.plot([], [], "o", color="0.45", label="release with support")
left.plot([], [], "D", color="#0072b2", label="inferred by attention")
left.plot([], [], "|", color="#d55e00", ms=12, mew=3, label="true date")
left.legend(fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.4, 1.0))
left.set_xlabel("date (year)")

edges = np.linspace(0, 8, 33)
for name, label, color in [
    ("classical", "classical decision stump", "#e69f00"),
    ("gibbs", "pretrained Gibbs attention", "#0072b2"),
]:
    error = np.sort(np.abs(inferred[name] - y[test]))
    share = np.arange(1, len(error) + 1) / len(error)
    right.step(error, share, where="post", label=label, color=color, lw=2)
right.set(xlim=(0, 8), ylim=(0, 1), xlabel="error of the inferred date (years)")
right.set_ylabel("share of new tasks with at most this error")
right.legend(loc="lower right")
right.grid(alpha=0.3)
figure.savefig("quickstart.png", dpi=120)
