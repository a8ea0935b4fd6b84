"""The test of every split: which branches of a merge tree stand out from where they meet by more than chance.

Nodes come children first (see merge_tree.merge_intervals). A branch of s rows that meets others at height h has the
evidence z = D · Σ log(h / d(p)) / sqrt(s), where row p joined the branch at distance d(p) and D is the dimension.
"""

import numpy as np

from shade._kernels.compile import kernel

TIE = 1e-10  # relative: sums whose order follows the order of the rows are equal up to this


@kernel
def test_splits(height, start, stop, parent, smallest, floor, slope, level, closed, heir, evidence):
    """Mark the nodes that are branches of their own, and the child in which each node goes on.

    A branch is real if its mean of log(h / d) is at least slope / sqrt(s) + level. Where two or more real branches
    meet, each becomes a branch of its own. A branch that is not real dissolves: its rows join the others at this
    height. One that is not real but has real branches within hands those up. heir[v] is the child whose rows keep the
    distances at which they joined, −1 where all rows count from v on. O(n) time and memory.
    """
    nodes = height.shape[0]
    total = np.zeros(nodes)  # Σ log d(p) over the rows of a node, once it has started
    started = np.zeros(nodes, np.bool_)
    parts = np.zeros(nodes, np.int64)  # real branches within the node that are not inside others of them
    first_child = np.full(nodes, -1, np.int64)
    sibling = np.full(nodes, -1, np.int64)
    for v in range(nodes):
        closed[v] = False
        heir[v] = -1
        evidence[v] = 0.0
        size = stop[v] - start[v]
        here = np.log(max(height[v], floor))
        real = 0
        with_parts = 0  # not real, but with real branches within
        strongest = -1
        most = -1.0
        largest_size = 0
        child = first_child[v]
        while child >= 0:
            if started[child]:
                s = stop[child] - start[child]
                mass = max(0.0, s * here - total[child])
                evidence[child] = mass / s
                if mass / s >= slope / np.sqrt(s) + level:
                    real += 1
                    closed[child] = True
                elif parts[child] > 0:
                    with_parts += 1
                if mass > most * (1.0 + TIE) or (mass >= most * (1.0 - TIE) and s > largest_size):
                    strongest = child
                    most = mass
                    largest_size = s
            child = sibling[child]
        if real + with_parts >= 2:  # a split: all rows count from here on
            child = first_child[v]
            while child >= 0:
                parts[v] += 1 if closed[child] else parts[child]
                child = sibling[child]
            started[v] = True
            total[v] = size * here
        else:
            child = first_child[v]
            kept = strongest
            while child >= 0:  # the one that is real, or has real branches within, goes on; else the strongest
                if closed[child] or parts[child] > 0:
                    kept = child
                closed[child] = False
                child = sibling[child]
            if kept >= 0:
                heir[v] = kept
                parts[v] = parts[kept]
                started[v] = True
                total[v] = total[kept] + (size - (stop[kept] - start[kept])) * here
            elif size >= smallest:
                started[v] = True
                total[v] = size * here
        u = parent[v]
        if u >= 0:
            sibling[v] = first_child[u]
            first_child[u] = v


@kernel
def number_branches(height, parent, leaf_parent, closed, heir, out_parent, out_birth, out_node, point_branch, leaving):
    """Number the branches that `test_splits` marked, parents first; returns how many there are.

    For each position of the order, point_branch is the branch that it falls off and leaving the height at which.
    """
    nodes = height.shape[0]
    branch = np.empty(nodes, np.int64)
    fallen = np.full(nodes, np.inf)  # height at which rows joined what they are in; infinite where they are followed on
    out_parent[0] = -1
    out_birth[0] = np.inf
    out_node[0] = nodes - 1
    branch[nodes - 1] = 0
    count = 1
    for v in range(nodes - 2, -1, -1):
        u = parent[v]
        branch[v] = branch[u]
        if closed[v]:
            out_parent[count] = branch[u]
            out_birth[count] = height[u]
            out_node[count] = v
            branch[v] = count
            count += 1
        elif fallen[u] < np.inf:
            fallen[v] = fallen[u]
        elif heir[u] != v:
            fallen[v] = height[u]
    for position in range(leaf_parent.shape[0]):
        u = leaf_parent[position]
        point_branch[position] = branch[u]
        leaving[position] = fallen[u] if fallen[u] < np.inf else height[u]
    return count
