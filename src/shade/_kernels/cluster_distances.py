"""Means over clusters: of dc-distances in a merge tree, and of powers of Euclidean distances."""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.prim import squared_distances_to


@kernel
def mean_dc_distances(left, right, height, label, sizes, own, nearest, start, stop):
    """Compute for the silhouette the mean dc-distance of points to their own cluster, and the least mean to another.

    Takes O(n) time and memory per cluster, for clusters start … stop − 1. At a merge of height h, every point of one
    side has the dc-distance h to every point of the other. own[i] and nearest[i] are updated for points with label[i] ≥
    0.
    """
    n = label.shape[0]
    count = np.empty(2 * n - 1, np.int64)
    total = np.empty(2 * n - 1)
    for cluster in range(start, stop):
        for i in range(n):
            count[i] = 1 if label[i] == cluster else 0
        for t in range(n - 1):
            count[n + t] = count[left[t]] + count[right[t]]
        total[2 * n - 2] = 0.0
        for t in range(n - 2, -1, -1):
            total[left[t]] = total[n + t] + height[t] * count[right[t]]
            total[right[t]] = total[n + t] + height[t] * count[left[t]]
        for i in range(n):
            if label[i] == cluster:
                own[i] = total[i] / max(1, sizes[cluster] - 1)
            elif label[i] >= 0:
                nearest[i] = min(nearest[i], total[i] / sizes[cluster])


@kernel
def density_core_distances(columns, points, out, start, stop):
    """Compute squares of DBCV's core distances: the mean of distance^−d to all other points, to the power −1/d.

    Distances are divided by the least one, so that high powers neither overflow nor underflow. A duplicate makes the
    result zero.
    """
    n = points.shape[0]
    dimensions = points.shape[1]
    distance = np.empty(n)
    for i in range(start, stop):
        squared_distances_to(columns, points[i], 0, n, distance)
        least = np.inf
        for j in range(n):
            if j != i:
                least = min(least, distance[j])
        if least == 0.0 or n == 1:
            out[i] = 0.0
            continue
        total = 0.0
        for j in range(n):
            if j != i:
                total += (least / distance[j]) ** (0.5 * dimensions)
        out[i] = least * (total / (n - 1)) ** (-2.0 / dimensions)
