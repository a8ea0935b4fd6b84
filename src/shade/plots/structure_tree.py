"""The candidate clusters of a tree as an icicle: how wide each is, and over which distances it exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade.plots._axes import choose_axes, spans_decades
from shade.plots._groups import Groups, group_points
from shade.plots._models import clustering_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shade.clustering.selection import FlatClustering
    from shade.clustering.structure_tree import StructureTree

MOST_CANDIDATES = 400

# A bar gets its label written into it if it takes these shares of the axes, in width for each character.
CHARACTER_WIDTH = 0.012
CHARACTER_HEIGHT = 0.035
LUMINANCE = np.array([0.30, 0.59, 0.11])


@dataclass(frozen=True)
class _Range:
    """The distances that are shown, and whether on a logarithmic axis."""

    low: float
    high: float
    log: bool

    def place(self, distance: FloatArray) -> FloatArray:
        """Where distances stand between the ends of the axis, 0 to 1."""
        low, high, values = self.low, self.high, np.clip(distance, self.low, self.high)
        if self.log:
            low, high, values = np.log(low), np.log(high), np.log(values)
        return (values - low) / (high - low)


def plot_structure_tree(tree: Any, clustering: FlatClustering | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw each candidate as a bar over its points, from the distance where it is born down to where it ends.

    The root, born at infinity, is drawn a little higher than the others. The axis of distances is logarithmic if they
    range over more than two decades.

    Parameters
    ----------
    tree : StructureTree, or a fitted model
        At most its 400 largest candidates are drawn; the title says so. A model is shown by its own tree and clusters.
    clustering : FlatClustering, optional
        Clusters chosen from this tree, all drawn in their colours.
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
    >>> from shade.clustering import SplitTest, StructureTree, select_clusters
    >>> points = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> tree = StructureTree.from_dc_tree(DCTree.from_points(points, 2), "branches", SplitTest.none(2))
    >>> ax = plot_structure_tree(tree, select_clusters(tree), ax=Figure().subplots())
    >>> ax.get_ylabel()
    'dc-distance'
    """
    tree, clustering = getattr(tree, "structure_tree_", tree), clustering_of(tree, clustering)
    axes = choose_axes(ax, 8.0, 4.5)
    shown = _distance_range(tree)
    largest = np.argsort(-tree.size, kind="stable")[:MOST_CANDIDATES]
    grey = {"facecolor": "0.96", "edgecolor": "0.7", "zorder": 1}
    _draw_bars(axes, tree, tree.node[largest], tree.death[largest], tree.birth[largest], shown, **grey)
    if clustering is not None:
        _draw_clusters(axes, tree, clustering, shown)
    axes.set_yscale("log" if shown.log else "linear")
    axes.set(xlim=(0, len(tree.order)), ylim=(shown.low, shown.high))
    axes.set(xlabel="Points in the order of the tree", ylabel="dc-distance")
    if tree.n_candidates > MOST_CANDIDATES:
        axes.set_title(f"The {MOST_CANDIDATES} largest of {tree.n_candidates:,} candidates", fontsize="medium")
    return axes


def _distance_range(tree: StructureTree) -> _Range:
    """Find the range from the lowest end to a little above the highest birth that is finite."""
    ends = np.append(tree.death, tree.birth[np.isfinite(tree.birth)])
    last = float(ends.max())
    if last == 0.0:
        return _Range(0.0, 1.0, False)
    if not spans_decades(ends):
        return _Range(0.0, 1.08 * last, False)
    return _Range(float(ends[ends > 0].min()) / 1.3, 1.3 * last, True)


def _draw_bars(
    ax: Axes, tree: StructureTree, nodes: IntArray, bottom: FloatArray, top: FloatArray, shown: _Range, **style: Any
) -> None:
    """Draw a bar over the points of each node, cut at the edges of the picture."""
    start, width = tree.merges.start[nodes], tree.merges.size[nodes]
    bottom, top = np.maximum(bottom, shown.low), np.minimum(top, shown.high)
    ax.bar(start, top - bottom, width, bottom, align="edge", linewidth=0.6, **style)


def _draw_clusters(ax: Axes, tree: StructureTree, clustering: FlatClustering, shown: _Range) -> None:
    """Draw the clusters in their colours; they need not be candidates, as in a cut at a distance."""
    groups = group_points(clustering.branch_labels, len(tree.order))
    if not groups.values:
        return
    nodes = np.array([_find_node(tree, groups.codes, code) for code in range(len(groups.values))], np.int64)
    birth = np.append(tree.merges.height, np.inf)[tree.merges.parent[nodes]]
    death = (1.0 - clustering.persistence) * np.minimum(birth, tree.merges.height[-1])
    birth = np.minimum(birth, clustering.limit)
    colours = groups.colours[:-1]
    _draw_bars(ax, tree, nodes, death, birth, shown, color=colours, edgecolor=colours, zorder=2)
    _label_bars(ax, tree, nodes, shown.place(death), shown.place(birth), groups)


def _label_bars(
    ax: Axes, tree: StructureTree, nodes: IntArray, bottom: FloatArray, top: FloatArray, groups: Groups
) -> None:
    """Write the labels of clusters into their bars where there is room; bottom and top are shares of the axes."""
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
    """Find the merge-tree node that owns the points of a cluster, and of no other one."""
    along = codes[tree.order]
    positions = np.flatnonzero(along == code)
    node = tree.merges.covering_node(positions[0], positions[-1] + 1)
    owned = along[tree.merges.start[node] : tree.merges.stop[node]]
    if np.any((owned != code) & (owned >= 0)):
        raise ValueError(
            "The clusters of 'clustering' are not branches of 'tree'. Give a clustering chosen from this tree."
        )
    return node
