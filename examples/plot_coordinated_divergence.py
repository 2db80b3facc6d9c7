"""
Coordinated divergence: both scores grow together
=================================================

On infinite corpora of infinite contexts, pretraining first calibrates the label score
``b`` against the feature score ``a``; from then on both grow together, as the fourth
root of time, and the error of the inferred threshold falls as its inverse. The rates
are claims of the abstract of `arXiv:2610.07074 <https://arxiv.org/abs/2610.07074>`_;
the constants in ``b = a + 2 log a`` and ``a = (4t)^(1/4)`` are this project's own.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_attnstump.displays import PretrainingPathDisplay
from sklearn_attnstump.theory import (
    population_descent,
    population_error,
    population_flow,
)

# %%
# Gradient flow from three starts: calibrated, with too small a label score, and with
# too large a one. Their paths are computed from closed forms; there is no corpus.

times = np.logspace(0, 10, 300)
starts = {
    "calibrated": ((10.0, 14.6), "#0072b2"),
    "$b$ too small": ((5.0, 5.0), "#d55e00"),
    "$b$ too large": ((20.0, 34.0), "#009e73"),
}

plt.rcParams.update({"font.size": 9})
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(9.6, 3.5), layout="constrained"
)
for name, (start, color) in starts.items():
    PretrainingPathDisplay.from_population(
        start,
        times,
        quantities=("scores", "gap"),
        asymptotes=name == "calibrated",
        ax=(left, middle),
        name=name,
        color=color,
    )
    error = population_error(0.5, *population_flow(start, times).T)
    right.loglog(times, -error, color=color, label=name)

# Constant-step gradient descent takes the same path: its steps lie on the line of the
# flow at the time ``step_size * steps``.

step_size = 500.0
descent = population_descent((10.0, 14.6), step_size, 6000)
shown = np.array([1, 4, 20, 100, 500, 3000, 6000])
left.plot(step_size * shown, descent[shown, 0], "o", color="#0072b2", ms=4)
gap = descent[:, 1] - descent[:, 0] - 2 * np.log(descent[:, 0])
middle.plot(step_size * shown, gap[shown], "o", color="#0072b2", ms=4)

# The limits, dashed: ``a`` and ``b`` on the left, no gap in the middle and
# ``(4t)^(-1/4)`` on the right.

right.plot(times, (4 * times) ** -0.25, "--", color="black", lw=1)
right.text(3e3, 0.11, "$(4t)^{-1/4}$")
left.text(2e5, 16, "$(4t)^{1/4}$")
left.set(title="scores: $a$ solid, $b$ dash-dotted", ylim=(2, 700))
middle.set(title="calibration", ylim=(-5, 9))
right.set(
    title=r"threshold error at $\theta = 1/2$",
    xlabel="time $t$",
    ylabel=r"$|f - \theta|$",
)
left.get_legend().remove()
middle.get_legend().remove()
right.plot([], [], "o", color="#0072b2", ms=4, label="descent, constant steps")
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=4)

# %%
# At ``t = 10^9`` all three are within a percent of the limits:

for name, (start, _) in starts.items():
    ((a, b),) = population_flow(start, [1e9])
    error = population_error(0.5, a, b)
    print(
        f"{name:15s} a / (4t)^(1/4) = {a / 4e9**0.25:.4f}   "
        f"b - a - 2 log a = {b - a - 2 * np.log(a):+.4f}   "
        f"error (4t)^(1/4) = {error * 4e9**0.25:+.4f}"
    )
