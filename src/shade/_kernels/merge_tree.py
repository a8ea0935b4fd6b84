"""Merge trees as arrays: from the edges of a spanning tree, and from a reachability plot.

Binary nodes have the numbers of SciPy: points are 0 … n − 1, and merge t is n + t. In a merge tree "of intervals",
merges at the same height are one node with several children, and a node is a slice of the order.
"""

import numpy as np

from shade._kernels.compile import kernel


@kernel
def find_root(parent, node):
    """Return the root in a union-find tree, and halve the path to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def merge_edges(edges, left, right, size):
    """Join points along edges, which are sorted by weight. Children are ordered by their smallest row.

    Return whether the edges are a tree: False as soon as an edge joins points that are already joined.
    """
    merges = edges.shape[0]
    n = merges + 1
    parent = np.arange(n)  # union-find over the points
    node = np.arange(n)  # by root: the node of its component
    smallest = np.arange(n)  # by root: the smallest row of its component
    count = np.ones(n, np.int64)
    for t in range(merges):
        a = find_root(parent, edges[t, 0])
        b = find_root(parent, edges[t, 1])
        if a == b:
            return False
        if smallest[a] > smallest[b]:
            a, b = b, a
        left[t] = node[a]
        right[t] = node[b]
        low = smallest[a]
        total = count[a] + count[b]
        if count[a] < count[b]:
            a, b = b, a
        parent[b] = a
        smallest[a] = low
        count[a] = total
        node[a] = n + t
        size[t] = total
    return True


@kernel
def sift_down(keys, items, place, count):
    """Move an item down the heap items[:count] until none of its children has a larger key."""
    item = items[place]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and keys[items[child + 1]] > keys[items[child]]:
            child += 1
        if keys[items[child]] <= keys[item]:
            break
        items[place] = items[child]
        place = child
    items[place] = item


@kernel
def sort_by(keys, items, count):
    """Heapsort items[:count] by keys[item] in place, since NumPy's sorts take seconds to compile."""
    for start in range(count // 2 - 1, -1, -1):
        sift_down(keys, items, start, count)
    for stop in range(count - 1, 0, -1):
        items[0], items[stop] = items[stop], items[0]
        sift_down(keys, items, 0, stop)


@kernel
def smallest_rows(left, right):
    """Return the smallest row below each node of a binary merge tree."""
    n = left.shape[0] + 1
    smallest = np.arange(2 * n - 1)
    for t in range(n - 1):
        smallest[n + t] = min(smallest[left[t]], smallest[right[t]])
    return smallest


@kernel
def leaf_order(left, right, height, order, reachability):
    """Visit the leaves from left to right; the children of merges at the same height are ordered by their smallest row.

    So the order depends only on the tree, and not on which of several equally light edges are in the spanning tree.
    """
    merges = left.shape[0]
    n = merges + 1
    smallest = smallest_rows(left, right)
    stack = np.empty(n + 1, np.int64)
    stack_reach = np.empty(n + 1)
    group = np.empty(n, np.int64)
    pending = np.empty(n, np.int64)
    stack[0] = n + merges - 1 if merges > 0 else 0
    stack_reach[0] = np.inf
    depth = 1
    position = 0
    while depth > 0:
        depth -= 1
        top = stack[depth]
        reach = stack_reach[depth]
        if top < n:
            order[position] = top
            reachability[position] = reach
            position += 1
            continue
        level = height[top - n]
        members = 0
        pending[0] = top
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = pending[waiting]
            if node >= n and height[node - n] == level:
                pending[waiting] = left[node - n]
                pending[waiting + 1] = right[node - n]
                waiting += 2
            else:
                group[members] = node
                members += 1
        sort_by(smallest, group, members)
        for rank in range(members - 1, -1, -1):
            stack[depth] = group[rank]
            stack_reach[depth] = reach if rank == 0 else level
            depth += 1


@kernel
def merge_intervals(reachability, height, start, stop, parent, leaf_parent):
    """Build the merge tree of a reachability plot. Nodes may have several children; children come before parents.

    Return the number of nodes. height, start, stop and parent are filled up to this number; the root's parent is −1.
    """
    n = reachability.shape[0]
    opened_start = np.empty(n, np.int64)
    opened_height = np.empty(n)
    first_child = np.full(n, -1, np.int64)  # by stack level: the last finished node below it, a linked list
    sibling = np.full(n, -1, np.int64)
    first_leaf = np.full(n, -1, np.int64)
    leaf_sibling = np.full(n, -1, np.int64)
    depth = 0
    nodes = 0
    for t in range(1, n + 1):
        reach = reachability[t] if t < n else np.inf
        last_node = -1  # the last completed item: a node, or the leaf t − 1
        begin = t - 1
        while True:
            if depth > 0 and opened_height[depth - 1] <= reach:
                level = depth - 1
            elif t < n:
                opened_height[depth] = reach
                opened_start[depth] = begin
                first_child[depth] = -1
                first_leaf[depth] = -1
                level = depth
                depth += 1
            else:
                break
            if last_node < 0:
                leaf_sibling[t - 1] = first_leaf[level]
                first_leaf[level] = t - 1
            else:
                sibling[last_node] = first_child[level]
                first_child[level] = last_node
            if t < n and opened_height[level] == reach:
                break
            height[nodes] = opened_height[level]
            start[nodes] = opened_start[level]
            stop[nodes] = t
            child = first_child[level]
            while child >= 0:
                parent[child] = nodes
                child = sibling[child]
            leaf = first_leaf[level]
            while leaf >= 0:
                leaf_parent[leaf] = nodes
                leaf = leaf_sibling[leaf]
            last_node = nodes
            begin = opened_start[level]
            nodes += 1
            depth = level
    if nodes > 0:
        parent[nodes - 1] = -1
    return nodes


@kernel
def fill_sparse_table(table):
    """Fill the table: level k has maxima of 2^k values; level 0 is given."""
    for level in range(1, table.shape[0]):
        half = 1 << (level - 1)
        for i in range(table.shape[1]):
            other = min(i + half, table.shape[1] - 1)
            table[level, i] = max(table[level - 1, i], table[level - 1, other])


@kernel
def range_maximum(table, low, high):
    """Return the maximum of the values low … high − 1 (low < high)."""
    level = 0
    while (2 << level) <= high - low:
        level += 1
    return max(table[level, low], table[level, high - (1 << level)])


@kernel
def pair_distances(table, first, second, out):
    """Compute the dc-distances between the positions first[i] and second[i] of the order."""
    for i in range(first.shape[0]):
        low = min(first[i], second[i])
        high = max(first[i], second[i])
        out[i] = 0.0 if low == high else range_maximum(table, low + 1, high + 1)


@kernel
def consecutive_distances(table, positions, out):
    """Compute the dc-distances between consecutive sorted positions; 0 for the first and for repeated positions."""
    for t in range(positions.shape[0]):
        if t == 0 or positions[t] == positions[t - 1]:
            out[t] = 0.0
        else:
            out[t] = range_maximum(table, positions[t - 1] + 1, positions[t] + 1)


@kernel
def nearest_marked(marked, reachability, before, before_distance, after, after_distance):
    """Find for each position the nearest marked positions on both sides, −1 if none, and the dc-distances to them."""
    n = marked.shape[0]
    last = -1
    distance = np.inf
    for t in range(n):
        distance = max(distance, reachability[t]) if t > 0 else np.inf
        if marked[t]:
            last = t
            distance = 0.0
        before[t] = last
        before_distance[t] = distance
    last = -1
    distance = np.inf
    for t in range(n - 1, -1, -1):
        if marked[t]:
            last = t
            distance = 0.0
        after[t] = last
        after_distance[t] = distance
        distance = max(distance, reachability[t])


@kernel
def spread_labels(links, labels):
    """Give rows with label −1 a label: links, sorted by length, join rows to trees, and a row gets that of its tree.

    Two trees that both have a label are not joined.
    """
    n = labels.shape[0]
    parent = np.arange(n)  # union-find; the root of a tree with a label is a row that had one
    for link in range(links.shape[0]):
        first = find_root(parent, links[link, 0])
        second = find_root(parent, links[link, 1])
        if labels[first] < 0:
            parent[first] = second
        elif labels[second] < 0:
            parent[second] = first
    for row in range(n):
        labels[row] = labels[find_root(parent, row)]
