"""The rule that chooses clusters from a density tree."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ClusterRule:
    """Everything that decides which clusters a tree gives.

    Attributes
    ----------
    min_samples : int
        Number of neighbours (counting the point itself) used to estimate the density at a point.
    selection : {"structure", "branches", "information"}
        How clusters are chosen among the branches of the tree.
    min_cluster_size : int, optional
        Minimum number of rows of a branch.
    background_noise : bool
        Whether a sparse background, if the data has one, is noise.
    between_noise : bool
        Whether rows between clusters are noise; otherwise they belong to the nearest cluster.
    n_clusters : int, optional
        Given number of clusters.
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
        """The same rule, but with the default minimum size if a larger one is given.

        Background and clear clusters of the data are found with this rule, so they do not depend on the given size.
        """
        if self.min_cluster_size is None or self.min_cluster_size <= default_size(self.selection, self.min_samples):
            return self
        return replace(self, min_cluster_size=None)


def default_size(selection: str, min_samples: int) -> int:
    """Return the default minimum number of rows of a branch."""
    return min_samples if selection == "structure" else 2 * min_samples
