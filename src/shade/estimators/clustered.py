"""What every estimator with a `Clustering` has: its parameters, its attributes, and how points are clustered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shade._base.arrays import FloatArray, IntArray, SingleArray
from shade._base.parallel import tree_device
from shade._base.ranks import Ranks
from shade._base.validation import Choice, Rule, Whole
from shade.clustering.assignment import (
    Attachment,
    join_attachments,
    label_new_points,
    score_new_points,
    strengths_of_new_points,
)
from shade.clustering.clustering import Clustering, attach, cluster
from shade.clustering.known import Known
from shade.clustering.rule import ClusterRule
from shade.clustering.structure_tree import SELECTIONS, StructureTree
from shade.density.data_tree import DataTree
from shade.density.dc_tree import DCTree
from shade.density.grouped_tree import TreeOfRows, tree_of_rows
from shade.estimators.weights import Weights

CLUSTERING_RULES: dict[str, Rule] = {
    "min_samples": Whole(2),
    "selection": Choice(SELECTIONS),
    "min_cluster_size": Whole(2, optional=True),
    "n_clusters": Whole(1, optional=True),
    "background_noise": Choice((True, False)),
    "between_noise": Choice((True, False)),
}


class Clustered:
    """An estimator that calls `_cluster_points` in its `fit`.

    Its method `_points_of(X)` returns the points of new rows.
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
    _weights: Weights | None = None

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
        points = self.clustering_.points if self._weights is None else self._weights.points
        return getattr(self, "embedding_", points)

    @property
    def weights_(self) -> IntArray | None:
        """How often each row of the fit counts; None if each counts once."""
        return None if self._weights is None else self._weights.counts

    def set_weights(self, counts: IntArray, points: FloatArray) -> None:
        """Set how often each given point counts, before the clustering of the points is set."""
        self._weights = Weights(counts, points)

    @property
    def _given_rows(self) -> Attachment | None:
        """Where the rows of the fit join the tree; None if each of them is one row of it."""
        return None if self._weights is None else self._weights.attach(self.clustering_, self.n_jobs)

    def _need_points(self, method: str) -> None:
        """Raise an error if distances were clustered instead of points."""
        if self.clustering_.points.shape[1] == 0:
            raise ValueError(f"{method} needs points, but this model was fitted on distances between rows.")

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

    def set_clustering(self, clustering: Clustering) -> None:
        """Set a clustering of the points of this estimator, and all attributes that depend on it."""
        flat = clustering.flat
        self.clustering_ = clustering
        self.dc_tree_ = clustering.dc_tree
        self.structure_tree_ = clustering.structure_tree
        self.labels_ = flat.labels
        self.probabilities_ = flat.strengths
        self.outlier_scores_ = flat.outlier_scores
        if (given := self._given_rows) is not None:
            self.labels_ = label_new_points(flat, given)
            self.probabilities_ = strengths_of_new_points(flat, clustering.structure_tree, given, self.labels_)
            self.outlier_scores_ = score_new_points(clustering.structure_tree, given)
        self.cluster_persistence_ = flat.persistence
        self.exemplar_indices_ = list(flat.exemplars)
        if self._weights is not None:
            self.exemplar_indices_ = [np.unique(self._weights.rows[rows]) for rows in flat.exemplars]
        self.n_clusters_ = flat.n_clusters
        self.known_labels_ = clustering.known_labels

    def _attach(self, X: object) -> Attachment:
        return join_attachments([attach(self.clustering_, points, self.n_jobs) for points in self._points_of(X)])
