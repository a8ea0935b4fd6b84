"""What pictures take from a fitted model, where one is given instead of what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shade.clustering.selection import FlatClustering


def points_of(given: Any) -> Any:
    """The points that a model clustered, or what is given if it is none."""
    return given.points_ if hasattr(given, "dc_tree_") else given


def labels_of(given: Any, labels: object) -> object:
    """The labels, or those of a model if there are none."""
    return getattr(given, "labels_", None) if labels is None else labels


def clustering_of(given: Any, clustering: FlatClustering | None) -> FlatClustering | None:
    """The clustering, or that of a model; one cluster of everything is no branch to be shown."""
    if clustering is not None or getattr(given, "n_clusters_", 0) < 2:
        return clustering
    found: FlatClustering = given.clustering_.flat
    return found
