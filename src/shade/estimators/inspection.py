"""What a fitted model tells about its clusters: how far to trust them, and what a notebook shows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import FloatArray, IntArray
from shade._base.text import printable
from shade.clustering.clustering import Clustering
from shade.clustering.reliability import Reliability, measure_reliability
from shade.metrics.internal import disco_samples

if TYPE_CHECKING:
    from shade.report import Explorer

MOST_LISTED = 12


class InspectionMixin:
    """For estimators with the attributes of a clustering."""

    clustering_: Clustering
    labels_: IntArray
    cluster_persistence_: FloatArray
    n_clusters_: int

    def reliability(self) -> Reliability:
        """Measure how far to trust each cluster: the evidence for it, and whether half of the rows show it again.

        Nothing is trained or searched again, so this takes seconds for 100,000 rows. For the stability, 20 random
        halves of the rows are clustered by the same rule, in the same density tree. So it shows whether a cluster
        depends on few rows. It does not show whether other networks would find it: fit with another `random_state` for
        that.

        Returns
        -------
        Reliability
            Print it, read its arrays, or turn it into a table with `to_frame()`.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> from shade.data import make_blobs
        >>> X, _ = make_blobs(600, n_clusters=3, random_state=0)
        >>> model = DCTreeClustering().fit(X)
        >>> bool((model.reliability().evidence > model.reliability().limit).all())
        True
        """
        check_is_fitted(self)
        rule, tree = self.clustering_.rule, self.clustering_.dc_tree
        values = disco_samples(self.clustering_.points, self.labels_, min_samples=rule.min_samples, tree=tree)
        return measure_reliability(self.clustering_, values)

    def explore(self, samples: object = None, *, height: int = 900) -> Explorer:
        """Show the report of this model in a notebook.

        Parameters
        ----------
        samples : optional
            The rows of the fit, as a DataFrame or an array, as in `shade.report.write_report`. Their values are then in
            the output of the cell, and so in the file of the notebook.
        height : int, default=900
            Height in pixels.

        Returns
        -------
        shade.report.Explorer
            As the last line of a cell, it shows the report.
        """
        from shade.report import explore  # above this package; only this method needs it

        check_is_fitted(self)
        return explore(self, samples, height=height)  # type: ignore[arg-type]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def _repr_html_inner(self) -> str:
        """Return a summary of a fitted model for a notebook; before that, what scikit-learn shows."""
        if hasattr(self, "clustering_"):
            return summarise(repr(self), self.labels_, self.cluster_persistence_)
        return str(super()._repr_html_inner())  # type: ignore[misc]


def summarise(model: str, labels: IntArray, persistence: FloatArray) -> str:
    """Return a sentence and a table of the largest clusters as HTML; `model` is its text."""
    k = len(persistence)
    noise = float(np.mean(labels < 0))
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    shown = np.argsort(-sizes, kind="stable")[:MOST_LISTED].tolist()
    rows = "".join(
        f"<tr><td>{label}</td><td>{sizes[label]:,}</td><td>{sizes[label] / len(labels):.1%}</td>"
        f"<td>{persistence[label]:.2f}</td></tr>"
        for label in shown
    )
    heads = "".join(f"<th>{name}</th>" for name in ("cluster", "rows", "share", "persistence"))
    more = f"<p>and {k - len(shown)} smaller</p>" if k > len(shown) else ""
    return (
        f"<div><p><code>{escape(printable(model))}</code></p>"
        f"<p>{k} {'cluster' if k == 1 else 'clusters'} and {noise:.1%} noise in {len(labels):,} rows</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"
    )
