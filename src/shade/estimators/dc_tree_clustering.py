"""DCTreeClustering: clustering of given points, without training a network."""

from __future__ import annotations

from typing import Self

from sklearn.base import BaseEstimator, ClusterMixin

from shade._base import validation
from shade._base.arrays import FloatArray
from shade._base.errors import unchanged_on_error
from shade._base.parallel import tree_device
from shade._base.ranks import process_group
from shade._base.validation import check_parameters
from shade.clustering.known import Known
from shade.estimators.result_warnings import warn_of_result
from shade.estimators.row_checks import check_ranks, check_rows
from shade.estimators.tree_estimator import CLUSTERING_RULES, TreeClusteringMixin


class DCTreeClustering(TreeClusteringMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Density-based clustering of given points: the clustering step of SHADE alone.

    Builds the density-connectivity tree of the points and reads the most stable clusters with noise off it. Use it
    where you would use HDBSCAN.

    Parameters
    ----------
    min_samples : int, default=5
        Number of neighbours (counting the point itself) used to estimate the density at a point. Larger values smooth
        the density.
    selection : {"information", "branches", "structure"}, default="information"
        How clusters are chosen from the density tree. "information": branches that are denser than their
        surroundings by more than chance, with the highest information together. "branches": HDBSCAN's excess of mass.
        "structure": the rule of the paper.
    min_cluster_size : int, optional
        Minimum number of rows of a branch of the tree. If None, twice `min_samples`, and `min_samples` itself for
        "structure".
    n_clusters : int, optional
        Number of clusters. If None, it is found automatically. `recluster` changes it without a new fit.
    background_noise : bool, default=True
        Whether rows in a sparse background are noise. The data has one if some of its rows are at least twice as far
        apart as the others and do not form clusters of their own.
    between_noise : bool, default=False
        Whether rows between clusters are noise, as in HDBSCAN. Otherwise they belong to the nearest cluster, with a
        lower probability, and only rows far outside of any cluster are noise.
    n_jobs : int, optional
        Number of threads; all cores if None. The result does not depend on it.
    device : str, default="auto"
        "auto", "cpu", "cuda", "cuda:N" or "mps".

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, 0 being the largest cluster until `update` adds rows; −1 is noise.
    probabilities_ : ndarray of shape (n_samples,)
        Membership strength: 1 in the core of a cluster, lower towards its border, 0 for noise.
    outlier_scores_ : ndarray of shape (n_samples,)
        0 in the densest part of a branch of the tree, towards 1 far outside.
    cluster_persistence_ : ndarray of shape (n_clusters_,)
        Share of its distance range over which each cluster exists.
    exemplar_indices_ : list of ndarray
        For each cluster, rows from its densest parts.
    known_labels_ : ndarray of shape (n_clusters_,)
        For each cluster, the known label of its rows; −1 if none is known.
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

    def __init__(
        self,
        *,
        min_samples: int = 5,
        selection: str = "information",
        min_cluster_size: int | None = None,
        n_clusters: int | None = None,
        background_noise: bool = True,
        between_noise: bool = False,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.min_samples = min_samples
        self.selection = selection
        self.min_cluster_size = min_cluster_size
        self.n_clusters = n_clusters
        self.background_noise = background_noise
        self.between_noise = between_noise
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: object, y: object = None, *, must_link: object = None, cannot_link: object = None) -> Self:
        """Cluster points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Known labels of some rows as whole numbers, −1 for rows whose label is unknown. Rows with the same label are
            in one cluster, rows with different labels in different ones. A `y` without −1 (or NaN) is ignored, because
            pipelines pass one to each step and nothing would be left to find.
        must_link, cannot_link : array-like of int of shape (n_pairs, 2), optional
            Pairs of row numbers that belong to one cluster, and pairs that do not.

        Returns
        -------
        DCTreeClustering
            Itself.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
        >>> model = DCTreeClustering(min_samples=2).fit(X, y=[7, -1, 3, -1, -1, -1, -1, 3])
        >>> model.labels_, model.known_labels_
        (array([1, 1, 0, 0, 0, 0, 0, 0]), array([3, 7]))
        """
        with unchanged_on_error(self), process_group() as ranks:
            self.check_parameters()
            points = validation.check_points(check_rows(self, X, reset=True))
            if points is X or not points.flags.owndata:
                points = points.copy()  # the model must not change with the array of the caller
            validation.check_min_samples(self.min_samples, len(points), 2, "DCTreeClustering")
            known = Known.from_user(y, must_link, cannot_link, len(points))
            check_ranks(ranks, {**self.get_params(), "known": known}, points)
            self._cluster_points(points, ranks, known=known)
        warn_of_result(self.clustering_)
        return self

    def check_parameters(self, *, to_fit: bool = True) -> None:  # to_fit is for SHADE
        """Check the parameters without fitting; raise ValueError for the first one that is wrong."""
        check_parameters(vars(self), CLUSTERING_RULES, "DCTreeClustering")
        validation.check_n_jobs(self.n_jobs, "DCTreeClustering")
        tree_device(self.device)

    def _points_of(self, X: object) -> list[FloatArray]:
        return [self._space_of(X)]

    def _space_of(self, X: object) -> FloatArray:
        return validation.check_points(check_rows(self, X, reset=False))
