"""Borůvka's algorithm: in each round, every component finds its lightest edge to another component.

Between rounds, each point keeps the partner that it found and a lower bound on its lightest edge. If the partner is
still in another component, it is still the best one. A point need not search if its bound is not better than the edge
that its component has already found. So later rounds visit few points. All weights are squared distances.

Threads read and lower `component_bound` without locks. An old value only makes a search prune less. If several edges
are equally light, timing may decide which one is found; the weights of the tree do not depend on it.
"""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.kd_tree import EVERY_LANE, STACK, bound_points, exact_distance, limit, push_children
from shade._kernels.lanes import LANES, LEAF, lanes_near_box, lowest_lane, point_lanes
from shade._kernels.merge_tree import find_root


@kernel
def uniform_components(component, children, first, last, node_component):
    """Write the component of all points of a node, or −1 if they have several or the node is empty."""
    inner = children.shape[0]
    nodes = first.shape[0]
    for node in range(nodes - 1, -1, -1):
        shared = component[first[node]] if first[node] < last[node] else -1
        if node >= inner:
            for position in range(first[node] + 1, last[node]):
                if component[position] != shared:
                    shared = -1
                    break
        else:
            for child in range(children[node], min(children[node] + LANES, nodes)):
                if first[child] >= last[node]:
                    break
                if first[child] < last[child] and node_component[child] != shared:
                    shared = -1
                    break
        node_component[node] = shared


@kernel
def bound_components(component, partner, reach, component_bound):
    """Write the lightest edge of each component from earlier rounds; remove partners in the same component."""
    component_bound[:] = np.inf
    for i in range(component.shape[0]):
        if partner[i] >= 0:
            if component[partner[i]] != component[i]:
                component_bound[component[i]] = min(component_bound[component[i]], reach[i])
            else:
                partner[i] = -1


@kernel
def settle_neighbours(index, core, partner):
    """Find partners in the lists of nearest points.

    An edge to a near point whose core distance is not larger weighs as much as the core distance of the point itself.
    No edge of a point weighs less, so such a point needs no search.
    """
    for i in range(core.shape[0]):
        for rank in range(index.shape[1]):
            j = index[i, rank]
            if j != i and core[j] <= core[i]:
                partner[i] = j
                break


@kernel
def scan_edges(points, leaf, lanes, core, component, partner, reach, i):
    """Search a lighter edge from point i to the given points of a leaf."""
    own = component[i]
    while lanes != 0:
        position = leaf * LEAF + lowest_lane(lanes)
        lanes &= lanes - 1
        if component[position] != own and core[position] < reach[i]:
            weight = max(exact_distance(points, position, points, i), core[i], core[position])
            if weight < reach[i]:
                reach[i] = weight
                partner[i] = position


