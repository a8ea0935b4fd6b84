"""From candidates to clusters: the most stable ones, a given number of clusters, or a cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from shade._base.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shade._kernels import condense
from shade.clustering.structure_tree import BranchTree, StructureTree


@dataclass(frozen=True)
class FlatClustering:
    """Disjoint clusters from a tree; cluster 0 is the largest.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each row; −1 is noise.
    strengths : ndarray of shape (n_samples,)
        Membership strength: 1 in the core of a cluster, lower towards its border, 0 for noise.
    outlier_scores : ndarray of shape (n_samples,)
        0 in the densest part of a branch; the earlier a row leaves it, the nearer to 1.
    stability : ndarray of shape (n_clusters,)
        Stability by the rule of the tree; NaN for clusters that are no candidates, for example from a cut.
    persistence : ndarray of shape (n_clusters,)
        1 − death / birth: the fraction of its distance range over which a cluster exists.
    death : ndarray of shape (n_clusters,)
        The distance at which the branch of a cluster splits or falls apart: rows that stay until then are its core.
    limit : ndarray of shape (n_clusters,)
        A point joins a cluster if it reaches one of its points within less than this distance.
    exemplars : tuple of ndarray
        For each cluster the rows in the densest part of each of its branches.
    outskirts : ndarray of bool of shape (n_samples,)
        Rows of a cluster that are not in its branch of the tree.
    """

    labels: IntArray
    strengths: FloatArray
    outlier_scores: FloatArray
    stability: FloatArray
    persistence: FloatArray
    death: FloatArray
    limit: FloatArray
    exemplars: tuple[IntArray, ...]
    outskirts: BoolArray

    def to_arrays(self) -> dict[str, AnyArray]:
        """Plain arrays that `from_arrays` reads."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays["exemplars"] = np.concatenate([np.empty(0, np.int64), *self.exemplars])
        arrays["outskirts"] = np.flatnonzero(self.outskirts)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, AnyArray]) -> FlatClustering:
        """Rebuild the clustering from the arrays of `to_arrays`. The cluster of an exemplar is its label."""
        labels = arrays["labels"][arrays["exemplars"]]
        by_label = arrays["exemplars"][np.argsort(labels, kind="stable")][np.sum(labels < 0) :]
        ends = np.cumsum(np.bincount(labels[labels >= 0], minlength=len(arrays["limit"])))
        exemplars = tuple(np.split(by_label, ends)[:-1])
        outskirts = np.zeros(len(arrays["labels"]), np.bool_)
        outskirts[arrays["outskirts"]] = True
        return cls(**{**arrays, "exemplars": exemplars, "outskirts": outskirts})  # type: ignore[arg-type]

    def without(self, noise: BoolArray) -> FlatClustering:
        """The same clusters with some rows made noise."""
        return replace(
            self,
            labels=np.where(noise, -1, self.labels),
            strengths=np.where(noise, 0.0, self.strengths),
            exemplars=tuple(rows[~noise[rows]] for rows in self.exemplars),
            outskirts=self.outskirts & ~noise,
        )

    @property
    def branch_labels(self) -> IntArray:
        """The labels of rows in branches of the tree only; outskirts are −1, like noise."""
        return np.where(self.outskirts, -1, self.labels)

    @property
    def branch_rows(self) -> IntArray:
        """The first row in the branch of each cluster."""
        labels, rows = np.unique(self.branch_labels, return_index=True)
        return rows[labels >= 0]

    @property
    def n_clusters(self) -> int:
        """Number of clusters, without noise."""
        return len(self.limit)


def select_clusters(tree: StructureTree) -> FlatClustering:
    """Return the clustering with the highest total stability."""
    selected = np.empty(tree.n_candidates, np.bool_)
    condense.select_candidates(tree.parent, tree.stability, selected)
    return flatten_candidates(tree, np.flatnonzero(selected))


def select_n_clusters(tree: StructureTree, n_clusters: int) -> FlatClustering:
    """Return the most stable clustering with a given number of clusters.

    A choice is a set of that many candidates, none inside another. Choices that cover all branches are preferred. If a
    split into several branches at one distance makes that impossible, as few branches as possible are left out.
    """
    check_number(tree, n_clusters)
    return _flatten_number(tree, _Choices.of(tree, n_clusters), n_clusters)


def select_each_number(tree: StructureTree, most: int) -> Iterator[FlatClustering]:
    """Yield the most stable clusterings with 1, 2, … `most` clusters, one at a time."""
    check_number(tree, most)
    choices = _Choices.of(tree, most)
    return (_flatten_number(tree, choices, n_clusters) for n_clusters in range(1, most + 1))


