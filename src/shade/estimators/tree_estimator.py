"""What both estimators can do after clustering: attributes, and methods on the clustering."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import FloatArray, IntArray, SingleArray
from shade._base.errors import unchanged_on_error
from shade._base.extras import need
from shade._base.parallel import tree_device
from shade._base.ranks import Ranks
from shade._base.validation import Choice, Real, Rule, Whole, check_parameter
from shade.clustering.assignment import (
    Attachment,
    assign_nearest,
    join_attachments,
    label_new_points,
    score_new_points,
    strengths_of_new_points,
)
from shade.clustering.clustering import Clustering, attach, cluster, recluster
from shade.clustering.growing import grow, share_far_away
from shade.clustering.known import Known
from shade.clustering.layers import Layers, find_layers
from shade.clustering.links import follow_links
from shade.clustering.memberships import memberships_of
from shade.clustering.rule import ClusterRule
from shade.clustering.selection import check_number
from shade.clustering.structure_tree import SELECTIONS, StructureTree
from shade.density.data_tree import DataTree
from shade.density.dc_tree import DCTree
from shade.density.grouped_tree import TreeOfRows, tree_of_rows
from shade.estimators.inspection import InspectionMixin
from shade.estimators.result_warnings import warn_of_result
from shade.layout import PointMap, map_points
from shade.metrics.explanation import Explanation, explain_labels

if TYPE_CHECKING:
    import pandas

CLUSTERING_RULES: dict[str, Rule] = {
    "min_samples": Whole(2),
    "selection": Choice(SELECTIONS),
    "min_cluster_size": Whole(2, optional=True),
    "n_clusters": Whole(1, optional=True),
    "background_noise": Choice((True, False)),
    "between_noise": Choice((True, False)),
}


class TreeClusteringMixin(InspectionMixin):
    """Attributes and methods of an estimator that has a `Clustering`.

    The estimator calls `set_clustering` in its `fit`. Its method `_points_of(X)` returns the points of new rows.
    """

    min_samples: int
    selection: str
    min_cluster_size: int | None
    n_clusters: int | None
    background_noise: bool
    between_noise: bool
    n_jobs: int | None
    device: str

    clustering_: Clustering
    labels_: IntArray
    probabilities_: FloatArray
    outlier_scores_: FloatArray
    cluster_persistence_: FloatArray
    exemplar_indices_: list[IntArray]
    n_clusters_: int
    dc_tree_: DCTree
    structure_tree_: StructureTree
    known_labels_: IntArray
    _map: tuple[object, PointMap] | None = None  # the points of the map, and the map

    def fit_predict(self, X: object, y: object = None, **fitting: Any) -> IntArray:
        """Fit and return `labels_`; takes what `fit` takes, known labels included."""
        self.fit(X, y, **fitting)
        return self.labels_

    @overload
    def predict(self, X: object, *, return_probabilities: Literal[False] = False) -> IntArray: ...

    @overload
    def predict(self, X: object, *, return_probabilities: Literal[True]) -> tuple[IntArray, FloatArray]: ...

    def predict(self, X: object, *, return_probabilities: bool = False) -> IntArray | tuple[IntArray, FloatArray]:
        """Return the cluster of new rows, by the tree and the rule of training.

        A row gets the cluster of the training point that it is density-connected to first, if this is within the
        distance at which the cluster ends; otherwise it is noise. A training row gets its label in `labels_`.


        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_probabilities : bool, default=False
            Whether to also return how strongly each row belongs to its cluster.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            −1 is noise.
        probabilities : ndarray of shape (n_samples,)
            Only with `return_probabilities`: membership strengths. For training rows they are those of
            `probabilities_`.
        """
        check_is_fitted(self)
        attachment = self._attach(X)
        labels = label_new_points(self.clustering_.flat, attachment)
        if not return_probabilities:
            return labels
        return labels, strengths_of_new_points(self.clustering_.flat, self.structure_tree_, attachment, labels)

    @overload
    def memberships(self, X: object = None, *, top: None = None) -> FloatArray: ...

    @overload
    def memberships(self, X: object = None, *, top: int) -> tuple[IntArray, FloatArray]: ...

    def memberships(self, X: object = None, *, top: int | None = None) -> FloatArray | tuple[IntArray, FloatArray]:
        """Return how strongly each row belongs to every cluster.

        The largest membership of a row is that of its own cluster and equals its probability. The sum is at most 1; the
        remainder is the membership in noise. The memberships of a noise row are 0; `assign_noise` finds clusters for
        such rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            New rows. If None, the rows that were clustered.
        top : int, optional
            Return only this number of clusters per row, which saves memory.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            With `top`, two arrays of at most `top` columns: clusters, the strongest first (−1: none), and memberships.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> X = [[0.0], [1.0], [2.0], [3.5], [9.0], [10.0], [11.0]]
        >>> model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3).fit(X)
        >>> model.memberships()[2:4].round(2).tolist()
        [[1.0, 0.0], [0.67, 0.18]]
        """
        check_is_fitted(self)
        check_parameter("top", top, Whole(1, optional=True), "memberships")
        return memberships_of(self.clustering_, None if X is None else self._attach(X), top)

    def score_samples(self, X: object) -> FloatArray:
        """Return the negative outlier score of each row: 0 in the densest part of a branch, near −1 far outside.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Lower values are more abnormal. For training rows it is `-outlier_scores_`.
        """
        check_is_fitted(self)
        return -score_new_points(self.structure_tree_, self._attach(X))

    def assign_noise(self, strategy: str = "tree", X: object = None) -> IntArray:
        """Return labels in which every noise point has a cluster; `labels_` is not changed.

        Parameters
        ----------
        strategy : {"tree", "nearest"}, default="tree"
            "tree" uses the cluster that a point reaches over the shortest links: the edges of the spanning trees of the
            embedding and, if training used it, of the data. "nearest" uses the cluster of the nearest clustered point.
            If edges have equal weight, the order of the rows decides which of them are in the trees.
        X : array-like of shape (n_samples, n_features), optional
            The rows that were clustered, in the same order. If given, "nearest" measures distances in the standardised
            data, which seems to be how the figures of the paper (SHADE_1nn) were made; otherwise in the embedding.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        check_parameter("strategy", strategy, Choice(("tree", "nearest")), "assign_noise")
        if strategy == "tree":
            if X is not None:
                raise ValueError("The 'X' parameter of assign_noise goes with strategy='nearest' only.")
            return follow_links(self.labels_, self.clustering_.links)
        points = self.clustering_.points if X is None else self._space_of(X)
        if len(points) != len(self.labels_):
            raise ValueError(f"X has {len(points)} rows, but {len(self.labels_)} were clustered.")
        return assign_nearest(self.labels_, points, self.n_jobs)

    def explain(self, X: object, top: int = 5) -> Explanation:
        """Find for each cluster the features that separate its rows from all others, with the size of the effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were clustered, in the same order. Other columns than those clustered are possible: they may
            describe the clusters. Or a text for each row, such as a column of a DataFrame: then the features are words.
        top : int, default=5
            Number of features per cluster.

        Returns
        -------
        Explanation
            Print it, read its arrays, or turn it into a table with `to_frame()`. The effect of a feature is Cliff's
            delta: 1 or −1 if the feature alone separates the cluster from the rest, and 0 if it does not separate them
            at all.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> X = [[0.0, 7.0], [0.1, 3.0], [0.2, 5.0], [9.0, 7.0], [9.1, 3.0], [9.2, 5.0]]
        >>> model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3).fit(X)
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
        n_clusters: int | None = None,
        cut_distance: float | None = None,
        min_samples: int | None = None,
        min_cluster_size: int | None = None,
        between_noise: bool | None = None,
        background_noise: bool | None = None,
    ) -> Self:
        """Cluster the same points in another way, without training again.

        Parameters
        ----------
        n_clusters : int, optional
            Number of clusters. If None, it is found automatically. For a smaller number, the nearest clusters are
            joined, one pair after the other. For a larger number, real splits of the tree are used first, then others.
        cut_distance : float, optional
            Cut the tree at this distance, as DBSCAN* does.
        min_samples : int, optional
            Estimate the density again, with another number of neighbours.
        min_cluster_size : int, optional
            Minimum number of rows of a branch of the tree.
        between_noise : bool, optional
            Whether rows between clusters are noise.
        background_noise : bool, optional
            Only the value of `fit` is allowed, since `fit` finds the background.

        Returns
        -------
        estimator
            A fitted estimator with the other clustering; this one is not changed.
        """
        check_is_fitted(self)
        for name, value, least in (
            ("min_samples", min_samples, 2), ("min_cluster_size", min_cluster_size, 2), ("n_clusters", n_clusters, 1),
        ):  # fmt: skip
            check_parameter(name, value, Whole(least, optional=True), "recluster")
        if cut_distance is not None:
            check_parameter("cut_distance", cut_distance, Real(0.0), "recluster")
        for name, value in (("between_noise", between_noise), ("background_noise", background_noise)):
            check_parameter(name, value, Choice((True, False, None)), "recluster")
        if n_clusters is not None and cut_distance is not None:
            raise ValueError(
                "The 'n_clusters' and 'cut_distance' parameters of recluster exclude each other: give one."
            )
        other = copy.copy(self)
        other.min_samples = min_samples or self.min_samples
        other.min_cluster_size = min_cluster_size or self.min_cluster_size
        other.n_clusters = n_clusters
        other.between_noise = self.between_noise if between_noise is None else between_noise
        rule = replace(other.rule(), cut_distance=cut_distance)
        if background_noise is not None:
            rule = replace(rule, background_noise=background_noise)
        found = recluster(self.clustering_, rule, n_jobs=self.n_jobs, device=tree_device(self.device))
        if n_clusters is not None:
            check_number(found.structure_tree, n_clusters)
        other.set_clustering(found)
        warn_of_result(found)
        return other

    def update(self, X: object) -> Self:
        """Add new rows to those that were clustered, without training.

        All rows are clustered again, by the same rule. New clusters may appear. Clusters that go on keep their numbers,
        so 0 need not be the largest. If a cluster disappears, a new cluster or the last one gets its number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows only. They come after the rows that were clustered before, in all attributes.

        Returns
        -------
        estimator
            Itself, changed.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3)
        >>> model.fit([[0.0], [1.0], [2.0], [20.0], [21.0], [22.0], [23.0]]).labels_
        array([1, 1, 1, 0, 0, 0, 0])
        >>> model.update([[3.0], [-1.0], [60.0], [61.0], [62.0]]).labels_
        array([1, 1, 1, 0, 0, 0, 0, 1, 1, 2, 2, 2])
        """
        check_is_fitted(self)
        with unchanged_on_error(self):
            self._grow(np.concatenate(list(self._points_of(X))))
        return self

    def layers(self) -> Layers:
        """Find a few nested clusterings of the same rows, from coarse to fine; `labels_` is one of them.

        Coarser layers join nearest clusters, as `recluster(n_clusters=...)` does. Finer layers divide clusters into
        branches of the tree. If the tree has no coarser or finer structure, there are no such layers.

        Returns
        -------
        Layers

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> X = [[place + near + i / 10] for place in (0, 500, 1500) for near in (0, 20, 45, 75) for i in range(20)]
        >>> layers = DCTreeClustering(min_cluster_size=12).fit(X).layers()
        >>> layers.to_frame().groupby("layer").size().tolist()
        [3, 12]
        """
        check_is_fitted(self)
        return find_layers(self.clustering_)

    def map(self, X: object = None) -> FloatArray:
        """Return places of rows in two dimensions, for plots: clusters that merge late are far apart.

        The map is computed when it is first needed, which takes some seconds for tens of thousands of rows. It depends
        on `points_` alone, not on the order of the rows, the number of threads, or the clusters that are chosen. See
        `shade.layout.map_points`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            New rows. Each is placed at a weighted mean of the places of the nearest clustered rows. If None, the rows
            that were clustered.

        Returns
        -------
        ndarray of shape (n_samples, 2)

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = DCTreeClustering().fit(X)
        >>> model.map().shape, model.map(X[:3]).shape
        ((150, 2), (3, 2))
        """
        check_is_fitted(self)
        if self._map is None or self._map[0] is not self.points_:  # another fit has other points
            self._map = self.points_, map_points(self.points_, n_jobs=self.n_jobs)
        found = self._map[1]
        if X is None:
            return found.places.copy()
        return np.concatenate([found.place(points, n_jobs=self.n_jobs) for points in self._points_of(X)])

    def to_frame(self, ids: object = None, *, embedding: bool = False) -> pandas.DataFrame:
        """Return labels, probabilities and outlier scores of the training rows as a table.

        Parameters
        ----------
        ids : array-like of shape (n_samples,), optional
            Names of the rows, for the index of the table; row numbers if None. To join the result with a DataFrame that
            was clustered, give the index of that DataFrame.
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
            for column, values in enumerate(self.points_.T):
                frame[f"embedding_{column}"] = values
        frame.index.name = "id"
        return frame

    def save(self, path: str | PathLike[str], *, decoder: bool = True) -> None:
        """Write the model to one file that `shade.load` reads.

        A file of DCTreeClustering holds the points of the fit. A file of SHADE holds the embedding and the networks,
        and the decoder turns the embedding back into approximate rows. Share such a file as carefully as the data.

        Parameters
        ----------
        path : str or path
            Usually ends in ".shade".
        decoder : bool, default=True
            Whether to save the decoders of SHADE's own networks. Without them, nobody can turn the embedding back into
            rows with the file alone, and the loaded model has no `inverse_transform`.
        """
        check_is_fitted(self)
        from shade.persistence.model_file import write_model_file  # here, since clustering alone needs no torch
        from shade.persistence.saved_state import contents_of

        write_model_file(path, contents_of(self, decoder=decoder))

    if TYPE_CHECKING:

        def fit(self, *data: Any, **fitting: Any) -> Self:
            """Each estimator has its own."""
            ...

        def _points_of(self, X: object) -> Iterable[FloatArray]:
            """Return the points of rows in the space of the tree, in one or several parts."""
            ...

        def _space_of(self, X: object) -> FloatArray:
            """Return rows of the data in the space in which they are compared."""
            ...

    @property
    def points_(self) -> FloatArray | SingleArray:
        """The points that were clustered: the embedding, or the given rows if nothing was trained."""
        return getattr(self, "embedding_", self.clustering_.points)

    def rule(self) -> ClusterRule:
        """Return the rule that the parameters describe."""
        return ClusterRule(**{name: getattr(self, name) for name in CLUSTERING_RULES})

    def _cluster_points(
        self,
        points: FloatArray,
        ranks: Ranks,
        data: DataTree | None = None,
        settled: bool = False,
        known: Known | None = None,
    ) -> None:
        """Cluster points. All ranks build the trees; rank 0 chooses the clusters and sends them to the others.

        The choice can depend on the last bit of a number, which can differ between types of machines.
        """

        def choose(tree_of: TreeOfRows) -> Clustering:
            rule = self.rule()
            free = replace(rule, n_clusters=None)  # background and clear clusters do not depend on the given number
            found = cluster(points, free, data=data, settled=settled, n_jobs=self.n_jobs, tree_of=tree_of)
            found = replace(found, rule=rule, known=known)
            found.flat  # noqa: B018  # computed now, so that it is sent as well
            return found

        where = tree_device(self.device)
        tree_of = partial(tree_of_rows, points, self.min_samples, n_jobs=self.n_jobs, device=where, ranks=ranks)
        self.set_clustering(ranks.lead(choose, tree_of))

    def _grow(self, points: FloatArray) -> float:
        """Add new points; returns the share of them that is far from those before."""
        before, device = self.clustering_, tree_device(self.device)
        attachment = attach(before, points, self.n_jobs)
        self.set_clustering(grow(before, points, attachment, self.n_jobs, device))
        return share_far_away(before, attachment)

    def set_clustering(self, clustering: Clustering) -> None:
        """Set a clustering of the points of this estimator, and all attributes that depend on it."""
        flat = clustering.flat
        self.clustering_ = clustering
        self.dc_tree_ = clustering.dc_tree
        self.structure_tree_ = clustering.structure_tree
        self.labels_ = flat.labels
        self.probabilities_ = flat.strengths
        self.outlier_scores_ = flat.outlier_scores
        self.cluster_persistence_ = flat.persistence
        self.exemplar_indices_ = list(flat.exemplars)
        self.n_clusters_ = flat.n_clusters
        self.known_labels_ = clustering.known_labels

    def _attach(self, X: object) -> Attachment:
        return join_attachments([attach(self.clustering_, points, self.n_jobs) for points in self._points_of(X)])
