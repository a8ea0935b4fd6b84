"""A kd-tree with up to sixteen children a node, in plain arrays, and exact searches in it.

Nodes are numbered level by level, the leaves last; the children of node i are children[i] and the up to fifteen after
it, and inner nodes are those that `children` has. Leaves start at multiples of their capacity, so all but the last are
full, and their points lie in `leaves` in the order of the tree.

What is pruned, and which points of a leaf are looked at, is decided in float32 on centred and scaled copies of the
points, sixteen boxes or a leaf at a time (`lanes`); a margin covers all that rounding can do (`limit`). Whatever passes
is measured again in float64, column by column, so the results are exact to the last bit and the same as those of every
other algorithm here. All distances are squared.
"""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.lanes import LANES, LEAF, box_lanes, lanes_near_box, lowest_lane, point_lanes

STACK = 512  # a search holds at most sixteen pending nodes a level, and there are fewer than 32 levels
SAMPLE = 64  # points that decide in which column a node is split
EVERY_LANE = (1 << LEAF) - 1
LEFT_LANES = (1 << LEAF // 2) - 1
LARGEST_SINGLE = np.float32(np.finfo(np.float32).max)  # below the infinity of lanes without a point


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
    """The column in which some of the points indices[start:stop] vary most."""
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
    """Halve the nodes start_node … stop_node − 1 of a level: the points of node i are indices[starts[level, i]] ….

    The left half gets whole leaves, as many as the right one or one more.
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
    """Copy the points of the leaves start … stop − 1 in the order of the tree, in `leaves` by column.

    Lanes without a point are infinitely far.
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
    """Tight float32 boxes around the children of each inner node; a lane without a child has an empty box."""
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
    """The smallest value among the points of each node, infinite where there are none."""
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
    """The float32 squared distance above which nothing can be nearer than a float64 squared distance.

    margin bounds the error of a float32 distance by the rounding of the coordinates; the factor covers the sums.
    """
    if distance == 0.0:
        return np.float32(-1.0)
    reach = np.sqrt(distance) * scale + margin
    return min(np.float32(reach * reach * 1.0001), LARGEST_SINGLE)


@kernel
def exact_distance(points, position, queries, i):
    """Squared distance summed over the columns in their order."""
    total = 0.0
    for column in range(points.shape[1]):
        gap = points[position, column] - queries[i, column]
        total += gap * gap
    return total


@kernel
def push_lanes(lanes, distances, first_child, stack_node, stack_bound, depth):
    """Put the children of those lanes on the stack, the nearest on top: what it holds tightens the bound for others."""
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
    """Insert a point into the sorted list of the nearest; it is nearer than the last."""
    rank = k - 1
    while rank > 0 and distance[i, rank - 1] > value:
        distance[i, rank] = distance[i, rank - 1]
        index[i, rank] = index[i, rank - 1]
        rank -= 1
    distance[i, rank] = value
    index[i, rank] = position


@kernel
def insert_lanes(points, leaf, lanes, scale, margin, queries, i, k, furthest, out_index, out_distance):
    """Put those points of a leaf that are nearest to query i into its list; returns how far it has to look now."""
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
    """The k nearest points of each query, nearest first (a query among the points finds itself)."""
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
    """Put the box around the points begin + j with active[j] into frame[0] and frame[1], its centre into frame[2]."""
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
    """Put the children of a node that are near a box on the stack, those near the centre of the box on top."""
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
    """The k nearest points of all points in the leaves start … stop − 1, nearest first, the point itself included.

    The points of a leaf go through the tree together. It is pruned by the one that has to look furthest; which of them
    have to look into a leaf is decided for all at a time.
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
            for part in (LEFT_LANES, ~LEFT_LANES):  # the second half is filtered by what the first has found
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
    """For each query, the point of least squared mutual reachability; ties go to the nearer, then the earlier point."""
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
