"""The longest step of the best walk, within a cluster and between two."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from shade.data import make_moons
from shade.density import DCTree, minimum_spanning_tree

X, moon = make_moons(160, noise=0.06, random_state=1)
tree, spanning = DCTree.from_points(X), minimum_spanning_tree(X)
first, second = spanning.edges.T
graph = coo_array((np.ones(len(first)), (first, second)), (len(X), len(X)))


def walk(start, stop):
    """Rows on the path of the spanning tree."""
    _, before = breadth_first_order(graph, start, directed=False)
    path = [stop]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path


upper, lower = np.flatnonzero(moon == 0), np.flatnonzero(moon == 1)
left, right = upper[np.argmin(X[upper, 0])], upper[np.argmax(X[upper, 0])]
near = lower[np.argmin(np.linalg.norm(X[lower] - X[left], axis=1))]
figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), sharey=True)
for ax, (start, stop), name in zip(
    axes, [(left, right), (left, near)], ["One cluster", "Two clusters"], strict=True
):
    path = walk(start, stop)
    ax.plot(
        X[spanning.edges].T[0], X[spanning.edges].T[1], color="#ddd", lw=1, zorder=0
    )
    ax.scatter(*X.T, s=10, color="#888")
    ax.plot(*X[path].T, color="#0072b2", lw=1.8)
    ax.scatter(*X[[start, stop]].T, s=45, color="#0072b2", zorder=3)
    worst = max(
        range(len(path) - 1),
        key=lambda step: tree.dc_distance(path[step], path[step + 1]),
    )
    ax.plot(*X[path[worst : worst + 2]].T, color="#d55e00", lw=3.5)
    straight, dc = np.linalg.norm(X[start] - X[stop]), tree.dc_distance(start, stop)
    ax.set_title(
        f"{name}: straight {straight:.2f}, dc-distance {dc:.2f}", fontsize="medium"
    )
    ax.set_aspect("equal")
    ax.set_axis_off()
