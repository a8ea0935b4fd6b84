"""DCTreeClustering: the clusters of given points, with no network before."""

from __future__ import annotations

from typing import Self

from sklearn.base import BaseEstimator, ClusterMixin

from shade import _validation
from shade._arrays import FloatArray
from shade._distributed import process_group
from shade._errors import unchanged_on_error
from shade._parallel import tree_device
from shade._validation import Choice, Rule, check_parameters
from shade.result_warnings import warn_of_noise
from shade.row_checks import check_rows
from shade.tree_clustering import CLUSTERING_RULES, TreeClusteringMixin

RULES: dict[str, Rule] = {**CLUSTERING_RULES, "noise": Choice(("embedding", "outliers"))}


class DCTreeClustering(ClusterMixin, TreeClusteringMixin, BaseEstimator):  # type: ignore[misc]
    """Density-based clustering of given points: the clustering step of SHADE alone.

    Builds the density-connectivity tree of the points and reads the most stable clusters with noise off it. Use it
    where you would use HDBSCAN.

    Parameters
    ----------
    min_points : int, default=5
        How many points, itself included, a point's core distance reaches.
    selection : {"structure", "branches", "information"}, default="information"
        How clusters are chosen from the tree: the paper's structure tree, HDBSCAN's excess of mass, or information.
    min_cluster_size : int, optional
        Fewest points of a branch of the tree. If None, `min_points` for "structure", twice that for "branches", and
        the larger of twice that and half a percent of the points for "information".
    noise : {"embedding", "outliers"}, default="embedding"
        Whether all points in no chosen branch of the tree are noise, as in HDBSCAN, or only those that lie farther out
        than others around a cluster, as by default in SHADE.
    n_jobs : int, optional
        Number of threads; all cores if None. The result does not depend on it.
    device : str, default="auto"
        "auto", "cpu", "cuda", "cuda:N" or "mps".

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 being the largest cluster; −1 is noise.
    probabilities_ : ndarray of shape (n_samples,)
        Membership strength: 1 in the core of a cluster, lower towards its border, 0 for noise.
    outlier_scores_ : ndarray of shape (n_samples,)
        0 in the densest part of a branch of the tree, towards 1 far outside.
    cluster_persistence_ : ndarray of shape (n_clusters_,)
        Share of its distance range over which each cluster exists.
    exemplar_indices_ : list of ndarray
        For each cluster, rows from its densest parts.
    dc_tree_ : DCTree
    structure_tree_ : StructureTree
    n_clusters_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from shade import DCTreeClustering
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=3, cluster_std=0.5, random_state=0)
    >>> DCTreeClustering(selection="information").fit(X).n_clusters_
    3
    """

    _noise_rule = RULES["noise"]

    def __init__(
        self,
        *,
        min_points: int = 5,
        selection: str = "information",
        min_cluster_size: int | None = None,
        noise: str = "embedding",
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.min_points = min_points
        self.selection = selection
        self.min_cluster_size = min_cluster_size
        self.noise = noise
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: object, y: object = None) -> Self:
        """Cluster points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        DCTreeClustering
            Itself.
        """
        with unchanged_on_error(self), process_group():
            self._check_parameters()
            points = _validation.check_points(check_rows(self, X, reset=True))
            _validation.check_extent(points)
            _validation.check_min_points(self.min_points, len(points), 2, "DCTreeClustering")
            self._cluster(points)
        warn_of_noise(self)
        return self

    def _check_parameters(self) -> None:
        check_parameters(vars(self), RULES, "DCTreeClustering")
        _validation.check_n_jobs(self.n_jobs, "DCTreeClustering")
        tree_device(self.device)

    def _points_of(self, X: object) -> list[FloatArray]:
        return [self._space_of(X)]

    def _space_of(self, X: object) -> FloatArray:
        return _validation.check_points(check_rows(self, X, reset=False))
