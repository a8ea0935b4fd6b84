"""Core distances and spanning trees by brute force: O(n² d) time, O(n) memory.

The data is transposed, with one point per column. So the innermost loop runs over points and is vectorised, and each
distance is still summed over the coordinates in their order. All distances here are squared.
"""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.kd_tree import insert_neighbour

LANES = 16  # numbers that are compared at once
FEW_NEIGHBOURS = 16
MANY_NEIGHBOURS = 64  # above this, partitioning a whole row is faster than a sorted list of the nearest


@kernel
def squared_distances_to(columns, point, start, stop, out):
    """Write the squared distances from a point to the points start … stop − 1 into out[start:stop]."""
    for j in range(start, stop):
        out[j] = 0.0
    for column in range(columns.shape[0]):
        value = point[column]
        row = columns[column]
        for j in range(start, stop):
            gap = row[j] - value
            out[j] += gap * gap


@kernel
def kth_smallest(values, k, nearest):
    """Return the k-th smallest value, for k from 1 on; nearest is memory for at least k entries."""
    if k > nearest.shape[0]:
        return np.partition(values, k - 1)[k - 1]
    for rank in range(k):
        nearest[rank] = np.inf
    worst = np.inf
    for value in values:
        if value < worst:
            rank = k - 1
            while rank > 0 and nearest[rank - 1] > value:
                nearest[rank] = nearest[rank - 1]
                rank -= 1
            nearest[rank] = value
            worst = nearest[k - 1]
    return nearest[k - 1]


@kernel
def core_distances(columns, queries, k, out, start, stop):
    """Compute the squared distance from each of the queries start … stop − 1 to its k-th nearest point."""
    n = columns.shape[1]
    row = np.empty(n)
    nearest = np.empty(MANY_NEIGHBOURS)
    for i in range(start, stop):
        squared_distances_to(columns, queries[i], 0, n, row)
        out[i] = kth_smallest(row, k, nearest)


@kernel
def nearest_points(columns, queries, k, out_index, out_distance, start, stop):
    """Find the k nearest points of each query, nearest first; in ties, the earlier point is first."""
    n = columns.shape[1]
    row = np.empty(n)
    for i in range(start, stop):
        squared_distances_to(columns, queries[i], 0, n, row)
        for rank in range(k):
            out_distance[i, rank] = np.inf
        for j in range(n):
            if row[j] < out_distance[i, k - 1]:
                insert_neighbour(out_index, out_distance, i, k, j, row[j])


@kernel
def spanning_tree(columns, points, core, tails, heads, weights):
    """Run Prim's algorithm from point 0. Edge t joins tails[t], already in the tree, to the new point heads[t]."""
    n = points.shape[0]
    remaining = np.arange(n)  # the points not reached yet are remaining[0 … left − 1]
    shrinking = columns.copy()  # in the order of `remaining`, so that loops read contiguous memory
    best = np.full(n, np.inf)
    parent = np.zeros(n, np.int64)
    distance = np.empty(n)
    current = 0
    slot = 0
    left = n
    for t in range(n - 1):
        left -= 1
        remaining[slot] = remaining[left]
        best[slot] = best[left]
        parent[slot] = parent[left]
        for column in range(shrinking.shape[0]):
            shrinking[column, slot] = shrinking[column, left]
        squared_distances_to(shrinking, points[current], 0, left, distance)
        slot = 0
        for j in range(left):
            reach = max(distance[j], core[current], core[remaining[j]])
            if reach < best[j]:
                best[j] = reach
                parent[j] = current
            if best[j] < best[slot]:
                slot = j
        tails[t] = parent[slot]
        heads[t] = remaining[slot]
        weights[t] = best[slot]
        current = remaining[slot]


@kernel
def nearest_reachable(columns, core, queries, query_core, out_index, out_distance, start, stop):
    """Find for each query the point of least squared mutual reachability; ties go to the nearer, then the earlier."""
    n = columns.shape[1]
    distance = np.empty(n)
    for i in range(start, stop):
        squared_distances_to(columns, queries[i], 0, n, distance)
        best = np.inf
        closest = np.inf
        index = -1
        for j in range(n):
            reach = max(distance[j], query_core[i], core[j])
            if reach < best or (reach == best and distance[j] < closest):
                best = reach
                closest = distance[j]
                index = j
        out_index[i] = index
        out_distance[i] = best


@kernel
def distance_matrix(columns, points, out):
    """Compute the squared distances between all points of a batch."""
    n = points.shape[0]
    row = np.empty(n)
    for i in range(n):
        squared_distances_to(columns, points[i], 0, n, row)
        for j in range(n):
            out[i, j] = row[j]


@kernel
def distances_from_products(out):
    """Convert scalar products into squared distances, in place."""
    n = out.shape[0]
    norms = np.empty(n, out.dtype)
    for i in range(n):
        norms[i] = out[i, i]
    zero = out.dtype.type(0.0)
    for i in range(n):
        row = out[i]
        own = norms[i]
        for j in range(n):
            row[j] = max(own + norms[j] - (row[j] + row[j]), zero)
        row[i] = zero


@kernel
def batch_core_distances(squared, k, core):
    """Compute squared core distances from a symmetric matrix of squared distances; for small k, all rows at once."""
    n = squared.shape[0]
    if k > FEW_NEIGHBOURS:
        nearest = np.empty(MANY_NEIGHBOURS, squared.dtype)
        for i in range(n):
            core[i] = kth_smallest(squared[i], k, nearest)
        return
    sorted_lists = np.full((k, n), np.inf, squared.dtype)
    moving = np.empty(n, squared.dtype)
    for j in range(n):
        moving[:] = squared[j]
        for rank in range(k):
            nearest = sorted_lists[rank]
            for i in range(n):
                value = moving[i]
                moving[i] = max(value, nearest[i])
                nearest[i] = min(value, nearest[i])
    core[:] = sorted_lists[k - 1]


@kernel
def batch_order(squared, k, order, weights):
    """Compute Prim's order of a small batch from its matrix of squared distances; the weights are distances.

    Every step visits all rows, without branches, so that it is vectorised. Rows that are already in the tree have an
    infinite core distance.
    """
    n = squared.shape[0]
    core = np.empty(n, squared.dtype)
    batch_core_distances(squared, min(k, n), core)
    remaining = np.arange(n)  # with its inverse `slot`, it determines which of equally near rows is first
    slot = np.arange(n)
    infinite = squared.dtype.type(np.inf)
    best = np.full(-(-n // LANES) * LANES, infinite, squared.dtype)
    lanes = np.empty(LANES, squared.dtype)
    current = 0
    order[0] = 0
    weights[0] = 0.0
    for t in range(1, n):
        last = remaining[n - t]
        remaining[slot[current]] = last
        slot[last] = slot[current]
        own = core[current]
        core[current] = infinite
        best[current] = infinite
        row = squared[current]
        for j in range(n):
            best[j] = min(best[j], max(row[j], own, core[j]))
        lanes[:] = infinite
        for block in range(0, best.shape[0], LANES):
            for lane in range(LANES):
                lanes[lane] = min(lanes[lane], best[block + lane])
        smallest = lanes.min()
        earliest = n
        for j in range(n):
            earliest = min(earliest, slot[j] if best[j] == smallest else n)
        current = remaining[earliest]
        order[t] = current
        weights[t] = np.sqrt(smallest)
