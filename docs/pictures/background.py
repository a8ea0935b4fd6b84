"""Sparse background behind dense clusters."""

import matplotlib.pyplot as plt
import numpy as np

from shade import DCTreeClustering, plots
from shade.density import DCTree

rng = np.random.default_rng(0)
X = np.vstack(
    [
        *(rng.normal(centre, 0.25, (300, 2)) for centre in [(-6, -4), (0, 4), (6, -2)]),
        rng.uniform(-10, 10, (120, 2)),
    ]
)
tree = DCTree.from_points(X)
background = DCTreeClustering().fit(X).clustering_.shown.background
joining = np.empty(len(X))
joining[tree.order] = np.minimum(
    tree.reachability, np.append(tree.reachability[1:], np.inf)
)
colours = ["#0072b2", plots.NOISE_COLOUR]
figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), width_ratios=[1, 1.3])
axes[0].scatter(*X.T, s=4, c=[colours[int(noise)] for noise in background])
axes[0].set(title="data", xticks=[], yticks=[])
bins = np.geomspace(joining.min(), joining.max(), 50)
axes[1].hist(
    [joining[~background], joining[background]],
    bins,
    stacked=True,
    color=colours,
    label=["clusters", "background"],
)
axes[1].set(
    xscale="log",
    xlabel="distance at which a point joins others",
    ylabel="points",
    yscale="symlog",
    title="a gap of more than a factor of two",
)
axes[1].legend(frameon=False)
