"""The clustering step: from points to a density tree to clusters, and everything one can ask of them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Literal, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade import _validation
from shade._arrays import BoolArray, FloatArray, IntArray, SingleArray
from shade._extras import need
from shade._parallel import tree_device
from shade._validation import Choice, Real, Rule, Whole, check_parameter
from shade.density.data_tree import DataTree
from shade.density.dc_tree import DCTree
from shade.density.dimension import intrinsic_dimension
from shade.density.grouped_tree import grouped_spanning_tree
from shade.density.spanning_tree import SpanningTree
from shade.explanation import Explanation, explain_labels
from shade.stability.assignment import (
    Attachment,
    TrainingPoints,
    assign_nearest,
    join_attachments,
    label_new_points,
    strengths_of_new_points,
)
from shade.stability.assignment import score_new_points as score_attached
from shade.stability.evidence import firm_clusters, more_than_chance
from shade.stability.group_selection import find_divided, select_in_groups
from shade.stability.groups import join_small_groups
from shade.stability.links import follow_links, links_of, sort_links
from shade.stability.outskirts import with_outskirts, without_far_rows
from shade.stability.selection import FlatClustering, cut_at_distance, select_clusters, select_n_clusters
from shade.stability.structure_tree import SELECTIONS, StructureTree, smallest_branch

if TYPE_CHECKING:
    import pandas

CLUSTERING_RULES: dict[str, Rule] = {
    "min_points": Whole(2),
    "selection": Choice(SELECTIONS),
    "min_cluster_size": Whole(2, optional=True),
}


class TreeClusteringMixin:
    """What an estimator gains once it has points with a density tree.

    The estimator calls `_cluster(points)` in its `fit` and says with `_points_of(X)` where new rows lie.
    """

    min_points: int
    selection: str
    min_cluster_size: int | None
    n_jobs: int | None
    device: str
    noise: str
    _noise_rule: Rule

    labels_: IntArray
    probabilities_: FloatArray
    outlier_scores_: FloatArray
    cluster_persistence_: FloatArray
    exemplar_indices_: list[IntArray]
    n_clusters_: int
    dc_tree_: DCTree
    structure_tree_: StructureTree
    _known_dimension: float | None = None
    _groups: IntArray  # what the data shows, whatever the tree of the points says: −1 is background, all 0 is nothing

    @overload
    def predict(self, X: object, *, return_probabilities: Literal[False] = False) -> IntArray: ...

    @overload
    def predict(self, X: object, *, return_probabilities: Literal[True]) -> tuple[IntArray, FloatArray]: ...

    def predict(self, X: object, *, return_probabilities: bool = False) -> IntArray | tuple[IntArray, FloatArray]:
        """Cluster of new rows, by the tree and the rule of training.

        A row belongs to the cluster of the training point that it is density-connected to first, if that happens
        within the distance at which the cluster ends; else it is noise. A training row gets the
        label it has in `labels_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_probabilities : bool, default=False
            Whether to tell how firmly each row belongs as well.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            −1 is noise.
        probabilities : ndarray of shape (n_samples,)
            Only if asked for: membership strengths, for training rows those of `probabilities_`.
        """
        check_is_fitted(self)
        attachment = self._attach(X)
        labels = label_new_points(self._clustering, attachment)
        if not return_probabilities:
            return labels
        return labels, strengths_of_new_points(self._clustering, self.structure_tree_, attachment, labels)

    def score_samples(self, X: object) -> FloatArray:
        """Negative outlier score of each row: 0 in the densest part of a branch, towards −1 far outside.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            The lower, the more abnormal; for training rows it is `-outlier_scores_`.
        """
        check_is_fitted(self)
        return -score_attached(self.structure_tree_, self._attach(X))

    def assign_noise(self, strategy: str = "tree", X: object = None) -> IntArray:
        """Labels with every noise point put into a cluster; `labels_` stays as it is.

        Parameters
        ----------
        strategy : {"tree", "nearest"}, default="tree"
            "tree" takes the cluster that a point reaches over the shortest links: the edges of the spanning trees of
            the embedding and, where training followed it, of the data. "nearest" takes the cluster of the nearest
            clustered point. Among edges of equal weight the order of the rows decides which the trees hold.
        X : array-like of shape (n_samples, n_features), optional
            The rows that were clustered, in the same order. "nearest" then measures in the data, standardised as in
            training, as the figures of the paper (SHADE_1nn) seem to have been made; else in the embedding.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        check_parameter("strategy", strategy, Choice(("tree", "nearest")), "assign_noise")
        if strategy == "tree":
            if X is not None:
                raise ValueError("The 'X' parameter of assign_noise goes with strategy='nearest' only.")
            return follow_links(self.labels_, self._links)
        points = self._training.points if X is None else self._space_of(X)
        if len(points) != len(self.labels_):
            raise ValueError(f"X has {len(points)} rows, but {len(self.labels_)} were clustered.")
        return assign_nearest(self.labels_, points, self.n_jobs)

    def explain(self, X: object, top: int = 5) -> Explanation:
        """For each cluster, the features that set its rows apart from all others, with the size of the effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were clustered, in the same order. Other columns than those clustered are welcome: they may
            say what the clusters are.
        top : int, default=5
            Number of features a cluster.

        Returns
        -------
        Explanation
            Print it, read its arrays, or turn it into a table with `to_frame()`. The effect of a feature, Cliff's
            delta, is 1 or −1 where it alone tells the cluster from the rest and 0 where it tells nothing.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> X = [[0.0, 7.0], [0.1, 3.0], [0.2, 5.0], [9.0, 7.0], [9.1, 3.0], [9.2, 5.0]]
        >>> model = DCTreeClustering(min_points=2, selection="branches", min_cluster_size=3).fit(X)
        >>> print(model.explain(X, top=1))
        cluster 0: x0 -1.00 (0.1, others 9.1)
        cluster 1: x0 +1.00 (9.1, others 0.1)
        """
        check_is_fitted(self)
        names = None if hasattr(X, "columns") else getattr(self, "feature_names_in_", None)
        return explain_labels(X, self.labels_, top=top, feature_names=names)

    def recluster(
        self,
        *,
        min_points: int | None = None,
        min_cluster_size: int | None = None,
        n_clusters: int | None = None,
        distance: float | None = None,
        noise: str | None = None,
    ) -> Self:
        """Another clustering of the same points, without training again.

        Parameters
        ----------
        min_points : int, optional
            Build the tree anew for another density.
        min_cluster_size : int, optional
            Leave out smaller branches of the tree, or take in smaller ones than before. Groups that the data showed to
            `fit` stay, but for smaller ones, which join others.
        n_clusters : int, optional
            The most stable clustering with so many clusters.
        distance : float, optional
            Cut the tree at a distance, as DBSCAN* does.
        noise : str, optional
            Which rows are noise, as in the parameter of that name. Where it is "embedding", nothing is known of a
            background and of groups of the data, nor in other clusterings made of that one.

        Returns
        -------
        estimator
            A fitted estimator with the other clustering; this one stays as it is.
        """
        check_is_fitted(self)
        for name, value, least in (
            ("min_points", min_points, 2), ("min_cluster_size", min_cluster_size, 2), ("n_clusters", n_clusters, 1),
        ):  # fmt: skip
            check_parameter(name, value, Whole(least, optional=True), "recluster")
        if distance is not None:
            check_parameter("distance", distance, Real(0.0), "recluster")
        if noise is not None:
            check_parameter("noise", noise, self._noise_rule, "recluster")
        if n_clusters is not None and distance is not None:
            raise ValueError("The 'n_clusters' and 'distance' parameters of recluster exclude each other: give one.")
        other = copy.copy(self)
        other.min_points = min_points or self.min_points
        other.min_cluster_size = min_cluster_size or self.min_cluster_size
        other.noise = noise or self.noise
        other._refit_tree(self)
        tree = other.structure_tree_
        if n_clusters is not None:
            chosen = select_n_clusters(tree, n_clusters)
        else:
            chosen = other._select() if distance is None else cut_at_distance(tree, distance)
        other._set_clustering(other._finish(tree, chosen, None if distance is None else chosen.limit))
        return other

    def to_frame(self, ids: object = None, *, embedding: bool = False) -> pandas.DataFrame:
        """What was found of each training row, as a table.

        Parameters
        ----------
        ids : array-like of shape (n_samples,), optional
            What the rows are called, the index of the table; their numbers if None. To join it with a DataFrame that
            was clustered, give the index of that.
        embedding : bool, default=False
            Add a column for each dimension of the embedding.

        Returns
        -------
        pandas.DataFrame
            Columns "label", "probability" and "outlier_score", then "embedding_0" and so on.
        """
        check_is_fitted(self)
        frame: pandas.DataFrame = need("pandas", "io", "to_frame").DataFrame(
            {"label": self.labels_, "probability": self.probabilities_, "outlier_score": self.outlier_scores_},
            index=None if ids is None else np.asarray(ids),
        )
        if embedding:
            for column, values in enumerate(self._points_as_told.T):
                frame[f"embedding_{column}"] = values
        frame.index.name = "id"
        return frame

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file that `shade.load` reads.

        A file of SHADE holds the embedding, not the data; one of DCTreeClustering holds the points it was fitted to.

        Parameters
        ----------
        path : str or path
            By custom it ends in ".shade".
        """
        check_is_fitted(self)
        from shade.model_file import write_model_file  # here, as clustering alone needs no torch
        from shade.saved_state import contents_of

        write_model_file(path, contents_of(self))

    if TYPE_CHECKING:

        def _points_of(self, X: object) -> Iterable[FloatArray]:
            """Where rows lie among the points of the tree, in one piece or several."""
            ...

        def _space_of(self, X: object) -> FloatArray:
            """Rows of the data as they are compared with each other."""
            ...

    @property
    def _points_as_told(self) -> FloatArray | SingleArray:
        """The embedding, or the rows themselves where nothing was trained."""
        return getattr(self, "embedding_", self._training.points)

    @property
    def _background(self) -> BoolArray:
        """Rows that are noise whatever the tree of the points says."""
        return self._groups < 0

    def _cluster(self, points: FloatArray, groups: IntArray | None = None, data: DataTree | None = None) -> None:
        """Build the tree of the points and choose the clusters within the groups that the data shows."""
        self._groups = np.zeros(len(points), np.int64) if groups is None else groups
        spanning = self._build_trees(points)
        if data is None:
            self._links = links_of(spanning)
        else:
            self._links = sort_links([spanning.edges, data.spanning.edges], [points, data.samples])
        del spanning  # before memory is needed for choosing
        self._set_clustering(self._finish(self.structure_tree_, self._select()))

    def _build_trees(self, points: FloatArray) -> SpanningTree:
        self._training = TrainingPoints(points, self.min_points)
        self._known_dimension = None
        spanning = self._spanning_tree_of(points)
        self.dc_tree_ = DCTree.from_spanning_tree(spanning)
        self.structure_tree_ = self._structure_of(self.dc_tree_)
        return spanning

    def _refit_tree(self, before: Self) -> None:
        """Make the trees anew that a copy with other parameters cannot share with the estimator it was copied from."""
        if self.noise != before.noise and self.noise == "embedding":
            self._groups = np.zeros_like(before._groups)
        if (self.min_points, self.min_cluster_size) != (before.min_points, before.min_cluster_size):
            _validation.check_min_points(self.min_points, len(self._groups), 2, "recluster")
            smallest = max(self.min_points, self._smallest(int(np.sum(~self._background))))
            self._groups = join_small_groups(self._groups, smallest, self._links)
        if self.min_points != before._training.min_points or not np.array_equal(self._groups, before._groups):
            spanning = self._build_trees(before._training.points)
            if len(self._links) < len(self._groups):  # they are those of this tree alone, not of the data's as well
                self._links = links_of(spanning)
        elif self.min_cluster_size != before.min_cluster_size:
            self.structure_tree_ = self._structure_of(self.dc_tree_)

    def _structure_of(self, tree: DCTree) -> StructureTree:
        smallest = self._smallest(int(np.sum(~self._background)))
        return StructureTree.from_dc_tree(tree, self.selection, self.min_points, smallest)

    def _smallest(self, dense: int) -> int:
        """Fewest rows of a cluster among so many that are no background: it does not depend on how much there is."""
        return self.min_cluster_size or smallest_branch(self.selection, self.min_points, dense)

    def _spanning_tree_of(self, points: FloatArray) -> SpanningTree:
        device = tree_device(self.device)
        return grouped_spanning_tree(points, self._groups, self.min_points, n_jobs=self.n_jobs, device=device)

    def _select(self) -> FlatClustering:
        """The clustering of the rule, within the groups of the data, or one cluster where chance explains others."""
        tree, points, groups = self.structure_tree_, self._training.points, self._groups
        if groups.max() > 0:
            return select_in_groups(tree, groups, points, self._divided_groups, self.n_jobs)
        clustering = select_clusters(tree)
        doubtful = self.selection == "information" and clustering.n_clusters > 1
        if doubtful and not more_than_chance(tree, clustering, self._dimension):
            return select_n_clusters(tree, 1)
        return clustering

    def _divided_groups(self) -> BoolArray:
        """Which groups the points themselves divide, if they are not told of groups."""
        dense, unaware = ~self._background, copy.copy(self)
        unaware.noise = "embedding"  # branches alone, without their outskirts
        unaware._cluster(self._training.points[dense])
        return find_divided(unaware.structure_tree_, unaware._clustering, self._groups[dense])

    def _finish(
        self, tree: StructureTree, clustering: FlatClustering, limit: FloatArray | None = None
    ) -> FlatClustering:
        """Branches of the tree without background and, where only outliers are noise, with their outskirts.

        `limit` says where the outskirts of each cluster end if that is known. The one cluster of everything has none,
        but ends somewhere, too.
        """
        if self._background.any():
            clustering = clustering.without(self._background)
        if self.noise == "outliers" and clustering.of_candidates:
            firm = firm_clusters(tree, clustering, self._dimension) if limit is None else None
            clustering = with_outskirts(tree, clustering, self._links, self._groups, firm, limit)
        elif self.noise == "outliers" and clustering.n_clusters == 1:
            clustering = without_far_rows(tree, clustering, limit)
        return clustering

    def _dimension(self) -> float:
        """How many dimensions the points fill that are no background; found out when first asked."""
        if self._known_dimension is None:
            points, dense = self._training.points, ~self._background
            self._known_dimension = intrinsic_dimension(points if dense.all() else points[dense], self.n_jobs)
        return self._known_dimension

    def _set_clustering(self, clustering: FlatClustering) -> None:
        self._clustering = clustering
        self.labels_ = clustering.labels
        self.probabilities_ = clustering.strengths
        self.outlier_scores_ = clustering.outlier_scores
        self.cluster_persistence_ = clustering.persistence
        self.exemplar_indices_ = list(clustering.exemplars)
        self.n_clusters_ = clustering.n_clusters

    def _attach(self, X: object) -> Attachment:
        return join_attachments([self._training.attach(points, self.n_jobs) for points in self._points_of(X)])
