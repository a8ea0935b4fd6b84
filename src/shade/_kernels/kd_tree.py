"""A kd-tree with up to sixteen children per node, in plain arrays, and exact searches in it.

Nodes are numbered by level, with the leaves last. The children of node i are children[i] and up to fifteen nodes after
it. `children` has an entry for each inner node. Leaves start at multiples of their capacity, so all leaves but the last
are full. Their points are in `leaves` in the order of the tree.

Pruning, and the choice of points in a leaf, use float32 on centred and scaled copies of the points, for sixteen boxes
or one leaf at a time (`lanes`). A margin covers all possible rounding (`limit`). All remaining points are measured
again in float64, column by column. So results are exact to the last bit and the same as those of all other algorithms
here. All distances are squared.
"""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.lanes import LANES, LEAF, box_lanes, lanes_near_box, lowest_lane, point_lanes

STACK = 512  # a search has at most sixteen pending nodes per level, and there are fewer than 32 levels
SAMPLE = 64  # points that determine the column in which a node is split
EVERY_LANE = (1 << LEAF) - 1
LEFT_LANES = (1 << LEAF // 2) - 1
LARGEST_SINGLE = np.float32(np.finfo(np.float32).max)  # less than the infinity of lanes without a point


@kernel
def select_middle(indices, values, start, stop, middle):
    """Reorder indices[start:stop] so that no value before `middle` is larger than a value from it on."""
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
    """Return the column in which a sample of the points indices[start:stop] varies most."""
    widest = 0
    largest = -1.0
    step = max(1, (stop - start) // SAMPLE)
    for column in range(columns.shape[0]):
        row = columns[column]
        total = 0.0
        squares = 0.0
        count = 0
        for position in range(start, stop, step):
            value = row[indices[position]]
            total += value
            squares += value * value
            count += 1
        variance = squares - total * total / count
        if variance > largest:
            largest = variance
            widest = column
    return widest


@kernel
def split_level(columns, indices, starts, level, start_node, stop_node):
    """Halve the nodes start_node … stop_node − 1 of a level. The points of node i begin at indices[starts[level, i]].

    The left half gets whole leaves: as many as the right half, or one more.
    """
    for node in range(start_node, stop_node):
        start = starts[level, node]
        stop = starts[level, node + 1]
        leaves = (stop - start + LEAF - 1) // LEAF
        middle = min(start + (leaves + 1) // 2 * LEAF, stop)
        if middle < stop:
            column = widest_column(columns, indices, start, stop)
            select_middle(indices, columns[column], start, stop, middle)
        starts[level + 1, 2 * node] = start
        starts[level + 1, 2 * node + 1] = middle


@kernel
def lay_out(rows, columns, indices, points, singles, leaves, start, stop):
    """Copy the points of the leaves start … stop − 1 in the order of the tree; `leaves` is by column.

    Lanes without a point are infinitely far away.
    """
    for leaf in range(start, stop):
        leaves[leaf] = np.inf
        for position in range(leaf * LEAF, min((leaf + 1) * LEAF, indices.shape[0])):
            i = indices[position]
            for column in range(rows.shape[1]):
                points[position, column] = rows[i, column]
                singles[position, column] = columns[column, i]
                leaves[leaf, column, position - leaf * LEAF] = columns[column, i]


@kernel
def fill_boxes(singles, children, first, last, boxes):
    """Compute tight float32 boxes around the children of each inner node. A lane without a child has an empty box."""
    boxes[:, :, 0] = np.inf
    boxes[:, :, 1] = -np.inf
    nodes = first.shape[0]
    inner = children.shape[0]
    parent = inner - 1
    for node in range(nodes - 1, 0, -1):
        while children[parent] > node:
            parent -= 1
        lane = node - children[parent]
        for column in range(singles.shape[1]):
            low = boxes[parent, column, 0]
            high = boxes[parent, column, 1]
            if node < inner:
                for child in range(LANES):
                    low[lane] = min(low[lane], boxes[node, column, 0, child])
                    high[lane] = max(high[lane], boxes[node, column, 1, child])
            else:
                for position in range(first[node], last[node]):
                    low[lane] = min(low[lane], singles[position, column])
                    high[lane] = max(high[lane], singles[position, column])


@kernel
def smallest_in_nodes(values, children, first, last, smallest):
    """Compute the smallest value among the points of each node, infinity for none."""
    nodes = first.shape[0]
    smallest[:] = np.inf
    parent = children.shape[0] - 1
    for node in range(nodes - 1, -1, -1):
        if node >= children.shape[0]:
            for position in range(first[node], last[node]):
                smallest[node] = min(smallest[node], values[position])
        if node > 0:
            while children[parent] > node:
                parent -= 1
            smallest[parent] = min(smallest[parent], smallest[node])


@kernel
def limit(distance, scale, margin):
    """Return a float32 squared distance. Points beyond it cannot be nearer than the given float64 squared distance.

    margin bounds the error of a float32 distance from rounded coordinates; the factor covers the error of sums.
    """
    if distance == 0.0:
        return np.float32(-1.0)
    reach = np.sqrt(distance) * scale + margin
    return min(np.float32(reach * reach * 1.0001), LARGEST_SINGLE)


@kernel
def exact_distance(points, position, queries, i):
    """Return the squared distance, summed over the columns in their order."""
    total = 0.0
    for column in range(points.shape[1]):
        gap = points[position, column] - queries[i, column]
        total += gap * gap
    return total


@kernel
def push_lanes(lanes, distances, first_child, stack_node, stack_bound, depth):
    """Push the children of these lanes on the stack, the nearest on top: its points lower the bound for the others."""
    bottom = depth
    while lanes != 0:
        lane = lowest_lane(lanes)
        lanes &= lanes - 1
        bound = distances[lane]
        place = depth
        while place > bottom and stack_bound[place - 1] < bound:
            stack_bound[place] = stack_bound[place - 1]
            stack_node[place] = stack_node[place - 1]
            place -= 1
        stack_bound[place] = bound
        stack_node[place] = first_child + lane
        depth += 1
    return depth


@kernel
def insert_neighbour(index, distance, i, k, position, value):
    """Insert a point, which is nearer than the last one, into the sorted list of the nearest points."""
    rank = k - 1
    while rank > 0 and distance[i, rank - 1] > value:
        distance[i, rank] = distance[i, rank - 1]
        index[i, rank] = index[i, rank - 1]
        rank -= 1
    distance[i, rank] = value
    index[i, rank] = position


@kernel
def insert_lanes(points, leaf, lanes, scale, margin, queries, i, k, furthest, out_index, out_distance):
    """Insert the points of a leaf that are near enough into the list of query i; return its new search radius."""
    while lanes != 0:
        position = leaf * LEAF + lowest_lane(lanes)
        lanes &= lanes - 1
        value = exact_distance(points, position, queries, i)
        if value < out_distance[i, k - 1]:
            insert_neighbour(out_index, out_distance, i, k, position, value)
            furthest = limit(out_distance[i, k - 1], scale, margin)
    return furthest


@kernel
def nearest_points(
    points, leaves, boxes, children, first, last, scale, margin, queries, singles, k, out_index, out_distance, start,
    stop,
):  # fmt: skip
    """Find the k nearest points of each query, nearest first. A query among the points finds itself."""
    inner = children.shape[0]
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    near = np.empty(LANES, np.float32)
    for i in range(start, stop):
        for rank in range(k):
            out_distance[i, rank] = np.inf
            out_index[i, rank] = -1
        furthest = LARGEST_SINGLE
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > furthest:
                continue
            if node < inner:
                lanes = box_lanes(boxes, node, singles, singles, i, furthest, near)
                depth = push_lanes(lanes, near, children[node], stack_node, stack_bound, depth)
                continue
            leaf = first[node] // LEAF
            lanes = point_lanes(leaves, leaf, singles, i, furthest)
            furthest = insert_lanes(
                points, leaf, lanes, scale, margin, queries, i, k, furthest, out_index, out_distance
            )


@kernel
def bound_points(singles, begin, active, frame):
    """Write the box around the points begin + j with active[j] to frame[0] and frame[1], and its centre to frame[2]."""
    for column in range(singles.shape[1]):
        low = np.float32(np.inf)
        high = np.float32(-np.inf)
        for j in range(active.shape[0]):
            if active[j]:
                low = min(low, singles[begin + j, column])
                high = max(high, singles[begin + j, column])
        frame[0, 0, column] = low
        frame[1, 0, column] = high
        frame[2, 0, column] = (low + high) / 2


@kernel
def push_children(boxes, children, node, frame, widest, near, order, stack_node, stack_parent, stack_bound, depth):
    """Push the children of a node that are near a box on the stack; those near the centre of the box are on top."""
    lanes = box_lanes(boxes, node, frame[0], frame[1], 0, widest, near)
    box_lanes(boxes, node, frame[2], frame[2], 0, widest, order)
    bottom = depth
    while lanes != 0:
        lane = lowest_lane(lanes)
        lanes &= lanes - 1
        place = depth
        while place > bottom and order[stack_node[place - 1] - children[node]] < order[lane]:
            stack_bound[place] = stack_bound[place - 1]
            stack_node[place] = stack_node[place - 1]
            place -= 1
        stack_bound[place] = near[lane]
        stack_node[place] = children[node] + lane
        stack_parent[depth] = node
        depth += 1
    return depth


@kernel
def neighbours_in_leaves(
    points, leaves, boxes, children, first, last, scale, margin, singles, k, out_index, out_distance, start, stop
):
    """Find the k nearest points of all points in the leaves start … stop − 1, nearest first, including the point.

    The points of a leaf traverse the tree together. Nodes are pruned by the largest search radius of these points.
    Which of the points must search a leaf is decided for all of them at once.
    """
    inner = children.shape[0]
    stack_node = np.empty(STACK, np.int64)
    stack_parent = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    near = np.empty(LANES, np.float32)
    order = np.empty(LANES, np.float32)
    frame = np.empty((3, 1, singles.shape[1]), np.float32)
    furthest = np.empty(LEAF, np.float32)
    active = np.ones(LEAF, np.bool_)
    for own in range(inner + start, inner + stop):
        begin = first[own]
        count = last[own] - begin
        if count == 0:
            continue
        furthest[:] = -1.0
        widest = np.float32(0.0)
        for j in range(count):
            i = begin + j
            for rank in range(k):
                out_distance[i, rank] = np.inf
                out_index[i, rank] = -1
            furthest[j] = LARGEST_SINGLE
            for part in (LEFT_LANES, ~LEFT_LANES):  # the points found in the first half filter the second
                lanes = point_lanes(leaves, begin // LEAF, singles, i, furthest[j]) & part
                furthest[j] = insert_lanes(
                    points, begin // LEAF, lanes, scale, margin, points, i, k, furthest[j], out_index, out_distance
                )
            widest = max(widest, furthest[j])
        bound_points(singles, begin, active[:count], frame)
        stack_node[0] = 0
        stack_parent[0] = -1
        stack_bound[0] = 0.0
        depth = 1 if inner > 0 else 0
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > widest or node == own:
                continue
            parent = stack_parent[depth]
            waiting = EVERY_LANE
            if parent >= 0:
                waiting = lanes_near_box(leaves, begin // LEAF, boxes, parent, node - children[parent], furthest)
            if waiting == 0:
                continue
            if node < inner:
                depth = push_children(
                    boxes, children, node, frame, widest, near, order, stack_node, stack_parent, stack_bound, depth
                )
                continue
            leaf = first[node] // LEAF
            while waiting != 0:
                j = lowest_lane(waiting)
                waiting &= waiting - 1
                lanes = point_lanes(leaves, leaf, singles, begin + j, furthest[j])
                if lanes != 0:
                    furthest[j] = insert_lanes(
                        points, leaf, lanes, scale, margin, points, begin + j, k, furthest[j], out_index, out_distance
                    )
            widest = furthest[0]
            for j in range(1, count):
                widest = max(widest, furthest[j])


@kernel
def nearest_reachable(
    points, leaves, boxes, children, first, last, scale, margin, core, node_core, queries, singles, query_core,
    out_index, out_distance, start, stop,
):  # fmt: skip
    """Find for each query the point of least squared mutual reachability; ties go to the nearer, then the earlier."""
    inner = children.shape[0]
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    near = np.empty(LANES, np.float32)
    for i in range(start, stop):
        best = np.inf
        closest = np.inf
        furthest = LARGEST_SINGLE
        index = -1
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > furthest or node_core[node] > best:
                continue
            if node < inner:
                lanes = box_lanes(boxes, node, singles, singles, i, furthest, near)
                depth = push_lanes(lanes, near, children[node], stack_node, stack_bound, depth)
                continue
            leaf = first[node] // LEAF
            lanes = point_lanes(leaves, leaf, singles, i, furthest)
            while lanes != 0:
                position = leaf * LEAF + lowest_lane(lanes)
                lanes &= lanes - 1
                value = exact_distance(points, position, queries, i)
                reach = max(value, query_core[i], core[position])
                if reach < best or (reach == best and (value < closest or (value == closest and position < index))):
                    best = reach
                    closest = value
                    index = position
                    furthest = limit(best, scale, margin)
        out_index[i] = index
        out_distance[i] = best
