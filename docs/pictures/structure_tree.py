"""The real branches of a tree, and the chosen ones."""

import matplotlib.pyplot as plt
import numpy as np

from shade import DCTreeClustering, plots

rng = np.random.default_rng(2)
centres, widths, sizes = (
    [(0, 0), (2.6, 0.4), (9, 1), (10.5, 4), (3, 8)],
    [0.5, 0.4, 0.6, 0.35, 0.9],
    [180, 140, 200, 90, 160],
)
X = np.vstack(
    [rng.normal(c, w, (n, 2)) for c, w, n in zip(centres, widths, sizes, strict=True)]
)
model = DCTreeClustering().fit(X)
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.0), width_ratios=[1, 1.3])
axes[0].scatter(
    *X.T,
    s=3,
    c=np.vstack([plots.cluster_colours(model.n_clusters_), plots.NOISE_COLOUR])[
        model.labels_
    ],
)
axes[0].set(title="data", xticks=[], yticks=[])
plots.plot_structure_tree(model, ax=axes[1])
axes[1].set_title("real branches, from birth down to death")