def total_stabilities(tree: StructureTree, most: int) -> FloatArray:
    """Total stability of the most stable clusterings with 1, 2, … `most` clusters."""
    check_number(tree, most)
    totals = _Choices.of(tree, most).value[0][1 : most + 1].copy()
    totals[0] = 0.0  # one cluster with all points has no information
    return totals


def cut_at_distance(tree: StructureTree, distance: float) -> FlatClustering:
    """Return the clusters of a DBSCAN* cut: large enough groups of points that reach each other within a distance."""
    merges = tree.merges
    parting = np.append(merges.height, np.inf)[merges.parent]
    nodes = np.flatnonzero((merges.height <= distance) & (parting > distance) & (merges.size >= tree.test.smallest))
    return flatten_nodes(tree, nodes, np.full(len(nodes), np.nextafter(distance, np.inf)))


def find_branches(tree: StructureTree, labels: IntArray) -> tuple[IntArray, BoolArray]:
    """Return for each label the node of the merge tree with exactly its rows, and whether there is such a node."""
    n, k, merges = len(tree.order), int(labels.max()) + 1, tree.merges
    along = labels[tree.order]
    positions = np.flatnonzero(along >= 0)
    first, last = np.full(k, n), np.full(k, -1)
    np.minimum.at(first, along[positions], positions)
    np.maximum.at(last, along[positions], positions)
    found = np.lexsort((merges.stop, merges.start))
    keys = merges.start[found] * (n + 1) + merges.stop[found]
    wanted = first * (n + 1) + last + 1
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    whole = np.bincount(along[positions], minlength=k) == last + 1 - first
    return found[places], (keys[places] == wanted) & whole


def check_number(tree: StructureTree, n_clusters: int) -> None:
    """Raise an error if the tree cannot give this number of clusters."""
    available = int(tree.n_leaves[0])
    if not 1 <= n_clusters <= available:
        raise ValueError(
            f"The 'n_clusters' parameter must be an int in the range [1, {available}], the number of separate "
            f"branches with at least {tree.test.smallest} points in this tree. Got {n_clusters} instead."
        )


@dataclass(frozen=True)
class _Choices:
    """For each candidate, the best choices of up to `most` candidates at or below it.

    The best choice covers most childless candidates; among these, it has the highest stability. It is in `value`, by
    candidate and number.
    """

    children: list[list[int]]
    value: list[FloatArray]
    splits: list[list[IntArray]]

    @classmethod
    def of(cls, tree: StructureTree, most: int) -> _Choices:
        """Build the choices by dynamic programming, from the leaves of the tree up."""
        children: list[list[int]] = [[] for _ in range(tree.n_candidates)]
        for candidate in range(1, tree.n_candidates):
            children[tree.parent[candidate]].append(candidate)
        value: list[FloatArray] = [np.empty(0)] * tree.n_candidates
        covered: list[IntArray] = [np.empty(0, np.int64)] * tree.n_candidates
        splits: list[list[IntArray]] = [[] for _ in range(tree.n_candidates)]
        for candidate in range(tree.n_candidates - 1, -1, -1):
            best, cover = np.zeros(1), np.zeros(1, np.int64)
            for child in children[candidate]:
                limit = min(most, len(best) - 1 + len(value[child]) - 1)
                merged, merged_cover = np.empty(limit + 1), np.empty(limit + 1, np.int64)
                split = np.empty(limit + 1, np.int64)
                condense.merge_choices(best, cover, value[child], covered[child], limit, merged, merged_cover, split)
                splits[candidate].append(split)
                best, cover = merged, merged_cover
            if len(best) == 1:
                best, cover = np.append(best, -np.inf), np.append(cover, -1)
            leaves = int(tree.n_leaves[candidate])
            if (leaves, tree.stability[candidate]) >= (int(cover[1]), best[1]):
                best[1], cover[1] = tree.stability[candidate], leaves
                splits[candidate].append(np.empty(0, np.int64))  # marks that one cluster is the candidate itself
            value[candidate], covered[candidate] = best, cover
        return cls(children, value, splits)

    def read(self, n_clusters: int) -> IntArray:
        """Return the candidates of the best choice of `n_clusters`."""
        chosen: list[int] = []
        pending = [(0, n_clusters)]
        while pending:
            candidate, wanted = pending.pop()
            splits = self.splits[candidate]
            if wanted == 1 and splits and len(splits[-1]) == 0:
                chosen.append(candidate)
                continue
            for child, split in reversed(list(zip(self.children[candidate], splits, strict=False))):
                if wanted == 0:
                    break
                before = int(split[wanted])
                pending.append((child, wanted - before))
                wanted = before
        return np.array(sorted(chosen), dtype=np.int64)


