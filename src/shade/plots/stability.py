"""Plot of the stability of the best clustering for each number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.validation import Whole, check_parameter
from shade.plots._axes import choose_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_stability(tree: Any, *, most: int = 30, ax: Axes | None = None) -> Axes:
    """Draw how well each number of clusters fits, and mark the best number.

    For a tree, this is the total stability of the best clustering with each number. For a model whose clusters were
    joined in the embedding, it is the index of the variances by which their number was chosen.
    `recluster(n_clusters=k)` returns the clustering of a point of the curve.

    Parameters
    ----------
    tree : StructureTree, or a fitted model
    most : int, default=30
        Largest number of clusters to draw; fewer if the tree has fewer branches.
    ax : Axes, optional
        The axes to draw into. If None, those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.density import DCTree
    >>> from shade.plots import plot_stability
    >>> from shade.clustering import SplitTest, StructureTree
    >>> points = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> tree = StructureTree.from_dc_tree(DCTree.from_points(points, 2), "branches", SplitTest.none(2))
    >>> ax = plot_stability(tree, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'Number of clusters'
    """
    from shade.clustering.number_scores import (  # imports numba, which other plots do not need
        score_numbers,
        without_wishes,
    )
    from shade.clustering.selection import total_stabilities

    check_parameter("most", most, Whole(1), "plot_stability")
    clustering, name = getattr(tree, "clustering_", None), "Total stability"
    if clustering is None:
        totals = total_stabilities(tree, min(most, int(tree.n_leaves[0])))
    else:
        totals = score_numbers(clustering, most)
        name = name if without_wishes(clustering).variance_index is None else "Index of the variances"
    axes = choose_axes(ax, 7.0, 3.5)
    numbers = np.arange(1, len(totals) + 1)
    best = int(totals.argmax())
    axes.plot(numbers, totals, color="0.4", marker="o", markersize=4, linewidth=1.2)
    axes.plot(numbers[best], totals[best], color="#d55e00", marker="o", markersize=8)
    axes.annotate(
        f"{numbers[best]}", (float(numbers[best]), float(totals[best])), xytext=(0.0, 8.0),
        textcoords="offset points", ha="center", color="#d55e00",
    )  # fmt: skip
    axes.set(xlabel="Number of clusters", ylabel=name)
    axes.margins(y=0.15)
    axes.set_ylim(bottom=0.0)
    axes.set_xlim(0.5, len(totals) + 0.5)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick == round(tick) and 1 <= tick <= len(totals)] or [1])
    return axes
