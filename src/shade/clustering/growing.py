"""Growing data: new points join those that were clustered, and clusters keep their numbers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade.clustering.assignment import Attachment, label_new_points
from shade.clustering.clustering import Clustering, cluster
from shade.clustering.links import sort_links
from shade.clustering.numbering import keep_numbers
from shade.clustering.selection import select_clusters
from shade.clustering.shown import Shown
from shade.clustering.structure_tree import StructureTree
from shade.density.dc_tree import DCTree
from shade.density.dimension import dimension_of_rows
from shade.density.grouped_tree import grouped_spanning_tree, tree_of_rows

USUAL = 0.95  # share of the rows before that say what is usual


def grow(
    clustering: Clustering, points: FloatArray, attachment: Attachment, n_jobs: int | None = None, device: str = "cpu"
) -> Clustering:
    """The clustering of the points that were clustered and of new ones after them, by the same rule.

    It is the clustering of all these points, but clusters that go on keep their numbers. What is known of rows stays
    known. What only the data that the points are an embedding of can show stays as it is: a new point is background if
    the point that it reaches first is, and the links of the data stay. If the clusters are those of the data, a new
    point far outside of them is background too, unless it is in a new cluster. `attachment` says where new points join.
    """
    joint = np.concatenate([clustering.points, points])
    known = None if clustering.known is None else clustering.known.with_unknown(len(points))
    free = replace(clustering.rule, n_clusters=None, cut_distance=None)
    if len(clustering.links) < len(clustering.points):  # they are those of the points alone: there is no data behind
        grown = cluster(joint, free, settled=clustering.settled, n_jobs=n_jobs, device=device)
    else:
        grown = _grow_embedding(clustering, joint, attachment, n_jobs, device)
    grown = replace(grown, rule=clustering.rule, known=known)
    return replace(grown, numbers=keep_numbers(clustering.flat, grown.flat.labels))


def _grow_embedding(
    clustering: Clustering, joint: FloatArray, attachment: Attachment, n_jobs: int | None, device: str
) -> Clustering:
    rule = replace(clustering.rule, n_clusters=None, cut_distance=None)  # these must not change what the data shows
    shown, n_new = clustering.shown, len(joint) - len(clustering.points)
    tree_of = partial(tree_of_rows, joint, rule.min_samples, n_jobs=n_jobs, device=device)
    groups = np.append(shown.groups, shown.groups[attachment.row])
    nothing = np.minimum(groups, 0)  # but background
    spanning = grouped_spanning_tree(tree_of, nothing)
    links = sort_links([spanning.edges, _spanning_links(clustering.links)], [joint])
    dimension = (
        1.0 if rule.selection != "information" else dimension_of_rows(joint, np.flatnonzero(groups >= 0), n_jobs)
    )
    outside = np.zeros(len(joint), np.bool_)
    tree = DCTree.from_spanning_tree(spanning)
    grown = Clustering(joint, rule, dimension, tree, links, Shown(nothing, outside), clustering.settled)
    if not shown.decides:
        return grown
    own, with_between = (
        replace(clustering, rule=replace(rule, between_noise=noise), known=None, numbers=None).flat
        for noise in (True, False)
    )
    outside = np.append(shown.outside, (label_new_points(own, attachment) < 0) & (groups[-n_new:] >= 0))
    far = np.append(np.zeros_like(shown.outside), label_new_points(with_between, attachment) < 0)
    groups = _with_new_groups(groups, n_new, grown.structure_tree)
    of_old_groups = groups <= int(shown.groups.max())
    far &= of_old_groups & (groups.max() > 0)
    if far.any():  # a group would take in rows at any distance, since no other group can reach them
        groups = np.where(far, -1, groups)
        spanning = grouped_spanning_tree(tree_of, np.minimum(groups, 0))
        grown = replace(grown, links=sort_links([spanning.edges, _spanning_links(clustering.links)], [joint]))
    outside &= of_old_groups & (groups.max() > 0) & (groups >= 0)
    tree = DCTree.from_spanning_tree(grouped_spanning_tree(tree_of, groups, spanning))
    strongest = shown.strongest_split if groups.max() == 0 else None
    return replace(grown, dc_tree=tree, shown=Shown(groups, outside, True, strongest))


def _with_new_groups(groups: IntArray, n_new: int, tree: StructureTree) -> IntArray:
    """Groups of the data, and a new one for each cluster of new rows with too few rows from before to be theirs."""
    found, groups, fresh = select_clusters(tree).labels, groups.copy(), np.arange(len(groups)) >= len(groups) - n_new
    for label in range(int(found.max(initial=-1)) + 1):
        rows = (found == label) & (groups >= 0)
        if np.sum(rows & ~fresh) < tree.test.smallest <= np.sum(rows & fresh):
            groups[rows & fresh] = groups.max() + 1
    return groups


def share_far_away(clustering: Clustering, attachment: Attachment) -> float:
    """The share of new points that are farther from the others than 95 % of the points that were clustered."""
    steps = clustering.dc_tree.reachability
    joining = np.minimum(steps, np.append(steps[1:], np.inf))
    return float(np.mean(attachment.distance > np.quantile(joining, USUAL)))


def _spanning_links(links: AnyArray) -> IntArray:
    """Of links in their order, those that join rows that no link before has connected: labels spread over no others."""
    n = int(links.max()) + 1
    pairs, first = np.unique(np.sort(links, axis=1), axis=0, return_index=True)
    ranks = coo_array((first + 1.0, (pairs[:, 0], pairs[:, 1])), (n, n)).tocsr()
    return links[np.sort(minimum_spanning_tree(ranks).data.astype(np.int64)) - 1].astype(np.int64)
