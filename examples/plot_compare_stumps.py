"""
Pretrained attention against stumps fitted to each context
==========================================================

Every baseline has the interface of the pretrained estimator, so one ``cross_validate``
compares them all, on clean labels and on labels of which a tenth is flipped.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_attnstump import GibbsHead, PretrainedAttentionStump, baselines
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.theory import context_risk

# The two-score heads warn of noisy labels, and rightly so; here we want to see why.
warnings.filterwarnings("ignore", category=UserWarning)

known = {"feature_range": (0, 1)}
stumps = {
    "constant": (DummyRegressor(), "v:", "0.5"),
    "largest with label 1": (baselines.OneSidedStump(**known), "<--", "#e69f00"),
    "midpoint": (baselines.MidpointStump(**known), "s-", "#56b4e9"),
    "decision tree": (baselines.DecisionStump(**known), "D--", "#d55e00"),
    "fewest errors": (baselines.ERMStump("mean", **known), "^-", "#009e73"),
    "Bayes, rate known": (baselines.BayesStump(0.1, **known), "P--", "0"),
    "reflected attention": (
        PretrainedAttentionStump("reflected", anchors=True, **known),
        "d-",
        "#cc79a7",
    ),
    "Gibbs attention": (PretrainedAttentionStump("gibbs", **known), "o-", "#0072b2"),
}

# %%
# Root mean squared errors of five-fold cross-validation over 400 tasks. ``BayesStump``
# is told a rate of flips of 0.1; on clean labels that is wrong, and costs it something.

sizes, rates = [5, 10, 20, 50, 100, 200], (0.0, 0.1)
titles = ("clean labels", "a tenth of the labels flipped")
errors = np.empty((len(rates), len(stumps), len(sizes)))
for i, rate in enumerate(rates):
    for k, size in enumerate(sizes):
        X, y = make_stump_tasks(400, size, label_noise=rate, random_state=size)
        for j, (stump, _, _) in enumerate(stumps.values()):
            folds = cross_validate(stump, X, y, scoring="neg_root_mean_squared_error")
            errors[i, j, k] = -folds["test_score"].mean()
    print(f"{titles[i]:29s}" + "".join(f"{size:8d}" for size in sizes))
    for name, row in zip(stumps, errors[i], strict=True):
        print(f"{name:29s}" + "".join(f"{error:8.4f}" for error in row))

# %%
# On clean labels (left) nothing beats the midpoint, whose error is that of theory, half
# of the largest positive observation's. The tree, fewest errors and both attentions lie
# on it: there is nothing to win. With flips (right) one stray label captures midpoint
# and reflected attention. The Gibbs attention learns from the corpus what the posterior
# mean has to be told, and leaves fewest errors behind where contexts are small.

figure, panels = plt.subplots(
    1, 2, figsize=(11, 4.6), sharey=True, layout="constrained"
)
for panel, title, table in zip(panels, titles, errors, strict=True):
    for law, text in [("one_sided", r"$\sqrt{2}/N$"), ("midpoint", r"$1/(\sqrt{2}N)$")]:
        risk = np.sqrt(context_risk(law, np.array(sizes)))
        panel.plot(sizes, risk, color="0.85", lw=6, label="theory, clean labels")
        panel.annotate(text, (sizes[-1], risk[-1]), (7, -3), textcoords="offset points")
    rows = zip(stumps.items(), table, strict=True)
    for j, ((name, (_, style, color)), row) in enumerate(rows):
        panel.loglog(sizes, row, style, color=color, label=name, mfc="none", ms=12 - j)
    panel.set(title=title, xlabel="observations in a context, N", xlim=(4.5, 400))
    panel.set_xticks(sizes, sizes)
    panel.minorticks_off()
panels[0].set_ylabel("root mean squared error of the threshold")
handles, labels = panels[0].get_legend_handles_labels()
figure.legend(handles[1:], labels[1:], loc="outside right center")

# %%
# Which head? Ask the corpus. The feature here is a dose over three decades: a pipeline
# takes its logarithms, and those of the thresholds are taken and undone around it.

X, y = make_stump_tasks(400, 30, label_noise=0.1, random_state=0)
logarithms = FunctionTransformer(lambda X: X.with_values(np.log(X.values)))
model = make_pipeline(logarithms, PretrainedAttentionStump())
heads = ["single", "reflected", GibbsHead(), GibbsHead(prior="corpus")]
search = GridSearchCV(
    TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp),
    {"regressor__pretrainedattentionstump__head": heads},
    scoring="neg_mean_absolute_percentage_error",
).fit(X.with_values(np.exp(7 * X.values)), np.exp(7 * y))
print("\nhead, and mean error of the dose that it infers")
for head, score in zip(heads, -search.cv_results_["mean_test_score"], strict=True):
    print(f"{head!s:29s}{score:8.0%}")
