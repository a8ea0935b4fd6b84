"""The outskirts of clusters: rows in no branch that was chosen, and yet no noise.

A branch of the tree ends where it meets another, so how much of a cluster it holds depends on how near the next cluster
is, not on the rows. What lies beyond is of two kinds: the sparser rows around a cluster, and noise. The distances at
which rows leave the tree tell them apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from shade._arrays import AnyArray, BoolArray, FloatArray, IntArray
from shade.stability.links import follow_links
from shade.stability.selection import FlatClustering
from shade.stability.structure_tree import StructureTree

WHISKER, FENCE = 1.5, 3.0  # Tukey's: what lies so many quartile ranges beyond the quartiles is outside, or far out
CLEAR_VALLEY = 0.8  # of the lower of the heights on both sides of it
BINS = 255  # odd, or the quartiles would lie on edges of bins, where rows tied with them fall on either side
EQUAL = 1e-6  # distances of which the logarithms differ by less


def with_outskirts(
    tree: StructureTree,
    clustering: FlatClustering,
    links: AnyArray,
    groups: IntArray,
    firm: BoolArray | None = None,
    limit: FloatArray | None = None,
) -> FlatClustering:
    """The same clusters with the rows around them that are no noise; cluster 0 is the largest again.

    A row outside leads to a cluster over links. It is one of its outskirts if it leaves the tree within the limit of
    the cluster. Rows of branches that were left out are not outside any cluster, but something else. A branch that
    chance explains may be one of noise, which is sparser: its outskirts end where those of firm clusters do by their
    median, or before, and it has none where nothing lies around firm clusters.

    Parameters
    ----------
    tree : StructureTree
    clustering : FlatClustering
        Clusters that are branches of the tree.
    links : ndarray of shape (n_links, 2)
        Pairs of rows, in the order in which they join.
    groups : ndarray of shape (n_samples,)
        Rows of different groups never come together; those of −1 are noise whatever the tree says.
    firm : ndarray of bool of shape (n_clusters,), optional
        Which clusters are more than chance, all if None; of no matter where limits are known.
    limit : ndarray of shape (n_clusters,), optional
        Where the outskirts of each cluster end if that is known; the same as in `clustering` where there are none.
    """
    outside = (clustering.labels < 0) & (groups >= 0) & ~_left_out(tree, clustering)
    if clustering.n_clusters == 0 or not outside.any():
        return clustering
    floor, top = tree.floor, max(float(tree.merges.height[-1]), tree.floor)
    leaving = tree.leaving_distances()
    if groups.any():
        links = links[(groups[links[:, 0]] == groups[links[:, 1]]) & (groups[links[:, 0]] >= 0)]
    reached = follow_links(clustering.labels, links)
    reached[(clustering.labels < 0) & ~outside] = -1
    if limit is None:
        ends = _ends_of_outskirts(clustering, reached, leaving, floor)
        if firm is not None:
            ends = _limited_by_firm(ends, firm)
        limit = np.minimum(np.maximum(ends, clustering.limit), np.nextafter(top, np.inf))
    outskirts = outside & (reached >= 0) & (leaving < np.where(limit > clustering.limit, limit, 0.0)[reached])
    birth = np.clip(clustering.limit, floor, top)
    death = (1.0 - clustering.persistence) * birth
    rows, labels, strengths = np.flatnonzero(outskirts), clustering.labels.copy(), clustering.strengths.copy()
    labels[rows] = own = reached[rows]
    # Beyond the branch strength goes on falling, also where rows lead to a cluster that is sparser than they are.
    strengths[rows] = death[own] / np.maximum(leaving[rows], birth[own])
    return _number_by_size(replace(clustering, labels=labels, strengths=strengths, limit=limit, outskirts=outskirts))


def without_far_rows(
    tree: StructureTree, clustering: FlatClustering, limit: FloatArray | None = None
) -> FlatClustering:
    """The one cluster of everything, but for rows that lie far out: Tukey's outer fence, where no limit is known."""
    leaving = tree.leaving_distances()
    if limit is None:
        apart = leaving[(leaving > tree.floor) & (clustering.labels >= 0)]
        if not len(apart):
            return clustering
        low, high = np.percentile(np.log(apart), [25, 75])
        limit = np.minimum(clustering.limit, np.exp(high + FENCE * max(high - low, EQUAL)))
    far = (leaving >= limit[0]) & (leaving > tree.floor)  # rows that coincide are far from nothing
    return replace(clustering.without(far), limit=limit)


