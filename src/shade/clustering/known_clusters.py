"""Clusters that agree with what is known of some rows.

Clusters that hold known rows of different groups are divided. Then clusters that hold rows of one group are joined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shade._base.arrays import BoolArray, FloatArray, IntArray
from shade.clustering.assignment import assign_nearest
from shade.clustering.known import Known
from shade.clustering.selection import FlatClustering, number_by_size
from shade.clustering.structure_tree import StructureTree
from shade.density.dc_tree import DCTree

MOST_OTHERS = 100  # known rows that each row of pairs alone is compared with; it only limits time


@dataclass(frozen=True)
class KnownClusters:
    """Clusters that agree with what is known, and the parts of which each of them is one or more."""

    flat: FlatClustering
    parts: FlatClustering


def constrain(
    found: FlatClustering,
    parts: FlatClustering,
    known: Known,
    tree: StructureTree,
    dc_tree: DCTree,
    points: FloatArray,
) -> KnownClusters:
    """Clusters changed so that they agree with what is known; unchanged if they do already.

    Parameters
    ----------
    found : FlatClustering
        Each cluster is one or more of the parts.
    parts : FlatClustering
    known : Known
    tree : StructureTree
        A cluster is divided into branches of it where each holds known rows of one group only.
    dc_tree : DCTree
        Decides which known rows are nearest to each other where only pairs are known.
    points : ndarray of shape (n_samples, n_columns)

    Returns
    -------
    KnownClusters
    """
    groups = _spread_to_equal_rows(_join_groups(found.labels, known, dc_tree, points), points)
    home = _divide(found.labels, groups, int(np.sum(known.label_of_group >= 0)), tree, points)
    leaving = tree.leaving_distances()
    pieces = _cut(found, home, leaving)
    group = np.unique(home[_first_rows(pieces)], return_inverse=True)[1]
    flat = pieces if len(np.unique(group)) == len(group) else _unite(pieces, group)
    return KnownClusters(flat, _cut(parts, home, leaving))


def _join_groups(labels: IntArray, known: Known, dc_tree: DCTree, points: FloatArray) -> IntArray:
    """The groups of known rows; those of pairs alone join the nearest of the same cluster that they may be with.

    So a cluster is only divided where a label or a pair demands it, and into as few parts as this finds.
    """
    groups, label = known.groups, known.label_of_group.copy()
    rows = np.flatnonzero((groups >= 0) & (labels >= 0))
    free = rows[label[groups[rows]] < 0]
    enemies: list[set[int]] = [set() for _ in label]
    for one, other in groups[known.cannot_link].tolist():
        enemies[one].add(other)
        enemies[other].add(one)
    into = np.arange(len(label))
    for one, other in _pairs_by_nearness(free, rows, labels, dc_tree, points):
        first, second = sorted((int(into[groups[one]]), int(into[groups[other]])))
        if first == second or second in enemies[first] or min(label[first], label[second]) >= 0:
            continue
        into[into == second] = first
        label[first] = max(label[first], label[second])
        enemies[first] |= enemies[second]
        for enemy in enemies[second]:
            enemies[enemy] = enemies[enemy] - {second} | {first}
    return np.append(into, -1)[groups]


def _pairs_by_nearness(
    free: IntArray, rows: IntArray, labels: IntArray, dc_tree: DCTree, points: FloatArray
) -> list[list[int]]:
    """Pairs of rows of one cluster, the first of them free: nearest in the tree first, then nearest in space."""
    parts, keys = [np.empty((0, 2), np.int64)], [np.empty((2, 0))]
    for one in free:
        others = rows[(labels[rows] == labels[one]) & (rows != one)]
        apart = np.square(points[others] - points[one]).sum(axis=1)
        reached = dc_tree.dc_distances_of_pairs(np.full(len(others), one), others)
        nearest = np.lexsort((others, apart, reached))[:MOST_OTHERS]
        parts.append(np.column_stack([np.full(len(nearest), one), others[nearest]]))
        keys.append(np.array([apart[nearest], reached[nearest]]))
    pairs, (apart, reached) = np.concatenate(parts), np.concatenate(keys, axis=1)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], apart, reached))
    nearest_first: list[list[int]] = pairs[order].tolist()
    return nearest_first


def _spread_to_equal_rows(groups: IntArray, points: FloatArray) -> IntArray:
    """Rows with equal points get one group: that of most of the known ones among them, the first of several.

    No clustering can tell such rows apart.
    """
    near = np.flatnonzero(np.isin(points[:, 0], points[groups >= 0, 0]))
    place = np.unique(points[near], axis=0, return_inverse=True)[1].reshape(-1)
    known = groups[near] >= 0
    n_groups = int(groups.max(initial=-1)) + 1
    found, count = np.unique(place[known] * n_groups + groups[near][known], return_counts=True)
    of_place = np.full(len(near), -1)
    for entry in np.lexsort((-found, count)):  # the last that is written stays
        of_place[found[entry] // n_groups] = found[entry] % n_groups
    spread = groups.copy()
    spread[near] = of_place[place]
    return spread


def _divide(labels: IntArray, groups: IntArray, n_labels: int, tree: StructureTree, points: FloatArray) -> IntArray:
    """A number for each row: rows of one group have one, and so has each cluster that holds no known row; −1 is noise.

    In a cluster that holds several groups, the largest branches that hold one group go with it, and other rows with the
    nearest row that belongs to a group. Known rows that are noise go to the cluster of their group. If there is none,
    those of a label, the first groups, are a cluster, and others stay noise.
    """
    n_clusters, n_groups = int(labels.max(initial=-1)) + 1, int(groups.max(initial=-1)) + 1
    inside = (groups >= 0) & (labels >= 0)
    pairs = np.unique(labels[inside] * n_groups + groups[inside])
    held = np.bincount(pairs // n_groups, minlength=n_clusters)
    number = np.append(n_groups + np.arange(n_clusters), -1)
    number[pairs // n_groups] = pairs % n_groups
    parts = number[labels]
    contested = np.append(held > 1, False)[labels]
    if contested.any():
        seeds = np.where(contested, _seeds_in_branches(labels, np.where(contested, groups, -1), held > 1, tree), -1)
        for cluster in np.flatnonzero(held > 1):
            rows = np.flatnonzero(labels == cluster)
            parts[rows] = assign_nearest(seeds[rows], points[rows])
    a_cluster = np.append(np.isin(np.arange(n_groups), parts) | (np.arange(n_groups) < n_labels), False)
    outside = (labels < 0) & a_cluster[groups]
    parts[outside] = groups[outside]
    return parts


def _seeds_in_branches(labels: IntArray, seeds: IntArray, divided: BoolArray, tree: StructureTree) -> IntArray:
    """Groups of rows, spread over the largest branches that hold one group, each within one divided cluster."""
    order, merges = tree.order, tree.merges
    cluster_along, seeds_along = labels[order], seeds[order]
    spread = seeds.copy()
    done = np.zeros(tree.n_candidates + 1, np.bool_)  # the last is above the root
    for candidate in range(tree.n_candidates):
        done[candidate] = done[tree.parent[candidate]]
        along = slice(merges.start[tree.node[candidate]], merges.stop[tree.node[candidate]])
        clusters = np.unique(cluster_along[along])
        clusters = clusters[clusters >= 0]
        if done[candidate] or len(clusters) != 1 or not divided[clusters[0]]:
            continue
        held = np.unique(seeds_along[along])
        held = held[held >= 0]
        if len(held) == 1:
            spread[order[along]] = held[0]
            done[candidate] = True
    return spread


def _cut(found: FlatClustering, home: IntArray, leaving: FloatArray) -> FlatClustering:
    """Clusters, and noise that has a home, cut so that each holds rows of one home; a piece lives as long as its whole.

    They are unchanged if nothing is cut.
    """
    inside = home >= 0
    pairs, piece = np.unique(np.column_stack([home, found.labels])[inside], axis=0, return_inverse=True)
    if len(pairs) == found.n_clusters and np.all(found.labels[inside] >= 0):
        return found
    k, pieces = len(pairs), np.full(len(home), -1)
    pieces[inside] = piece.reshape(-1)
    own = pieces[inside]
    origin = np.full(k, -1)
    origin[own] = found.labels[inside]
    strengths = np.where(found.labels >= 0, found.strengths, 1.0 / leaving)
    strongest = _largest(strengths[inside], own, k)
    scaled = np.where(inside, np.minimum(strengths / np.append(strongest, np.inf)[pieces], 1.0), 0.0)
    core = inside & (scaled == 1.0)
    # A piece of noise is a cluster as far as its densest row is from others; noise, −1, reads the last entries.
    death = np.append(found.death, 1.0)[origin] / strongest
    whole = (np.bincount(origin + 1, minlength=1) == 1)[origin + 1] & (origin >= 0)
    exemplar = np.zeros(len(pieces), np.bool_)
    exemplar[np.concatenate([np.empty(0, np.int64), *found.exemplars])] = True
    outskirts = found.outskirts & inside
    return number_by_size(
        replace(
            found,
            labels=pieces,
            strengths=scaled,
            stability=np.where(whole, np.append(found.stability, np.nan)[origin], np.nan),
            persistence=np.append(found.persistence, 0.0)[origin],
            death=death,
            limit=np.where(origin < 0, np.nextafter(death, np.inf), np.append(found.limit, 0.0)[origin]),
            exemplars=_rows_of_each(pieces, _with_every(pieces, k, exemplar & inside, core), k),
            outskirts=outskirts & ~_with_every(pieces, k, outskirts < inside, core),
        )
    )


def _unite(pieces: FlatClustering, group: IntArray) -> FlatClustering:
    """Clusters of one or more pieces each, with the same rows; the first piece of each is its largest."""
    k, count = int(group.max()) + 1, np.bincount(group)
    first = np.unique(group, return_index=True)[1]
    later = np.append(first[group] != np.arange(len(group)), False)
    exemplars = [
        np.concatenate([pieces.exemplars[piece] for piece in np.flatnonzero(group == label)]) for label in range(k)
    ]
    return number_by_size(
        replace(
            pieces,
            labels=np.append(group, -1)[pieces.labels],
            stability=np.where(count == 1, pieces.stability[first], np.nan),
            persistence=_largest(pieces.persistence, group, k),
            death=_largest(pieces.death, group, k),
            limit=_largest(pieces.limit, group, k),
            exemplars=tuple(np.sort(rows) for rows in exemplars),
            outskirts=pieces.outskirts | later[pieces.labels],
        )
    )


def _first_rows(clustering: FlatClustering) -> IntArray:
    """The first row of each cluster."""
    labels, rows = np.unique(clustering.labels, return_index=True)
    return rows[labels >= 0]


def _with_every(pieces: IntArray, k: int, some: BoolArray, core: BoolArray) -> BoolArray:
    """Some rows, and for each piece that has none of them the rows of its core."""
    lacking = np.append(np.bincount(pieces[some], minlength=k) == 0, False)
    chosen: BoolArray = some | (core & lacking[pieces])
    return chosen


def _rows_of_each(pieces: IntArray, some: BoolArray, k: int) -> tuple[IntArray, ...]:
    """Some rows as one array for each piece."""
    rows = np.flatnonzero(some)
    by_piece = rows[np.argsort(pieces[rows], kind="stable")]
    return tuple(np.split(by_piece, np.cumsum(np.bincount(pieces[rows], minlength=k))[:-1]))


def _largest(values: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """The largest value of each group."""
    largest = np.zeros(n_groups)
    np.maximum.at(largest, group, values)
    return largest
