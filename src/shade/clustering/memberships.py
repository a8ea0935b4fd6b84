"""Memberships: how strongly each row belongs to every cluster."""

from __future__ import annotations

import numpy as np

from shade._base.arrays import FloatArray, IntArray, row_slices
from shade._base.memory import check_room
from shade.clustering.assignment import Attachment, label_new_points, strengths_of_new_points
from shade.clustering.clustering import Clustering
from shade.clustering.selection import FlatClustering

ENTRIES = 1 << 20  # of the matrix that are computed at a time


def memberships_of(
    clustering: Clustering, attachment: Attachment | None = None, top: int | None = None
) -> FloatArray | tuple[IntArray, FloatArray]:
    """Return the memberships of new rows that join the tree, or of the rows that were clustered.

    The membership of a row in its own cluster is its strength. The rest of 1 is divided among noise and the other
    clusters. Let a row join its own cluster at distance o, and let that cluster meet another one at distance d. Then
    the row's membership in the other cluster is o / d times its strength. If the sum over the other clusters exceeds
    the rest, all of them are scaled down. If o is larger than d, the row is as near to the other cluster as to its own.

    Returns
    -------
    ndarray of shape (n_rows, n_clusters), or two of shape (n_rows, top)
        With `top`: clusters, the strongest first, and memberships; the cluster −1 has membership 0.
    """
    flat, tree = clustering.flat, clustering.structure_tree
    if attachment is None:  # a row that was clustered joins itself
        attachment = Attachment(np.arange(len(flat.labels)), np.zeros(len(flat.labels)))
    n = len(attachment.row)
    labels = label_new_points(flat, attachment)
    strengths = strengths_of_new_points(flat, tree, attachment, labels)
    kept = flat.n_clusters if top is None else min(top, flat.n_clusters)
    what = f"A matrix of memberships of {n} rows in {kept} clusters"
    check_room(16.0 * n * kept, None, what, "Give a smaller 'top'.")
    values, clusters = np.zeros((n, kept)), np.full((n, 0 if top is None else kept), -1)

    # A joined cluster is as near as its nearest part.
    parts = clustering.parts if clustering.joins or clustering.known is not None else flat
    part, meeting = parts.labels[attachment.row], _meeting_distances(clustering, parts)
    nearest = np.argsort(meeting, axis=1, kind="stable")[:, :kept]  # the row's own cluster is first
    joining = np.maximum(tree.leaving_distances()[attachment.row], attachment.distance)
    around = np.flatnonzero(parts.outskirts[attachment.row] & (labels >= 0))
    reached = clustering.dc_tree.dc_distances_of_pairs(attachment.row[around], parts.branch_rows[part[around]])
    joining[around] = np.maximum(joining[around], reached)

    inside = np.flatnonzero(labels >= 0)
    for some in row_slices(np.broadcast_to(0.0, (len(inside), max(flat.n_clusters, 1))), ENTRIES):
        rows = inside[some]
        own, strength, distance = (np.arange(len(rows)), labels[rows]), strengths[rows], joining[rows, None]
        block = strength[:, None] * (distance / np.maximum(distance, meeting[part[rows]]))
        # If another cluster is equally near, its value is the next smaller number, so that the label has the largest.
        block = np.minimum(block, np.nextafter(strength, 0.0)[:, None])
        block[own] = 0.0
        block *= np.minimum(1.0, (1.0 - strength) / np.maximum(block.sum(axis=1), np.finfo(np.float64).tiny))[:, None]
        block[own] = strength
        if top is None:
            values[rows] = block
        else:
            values[rows] = np.take_along_axis(block, nearest[part[rows]], axis=1)
            clusters[rows] = np.where(values[rows] > 0.0, nearest[part[rows]], -1)
    return values if top is None else (clusters, values)


def _meeting_distances(clustering: Clustering, parts: FlatClustering) -> FloatArray:
    """The dc-distance of each part to each cluster; 0 to its own."""
    rows = parts.branch_rows
    own = clustering.flat.labels[rows]
    meeting = np.full((clustering.flat.n_clusters, len(rows)), np.inf)
    np.minimum.at(meeting, own, clustering.dc_tree.dc_distances(rows))
    meeting[own, np.arange(len(rows))] = 0.0
    return meeting.T
