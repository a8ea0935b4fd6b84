"""What both estimators can do after clustering: predict new rows, and cluster the same rows in other ways."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import FloatArray, IntArray
from shade._base.parallel import tree_device
from shade._base.validation import Choice, Real, Whole, check_parameter
from shade.clustering.assignment import (
    assign_nearest,
    label_new_points,
    score_new_points,
    strengths_of_new_points,
)
from shade.clustering.clustering import recluster
from shade.clustering.layers import Layers, find_layers
from shade.clustering.links import follow_links
from shade.clustering.memberships import memberships_of
from shade.clustering.selection import check_number
from shade.estimators.growing import GrowingMixin
from shade.estimators.inspection import InspectionMixin
from shade.estimators.result_methods import ResultMixin
from shade.estimators.result_warnings import warn_of_result


class TreeClusteringMixin(InspectionMixin, GrowingMixin, ResultMixin):
    """Methods of an estimator that has a `Clustering`."""

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
        return memberships_of(self.clustering_, self._given_rows if X is None else self._attach(X), top)

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
            found = follow_links(self.clustering_.flat.labels, self.clustering_.links)
            return (
                found
                if (given := self._given_rows) is None
                else np.where(self.labels_ >= 0, self.labels_, found[given.row])
            )
        self._need_points("assign_noise(strategy='nearest')")
        points = np.asarray(self.points_, np.float64) if X is None else self._space_of(X)
        if len(points) != len(self.labels_):
            raise ValueError(f"X has {len(points)} rows, but {len(self.labels_)} were clustered.")
        return assign_nearest(self.labels_, points, self.n_jobs)

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
        found = find_layers(self.clustering_)
        return found if (given := self._given_rows) is None else found.of_rows(given.row)
