"""Borůvka's algorithm: in each round every component finds its lightest edge to another component.

Between rounds each point remembers the partner it found and a lower bound on its lightest edge. A partner that is
still in another component is still the best one, and a point whose bound is no better than what its component has
already found need not search, so later rounds touch few points. All weights are squared distances.

Threads read and lower `component_bound` without locks. A stale value only makes a search prune less; which of
several equally light edges is found may depend on timing, the weights of the tree do not.
"""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.kd_tree import LARGEST_LEAF, STACK, exact_distance, leaf_distances, limit, push_children


@kernel
def uniform_components(component, first, last, node_component):
    """Component shared by all points of a node, or −1."""
    nodes = first.shape[0]
    inner = nodes // 2
    for node in range(nodes - 1, -1, -1):
        if node >= inner:
            shared = component[first[node]]
            for position in range(first[node] + 1, last[node]):
                if component[position] != shared:
                    shared = -1
                    break
        else:
            shared = node_component[2 * node + 1]
            if node_component[2 * node + 2] != shared:
                shared = -1
        node_component[node] = shared


@kernel
def bound_components(component, partner, reach, component_bound):
    """The lightest edge each component knows of from earlier rounds; partners now inside are forgotten."""
    component_bound[:] = np.inf
    for i in range(component.shape[0]):
        if partner[i] >= 0:
            if component[partner[i]] != component[i]:
                component_bound[component[i]] = min(component_bound[component[i]], reach[i])
            else:
                partner[i] = -1


@kernel
def search_kd_tree(
    points, blocks, first, last, low, high, scale, margin, singles, core, node_core, component, node_component,
    partner, reach, component_bound, start, stop,
):  # fmt: skip
    """Find, for the points start … stop − 1 that may improve their component's bound, the lightest outgoing edge."""
    inner = first.shape[0] // 2
    stack_node = np.empty(STACK, np.int64)
    stack_bound = np.empty(STACK, np.float32)
    scratch = np.empty(LARGEST_LEAF, np.float32)
    for i in range(start, stop):
        own = component[i]
        best = component_bound[own]
        if partner[i] >= 0 or reach[i] >= best:
            continue
        point = singles[i]
        furthest = limit(best, scale, margin)
        found = -1
        stack_node[0] = 0
        stack_bound[0] = 0.0
        depth = 1
        while depth > 0 and best > core[i]:  # no edge is lighter than the core distance
            depth -= 1
            node = stack_node[depth]
            if stack_bound[depth] > furthest or node_component[node] == own or node_core[node] >= best:
                continue
            if node >= inner:
                leaf_distances(blocks, node - inner, point, scratch)
                for j in range(last[node] - first[node]):
                    position = first[node] + j
                    if scratch[j] <= furthest and component[position] != own and core[position] < best:
                        weight = max(exact_distance(points, position, points[i]), core[i], core[position])
                        if weight < best:
                            best = weight
                            found = position
                            furthest = limit(best, scale, margin)
                continue
            depth = push_children(low, high, node, point, stack_node, stack_bound, depth)
        partner[i] = found
        reach[i] = best  # exact where a partner was found, else a lower bound
        if found >= 0 and best < component_bound[own]:
            component_bound[own] = best


@kernel
def search_block(products, norms, slack, points, rows, core, component, partner, reach, component_bound, start, stop):
    """The same search for the points rows[start:stop] from a block of scalar products with all points.

    The product is only a filter: every candidate within twice the slack that rounding may cost is measured again,
    column by column, so the edge that comes out is the lightest to the last bit.
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
                    weight = max(exact_distance(points, j, points[i]), core[i], core[j])
                    if weight < best:
                        best = weight
                        found = j
        partner[i] = found
        reach[i] = best
        if best < component_bound[own]:
            component_bound[own] = best


@kernel
def pair_distances(points, first, second, out):
    """Squared distances between the points first[i] and second[i]."""
    for i in range(first.shape[0]):
        out[i] = exact_distance(points, second[i], points[first[i]])


@kernel
def core_from_block(products, norms, slack, points, rows, k, out, start, stop):
    """Exact squared core distances of the points rows[start:stop] from a block of scalar products."""
    n = points.shape[0]
    approximate = np.empty(n)
    exact = np.empty(n)
    for r in range(start, stop):
        i = rows[r]
        for j in range(n):
            approximate[j] = norms[i] + norms[j] - 2.0 * products[r, j]
        limit = np.partition(approximate, k - 1)[k - 1] + 2.0 * slack[i]
        count = 0
        for j in range(n):
            if approximate[j] <= limit:
                exact[count] = exact_distance(points, j, points[i])
                count += 1
        out[i] = np.partition(exact[:count], k - 1)[k - 1]


@kernel
def merge_components(component, partner, reach, tails, heads, weights, edges):
    """Add each component's lightest edge to the tree and relabel; returns the number of edges so far."""
    n = component.shape[0]
    lightest = np.full(n, -1, np.int64)  # by component: the point that holds its lightest edge
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
        a = own
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = component[partner[i]]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:  # equally light edges can close a cycle; the last of it is left out
            parent[a] = b
            tails[edges] = i
            heads[edges] = partner[i]
            weights[edges] = reach[i]
            edges += 1
    for own in range(n):
        root = own
        while parent[root] != root:
            root = parent[root]
        parent[own] = root
    for i in range(n):
        component[i] = parent[component[i]]
    return edges
