"""Two clusters that touch, and the rows between and around them."""

import matplotlib.pyplot as plt
import numpy as np

from shade import DCTreeClustering, plots

rng = np.random.default_rng(1)
X = np.vstack(
    [
        *(rng.normal(centre, 1.0, (400, 2)) for centre in [(-1.9, 0), (1.9, 0)]),
        rng.uniform(-8, 8, (40, 2)),
    ]
)
model = DCTreeClustering().fit(X)
colours = np.array(["#0072b2", "#d55e00", plots.NOISE_COLOUR], dtype=object)
figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.1), sharey=True)
for ax, between_noise in zip(axes, (True, False), strict=True):
    labels = model.recluster(n_clusters=2, between_noise=between_noise).labels_
    if X[labels == 0, 0].mean() > 0:  # the same colours on both sides
        labels = np.array([1, 0, -1])[labels]
    ax.scatter(*X.T, s=4, c=colours[labels])
    title = f"between_noise={between_noise}: {np.mean(labels < 0):.0%} noise"
    ax.set(title=title, xticks=[], yticks=[])
