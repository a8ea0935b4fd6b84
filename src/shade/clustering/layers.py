"""A few nested clusterings, from coarse to fine: clusters are joined, or divided into the branches inside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shade._base.arrays import FloatArray, IntArray
from shade._base.extras import need
from shade._kernels import condense
from shade.clustering.between import assign_between
from shade.clustering.clustering import Clustering
from shade.clustering.joining import join_clusters, joining_order
from shade.clustering.selection import FlatClustering, flatten_candidates, number_by_size
from shade.clustering.structure_tree import StructureTree


@dataclass(frozen=True)
class Layers:
    """Nested clusterings, the coarsest first: each cluster is inside one cluster of the layer before.

    Attributes
    ----------
    clusterings : tuple of FlatClustering
    chosen : int
        The layer that has the labels of the model.
    """

    clusterings: tuple[FlatClustering, ...] = field(repr=False)
    chosen: int

    @property
    def labels(self) -> list[IntArray]:
        """The labels of each layer, the coarsest first; −1 is noise.

        `labels[::-1]` begins with the finest layer, as in Toponymy, EVoC and datamapplot.
        """
        return [layer.labels for layer in self.clusterings]

    def of_rows(self, rows: IntArray) -> Layers:
        """Return the same layers for some of the rows."""
        layers = (
            replace(
                flat, labels=flat.labels[rows], strengths=flat.strengths[rows],
                outlier_scores=flat.outlier_scores[rows], outskirts=flat.outskirts[rows],
            )
            for flat in self.clusterings
        )  # fmt: skip
        return replace(self, clusterings=tuple(layers))

    @cached_property
    def parents(self) -> list[IntArray]:
        """For each layer, the cluster of the layer before that contains each cluster; −1 in the coarsest layer."""
        parents = [np.full(self.clusterings[0].n_clusters, -1)]
        for coarse, fine in zip(self.labels, self.labels[1:], strict=False):
            clusters, first_row = np.unique(fine, return_index=True)
            parents.append(coarse[first_row[clusters >= 0]])
        return parents

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per cluster of each layer: its parent, its size and its persistence."""
        pandas = need("pandas", "io", "to_frame")
        tables = [
            pandas.DataFrame(
                {
                    "layer": layer,
                    "cluster": np.arange(flat.n_clusters),
                    "parent": self.parents[layer],
                    "size": np.bincount(flat.labels + 1, minlength=flat.n_clusters + 1)[1:],
                    "persistence": flat.persistence,
                }
            )
            for layer, flat in enumerate(self.clusterings)
        ]
        return pandas.concat(tables, ignore_index=True)


def find_layers(clustering: Clustering) -> Layers:
    """Find the layers around a clustering, which is one of them.

    Coarser layers join the nearest clusters, as a smaller number of clusters does. A number of clusters is a layer if
    its score is higher than that of every smaller number and of the next larger one, and if no better layer has
    less than twice as many clusters. Finer layers divide clusters into real branches: first into the most stable
    branches inside, then into those that contain no others.

    Parameters
    ----------
    clustering : Clustering

    Returns
    -------
    Layers

    Examples
    --------
    >>> import numpy as np
    >>> from shade.clustering import ClusterRule, cluster, find_layers
    >>> centres = np.add.outer([0.0, 500.0, 1500.0], [0.0, 20.0, 45.0, 75.0]).ravel()
    >>> points = (centres[:, None] + np.arange(20) / 10).reshape(-1, 1)
    >>> layers = find_layers(cluster(points, ClusterRule(min_cluster_size=12)))
    >>> [int(labels.max()) + 1 for labels in layers.labels]
    [3, 12]
    >>> layers.parents[1].tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    """
    base = clustering.automatic if clustering.joins else clustering
    flat = base.parts if clustering.joins else base.flat
    tree, found, chosen = base.automatic.structure_tree, [flat], clustering.flat.n_clusters
    if flat.n_clusters > 1:
        order = joining_order(flat, base.links, base.dc_tree, tree.floor)
        numbers = _stable_numbers(_score_numbers(base, flat, order, tree))
        counts = sorted({*numbers, chosen, flat.n_clusters})
        found = [
            clustering.flat if number == chosen else join_clusters(flat, order, number, base.dc_tree)
            for number in counts
        ]
    for value in (tree.stability, (tree.n_leaves == 1).astype(np.float64)):
        finer = _divide(base, found[-1], tree, value)
        if finer is not None:
            found.append(finer)
    return Layers(tuple(found), [layer.n_clusters for layer in found].index(chosen))


