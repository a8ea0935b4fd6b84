"""How far to trust a cluster: how much denser it is than its borders, and whether half of the rows show it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._base.extras import need
from shade.clustering.clustering import Clustering
from shade.clustering.selection import FlatClustering
from shade.clustering.shown import Shown

RESAMPLES = 20
SHARE = 0.5  # of the rows in a resample


@dataclass(frozen=True)
class Reliability:
    """Figures for each cluster.

    Attributes
    ----------
    size : ndarray of shape (n_clusters,)
        Number of rows.
    persistence : ndarray of shape (n_clusters,)
        Fraction of its range of distances over which the cluster exists.
    evidence : ndarray of shape (n_clusters,)
        How much denser the cluster is than the place where it meets the next one: the mean over its rows of the
        logarithm of the ratio of both distances. NaN if there is only one cluster.
    limit : ndarray of shape (n_clusters,)
        The evidence that a branch of this size needs so as not to be chance. NaN if the clusters were not chosen by
        this test.
    stability : ndarray of shape (n_clusters,)
        How well clusters of random halves of the rows agree with this one: the mean Jaccard index with the most similar
        cluster. 1 if it is always found again.
    separation : ndarray of shape (n_clusters,)
        Mean DISCO value of its rows, from −1 to 1; see `shade.metrics.disco_samples`.
    """

    size: IntArray
    persistence: FloatArray
    evidence: FloatArray
    limit: FloatArray
    stability: FloatArray
    separation: FloatArray

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each cluster."""
        frame = need("pandas", "io", "to_frame").DataFrame(vars(self))
        frame.index.name = "cluster"
        return frame

    def __str__(self) -> str:
        lines = ["cluster     rows persistence evidence needed stability  DISCO"]
        figures = zip(self.persistence, self.evidence, self.limit, self.stability, self.separation, strict=True)
        lines += [
            f"{cluster:>7} {size:>8,} {each[0]:>11.2f} {each[1]:>8.2f} {each[2]:>6.2f} {each[3]:>9.2f} {each[4]:>6.2f}"
            for cluster, (size, each) in enumerate(zip(self.size, figures, strict=True))
        ]
        return "\n".join(lines)


def measure_reliability(clustering: Clustering, disco: FloatArray, seed: int = 0) -> Reliability:
    """Measure all figures; `disco` are the DISCO values of the rows."""
    flat = clustering.flat
    sizes = np.bincount(flat.labels[flat.labels >= 0], minlength=flat.n_clusters)
    means = np.bincount(flat.labels[flat.labels >= 0], disco[flat.labels >= 0], minlength=flat.n_clusters) / sizes
    evidence, limit = _evidence(clustering, flat)
    return Reliability(sizes, flat.persistence, evidence, limit, _stability(clustering, sizes, seed), means)


def _evidence(clustering: Clustering, flat: FlatClustering) -> tuple[FloatArray, FloatArray]:
    """Return the evidence of each cluster against the next one that it meets, and the limit of the test."""
    k, tree = flat.n_clusters, clustering.structure_tree
    nothing = np.full(k, np.nan)
    if k < 2:
        return nothing, nothing
    meeting = clustering.dc_tree.dc_distances(flat.branch_rows)
    np.fill_diagonal(meeting, np.inf)
    birth = np.log(np.maximum(meeting.min(axis=1), tree.floor))
    inside = flat.branch_labels >= 0  # without outskirts, which the test does not know
    own = flat.branch_labels[inside]
    leaving = np.log(tree.leaving_distances()[inside])
    rows = np.bincount(own, minlength=k)
    mean = np.bincount(own, leaving, minlength=k) / rows
    if not clustering.of_branches or clustering.rule.selection != "information":
        return birth - mean, nothing
    free = clustering.automatic.structure_tree  # for a given number of clusters, the test is less strict
    n_real = int(free.n_leaves[0])
    return birth - mean, np.array([free.test.limit(size, n_real) for size in rows.tolist()])


def _stability(clustering: Clustering, sizes: IntArray, seed: int) -> FloatArray:
    """Return the mean Jaccard index of each cluster and the most similar one, over random halves of the rows."""
    labels, n = clustering.flat.labels, len(clustering.flat.labels)
    k, random = len(sizes), np.random.default_rng(seed)
    sums, counts = np.zeros(k), np.zeros(k)
    for _ in range(RESAMPLES):
        rows = np.sort(random.choice(n, max(2, int(SHARE * n)), replace=False))
        again = _among(clustering, rows).flat
        before, after = labels[rows], again.labels
        both = (before >= 0) & (after >= 0)
        shared = np.zeros((k, max(again.n_clusters, 1)))
        np.add.at(shared, (before[both], after[both]), 1)
        old = np.bincount(before[before >= 0], minlength=k)
        new = np.bincount(after[after >= 0], minlength=shared.shape[1])
        union = old[:, None] + new - shared
        found = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0).max(axis=1)
        sums += np.where(old > 0, found, 0.0)
        counts += old > 0
    return sums / np.maximum(counts, 1)


def _among(clustering: Clustering, rows: IntArray) -> Clustering:
    """Return the clustering of some of the rows, by the same rule and the same distances: nothing is measured again."""
    place = np.full(len(clustering.flat.labels), -1)
    place[rows] = np.arange(len(rows))
    tree, shown, rule = clustering.dc_tree.among(rows), clustering.shown, clustering.rule
    links = place[clustering.links]
    along = np.argsort(tree.reachability[1:], kind="stable")  # these connect what is left
    path = np.column_stack([tree.order[:-1], tree.order[1:]])[along]
    kept = np.vstack([links[(links >= 0).all(axis=1)], path]).astype(clustering.links.dtype)
    smallest = max(2, round(SHARE * clustering.structure_tree.test.smallest))
    part = Shown(shown.groups[rows], shown.outside[rows], shown.decides, shown.strongest_split)
    return replace(
        clustering, points=clustering.points[rows], dc_tree=tree, links=kept, shown=part, known=None, numbers=None,
        rule=replace(rule, min_cluster_size=smallest),
    )  # fmt: skip
