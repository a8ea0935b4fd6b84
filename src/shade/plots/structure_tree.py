"""The candidate clusters of a tree as an icicle: how wide each is, and over which distances it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shade._arrays import FloatArray, IntArray
from shade.plots._axes import choose_axes, spans_decades
from shade.plots._groups import group_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shade.stability.selection import FlatClustering
    from shade.stability.structure_tree import StructureTree

MOST_CANDIDATES = 400

# A label is written into a bar of at least this share of the width.
NARROWEST_LABELLED = 0.015


def plot_structure_tree(
    tree: StructureTree, clustering: FlatClustering | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw each candidate as a bar over its points, from the distance where it is born down to where it ends.

    The root, born at infinity, is drawn a little higher than the last merge. The axis of distances is logarithmic if
    they range over more than two decades.

    Parameters
    ----------
    tree : StructureTree
        At most its 400 largest candidates are drawn; the title says so.
    clustering : FlatClustering, optional
        Clusters chosen from this tree, drawn in their colours.
    ax : Axes, optional
        Those of a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.density import DCTree
    >>> from shade.plots import plot_structure_tree
    >>> from shade.stability import StructureTree, select_clusters
    >>> points = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> tree = StructureTree.from_dc_tree(DCTree.from_points(points, 2), "branches", min_cluster_size=2)
    >>> ax = plot_structure_tree(tree, select_clusters(tree), ax=Figure().subplots())
    >>> ax.get_ylabel()
    'dc-distance'
    """
    axes = choose_axes(ax, 8.0, 4.5)
    start, stop = tree.merges.start[tree.node], tree.merges.stop[tree.node]
    bottom, top = _distance_range(tree)
    largest = np.sort(np.argsort(-tree.size, kind="stable")[:MOST_CANDIDATES])
    grey: dict[str, Any] = {"facecolor": "0.97", "edgecolor": "0.65", "linewidth": 0.6}
    _draw_bars(axes, start[largest], stop[largest], bottom[largest], top[largest], **grey)
    if clustering is not None:
        _draw_clusters(axes, tree, clustering, bottom, top)
    if spans_decades(np.append(bottom, top)):
        axes.set_yscale("log")
    axes.set(xlim=(0, len(tree.order)), xlabel="Points in the order of the tree", ylabel="dc-distance")
    if tree.n_candidates > MOST_CANDIDATES:
        axes.set_title(f"The {MOST_CANDIDATES} largest of {tree.n_candidates:,} candidates", fontsize="medium")
    return axes
