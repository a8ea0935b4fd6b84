"""The reachability plot, in which valleys are clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import BoolArray, FloatArray
from shade.plots._axes import RASTERIZE_FROM, add_legend, choose_axes
from shade.plots._groups import group_points
from shade.plots.palette import NOISE_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More columns than a plot has pixels.
COLUMNS = 2_000


def plot_reachability(tree: Any, labels: object = None, *, log: bool = False, ax: Axes | None = None) -> Axes:
    """Draw the reachability of each point in the order of the tree.

    Valleys are dense regions. The walls between them are the dc-distances that separate them. The first point has no
    reachability and is drawn as high as the highest wall. If there are more than 10,000 points, those within a
    two-thousandth of the width are sorted by cluster and height: this is fast to draw and hardly visible.

    Parameters
    ----------
    tree : DCTree, or a fitted model
        For a model, its own tree is plotted and, if no others are given, its labels.
    labels : array-like of shape (n_samples,), optional
        Clusters or classes of the rows, as numbers or text; −1 is noise, in light grey.
    log : bool, default=False
        Whether the axis is logarithmic. Then valleys are visible even if clusters are far apart.
    ax : Axes, optional
        The axes to draw into. If None, those of a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.density import DCTree
    >>> from shade.plots import plot_reachability
    >>> tree = DCTree.from_points([[0.0], [1.0], [3.0], [7.0]], min_samples=2)
    >>> ax = plot_reachability(tree, [0, 0, 0, -1], ax=Figure().subplots())
    >>> ax.get_ylabel()
    'Reachability (dc-distance)'
    """
    labels = getattr(tree, "labels_", None) if labels is None else labels
    tree = getattr(tree, "dc_tree_", tree)
    n, reachability = tree.n_points, tree.reachability
    groups = group_points(labels, n)
    axes = choose_axes(ax, 8.0, 3.5)
    finite = np.isfinite(reachability)
    top = float(reachability[finite].max(initial=0.0))
    height = np.where(finite, reachability, top)
    codes = groups.codes[tree.order]
    # With many points, a wall of a single point is much thinner than a pixel. This line keeps it visible.
    axes.plot(np.arange(n + 1), np.append(height, 0.0), drawstyle="steps-post", color="0.6", linewidth=0.6, zorder=0.9)
    if n > 5 * COLUMNS:
        sorted_columns = np.lexsort((height, codes, np.arange(n) * COLUMNS // n))
        height, codes = height[sorted_columns], codes[sorted_columns]
    # The whole profile in grey below the clusters: it makes noise visible, and fills pixels that many points share.
    _fill_steps(axes, height, np.ones(n, np.bool_), np.array(NOISE_COLOUR))
    for code in range(len(groups.values)):
        _fill_steps(axes, height, codes == code, groups.colours[code])
    axes.set(xlim=(0, n), ylim=(0.0, 1.05 * top or 1.0))
    if log and top > 0:
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(0.7 * float(height[height > 0].min()), 1.5 * top)
    axes.set(xlabel="Points in the order of the tree", ylabel="Reachability (dc-distance)")
    if labels is not None:
        add_legend(axes, groups, marker="s")
    return axes


def _fill_steps(ax: Axes, height: FloatArray, members: BoolArray, colour: FloatArray) -> None:
    """Fill the area below the steps of some positions, with one polygon for all runs."""
    after = np.append(False, members[:-1])
    corners = np.flatnonzero(members | after)  # in a run of other positions only the first, where the steps go to 0
    steps = np.where(members[corners], height[corners], 0.0)
    last = 0.0 if not members[-1] else steps[-1]
    ax.fill_between(
        np.append(corners, len(height)),
        np.append(steps, last),
        step="post",
        color=tuple(colour),
        linewidth=0,
        rasterized=len(height) >= RASTERIZE_FROM,
    )
