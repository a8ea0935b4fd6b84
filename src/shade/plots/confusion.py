"""Plot of clusters against known classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

from shade._base.arrays import FloatArray, IntArray
from shade.plots._axes import choose_axes
from shade.plots._groups import Groups, Names, group_points, name_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WITH_COUNTS = 20

# Width of a character as a fraction of the font size.
CHARACTER = 0.6
SMALLEST, LARGEST = 6.0, 9.0


def plot_confusion(truth: object, labels: object, *, ax: Axes | None = None, truth_names: Names | None = None) -> Axes:
    """Draw how the points of each class are distributed over the clusters.

    The colour is the fraction of the class (the column). Up to 20 × 20 cells contain their counts. Clusters are in the
    order of their best matching classes, then unmatched clusters, then noise.

    Parameters
    ----------
    truth : array-like of shape (n_samples,)
        Classes, as numbers or text; −1 is noise.
    labels : array-like of shape (n_samples,)
        Clusters; −1 is noise.
    ax : Axes, optional
        The axes to draw into. If None, those of a new figure.
    truth_names : sequence or mapping, optional
        Names of the classes: one for each in ascending order, or a mapping from class to name.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.plots import plot_confusion
    >>> ax = plot_confusion(["a", "a", "b"], [1, 1, 0], ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['1', '0']
    """
    n = len(np.asarray(truth))
    classes, clusters = group_points(truth, n), group_points(labels, n)
    counts = _count_pairs(clusters, classes)
    order = _match_rows(counts[: len(clusters.values), : len(classes.values)])
    rows = np.append(order, np.arange(len(order), len(counts)))
    counts = counts[rows]
    names = [*name_groups(clusters, None), "noise"]
    axes = choose_axes(ax, 7.0, 5.5)
    _draw_cells(axes, counts)
    _name_ticks(axes, [names[row] for row in rows], [*name_groups(classes, truth_names), "noise"][: counts.shape[1]])
    axes.set(xlabel="Class", ylabel="Cluster")
    return axes


def _count_pairs(clusters: Groups, classes: Groups) -> IntArray:
    """Count the points in each cluster (row) and class (column). Noise is last, if there is any."""
    n_rows, n_columns = len(clusters.values) + 1, len(classes.values) + 1
    cells = (clusters.codes % n_rows) * n_columns + classes.codes % n_columns
    counts = np.bincount(cells, minlength=n_rows * n_columns).reshape(n_rows, n_columns)
    return counts[: n_rows if clusters.n_noise else n_rows - 1, : n_columns if classes.n_noise else n_columns - 1]


def _match_rows(counts: IntArray) -> IntArray:
    """Return clusters in the order of their classes, with most points on the diagonal, then unmatched clusters."""
    if counts.size == 0:
        return np.arange(len(counts))
    matched, columns = linear_sum_assignment(counts, maximize=True)
    left_over = np.setdiff1d(np.arange(len(counts)), matched)
    by_class = np.lexsort((-counts[left_over].max(axis=1), counts[left_over].argmax(axis=1)))
    return np.append(matched[np.argsort(columns)], left_over[by_class])


def _draw_cells(ax: Axes, counts: IntArray) -> None:
    n_rows, n_columns = counts.shape
    shares: FloatArray = counts / np.maximum(counts.sum(axis=0), 1)
    image = ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="Share of the class", pad=0.02)
    if max(n_rows, n_columns) > MOST_WITH_COUNTS:
        return
    width, height = _cell_size(ax, counts.shape)
    size = min(0.85 * width / (CHARACTER * len(f"{counts.max():,}")), 0.6 * height, LARGEST)
    for row, column in np.argwhere(counts > 0):
        colour = "white" if shares[row, column] > 0.6 else "black"
        ax.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=colour, fontsize=size)


def _name_ticks(ax: Axes, rows: list[str], columns: list[str]) -> None:
    """Write the names of rows and columns. Column names that are too long to be side by side are slanted."""
    width, height = _cell_size(ax, (len(rows), len(columns)))
    ax.set_yticks(range(len(rows)), rows, fontsize=min(LARGEST, 0.9 * height))
    longest = max((len(name) for name in columns if name != "noise"), default=1)
    fitting = 0.95 * width / (CHARACTER * max(longest, 1))
    slanted = fitting < SMALLEST
    size = min(LARGEST, 0.9 * width if slanted else fitting)
    ax.set_xticks(range(len(columns)), columns, fontsize=size)
    for label, name in zip(ax.get_xticklabels(), columns, strict=True):
        if slanted or CHARACTER * size * len(name) > width:
            label.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)


def _cell_size(ax: Axes, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return width and height of a cell in points, for the current size of the axes."""
    box = ax.get_window_extent()
    return box.width * 72.0 / ax.figure.dpi / shape[1], box.height * 72.0 / ax.figure.dpi / shape[0]