def _score_numbers(clustering: Clustering, flat: FlatClustering, order: IntArray, tree: StructureTree) -> FloatArray:
    """Return the scores of the clusterings with 2, 3, … clusters, joined in a given order.

    The score of a cluster is −log(fraction of rows) · rows · depth². The depth compares the distance at which it meets
    the next one with the distances at which its rows leave their innermost branches. Only the first distance depends on
    the number of clusters.
    """
    k, group = flat.n_clusters, np.arange(flat.n_clusters)
    meeting = clustering.dc_tree.dc_distances(flat.branch_rows)
    leaving = np.log(tree.leaving_distances())
    by_label = np.argsort(flat.labels, kind="stable")
    rows = np.split(leaving[by_label], np.searchsorted(flat.labels[by_label], group))[1:]  # the first is noise

    def measure(cluster: int) -> float:
        own = group == cluster
        birth = np.log(max(meeting[np.ix_(own, ~own)].min(), tree.floor))
        size, depth = len(rows[cluster]), np.maximum(birth - rows[cluster], 0.0).mean()
        return float(np.log(tree.n_counted / size) * size * depth**2)

    each = np.array([measure(cluster) for cluster in range(k)])
    totals = [each.sum()]
    for kept, joined in order[: k - 2]:
        group[group == joined] = kept
        rows[kept] = np.concatenate([rows[kept], rows[joined]])
        each[kept], each[joined] = measure(kept), 0.0
        totals.append(each.sum())
    return np.array(totals[::-1])


def _stable_numbers(scores: FloatArray) -> list[int]:
    """Return the numbers of clusters that are layers, from 2 on, without that of the clustering itself."""
    last, finest = len(scores) + 1, scores[-1]
    found: list[int] = []
    highest_before = np.append(0.0, np.maximum.accumulate(scores))
    for place in range(len(scores) - 2, -1, -1):
        number, own = place + 2, scores[place] * (1.0 - condense.TIE)
        better_than_finest = not found and own > finest
        if own > max(highest_before[place], scores[place + 1]) and (better_than_finest or 2 * number <= last):
            found.append(number)
            last = number
    return found


def _divide(
    clustering: Clustering, flat: FlatClustering, tree: StructureTree, value: FloatArray
) -> FlatClustering | None:
    """Replace clusters by the candidates inside them with the highest total value; None if none can be divided."""
    along = flat.labels[tree.order]
    changes = np.append(0, np.cumsum(along[1:] != along[:-1]))
    start, stop = tree.merges.start[tree.node], tree.merges.stop[tree.node]
    home = np.where(changes[start] == changes[stop - 1], along[start], -1)  # the cluster that holds a candidate
    topmost = (home >= 0) & (np.append(home, -1)[tree.parent] != home)  # the parent −1 of the root reads the last
    alone = topmost & (np.bincount(home[topmost], minlength=flat.n_clusters + 1)[home] == 1)
    selected = np.empty(tree.n_candidates, np.bool_)
    condense.select_candidates(tree.parent, np.where((home >= 0) & ~alone, value, -np.inf), selected)
    several = np.bincount(home[selected], minlength=flat.n_clusters) > 1
    chosen = np.flatnonzero(selected & np.append(several, False)[home])
    if not len(chosen):
        return None
    inside = flatten_candidates(tree, chosen)
    divided = np.append(several, False)[flat.labels]
    if clustering.rule.cut_distance is None and not clustering.rule.between_noise:
        inside = assign_between(tree, inside, clustering.links, np.where(divided, flat.labels, -1))
    kept = np.flatnonzero(~several)
    number = np.full(flat.n_clusters + 1, -1)
    number[kept] = np.arange(len(kept))
    return number_by_size(
        FlatClustering(
            labels=np.where(inside.labels >= 0, inside.labels + len(kept), number[flat.labels]),
            strengths=np.where(divided, inside.strengths, flat.strengths),
            outlier_scores=flat.outlier_scores,
            stability=np.append(flat.stability[kept], inside.stability),
            persistence=np.append(flat.persistence[kept], inside.persistence),
            death=np.append(flat.death[kept], inside.death),
            limit=np.append(flat.limit[kept], inside.limit),
            exemplars=(*(flat.exemplars[cluster] for cluster in kept), *inside.exemplars),
            outskirts=np.where(divided, inside.outskirts, flat.outskirts),
        )
    )
