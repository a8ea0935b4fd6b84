"""DCTreeClustering: clustering of given points, without training a network."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClusterMixin

from shade._base import validation
from shade._base.arrays import FloatArray
from shade._base.errors import unchanged_on_error
from shade._base.parallel import tree_device
from shade._base.ranks import Ranks, process_group
from shade._base.validation import Choice, Real, check_parameter, check_parameters
from shade.clustering.assignment import Attachment
from shade.clustering.known import Known
from shade.clustering.precomputed import attach_distances, cluster_distances
from shade.data.row_sources import SparseRows
from shade.data.standardize import scale_to_length_one
from shade.density.distances import Distances, distances_of
from shade.density.spanning_tree import SpanningTree
from shade.estimators.clustered import CLUSTERING_RULES
from shade.estimators.result_warnings import warn_of_result
from shade.estimators.row_checks import check_ranks, check_rows, check_source
from shade.estimators.tree_estimator import TreeClusteringMixin
from shade.estimators.weights import Weights

METRIC = Choice(("euclidean", "cosine", "precomputed"))


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
    metric : {"euclidean", "cosine", "precomputed"}, default="euclidean"
        How rows are compared. "cosine": by their angle; rows are scaled to length 1, and rows of zeros stay as they
        are. "precomputed": `X` holds distances between the rows instead of their values.
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
    weights_ : ndarray of shape (n_samples,) or None
        The weights of the rows; None if each row counts once.
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
        metric: str = "euclidean",
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        self.min_samples = min_samples
        self.selection = selection
        self.min_cluster_size = min_cluster_size
        self.n_clusters = n_clusters
        self.background_noise = background_noise
        self.between_noise = between_noise
        self.metric = metric
        self.n_jobs = n_jobs
        self.device = device

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        must_link: object = None,
        cannot_link: object = None,
        sample_weight: object = None,
        dimension: float | None = None,
    ) -> Self:
        """Cluster points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            A sparse matrix is turned into a full one. With metric="precomputed", one of three: a symmetric matrix of
            the distances between all rows; a sparse matrix of the distances from each row to its neighbours, such as
            `sklearn.neighbors.kneighbors_graph` returns; or a `shade.density.SpanningTree`. A sparse background is
            searched in a full matrix only. New rows are given to `predict` by their distances from the rows of the fit.
        y : array-like of shape (n_samples,), optional
            Known labels of some rows as whole numbers, −1 for rows whose label is unknown. Rows with the same label are
            in one cluster, rows with different labels in different ones. A `y` without −1 (or NaN) is ignored, because
            pipelines pass one to each step and nothing would be left to find.
        must_link, cannot_link : array-like of int of shape (n_pairs, 2), optional
            Pairs of row numbers that belong to one cluster, and pairs that do not.
        sample_weight : array-like of int of shape (n_samples,), optional
            How many equal rows each row stands for, in densities and in sizes. Rows of weight 0 are left out, and
            labelled like new rows. `dc_tree_` and `structure_tree_` hold each row as often as it counts.
        dimension : float, optional
            Number of dimensions in which distances were measured, for metric="precomputed". In few dimensions, chance
            alone makes deeper gaps between dense places. If None, it is estimated from the distances; a spanning tree
            needs it.

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
            if dimension is not None:
                check_parameter("dimension", dimension, Real(1.0), "fit")
            distances = self._distances_to_cluster(X, dimension)
            if distances is None:
                points = self._to_points(X, reset=True)
                if points is X or not points.flags.owndata:
                    points = points.copy()  # the model must not change with the array of the caller
                known = Known.from_user(y, must_link, cannot_link, len(points))
                self._fit_points(points, known, sample_weight, ranks)
            elif sample_weight is not None or Known.from_user(y, must_link, cannot_link, distances.n_points):
                raise ValueError(
                    "Known labels, pairs and weights need points: leave them out with metric='precomputed'."
                )
            else:
                self._fit_distances(distances, dimension, ranks)
        warn_of_result(self.clustering_)
        return self

    def _fit_points(self, points: FloatArray, known: Known | None, sample_weight: object, ranks: Ranks) -> None:
        self._weights = Weights.from_user(sample_weight, points)
        if self._weights is not None:
            points, known = self._weights.repeated, self._weights.repeat_known(known)
        validation.check_min_samples(self.min_samples, len(points), 2, "DCTreeClustering")
        check_ranks(ranks, {**self.get_params(), "known": known}, points)
        self._cluster_points(points, ranks, known=known)

    def _fit_distances(self, distances: Distances, dimension: float | None, ranks: Ranks) -> None:
        self._weights = None
        validation.check_min_samples(self.min_samples, distances.n_points, 2, "DCTreeClustering")
        values = distances.weights if isinstance(distances, SpanningTree) else distances.values
        check_ranks(ranks, {**self.get_params(), "dimension": dimension}, values)
        self.set_clustering(ranks.from_first(lambda: cluster_distances(distances, self.rule(), dimension)))

    def check_parameters(self, *, to_fit: bool = True) -> None:  # to_fit is for SHADE
        """Check the parameters without fitting; raise ValueError for the first one that is wrong."""
        check_parameters(vars(self), {**CLUSTERING_RULES, "metric": METRIC}, "DCTreeClustering")
        validation.check_n_jobs(self.n_jobs, "DCTreeClustering")
        tree_device(self.device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def _points_of(self, X: object) -> list[FloatArray]:
        return [self._space_of(X)]

    def _space_of(self, X: object) -> FloatArray:
        return self._to_points(X, reset=False)

    def _to_points(self, X: object, *, reset: bool) -> FloatArray:
        """Return checked rows, of length 1 if their angles are compared."""
        points = validation.check_points(check_rows(self, X, reset=reset))
        return scale_to_length_one(points) if self.metric == "cosine" else points

    def _distances_to_cluster(self, X: object, dimension: float | None) -> Distances | None:
        """Return the distances in X, or None if it holds points."""
        if self.metric == "precomputed":
            found = distances_of(X if isinstance(X, SpanningTree) else self._check_distances(X, reset=True))
            self.n_features_in_ = found.n_points
            return found
        if dimension is not None or isinstance(X, SpanningTree):
            raise ValueError("A spanning tree and the parameter 'dimension' of fit go with metric='precomputed' only.")
        return None

    def _check_distances(self, X: Any, *, reset: bool) -> Any:
        """Return a matrix of distances, or a sparse one, after a check of its columns."""
        if not hasattr(X, "tocsr"):
            return check_rows(self, X, reset=reset)
        check_source(self, SparseRows(X), reset=reset)
        return X.tocsr()

    def _attach(self, X: object) -> Attachment:
        if self.metric != "precomputed":
            return super()._attach(X)
        return attach_distances(self.clustering_, self._check_distances(X, reset=False))
