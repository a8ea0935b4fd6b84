"""Circles that reach to the fourth neighbour."""

import matplotlib.pyplot as plt
import numpy as np

from shade.density import core_distances

rng = np.random.default_rng(3)
X = np.vstack(
    [
        rng.normal([0, 0], 0.35, (45, 2)),
        rng.normal([3.6, -0.2], 0.75, (28, 2)),
        [[1.6, 1.3]],
    ]
)
core = core_distances(X, 5)
shown = {
    "dense": int(np.argsort(core[:45])[30]),
    "less dense": 45 + int(np.argsort(core[45:73])[18]),
    "sparse": 73,
}

figure, ax = plt.subplots(figsize=(6.4, 3.2))
ax.scatter(*X.T, s=12, color="#777")
for (name, row), colour in zip(
    shown.items(), ["#0072b2", "#009e73", "#d55e00"], strict=True
):
    ax.add_patch(
        plt.Circle(X[row], core[row], facecolor=colour + "22", edgecolor=colour, lw=1.6)
    )
    ax.scatter(
        *X[row],
        s=30,
        color=colour,
        zorder=3,
        label=f"{name}: core distance {core[row]:.2f}",
    )
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
ax.set_aspect("equal")
ax.set_axis_off()