def _flatten_number(tree: StructureTree, choices: _Choices, n_clusters: int) -> FlatClustering:
    if n_clusters == 1:
        root = len(tree.merges.height) - 1
        if tree.node[0] != root:  # the root of the paper's structure tree may have fewer rows than the data
            return flatten_nodes(tree, np.array([root]))
        return replace(flatten_candidates(tree, np.array([0])), stability=np.array([np.nan]))
    return flatten_candidates(tree, choices.read(n_clusters))


def flatten_candidates(tree: StructureTree, chosen: IntArray) -> FlatClustering:
    """Make clusters from candidates of the tree, none inside another."""
    birth, death = tree.birth[chosen], tree.death[chosen]
    return _flatten(tree, tree.branches, tree.node[chosen], birth, death, birth, tree.stability[chosen])


def flatten_nodes(tree: StructureTree, nodes: IntArray, limit: FloatArray | None = None) -> FlatClustering:
    """Make clusters from nodes of the merge tree that are no candidates, and so have no stability.

    Such a node need not be inside a real branch, so branches by size define when its rows leave.
    """
    merges = tree.merges
    birth = np.append(merges.height, np.inf)[merges.parent[nodes]]
    limit = birth if limit is None else limit
    return _flatten(tree, tree.size_branches, nodes, birth, tree.ends[nodes], limit, np.full(len(nodes), np.nan))


def _flatten(
    tree: StructureTree,
    branches: BranchTree,
    nodes: IntArray,
    birth: FloatArray,
    death: FloatArray,
    limit: FloatArray,
    stability: FloatArray,
) -> FlatClustering:
    """Number the clusters by size and describe each row; `branches` give the distances at which rows leave."""
    merges, order, floor = tree.merges, tree.order, tree.floor
    first_row = [order[merges.start[node] : merges.stop[node]].min() for node in nodes]
    by_size = np.lexsort((first_row, -merges.size[nodes]))
    labels = np.full(len(order), -1)
    strengths = np.zeros(len(order))
    leaving = np.maximum(branches.leaving, floor)
    death = np.maximum(death, floor)
    exemplars = []
    densest = _densest_in_branches(branches)
    for label, cluster in enumerate(by_size):
        members = slice(merges.start[nodes[cluster]], merges.stop[nodes[cluster]])
        rows = order[members]
        labels[rows] = label
        strengths[rows] = np.minimum(death[cluster] / leaving[members], 1.0)
        exemplars.append(np.sort(rows[densest[members]]))
    top = max(float(merges.height[-1]), floor)
    persistence = 1.0 - np.minimum(death / np.clip(birth, floor, top), 1.0)
    # Also if all points are one cluster, a new point must be at most as far away as they are from each other.
    limit = np.minimum(limit, np.nextafter(top, np.inf))
    deepest = np.maximum(tree.branches.deepest, floor)[tree.branches.point_branch]
    outlier_scores = np.empty(len(order))
    outlier_scores[order] = 1.0 - deepest / np.maximum(tree.branches.leaving, floor)
    return FlatClustering(
        labels, strengths, outlier_scores, stability[by_size], persistence[by_size], death[by_size],
        limit[by_size], tuple(exemplars), np.zeros(len(order), np.bool_),
    )  # fmt: skip


def _densest_in_branches(branches: BranchTree) -> BoolArray:
    """Return which positions of the order are in the densest part of a childless branch."""
    childless = np.ones(len(branches.parent), np.bool_)
    childless[branches.parent[1:]] = False
    own = branches.point_branch
    return childless[own] & (branches.leaving <= branches.deepest[own])


def number_by_size(clustering: FlatClustering) -> FlatClustering:
    """The same clusters, numbered from the largest on."""
    n, k = len(clustering.labels), clustering.n_clusters
    size = np.bincount(clustering.labels + 1, minlength=k + 1)[1:]
    first_row = np.empty(k + 1, np.int64)
    first_row[clustering.labels[::-1]] = np.arange(n - 1, -1, -1)  # of several writes, the last one stays
    by_size = np.lexsort((first_row[:k], -size))
    number = np.append(np.argsort(by_size), -1)  # noise, −1, reads the last entry
    return replace(
        clustering,
        labels=number[clustering.labels],
        stability=clustering.stability[by_size],
        persistence=clustering.persistence[by_size],
        death=clustering.death[by_size],
        limit=clustering.limit[by_size],
        exemplars=tuple(clustering.exemplars[label] for label in by_size),
    )
