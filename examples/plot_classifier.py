"""
Stumps for tables: alone and in AdaBoost
========================================

`AttentionStumpClassifier` takes the place of scikit-learn's decision stump: the table
is the context, and a frozen attention infers the threshold. On breast cancer, on wine
(three classes) and on a wide, noisy table we look at the thresholds that the two
choose, and put a hundred of each in AdaBoost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from sklearn_attnstump.classifier import AttentionStumpClassifier

cancer, wine = load_breast_cancer(as_frame=True), load_wine(as_frame=True)
wide_X, wide_y = make_classification(
    300, 200, n_informative=5, n_redundant=0, flip_y=0.1, random_state=0
)
tables = {
    "breast cancer": (cancer.data.to_numpy(), cancer.target.to_numpy()),
    "wine": (wine.data.to_numpy(), wine.target.to_numpy()),
    "a wide table, 300 x 200": (wide_X, wide_y),
}
names = {
    "breast cancer": list(cancer.data.columns),
    "wine": list(wine.data.columns),
    "a wide table, 300 x 200": [f"feature {i}" for i in range(200)],
}
stumps = {
    "attention": (AttentionStumpClassifier(), "#0072b2", "-"),
    "tree": (DecisionTreeClassifier(max_depth=1, random_state=0), "#d55e00", "--"),
}

# %%
# Above, the classes along the feature that the attention chose, with both thresholds.
# The inferred one is a mean over all good ones, the tree's is the best on these rows.

figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained")
for axis, (name, (X, y)) in zip(axes[0], tables.items(), strict=True):
    stump = stumps["attention"][0].fit(X, y)
    tree = stumps["tree"][0].fit(X, y).tree_
    x = X[:, stump.feature_]
    axis.hist(
        [x[y == label] for label in stump.classes_],
        bins=30,
        stacked=True,
        color=["0.75", "0.45", "0.2"][: len(stump.classes_)],
        label=[f"class {label}" for label in stump.classes_],
    )
    axis.axvline(stump.threshold_, color="#0072b2", lw=2, label="attention")
    if tree.feature[0] == stump.feature_:
        axis.axvline(tree.threshold[0], color="#d55e00", lw=2, ls="--", label="tree")
    print(
        f"{name}: attention {names[name][stump.feature_]} <= {stump.threshold_:.4g}, "
        f"tree {names[name][tree.feature[0]]} <= {tree.threshold[0]:.4g}"
    )
    axis.set(title=name, xlabel=names[name][stump.feature_])
    axis.legend(fontsize=8)
axes[0, 0].set_ylabel("rows")

# Below, balanced accuracy in five-fold cross-validation, round by round.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
for axis, (name, (X, y)) in zip(axes[1], tables.items(), strict=True):
    for label, (stump, color, style) in stumps.items():
        boosted = AdaBoostClassifier(stump, n_estimators=100, random_state=0)
        curves = np.array(
            [
                [
                    balanced_accuracy_score(y[test], predicted)
                    for predicted in boosted.fit(X[fit], y[fit]).staged_predict(X[test])
                ]
                for fit, test in folds.split(X, y)
            ]
        )
        axis.plot(
            np.arange(1, 101), curves.mean(axis=0), color=color, ls=style, label=label
        )
        print(f"{name}: AdaBoost, {label}: {curves[:, -1].mean():.3f}")
    axis.set(xlabel="stumps in AdaBoost")
    axis.grid(alpha=0.3)
axes[1, 0].set_ylabel("balanced accuracy, new rows")
axes[1, 0].legend()
