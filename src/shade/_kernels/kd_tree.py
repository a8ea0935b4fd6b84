"""A balanced kd-tree in plain arrays, and exact searches in it.

Node i has the children 2i + 1 and 2i + 2; all leaves lie on the last level. What is pruned, and which points of a leaf
are looked at, is decided in float32 on centred and scaled copies of the points, with SIMD instructions; a margin covers
all that rounding can do (`limit`). Whatever passes is measured again in float64, column by column, so the results are
exact to the last bit and the same as those of every other algorithm here. All distances are squared.
"""

import numba
import numpy as np

from shade._kernels.compile import kernel

STACK = 128  # a search holds at most one pending sibling a level, and there are fewer than 64 levels
LARGEST_LEAF = 64

# Only for float32 sums that a margin covers: there the order of summation may be the compiler's.
_single = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@kernel
def select_middle(indices, values, start, stop, middle):
    """Reorder indices[start:stop] so that those before middle have values no larger than those from it on."""
    low = start
    high = stop - 1
    while low < high:
        pivot = values[indices[(low + high) // 2]]
        i = low
        j = high
        while i <= j:
            while values[indices[i]] < pivot:
                i += 1
            while values[indices[j]] > pivot:
                j -= 1
            if i <= j:
                indices[i], indices[j] = indices[j], indices[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def widest_column(columns, indices, start, stop):
    """The column with the largest extent over indices[start:stop]."""
    widest = 0
    extent = -1.0
    for column in range(columns.shape[0]):
        row = columns[column]
        low = row[indices[start]]
        high = low
        for position in range(start + 1, stop):
            value = row[indices[position]]
            low = min(low, value)
            high = max(high, value)
        if high - low > extent:
            extent = high - low
            widest = column
    return widest


@kernel
def split_points(columns, indices, starts, levels):
    """Order the points by the tree; starts[i] and starts[i + 1] … of a level's nodes are the slices of its points."""
    n = indices.shape[0]
    starts[0, 0] = 0
    starts[0, 1] = n
    for level in range(levels):
        nodes = 1 << level
        for node in range(nodes):
            start = starts[level, node]
            stop = starts[level, node + 1]
            middle = (start + stop) // 2
            column = widest_column(columns, indices, start, stop)
            select_middle(indices, columns[column], start, stop, middle)
            starts[level + 1, 2 * node] = start
            starts[level + 1, 2 * node + 1] = middle
        starts[level + 1, 2 * nodes] = n


@kernel
def bound_nodes(single, first, last, low, high):
    """Fill the tight float32 bounding boxes of all nodes, leaves first."""
    nodes = first.shape[0]
    inner = nodes // 2
    for node in range(nodes - 1, -1, -1):
        for column in range(single.shape[1]):
            if node >= inner:
                smallest = single[first[node], column]
                largest = smallest
                for position in range(first[node] + 1, last[node]):
                    smallest = min(smallest, single[position, column])
                    largest = max(largest, single[position, column])
                low[node, column] = smallest
                high[node, column] = largest
            else:
                low[node, column] = min(low[2 * node + 1, column], low[2 * node + 2, column])
                high[node, column] = max(high[2 * node + 1, column], high[2 * node + 2, column])


@kernel
def fill_blocks(single, first, last, blocks):
    """Copy each leaf's points into a block of its own, by column; places without a point are infinitely far."""
    inner = first.shape[0] // 2
    blocks[:] = np.inf
    for leaf in range(blocks.shape[0]):
        start = first[inner + leaf]
        for j in range(last[inner + leaf] - start):
            for column in range(single.shape[1]):
                blocks[leaf, column, j] = single[start + j, column]


@_single
def box_distance(low, high, node, point):
    """Squared float32 distance from a point to a node's box."""
    total = np.float32(0.0)
    for column in range(point.shape[0]):
        gap = max(low[node, column] - point[column], point[column] - high[node, column], np.float32(0.0))
        total += gap * gap
    return total


@_single
def leaf_distances(blocks, leaf, point, out):
    """Squared float32 distances from a point to the points of a leaf."""
    width = blocks.shape[2]
    for j in range(width):
        out[j] = 0.0
    for column in range(point.shape[0]):
        value = point[column]
        for j in range(width):
            gap = blocks[leaf, column, j] - value
            out[j] += gap * gap


@kernel
def limit(distance, scale, margin):
    """The float32 squared distance above which nothing can be nearer than a float64 squared distance.

    margin bounds the error of a float32 distance by the rounding of the coordinates; the factor covers the sums.
    """
    reach = np.sqrt(distance) * scale + margin
    return np.float32(reach * reach * 1.0001)


@kernel
def exact_distance(points, position, query):
    """Squared distance summed over the columns in their order."""
    total = 0.0
    for column in range(query.shape[0]):
        gap = points[position, column] - query[column]
        total += gap * gap
    return total


@kernel
def push_children(low, high, node, point, stack_node, stack_bound, depth):
    """Put a node's children on the stack, the nearer on top: what it holds tightens the bound for the other."""
    left = box_distance(low, high, 2 * node + 1, point)
    right = box_distance(low, high, 2 * node + 2, point)
    nearer = 1 if left <= right else 2
    stack_node[depth] = 2 * node + 3 - nearer
    stack_bound[depth] = max(left, right)
    stack_node[depth + 1] = 2 * node + nearer
    stack_bound[depth + 1] = min(left, right)
    return depth + 2


@kernel
def nearest_points(
    points, blocks, first, last, low, high, scale, margin, queries, singles, k, out_index, out_distance, start, stop
):
    """The k nearest points of each query, nearest first (a query among the points finds itself)."""
    inner = first.shape[0] // 2
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    scratch = np.empty(LARGEST_LEAF, np.float32)
    for i in range(start, stop):
        point = singles[i]
        index = out_index[i]
        distance = out_distance[i]
        for rank in range(k):
            distance[rank] = np.inf
            index[rank] = -1
        furthest = np.float32(np.inf)
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > furthest:
                continue
            if node >= inner:
                leaf_distances(blocks, node - inner, point, scratch)
                for j in range(last[node] - first[node]):
                    if scratch[j] <= furthest:
                        value = exact_distance(points, first[node] + j, queries[i])
                        if value < distance[k - 1]:
                            rank = k - 1
                            while rank > 0 and distance[rank - 1] > value:
                                distance[rank] = distance[rank - 1]
                                index[rank] = index[rank - 1]
                                rank -= 1
                            distance[rank] = value
                            index[rank] = first[node] + j
                            furthest = limit(distance[k - 1], scale, margin)
                continue
            depth = push_children(low, high, node, point, stack_node, stack_bound, depth)


@kernel
def nearest_reachable(
    points, blocks, first, last, low, high, scale, margin, core, node_core, queries, singles, query_core,
    out_index, out_distance, start, stop,
):  # fmt: skip
    """For each query, the point of least squared mutual reachability; ties go to the nearer, then the earlier point."""
    inner = first.shape[0] // 2
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    scratch = np.empty(LARGEST_LEAF, np.float32)
    for i in range(start, stop):
        point = singles[i]
        best = np.inf
        closest = np.inf
        furthest = np.float32(np.inf)
        index = -1
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > furthest or node_core[node] > best:
                continue
            if node >= inner:
                leaf_distances(blocks, node - inner, point, scratch)
                for j in range(last[node] - first[node]):
                    if scratch[j] <= furthest:
                        position = first[node] + j
                        value = exact_distance(points, position, queries[i])
                        reach = max(value, query_core[i], core[position])
                        if reach < best or (
                            reach == best and (value < closest or (value == closest and position < index))
                        ):
                            best = reach
                            closest = value
                            index = position
                            furthest = limit(best, scale, margin)
                continue
            depth = push_children(low, high, node, point, stack_node, stack_bound, depth)
        out_index[i] = index
        out_distance[i] = best
