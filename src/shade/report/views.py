"""The views of the points in a report: the map first, then the principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._base.arrays import BoolArray, FloatArray
from shade.plots.embedding import MAP_AXES, flatten_points

if TYPE_CHECKING:
    from shade.estimators.tree_estimator import TreeClusteringMixin


@dataclass(frozen=True)
class View:
    """Two coordinates per point.

    `axes` are the names of both directions. `measured` says whether the coordinates have a unit.
    """

    name: str
    note: str
    axes: tuple[str, str]
    places: FloatArray
    measured: bool

    def corners(self, members: BoolArray) -> FloatArray:
        """Return opposite corners of the part that is visible first.

        It contains all points, unless a few outliers would make the rest tiny, or noise the clusters.
        """
        shown = np.array([self.places.min(axis=0), self.places.max(axis=0)])
        for rows, factor in ((self.places, 1.4), (self.places[members], 2.0)):
            if len(rows):
                low, high = np.quantile(rows, [0.002, 0.998], axis=0)
                centre = np.array([low - 0.08 * (high - low), high + 0.08 * (high - low)])
                if np.ptp(shown, axis=0).max() > factor * np.ptp(centre, axis=0).max() > 0:
                    shown = np.array([np.maximum(centre[0], shown[0]), np.minimum(centre[1], shown[1])])
        return shown

    def describe(self, members: BoolArray) -> dict[str, Any]:
        """Return what the page needs in addition to the places."""
        return {
            "name": self.name,
            "note": self.note,
            "axes": self.axes,
            "measured": self.measured,
            "corners": self.corners(members).T.tolist(),
        }


def views_of(model: TreeClusteringMixin) -> list[View]:
    """Return the views of a model: only one if the points have at most two dimensions."""
    points = model.points_.astype(np.float64, copy=False)
    flat, axes = flatten_points(points, model.labels_ >= 0)
    if points.shape[1] <= 2:
        return [View("Embedding", "Points that are density-connected lie together.", axes, flat, measured=True)]
    return [
        View(
            "Map",
            "Similar points are neighbours, and clusters that merge late are far apart. Distances have no unit.",
            MAP_AXES,
            model.map(),
            measured=False,
        ),
        View(
            "Principal components",
            "The two directions in which clusters vary most. Distances are true, but clusters may cover each other.",
            axes,
            flat,
            measured=True,
        ),
    ]
