"""The test of every split: which branches of a merge tree are real.

Children come before parents (see merge_tree.merge_intervals). Row p joined its branch at distance d(p). A branch of s
rows that meets others at height h is real if the mean of log(h / d(p)) over its rows is at least slope / sqrt(s) +
level.
"""

import numpy as np

from shade._kernels.compile import kernel

TIE = 1e-10  # relative tolerance: sums that are added in the order of the rows are equal up to this


@kernel
def find_real_branches(height, start, stop, parent, smallest, floor, slope, level, real, heir):
    """Mark the nodes that are real branches, and find the child that continues each node.

    If two or more real branches meet, each becomes a branch of its own. A branch that is not real falls apart: its rows
    join the others at this height. If it has real branches inside, these are handed up. heir[v] is the child whose rows
    keep the distances at which they joined; it is −1 if all rows join at v. A node with fewer than `smallest` rows is
    no branch yet. Takes O(n) time and memory.
    """
    nodes = height.shape[0]
    total = np.zeros(nodes)  # Σ log d(p) over the rows of a branch
    is_branch = np.zeros(nodes, np.bool_)
    has_parts = np.zeros(nodes, np.bool_)  # whether there are real branches inside
    first_child = np.full(nodes, -1, np.int64)
    sibling = np.full(nodes, -1, np.int64)
    for v in range(nodes):
        size = stop[v] - start[v]
        here = np.log(max(height[v], floor))
        real[v] = False
        heir[v] = -1
        standing = 0  # number of children that are real, or have real branches inside
        kept = -1
        kept_stands = False
        most_mass = -1.0
        most_rows = 0
        child = first_child[v]
        while child >= 0:
            if is_branch[child]:
                s = stop[child] - start[child]
                mass = max(0.0, s * here - total[child])
                real[child] = mass / s >= slope / np.sqrt(s) + level
                stands = real[child] or has_parts[child]
                standing += stands
                heavier = mass > most_mass * (1.0 + TIE) or (mass >= most_mass * (1.0 - TIE) and s > most_rows)
                if (stands and not kept_stands) or (stands == kept_stands and heavier):
                    kept = child
                    kept_stands = stands
                    most_mass = mass
                    most_rows = s
            child = sibling[child]
        is_branch[v] = kept >= 0 or size >= smallest
        if standing >= 2:  # a split
            has_parts[v] = True
            total[v] = size * here
        elif kept >= 0:  # the real child continues, or the one with the most mass; the others fall apart and join it
            real[kept] = False
            heir[v] = kept
            has_parts[v] = has_parts[kept]
            total[v] = total[kept] + (size - (stop[kept] - start[kept])) * here
        else:
            total[v] = size * here
        u = parent[v]
        if u >= 0:
            sibling[v] = first_child[u]
            first_child[u] = v


@kernel
def number_branches(
    height, parent, leaf_parent, real, heir,
    out_parent, out_birth, out_split, out_node, point_branch, leaving,
):  # fmt: skip
    """Number the real branches; return how many there are. Parents come first, and branch 0 has all rows.

    out_split is the height at which the parent of a branch splits: the birth, or more if a branch was handed up. For
    each position of the order, point_branch is the branch that it leaves last, and leaving the height of that.
    """
    nodes = height.shape[0]
    branch = np.empty(nodes, np.int64)
    fallen = np.full(nodes, np.inf)  # height at which rows joined their branch; infinite while they are followed down
    out_parent[0] = -1
    out_birth[0] = np.inf
    out_split[0] = np.inf
    out_node[0] = nodes - 1
    branch[nodes - 1] = 0
    count = 1
    for v in range(nodes - 2, -1, -1):
        u = parent[v]
        branch[v] = branch[u]
        if real[v]:
            out_parent[count] = branch[u]
            out_birth[count] = height[u]
            out_split[count] = fallen[u] if fallen[u] < np.inf else height[u]
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
