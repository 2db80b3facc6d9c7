"""
Why to start at a large resolution, and how far to step
=======================================================

The loss has two valleys, one for the head that looks at the threshold from below and
one for its mirror image. A large-resolution start, ``a`` large and ``b`` above it, is
in the right valley; other starts may end in the wrong one, and so may constant steps
that are too long. The start and the constant step are those of the abstract of
`arXiv:2610.07074 <https://arxiv.org/abs/2610.07074>`_; the bound ``a^3`` on the step is
this project's own.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from sklearn_attnstump.displays import LossLandscapeDisplay
from sklearn_attnstump.theory import (
    population_descent,
    population_flow,
    population_loss,
)

# %%
# Left: the loss of the population, and the gradient flow from eight starts. The mirror
# image of the head has both scores negative. It is as good for the population, but sees
# thresholds from above: its failures lie at the range's upper end.

starts = [(10, 10 + 2 * np.log(10)), (5, 5), (20, -2), (-16, 5), (-8, 12), (16, -7)]
starts += [(2, -6), (-16, -8)]
times = np.concatenate([[0.0], np.logspace(-1, 6, 400)])

plt.rcParams.update({"font.size": 9})
figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.0), layout="constrained")
a, b = np.linspace(-25, 35, 81), np.linspace(-30, 40, 81)
grey = ListedColormap(plt.cm.Greys(np.linspace(0.0, 0.6, 256)))
loss = population_loss(*np.meshgrid(a, b))
LossLandscapeDisplay(a, b, loss).plot(left, cmap=grey)
for start in starts:
    a, b = population_flow(start, times).T
    color, dashes = ("#0072b2", "-") if a[-1] > 0 else ("#d55e00", "--")
    left.plot(a, b, dashes, color=color, lw=1.6)
    left.plot(*start, "o", color=color, ms=5)
left.plot(*starts[0], "*", color="#0072b2", ms=14, label="large-resolution start")
left.plot([], [], color="#0072b2", label="ends in the head's valley")
left.plot([], [], "--", color="#d55e00", label="ends in the mirror image's")
left.set(xlim=(-25, 35), ylim=(-30, 40), title="where starts lead")
left.legend(loc="upper left", fontsize=8)

# Right: constant steps from a calibrated start at ``a0 = 20``. The curvature across
# the valley is ``2 / a^3``, so steps up to ``a0^3`` go down the valley, and as ``a``
# grows they stay below the bound. Longer ones overshoot it and climb, however well they
# may fare where they come down again; far longer ones throw the scale to the other side
# of zero, with a label score that no later step moves.

a0, n_steps = 20.0, 300
for factor, color, marker in [
    (1, "#0072b2", "o"),
    (4, "#009e73", "s"),
    (50, "#cc79a7", "^"),
    (200, "#d55e00", "v"),
]:
    path = population_descent((a0, a0 + 2 * np.log(a0)), factor * a0**3, n_steps)
    loss = population_loss(*path.T)
    label = rf"$\eta = {factor}\, a_0^3$" if factor > 1 else r"$\eta = a_0^3$"
    right.loglog(loss, marker=marker, ms=4, markevery=0.1, color=color, label=label)
    print(f"step {factor:3d} a0^3: ends at a = {path[-1, 0]:8.1f}, loss {loss[-1]:.1e}")
right.set(title="how far to step", xlabel="constant steps", ylabel="loss $L$")
right.legend(loc="upper right", bbox_to_anchor=(1.0, 0.88))  # between the lines
