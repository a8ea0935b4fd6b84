"""Growing data: new rows join those that were clustered."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import FloatArray
from shade._base.errors import unchanged_on_error
from shade._base.parallel import tree_device
from shade.clustering.clustering import attach
from shade.clustering.growing import grow, share_far_away
from shade.estimators.clustered import Clustered


class GrowingMixin(Clustered):
    """The method `update`."""

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
        self._need_points("update")
        with unchanged_on_error(self):
            self._grow(np.concatenate(list(self._points_of(X))))
        return self

    def _grow(self, points: FloatArray) -> float:
        """Add new points; returns the share of them that is far from those before."""
        before, device = self.clustering_, tree_device(self.device)
        attachment = attach(before, points, self.n_jobs)
        if self._weights is not None:
            self._weights = self._weights.with_more(points)
        self.set_clustering(grow(before, points, attachment, self.n_jobs, device))
        return share_far_away(before, attachment)
