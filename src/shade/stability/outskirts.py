"""The outskirts of clusters: rows in no branch that was chosen, and yet no noise.

A branch of the tree ends where it meets another, so how much of a cluster it holds depends on how near the next cluster
is, not on the rows. What lies beyond is of two kinds: the sparser rows around a cluster, and noise. The distances at
which rows leave the tree tell them apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from shade._arrays import AnyArray, BoolArray, FloatArray
from shade.stability.links import follow_links
from shade.stability.selection import FlatClustering
from shade.stability.structure_tree import StructureTree

WHISKER = 1.5  # Tukey's: what lies so many quartile ranges beyond the quartiles is far out
CLEAR_VALLEY = 0.8  # of the lower of the heights on both sides of it
BINS = 256


def with_outskirts(
    tree: StructureTree, clustering: FlatClustering, links: AnyArray, background: BoolArray
) -> FlatClustering:
    """The same clusters with the rows around them that are no noise; cluster 0 is the largest again.

    Every row outside leads to a cluster over links. It is one of its outskirts if it leaves the tree at no greater
    distance than others there do: before a valley between two kinds of distances where there is one, else unless it is
    far out.

    Parameters
    ----------
    tree : StructureTree
    clustering : FlatClustering
        Clusters that are branches of the tree.
    links : ndarray of shape (n_links, 2)
        Pairs of rows, in the order in which they join.
    background : ndarray of bool of shape (n_samples,)
        Rows that are noise whatever the tree says.
    """
    outside = (clustering.labels < 0) & ~background
    if clustering.n_clusters == 0 or not outside.any():
        return clustering
    floor, top = tree.merges.floor, max(float(tree.merges.height[-1]), tree.merges.floor)
    leaving = np.empty(len(tree.order))
    leaving[tree.order] = np.maximum(tree.branches.leaving, floor)
    labels = np.where(background, -1, follow_links(clustering.labels, links))
    by_label = np.argsort(labels, kind="stable")[np.sum(labels < 0) :]
    limit = clustering.limit.copy()
    for label, rows in enumerate(np.split(by_label, np.cumsum(np.bincount(labels[by_label]))[:-1])):
        if outside[rows].any():
            apart = leaving[rows] > floor  # rows that coincide tell nothing about how density falls
            limit[label] = max(limit[label], np.exp(_end_of_outskirts(np.log(leaving[rows][apart]))))
    limit = np.minimum(limit, np.nextafter(top, np.inf))
    labels = np.where(outside & (leaving >= limit[labels]), -1, labels)
    death = (1.0 - clustering.persistence) * np.clip(clustering.limit, floor, top)
    outskirts = outside & (labels >= 0)
    strengths = np.where(outskirts, np.minimum(death[labels] / leaving, 1.0), clustering.strengths)
    return _number_by_size(replace(clustering, labels=labels, strengths=strengths, limit=limit, outskirts=outskirts))


def _end_of_outskirts(distances: FloatArray) -> float:
    """The logarithm of distance beyond which a row is noise, from those of all rows that lead to a cluster."""
    if len(distances) == 0:
        return -np.inf
    low, high = np.percentile(distances, [25, 75])
    ends = low - WHISKER * (high - low), high + WHISKER * (high - low)
    if low == high:
        return float(high)
    counts, edges = np.histogram(distances, BINS, ends)
    # How far to smooth for the shape of a distribution to show: Silverman's rule for about normal samples.
    width = 1.06 * min(float(distances.std()), (high - low) / 1.34) * len(distances) ** -0.2
    density = gaussian_filter1d(counts.astype(float), width / (edges[1] - edges[0]), mode="constant")
    sides = np.minimum(np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1])
    depth = np.divide(density, sides, out=np.ones(BINS), where=sides > 1e-9 * density.max())
    deepest = int(np.argmin(depth))
    return float((edges[deepest] + edges[deepest + 1]) / 2 if depth[deepest] < CLEAR_VALLEY else ends[1])


def _number_by_size(clustering: FlatClustering) -> FlatClustering:
    clustered = np.flatnonzero(clustering.labels >= 0)
    _, first_row, size = np.unique(clustering.labels[clustered], return_index=True, return_counts=True)
    by_size = np.lexsort((first_row, -size))
    number = np.append(np.argsort(by_size), -1)  # noise, −1, reads the last entry
    return replace(
        clustering,
        labels=number[clustering.labels],
        stability=clustering.stability[by_size],
        persistence=clustering.persistence[by_size],
        limit=clustering.limit[by_size],
        exemplars=tuple(clustering.exemplars[label] for label in by_size),
    )
