"""Two valleys."""

import matplotlib.pyplot as plt

from shade import DCTreeClustering, plots
from shade.data import make_moons

X, _ = make_moons(600, noise=0.06, random_state=1)
model = DCTreeClustering().fit(X)
figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.6), width_ratios=[1, 1.3])
plots.plot_embedding(X, model.labels_, ax=axes[0])
axes[0].set(xlabel="", ylabel="", title="data", xticks=[], yticks=[])
plots.plot_reachability(model.dc_tree_, model.labels_, ax=axes[1])
axes[1].set_title("reachability plot")
