"""The rule by which clusters are read off a density tree."""

from __future__ import annotations

from dataclasses import dataclass, replace


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

    @property
    def with_small_clusters(self) -> ClusterRule:
        """The same rule, with the default minimum size if a larger one is given.

        Background and clear clusters of the data are looked for by this rule, so they do not depend on the wanted size.
        """
        if self.min_cluster_size is None or self.min_cluster_size <= default_size(self.selection, self.min_samples):
            return self
        return replace(self, min_cluster_size=None)


def default_size(selection: str, min_samples: int) -> int:
    """Minimum number of rows of a branch where none is given."""
    return min_samples if selection == "structure" else 2 * min_samples
