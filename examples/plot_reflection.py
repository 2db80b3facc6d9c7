"""
What reflection achieves
========================

The single head looks at a threshold from below and stays ``1/a`` short of it, however
large the context. Its mean with its mirror image has no such floor. That symmetrization
is in the abstract of `arXiv:2610.07074 <https://arxiv.org/abs/2610.07074>`_; the risks
``1/a^2 + 1/(4aN)`` and ``1/(8aN)`` are this project's own.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_attnstump import PretrainedAttentionStump
from sklearn_attnstump.datasets import make_stump_tasks
from sklearn_attnstump.displays import AttentionDisplay, ThresholdErrorDisplay
from sklearn_attnstump.theory import context_risk

# %%
# Both heads, frozen at one scale. Left: where the reflected head looks in one context,
# half from below and half from above the threshold.

a = 50.0
coef = (a, a + 2 * np.log(a))
unit = {"feature_range": (0, 1)}
stumps = {
    f"single, $a = {a:.0f}$": PretrainedAttentionStump.from_coef(coef, **unit),
    f"reflected, $a = {a:.0f}$": PretrainedAttentionStump.from_coef(
        coef, "reflected", **unit
    ),
}
interior = {"threshold_range": (0.4, 0.6)}

plt.rcParams.update({"font.size": 9})
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.2, 4.6), layout="constrained", width_ratios=(4, 5)
)
X, y = make_stump_tasks(1, 200, random_state=3, **interior)
_, reflected = stumps.values()
AttentionDisplay.from_estimator(
    reflected, X, y, ax=left, name="attention of the reflected head", markersize=4
)
left.set(xlim=(0.4, 0.62), ylim=(-0.003, 0.12), xticks=(0.4, 0.5, 0.6))
left.legend(fontsize=8, loc="upper right")

# Right: errors against the size of the context. As ``a`` grows without bound the heads
# become the largest observation with label 1 and the middle of the label gap. The error
# of the latter is half that of the former, and no estimator's is smaller for thresholds
# uniform on the range. At a finite scale the reflected head stays with it up to about
# ``N = 4a``, and falls as ``1 / sqrt(8aN)`` from there.

limit = 1e6
stumps[r"single, $a \to \infty$"] = PretrainedAttentionStump.from_coef(
    (limit, limit + 2 * np.log(limit)), **unit
)
stumps[r"reflected, $a \to \infty$"] = PretrainedAttentionStump.from_coef(
    (limit, limit + 2 * np.log(limit)), "reflected", **unit
)
sizes = np.array([20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000])
tasks = [
    make_stump_tasks(max(300, 1_000_000 // n), n, random_state=n, **interior)
    for n in sizes
]
display = ThresholdErrorDisplay.from_estimator(
    stumps,
    sizes,
    tasks,
    references={
        r"$\sqrt{1/a^2 + 1/(4aN)}$": np.sqrt(context_risk("single", sizes, a)),
        r"$1/\sqrt{8aN}$": np.sqrt(context_risk("reflected", sizes, a)),
        r"$\sqrt{2} / N$": np.sqrt(context_risk("one_sided", sizes)),
        r"$1 / (\sqrt{2} N)$": np.sqrt(context_risk("midpoint", sizes)),
    },
    ax=right,
    linestyle="none",
)
right.set(title="errors")
right.get_legend().remove()
figure.legend(
    *right.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
)
for name, error in display.errors.items():
    print(f"{name:26s}" + "".join(f"{value:10.5f}" for value in error))
