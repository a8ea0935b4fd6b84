"""Candidates of a tree, and those that were chosen."""

import matplotlib.pyplot as plt
import numpy as np

from shade import plots
from shade.density import DCTree
from shade.stability import StructureTree, select_clusters

rng = np.random.default_rng(2)
centres, widths, sizes = (
    [(0, 0), (2.6, 0.4), (9, 1), (10.5, 4), (3, 8)],
    [0.5, 0.4, 0.6, 0.35, 0.9],
    [180, 140, 200, 90, 160],
)
X = np.vstack(
    [rng.normal(c, w, (n, 2)) for c, w, n in zip(centres, widths, sizes, strict=True)]
)
tree = StructureTree.from_dc_tree(DCTree.from_points(X), "information", min_points=5)
clustering = select_clusters(tree)
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.0), width_ratios=[1, 1.3])
axes[0].scatter(
    *X.T,
    s=3,
    c=np.vstack([plots.cluster_colours(clustering.n_clusters), plots.NOISE_COLOUR])[
        clustering.labels
    ],
)
axes[0].set(title="data", xticks=[], yticks=[])
plots.plot_structure_tree(tree, clustering, ax=axes[1])
axes[1].set_title("candidates, from birth down to death")
