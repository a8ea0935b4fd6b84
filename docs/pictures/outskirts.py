"""Branches of two groups that touch, and the rows around them."""

import matplotlib.pyplot as plt
import numpy as np

from shade import DCTreeClustering, plots
from shade.stability import select_n_clusters
from shade.stability.outskirts import with_outskirts

rng = np.random.default_rng(1)
X = np.vstack(
    [
        *(rng.normal(centre, 1.0, (400, 2)) for centre in [(-1.9, 0), (1.9, 0)]),
        rng.uniform(-8, 8, (40, 2)),
    ]
)
model = DCTreeClustering(selection="information", min_cluster_size=60).fit(X)
branches = select_n_clusters(model.structure_tree_, 2)
nothing = np.zeros(len(X), int)
clusters = with_outskirts(model.structure_tree_, branches, model._links, nothing)
colours = np.array(["#0072b2", "#d55e00", plots.NOISE_COLOUR], dtype=object)
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.1), sharey=True)
for ax, labels, title in (
    (axes[0], clusters.branch_labels, "branches of the tree"),
    (axes[1], clusters.labels, "with their outskirts"),
):
    ax.scatter(*X.T, s=4, c=colours[labels])
    ax.set(title=f"{title}: {np.mean(labels < 0):.0%} noise", xticks=[], yticks=[])
