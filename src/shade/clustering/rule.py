"""The rule by which clusters are read off a density tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterRule:
    """Everything that decides which clusters a tree gives.

    Attributes
    ----------
    min_samples : int
        Number of neighbours, counting the point itself, by which the density at a point is estimated.
    selection : {"structure", "branches", "information"}
        How clusters are chosen among the branches of the tree.
    min_cluster_size : int, optional
        Minimum number of rows of a branch.
    background_noise : bool
        Whether a sparse background that the data shows is noise.
    between_noise : bool
        Whether rows between clusters are noise; otherwise they belong to the nearest cluster.
    n_clusters : int, optional
        Wanted number of clusters.
    cut_distance : float, optional
        Distance at which the tree was cut, as DBSCAN* does.
    """

    min_samples: int = 5
    selection: str = "information"
    min_cluster_size: int | None = None
    background_noise: bool = True
    between_noise: bool = False
    n_clusters: int | None = None
    cut_distance: float | None = None
