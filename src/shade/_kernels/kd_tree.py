"""A balanced kd-tree in plain arrays, and exact searches in it.

Node i has the children 2i + 1 and 2i + 2; all leaves lie on the last level. Points are stored in tree order and
transposed, so that the points of a node are a contiguous slice of every column and leaves are scanned with SIMD
instructions. Bounding boxes are tight. A box distance is summed like a point distance, and rounding is monotone, so
it never exceeds the computed distance of a point in the box: pruning loses nothing, to the last bit.
All distances here are squared.
"""

import numpy as np

from shade._kernels.compile import inlined, kernel

LEAF_SIZE = 24
STACK = 128  # a search holds at most one pending sibling a level, and there are fewer than 64 levels


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
def bound_nodes(columns, first, last, low, high):
    """Fill the tight bounding boxes of all nodes, leaves first."""
    nodes = first.shape[0]
    dimensions = columns.shape[0]
    inner = nodes // 2
    for node in range(nodes - 1, -1, -1):
        for column in range(dimensions):
            if node >= inner:
                smallest = np.inf
                largest = -np.inf
                for position in range(first[node], last[node]):
                    smallest = min(smallest, columns[column, position])
                    largest = max(largest, columns[column, position])
                low[node, column] = smallest
                high[node, column] = largest
            else:
                low[node, column] = min(low[2 * node + 1, column], low[2 * node + 2, column])
                high[node, column] = max(high[2 * node + 1, column], high[2 * node + 2, column])


@inlined
def box_distance(low, high, node, point):
    """Squared distance from a point to a node's box; never above the computed distance to a point inside."""
    total = 0.0
    for column in range(point.shape[0]):
        gap = max(low[node, column] - point[column], point[column] - high[node, column], 0.0)
        total += gap * gap
    return total


@inlined
def leaf_distances(columns, start, stop, point, out):
    """Squared distances from a point to the points of a leaf."""
    count = stop - start
    for j in range(count):
        out[j] = 0.0
    for column in range(point.shape[0]):
        value = point[column]
        for j in range(count):
            gap = columns[column, start + j] - value
            out[j] += gap * gap


@kernel
def nearest_points(columns, first, last, low, high, queries, k, out_index, out_distance, start, stop):
    """The k nearest points of each query, nearest first (a query among the points finds itself)."""
    inner = first.shape[0] // 2
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK)
    scratch = np.empty(2 * LEAF_SIZE)
    for i in range(start, stop):
        point = queries[i]
        index = out_index[i]
        distance = out_distance[i]
        for rank in range(k):
            distance[rank] = np.inf
            index[rank] = -1
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] >= distance[k - 1]:
                continue
            if node >= inner:
                leaf_distances(columns, first[node], last[node], point, scratch)
                for j in range(last[node] - first[node]):
                    if scratch[j] < distance[k - 1]:
                        rank = k - 1
                        while rank > 0 and distance[rank - 1] > scratch[j]:
                            distance[rank] = distance[rank - 1]
                            index[rank] = index[rank - 1]
                            rank -= 1
                        distance[rank] = scratch[j]
                        index[rank] = first[node] + j
                continue
            left = box_distance(low, high, 2 * node + 1, point)
            right = box_distance(low, high, 2 * node + 2, point)
            # The nearer child goes on top of the stack: it is searched first and tightens the bound for the other.
            nearer = 1 if left <= right else 2
            stack_node[depth] = 2 * node + 3 - nearer
            stack_bound[depth] = max(left, right)
            stack_node[depth + 1] = 2 * node + nearer
            stack_bound[depth + 1] = min(left, right)
            depth += 2


@kernel
def nearest_reachable(
    columns, first, last, low, high, core, node_core, queries, query_core, out_index, out_distance, start, stop
):
    """For each query, the point of least squared mutual reachability; ties go to the nearer, then the earlier point."""
    inner = first.shape[0] // 2
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK)
    scratch = np.empty(2 * LEAF_SIZE)
    for i in range(start, stop):
        point = queries[i]
        best = np.inf
        closest = np.inf
        index = -1
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            bound = max(stack_bound[depth], query_core[i], node_core[node])
            if bound > best or (bound == best and stack_bound[depth] > closest):
                continue
            if node >= inner:
                leaf_distances(columns, first[node], last[node], point, scratch)
                for j in range(last[node] - first[node]):
                    position = first[node] + j
                    reach = max(scratch[j], query_core[i], core[position])
                    if reach < best or (
                        reach == best and (scratch[j] < closest or (scratch[j] == closest and position < index))
                    ):
                        best = reach
                        closest = scratch[j]
                        index = position
                continue
            left = box_distance(low, high, 2 * node + 1, point)
            right = box_distance(low, high, 2 * node + 2, point)
            nearer = 1 if left <= right else 2
            stack_node[depth] = 2 * node + 3 - nearer
            stack_bound[depth] = max(left, right)
            stack_node[depth + 1] = 2 * node + nearer
            stack_bound[depth + 1] = min(left, right)
            depth += 2
        out_index[i] = index
        out_distance[i] = best
