"""Icicle plot of the candidate clusters of a tree: their widths and the distances over which they exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade.plots._axes import choose_axes, spans_decades
from shade.plots._groups import Groups, group_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shade.clustering.selection import FlatClustering
    from shade.clustering.structure_tree import StructureTree

MOST_CANDIDATES = 400

# A bar contains its label if it takes at least these fractions of the axes; the width is per character.
CHARACTER_WIDTH = 0.012
CHARACTER_HEIGHT = 0.035
LUMINANCE = np.array([0.30, 0.59, 0.11])


def plot_structure_tree(tree: Any, clustering: FlatClustering | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw each candidate as a bar over its points, from the distance of its birth down to that of its death.

    The root has an infinite birth and is drawn a little higher than the others. The axis of distances is logarithmic if
    they range over more than two powers of ten.

    Parameters
    ----------
    tree : StructureTree, or a fitted model
        At most its 400 largest candidates are drawn; the title says so. For a model, its own tree and clusters are
        plotted. Clusters that agree with known labels need not be branches, so they are not drawn.
    clustering : FlatClustering, optional
        Clusters chosen from this tree. All are drawn in their colours.
    ax : Axes, optional
        The axes to draw into. If None, those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.density import DCTree
    >>> from shade.plots import plot_structure_tree
    >>> from shade.clustering import SplitTest, StructureTree, select_clusters
    >>> points = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> tree = StructureTree.from_dc_tree(DCTree.from_points(points, 2), "branches", SplitTest.none(2))
    >>> ax = plot_structure_tree(tree, select_clusters(tree), ax=Figure().subplots())
    >>> ax.get_ylabel()
    'dc-distance'
    """
    if clustering is None and getattr(tree, "n_clusters_", 0) > 1:  # one cluster of all points is no branch
        clustering = tree.clustering_.flat if tree.clustering_.known is None else None
    tree = getattr(tree, "structure_tree_", tree)
    axes = choose_axes(ax, 8.0, 4.5)
    low, high, scale = _distance_range(tree)
    axes.set_yscale(scale)
    axes.set(xlim=(0, len(tree.order)), ylim=(low, high))
    largest = np.argsort(-tree.size, kind="stable")[:MOST_CANDIDATES]
    grey = {"facecolor": "0.96", "edgecolor": "0.7", "zorder": 1}
    _draw_bars(axes, tree, tree.node[largest], tree.death[largest], tree.birth[largest], **grey)
    if clustering is not None:
        _draw_clusters(axes, tree, clustering)
    axes.set(xlabel="Points in the order of the tree", ylabel="dc-distance")
    if tree.n_candidates > MOST_CANDIDATES:
        axes.set_title(f"The {MOST_CANDIDATES} largest of {tree.n_candidates:,} candidates", fontsize="medium")
    return axes


def _distance_range(tree: StructureTree) -> tuple[float, float, str]:
    """Return the ends of the axis, from the lowest death to a little above the highest finite birth, and its scale."""
    ends = np.append(tree.death, tree.birth[np.isfinite(tree.birth)])
    last = float(ends.max())
    if last == 0.0:
        return 0.0, 1.0, "linear"
    if not spans_decades(ends):
        return 0.0, 1.08 * last, "linear"
    return float(ends[ends > 0].min()) / 1.3, 1.3 * last, "log"


def _draw_bars(
    ax: Axes, tree: StructureTree, nodes: IntArray, bottom: FloatArray, top: FloatArray, **style: Any
) -> None:
    """Draw a bar over the points of each node, clipped at the edges of the plot."""
    start, width = tree.merges.start[nodes], tree.merges.size[nodes]
    bottom, top = (np.clip(distance, *ax.get_ylim()) for distance in (bottom, top))
    ax.bar(start, top - bottom, width, bottom, align="edge", linewidth=0.6, **style)


def _draw_clusters(ax: Axes, tree: StructureTree, clustering: FlatClustering) -> None:
    """Draw the clusters in their colours. They need not be candidates, for example after a cut at a distance."""
    groups = group_points(clustering.branch_labels, len(tree.order))
    if not groups.values:
        return
    nodes = np.array([_find_node(tree, groups.codes, code) for code in range(len(groups.values))], np.int64)
    birth = np.append(tree.merges.height, np.inf)[tree.merges.parent[nodes]]
    death = (1.0 - clustering.persistence) * np.minimum(birth, tree.merges.height[-1])
    birth = np.minimum(birth, clustering.limit)
    colours = groups.colours[:-1]
    _draw_bars(ax, tree, nodes, death, birth, color=colours, edgecolor=colours, zorder=2)
    _label_bars(ax, tree, nodes, death, birth, groups)


def _label_bars(
    ax: Axes, tree: StructureTree, nodes: IntArray, bottom: FloatArray, top: FloatArray, groups: Groups
) -> None:
    """Write the labels of clusters into their bars if there is room."""
    to_axes = ax.transScale + ax.transLimits  # from distances to fractions of the axes
    bottom, top = (
        to_axes.transform(np.column_stack([np.zeros(len(nodes)), np.clip(distance, *ax.get_ylim())]))[:, 1]
        for distance in (bottom, top)
    )
    start, width = tree.merges.start[nodes], tree.merges.size[nodes]
    for code, value in enumerate(groups.values):
        wide = width[code] >= CHARACTER_WIDTH * len(str(value)) * len(tree.order)
        if wide and top[code] - bottom[code] >= CHARACTER_HEIGHT:
            ax.text(
                start[code] + width[code] / 2, (bottom[code] + top[code]) / 2, str(value),
                transform=ax.get_xaxis_transform(), ha="center", va="center", fontsize="small",
                color="black" if groups.colours[code] @ LUMINANCE > 0.5 else "white", clip_on=True,
            )  # fmt: skip


def _find_node(tree: StructureTree, codes: IntArray, code: int) -> int:
    """Find the node of the merge tree that has the points of a cluster, and of no other cluster."""
    along = codes[tree.order]
    positions = np.flatnonzero(along == code)
    node = tree.merges.covering_node(positions[0], positions[-1] + 1)
    owned = along[tree.merges.start[node] : tree.merges.stop[node]]
    if np.any((owned != code) & (owned >= 0)):
        raise ValueError(
            "The clusters of 'clustering' are not branches of 'tree'. Give a clustering chosen from this tree."
        )
    return node