@kernel
def search_leaves(
    points, leaves, boxes, children, first, last, scale, margin, singles, core, node_core, component, node_component,
    partner, reach, component_bound, start, stop,
):  # fmt: skip
    """Find the lightest outgoing edge of the points in the leaves start … stop − 1 that may improve their component.

    The points of a leaf traverse the tree together, and an edge of one point immediately bounds the others of its
    component. If another point has a better edge, a point drops its own edge and keeps the bound.
    """
    inner = children.shape[0]
    stack_node = np.empty(STACK, np.int64)
    stack_parent = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    near = np.empty(LANES, np.float32)
    order = np.empty(LANES, np.float32)
    frame = np.empty((3, 1, singles.shape[1]), np.float32)
    furthest = np.empty(LEAF, np.float32)
    active = np.empty(LEAF, np.bool_)
    for own in range(inner + start, inner + stop):
        begin = first[own]
        count = last[own] - begin
        searching = 0
        shared = -2  # the component of all searching points, −1 if there are several
        furthest[:] = -1.0
        widest = np.float32(0.0)
        heaviest = 0.0
        for j in range(count):
            i = begin + j
            best = component_bound[component[i]]
            active[j] = partner[i] < 0 and reach[i] < best
            if active[j]:
                searching += 1
                shared = component[i] if shared == -2 or shared == component[i] else -1
                reach[i] = best
                furthest[j] = limit(best, scale, margin)
                widest = max(widest, furthest[j])
                heaviest = max(heaviest, best)
        if searching == 0:
            continue
        bound_points(singles, begin, active[:count], frame)
        stack_node[0] = 0
        stack_parent[0] = -1
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > widest or node_core[node] >= heaviest:
                continue
            if node_component[node] >= 0 and node_component[node] == shared:
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
                i = begin + j
                if j >= count or not active[j]:
                    continue
                own_component = component[i]
                if node_component[node] == own_component:
                    continue
                if component_bound[own_component] < reach[i]:
                    reach[i] = component_bound[own_component]
                    partner[i] = -1
                    furthest[j] = limit(reach[i], scale, margin)
                if reach[i] > core[i]:  # no edge is lighter than the core distance
                    lanes = point_lanes(leaves, leaf, singles, i, furthest[j])
                    if lanes != 0:
                        scan_edges(points, leaf, lanes, core, component, partner, reach, i)
                        if partner[i] >= 0 and reach[i] < component_bound[own_component]:
                            component_bound[own_component] = reach[i]
            widest = np.float32(-1.0)
            heaviest = 0.0
            for j in range(count):
                i = begin + j
                if active[j]:
                    best = component_bound[component[i]]
                    if best < reach[i]:
                        reach[i] = best
                        partner[i] = -1
                    furthest[j] = limit(reach[i], scale, margin) if reach[i] > core[i] else -1.0
                    widest = max(widest, furthest[j])
                    heaviest = max(heaviest, reach[i])


@kernel
def search_block(products, norms, slack, points, rows, core, component, partner, reach, component_bound, start, stop):
    """Search in the same way for the points rows[start:stop], from a block of scalar products with all points.

    Products are only a filter. Each candidate within twice the slack, the bound on rounding, is measured again, column
    by column, so the edge is the lightest one to the last bit.
    """
    n = points.shape[0]
    for r in range(start, stop):
        i = rows[r]
        own = component[i]
        if partner[i] >= 0 or reach[i] >= component_bound[own]:
            continue
        product = products[r]
        smallest = np.inf
        for j in range(n):
            if component[j] != own:
                weight = max(norms[i] + norms[j] - 2.0 * product[j], core[i], core[j])
                smallest = min(smallest, weight)
        best = np.inf
        found = -1
        for j in range(n):
            if component[j] != own:
                weight = max(norms[i] + norms[j] - 2.0 * product[j], core[i], core[j])
                if weight <= smallest + 2.0 * slack[i]:
                    weight = max(exact_distance(points, j, points, i), core[i], core[j])
                    if weight < best:
                        best = weight
                        found = j
        partner[i] = found
        reach[i] = best
        if best < component_bound[own]:
            component_bound[own] = best


@kernel
def pair_distances(points, first, second, out):
    """Compute the squared distances between the points first[i] and second[i]."""
    for i in range(first.shape[0]):
        out[i] = exact_distance(points, second[i], points, first[i])


@kernel
def merge_components(component, partner, reach, tails, heads, weights, edges):
    """Add the lightest edge of each component to the tree and relabel; return the number of edges so far."""
    n = component.shape[0]
    lightest = np.full(n, -1, np.int64)  # by component: the point with its lightest edge
    for i in range(n):
        if partner[i] >= 0:
            holder = lightest[component[i]]
            if holder < 0 or reach[i] < reach[holder]:
                lightest[component[i]] = i
    parent = np.arange(n)
    for own in range(n):
        i = lightest[own]
        if i < 0:
            continue
        a = find_root(parent, own)
        b = find_root(parent, component[partner[i]])
        if a != b:  # equally light edges can close a cycle: the last of them is left out
            parent[a] = b
            tails[edges] = i
            heads[edges] = partner[i]
            weights[edges] = reach[i]
            edges += 1
    for i in range(n):
        component[i] = find_root(parent, component[i])
    return edges