def _left_out(tree: StructureTree, clustering: FlatClustering) -> BoolArray:
    """Rows that fall off a branch in which there is no cluster."""
    codes = clustering.labels[tree.order]
    first = np.sort(np.unique(codes, return_index=True)[1][int(codes.min() < 0) :])  # positions of the clusters
    start, stop = (ends[tree.branches.node] for ends in (tree.merges.start, tree.merges.stop))
    empty = np.searchsorted(first, start) == np.searchsorted(first, stop)
    left_out = np.empty(len(codes), np.bool_)
    left_out[tree.order] = empty[tree.branches.point_branch]
    return left_out


def _ends_of_outskirts(clustering: FlatClustering, reached: IntArray, leaving: FloatArray, floor: float) -> FloatArray:
    """The distance beyond which rows that lead to a cluster are noise, for each of them; 0 where no other row does."""
    by_label = np.argsort(reached, kind="stable")[np.sum(reached < 0) :]
    ends = np.zeros(clustering.n_clusters)
    sizes = np.bincount(reached[by_label], minlength=clustering.n_clusters)
    for label, rows in enumerate(np.split(by_label, np.cumsum(sizes)[:-1])):
        if (clustering.labels[rows] < 0).any():
            distances = leaving[rows]
            apart = distances[distances > floor]  # rows that coincide tell nothing about how density falls
            if len(apart):
                ends[label] = np.exp(_end_of_outskirts(np.log(apart)))
    return ends


def _limited_by_firm(ends: FloatArray, firm: BoolArray) -> FloatArray:
    """The same for firm clusters, and for others at most the median of theirs; 0 where nothing is around those."""
    known = ends[firm & (ends > 0.0)]
    usual = float(np.median(known)) if len(known) else 0.0
    return np.where(firm, ends, np.minimum(ends, usual))


def _end_of_outskirts(distances: FloatArray) -> float:
    """The logarithm of the distance beyond which a row is noise, from those of all rows that lead to a cluster.

    It lies in a valley between two kinds of distances where there is one, else where a row is far out. A valley with
    less than a quarter of the rows on its near side parts the core of a cluster from the rest of it.
    """
    low, high = np.percentile(distances, [25, 75])
    if high - low < EQUAL:
        return float(high) + EQUAL
    ends = low - WHISKER * (high - low), high + WHISKER * (high - low)
    counts, edges = np.histogram(distances, BINS, ends)
    # How far to smooth for the shape of a distribution to show: Silverman's rule for about normal samples.
    width = 1.06 * min(float(distances.std()), (high - low) / 1.34) * len(distances) ** -0.2
    density = gaussian_filter1d(counts.astype(float), width / (edges[1] - edges[0]), mode="constant")
    sides = np.minimum(np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1])
    depth = np.divide(density, sides, out=np.ones(BINS), where=sides > 1e-9 * density.max())
    first = int(np.searchsorted(edges, low))
    deepest = first + int(np.argmin(depth[first:]))
    return float((edges[deepest] + edges[deepest + 1]) / 2 if depth[deepest] < CLEAR_VALLEY else ends[1])


def _number_by_size(clustering: FlatClustering) -> FlatClustering:
    n, k = len(clustering.labels), clustering.n_clusters
    size = np.bincount(clustering.labels + 1, minlength=k + 1)[1:]
    first_row = np.empty(k + 1, np.int64)
    first_row[clustering.labels[::-1]] = np.arange(n - 1, -1, -1)  # the last that is written stays
    by_size = np.lexsort((first_row[:k], -size))
    number = np.append(np.argsort(by_size), -1)  # noise, −1, reads the last entry
    return replace(
        clustering,
        labels=number[clustering.labels],
        stability=clustering.stability[by_size],
        persistence=clustering.persistence[by_size],
        limit=clustering.limit[by_size],
        exemplars=tuple(clustering.exemplars[label] for label in by_size),
    )
