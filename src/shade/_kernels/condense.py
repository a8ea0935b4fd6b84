"""From a merge tree of intervals to candidate clusters, and from candidates to a choice.

In merge trees, children come before parents (see merge_tree.merge_intervals). Among candidates, parents come before
children, and candidate 0 is the root. Each candidate has the points below one node of the merge tree.
"""

import numpy as np

from shade._kernels.compile import kernel

# S(node) ≥ Σ S(children) is decided up to this relative rounding error. The order in which equal terms are summed
# follows the order of the rows; the tolerance keeps it from deciding a tie.
TIE = 1e-10


@kernel
def structure_candidates(height, start, stop, parent, smallest, out_parent, out_height, out_node):
    """Find the candidates of the paper's structure tree (design, section 1); return their number."""
    nodes = height.shape[0]
    condensed = np.full(nodes, -1, np.int64)
    big = np.zeros(nodes, np.int64)  # children with at least `smallest` leaves
    some = np.zeros(nodes, np.int64)  # big children that have a condensed node
    last_some = np.full(nodes, -1, np.int64)  # linked list of those condensed nodes
    sibling = np.full(nodes, -1, np.int64)
    count = 0
    for v in range(nodes):
        if stop[v] - start[v] < smallest:
            continue
        if big[v] >= 2 and some[v] != 1:
            out_height[count] = height[v]
            out_node[count] = v
            out_parent[count] = -1
            child = last_some[v]
            while child >= 0:
                out_parent[child] = count
                child = sibling[child]
            condensed[v] = count
            count += 1
        elif big[v] >= 2:
            condensed[v] = last_some[v]
        elif some[v] == 1:
            condensed[v] = last_some[v]
            out_node[condensed[v]] = v
        u = parent[v]
        if u >= 0:
            big[u] += 1
            if condensed[v] >= 0:
                some[u] += 1
                sibling[condensed[v]] = last_some[u]
                last_some[u] = condensed[v]
    return count


@kernel
def structure_stability(parent, height, size, out):
    """Compute S = (1 / height − 1 / height of the parent) · size; 0 for the root."""
    for c in range(parent.shape[0]):
        out[c] = 0.0
        if parent[c] >= 0:
            out[c] = (1.0 / height[c] - 1.0 / height[parent[c]]) * size[c]


@kernel
def branch_candidates(
    height, start, stop, parent, leaf_parent, smallest,
    out_parent, out_birth, out_node, point_candidate, leaving,
):  # fmt: skip
    """Build the condensed tree of branches with at least `smallest` points; return the number of candidates.

    For each position of the order, point_candidate is the candidate that it leaves last, and leaving the height of
    that.
    """
    nodes = height.shape[0]
    n = leaf_parent.shape[0]
    big = np.zeros(nodes, np.int64)
    for v in range(nodes - 1):
        if stop[v] - start[v] >= smallest:
            big[parent[v]] += 1
    candidate = np.empty(nodes, np.int64)
    fallen = np.full(nodes, np.inf)  # height at which a small node's points left; infinite for big nodes
    out_parent[0] = -1
    out_birth[0] = np.inf
    out_node[0] = nodes - 1
    count = 1
    for v in range(nodes - 1, -1, -1):
        u = parent[v]
        if u < 0:
            candidate[v] = 0
            continue
        candidate[v] = candidate[u]
        if fallen[u] < np.inf:
            fallen[v] = fallen[u]
        elif stop[v] - start[v] < smallest:
            fallen[v] = height[u]
        elif big[u] >= 2:
            out_parent[count] = candidate[u]
            out_birth[count] = height[u]
            out_node[count] = v
            candidate[v] = count
            count += 1
    for position in range(n):
        u = leaf_parent[position]
        point_candidate[position] = candidate[u]
        leaving[position] = fallen[u] if fallen[u] < np.inf else height[u]
    return count


