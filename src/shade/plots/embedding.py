"""Scatter plot of the points of an embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import BoolArray, FloatArray
from shade._base.validation import check_choice, check_points
from shade.plots._axes import RASTERIZE_FROM, add_legend, choose_axes
from shade.plots._groups import Names, group_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAYOUTS = ("map", "components")
MAP_AXES = ("Map 1", "Map 2")


def plot_embedding(
    embedding: Any,
    labels: object = None,
    *,
    layout: str = "map",
    ax: Axes | None = None,
    names: Names | None = None,
) -> Axes:
    """Scatter the points of an embedding in the colours of their clusters.

    One dimension is plotted with a random height, and two are plotted unchanged. For more dimensions, `layout` computes
    two. Up to twelve clusters are named in a legend: beside the axes if the figure has a layout engine that makes room
    for it (``layout="constrained"``), else inside.

    Parameters
    ----------
    embedding : array-like of shape (n_samples,) or (n_samples, n_dimensions), or a fitted model
        For a model, its own embedding is plotted and, if no others are given, its labels.
    labels : array-like of shape (n_samples,), optional
        Clusters or classes, as numbers or text; −1 is noise, in light grey below the others.
    layout : {"map", "components"}, default="map"
        "map" places clusters apart from each other (`shade.layout.map_points`). Its coordinates have no unit. It takes
        some seconds for tens of thousands of points; a model stores its map. "components" plots the first two principal
        components of the points that are not noise. There distances are true, but clusters overlap.
    ax : Axes, optional
        The axes to draw into. If None, those of a new figure.
    names : sequence or mapping, optional
        Names for the legend: one per label in ascending order, or a mapping from label to name.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from shade.plots import plot_embedding
    >>> ax = plot_embedding([[0, 0], [0, 1], [5, 5]], [0, 0, -1], ax=Figure().subplots())
    >>> ax.get_xlabel()
    'Dimension 1'
    """
    check_choice("layout", layout, LAYOUTS, "plot_embedding")
    labels = getattr(embedding, "labels_", None) if labels is None else labels
    model, embedding = embedding, getattr(embedding, "points_", embedding)
    points = check_points(np.asarray(embedding)[:, None] if np.ndim(embedding) == 1 else embedding)
    groups = group_points(labels, len(points))
    mapped = layout == "map" and points.shape[1] > 2
    flat, (x_label, y_label) = _map_points(model, points) if mapped else flatten_points(points, groups.codes >= 0)
    axes = choose_axes(ax, 7.0, 3.0 if points.shape[1] == 1 else _fitting_height(flat))
    _scatter_points(axes, flat, groups.colours[groups.codes], groups.codes < 0)
    axes.set(xlabel=x_label, ylabel=y_label)
    if mapped:
        axes.set(xticks=[], yticks=[])
    if points.shape[1] == 1:
        axes.set_yticks([])
    else:
        _equalize_scale(axes)
    if labels is not None:
        add_legend(axes, groups, names)
    return axes


def _map_points(model: Any, points: FloatArray) -> tuple[FloatArray, tuple[str, str]]:
    """Return the stored map of a model, or else a new one, and the names of its axes."""
    if hasattr(model, "map"):
        return model.map(), MAP_AXES
    from shade.layout import map_points  # here, since other plots do not need numba

    return map_points(points).places, MAP_AXES


def _scatter_points(ax: Axes, points: FloatArray, colours: FloatArray, noise: BoolArray) -> None:
    """Draw noise first, then the clusters. If there are many points, they are small and transparent."""
    n = len(points)
    style: dict[str, Any] = {
        "s": float(np.clip(600.0 / np.sqrt(n), 1.5, 40.0)),
        "linewidths": 0,
        "rasterized": n >= RASTERIZE_FROM,
    }
    if noise.any():
        ax.scatter(*points[noise].T, color=colours[noise], alpha=0.8, zorder=1, **style)
    # In random order. Otherwise, where clusters overlap, one would hide the other just because of its number.
    shuffled = np.random.default_rng(0).permutation(np.flatnonzero(~noise))
    if len(shuffled):
        alpha = float(np.clip(0.9 * (2000.0 / n) ** 0.25, 0.35, 0.9))
        ax.scatter(*points[shuffled].T, color=colours[shuffled], alpha=alpha, zorder=2, **style)


def _equalize_scale(ax: Axes) -> None:
    """Make a unit equally long in both directions.

    The limits are adapted, since layout engines can fail for axes that change their shape. If both axes are shared with
    other axes, matplotlib only allows to change the shape.
    """
    shared = [len(axis.get_siblings(ax)) > 1 for axis in (ax.get_shared_x_axes(), ax.get_shared_y_axes())]
    ax.set_aspect("equal", adjustable="box" if all(shared) else "datalim")


def _fitting_height(points: FloatArray) -> float:
    """Return the height in inches of a figure that fits axes of equal scale with a legend beside them."""
    width, height = np.ptp(points, axis=0)
    return float(np.clip(0.7 + 5.2 * height / width, 2.5, 6.5)) if width > 0 else 5.0


def flatten_points(points: FloatArray, members: BoolArray) -> tuple[FloatArray, tuple[str, str]]:
    """Return two coordinates per point, and the labels of the axes. Members of clusters determine the projection."""
    if points.shape[1] == 1:
        height = np.random.default_rng(0).uniform(size=len(points))
        return np.column_stack([points[:, 0], height]), ("Dimension 1", "Random height")
    if points.shape[1] == 2:
        return points, ("Dimension 1", "Dimension 2")
    return _project_points(points, points[members] if 2 < members.sum() < len(points) else points)


def _project_points(points: FloatArray, seen: FloatArray) -> tuple[FloatArray, tuple[str, str]]:
    """Project on principal components 1 and 2 of `seen`. In each, the largest weight is made positive."""
    centre = seen.mean(axis=0)
    # The triangular factor has the same right singular vectors, and is much smaller than the points.
    _, spread, directions = np.linalg.svd(np.linalg.qr(seen - centre, mode="r"), full_matrices=False)
    weights = directions[:2]
    largest = np.abs(weights).argmax(axis=1)
    weights = weights * np.sign(weights[np.arange(len(weights)), largest])[:, None]
    flat = np.zeros((len(points), 2))
    flat[:, : len(weights)] = (points - centre) @ weights.T
    total = max(float((spread**2).sum()), np.finfo(np.float64).tiny)
    shares = [100.0 * float(value) ** 2 / total for value in (*spread, 0.0)[:2]]
    return flat, (f"PCA 1 ({shares[0]:.0f} % of variance)", f"PCA 2 ({shares[1]:.0f} % of variance)")
