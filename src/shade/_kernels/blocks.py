"""Nearest points from blocks of scalar products of queries with all points.

Products are only a filter. Rounding can change a distance by at most the slack. Each candidate within twice the slack
is measured again, column by column, so results are exact to the last bit. All distances are squared. Products of huge
values can be NaN; comparisons with NaN keep the candidate.
"""

import numpy as np

from shade._kernels.compile import kernel
from shade._kernels.kd_tree import exact_distance, insert_neighbour


@kernel
def nearest_points(products, query_norms, norms, slack, queries, points, k, out_index, out_distance, start, stop):
    """Find the k nearest points of the queries start … stop − 1, nearest first; in ties, the earlier point is first."""
    n = points.shape[0]
    approximate = np.empty(n)
    for i in range(start, stop):
        for rank in range(k):
            out_index[i, rank] = rank
            out_distance[i, rank] = np.inf
        for j in range(n):
            approximate[j] = query_norms[i] + norms[j] - 2.0 * products[i, j]
        limit = np.partition(approximate, k - 1)[k - 1] + 2.0 * slack[i]
        for j in range(n):
            if not approximate[j] > limit:
                value = exact_distance(points, j, queries, i)
                if value < out_distance[i, k - 1]:
                    insert_neighbour(out_index, out_distance, i, k, j, value)


@kernel
def nearest_reachable(
    products, query_norms, norms, slack, queries, points, core, query_core, out_index, out_distance, start, stop
):
    """Find for each query the point of least squared mutual reachability; ties go to the nearer, then the earlier."""
    n = points.shape[0]
    for i in range(start, stop):
        smallest = np.inf
        for j in range(n):
            smallest = min(smallest, max(query_norms[i] + norms[j] - 2.0 * products[i, j], query_core[i], core[j]))
        limit = smallest + 2.0 * slack[i]
        best = np.inf
        closest = np.inf
        index = 0
        for j in range(n):
            if not max(query_norms[i] + norms[j] - 2.0 * products[i, j], query_core[i], core[j]) > limit:
                value = exact_distance(points, j, queries, i)
                reach = max(value, query_core[i], core[j])
                if reach < best or (reach == best and value < closest):
                    best = reach
                    closest = value
                    index = j
        out_index[i] = index
        out_distance[i] = best