@kernel
def branch_mass(parent, birth, split, size, point_candidate, leaving, out):
    """Sum over points how far the density rises while they stay in a candidate.

    birth, split and leaving are densities: where a candidate begins, where its parent splits, and where a point leaves.
    """
    out[:] = 0.0
    for position in range(point_candidate.shape[0]):
        c = point_candidate[position]
        if parent[c] >= 0:
            out[c] += leaving[position] - birth[c]
    for c in range(1, parent.shape[0]):  # points that go on into a branch leave the parent when it splits
        u = parent[c]
        if parent[u] >= 0:
            out[u] += size[c] * (split[c] - birth[u])


@kernel
def select_candidates(parent, stability, selected):
    """Select the most stable candidates: compute the best choice below each bottom-up, then take the topmost ones."""
    count = parent.shape[0]
    best = np.zeros(count)
    below = np.zeros(count)
    has_children = np.zeros(count, np.bool_)
    for c in range(count - 1, -1, -1):
        selected[c] = stability[c] >= below[c] * (1.0 - TIE)
        if c == 0 and has_children[0]:
            selected[0] = False  # the root is no result if it has a split
        best[c] = stability[c] if selected[c] else below[c]
        if parent[c] >= 0:
            below[parent[c]] += best[c]
            has_children[parent[c]] = True
    taken = np.zeros(count, np.bool_)
    for c in range(count):
        above = parent[c] >= 0 and taken[parent[c]]
        selected[c] = selected[c] and not above
        taken[c] = selected[c] or above


@kernel
def count_leaves(parent, leaves):
    """Count the childless candidates below each candidate, itself included."""
    leaves[:] = 0
    for c in range(parent.shape[0] - 1, -1, -1):
        if leaves[c] == 0:
            leaves[c] = 1
        if parent[c] >= 0:
            leaves[parent[c]] += leaves[c]


@kernel
def merge_choices(own, own_covered, other, other_covered, limit, out, out_covered, split):
    """Combine the best choices of k clusters on two sides; split[k] is the number of these from the first side."""
    for k in range(limit + 1):
        out[k] = -np.inf
        out_covered[k] = -1
        split[k] = 0
    for a in range(min(limit + 1, own.shape[0])):
        if own_covered[a] < 0:
            continue
        for b in range(min(limit + 1 - a, other.shape[0])):
            if other_covered[b] < 0:
                continue
            covered = own_covered[a] + other_covered[b]
            value = own[a] + other[b]
            if covered > out_covered[a + b] or (covered == out_covered[a + b] and value > out[a + b]):
                out_covered[a + b] = covered
                out[a + b] = value
                split[a + b] = a


@kernel
def chain_ends(height, start, stop, parent, smallest, out):
    """Compute for each merge-tree node the height at which its main branch splits or falls apart."""
    nodes = height.shape[0]
    big = np.zeros(nodes, np.int64)
    heir = np.full(nodes, -1, np.int64)
    for v in range(nodes):
        out[v] = out[heir[v]] if big[v] == 1 else height[v]
        u = parent[v]
        if u >= 0 and stop[v] - start[v] >= smallest:
            big[u] += 1
            heir[u] = v


@kernel
def deepest_leaving(parent, point_candidate, leaving, out):
    """Compute the smallest leaving distance of the points of each candidate and of all candidates below it."""
    out[:] = np.inf
    for position in range(point_candidate.shape[0]):
        c = point_candidate[position]
        out[c] = min(out[c], leaving[position])
    for c in range(parent.shape[0] - 1, 0, -1):
        out[parent[c]] = min(out[parent[c]], out[c])


@kernel
def climb(parent, birth, candidate, distance):
    """Replace each candidate by the one to which the point belongs at a distance, by going up the tree."""
    for i in range(candidate.shape[0]):
        while parent[candidate[i]] >= 0 and birth[candidate[i]] <= distance[i]:
            candidate[i] = parent[candidate[i]]
