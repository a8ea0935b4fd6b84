"""Rows in the order of their first column, then of the second, and so on."""

from shade._kernels.compile import kernel

STRIDE = 16


@kernel
def compare_rows(points, a, b, column):
    """−1, 0 or 1: whether row a is before, equal to, or after row b, from a column on.

    Equal columns are skipped several at a time, which the compiler turns into one comparison.
    """
    while column + STRIDE <= points.shape[1]:
        equal = True
        for j in range(column, column + STRIDE):
            equal &= points[a, j] == points[b, j]
        if not equal:
            break
        column += STRIDE
    for j in range(column, points.shape[1]):
        if points[a, j] < points[b, j]:
            return -1
        if points[a, j] > points[b, j]:
            return 1
    return 0


@kernel
def sort_ties(points, order, buffer):
    """Sort rows that are equal in the first column, by which `order` is sorted, by the others; a stable merge sort.

    Only runs of equal rows are sorted: O(n) where there are none. `buffer` is as long as `order`.
    """
    n = order.shape[0]
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and points[order[stop], 0] == points[order[start], 0]:
            stop += 1
        width = 1
        while width < stop - start:
            low = start
            while low + width < stop:
                middle = low + width
                high = min(middle + width, stop)
                if compare_rows(points, order[middle - 1], order[middle], 1) > 0:
                    merge_runs(points, order, buffer, low, middle, high)
                low = high
            width *= 2
        start = stop


@kernel
def merge_runs(points, order, buffer, low, middle, high):
    """Merge order[low:middle] and order[middle:high], each sorted."""
    buffer[low:middle] = order[low:middle]
    left, right, place = low, middle, low
    while left < middle and right < high:
        if compare_rows(points, buffer[left], order[right], 1) <= 0:
            order[place] = buffer[left]
            left += 1
        else:
            order[place] = order[right]
            right += 1
        place += 1
    while left < middle:
        order[place] = buffer[left]
        left += 1
        place += 1


@kernel
def mark_new_rows(points, order, new):
    """Whether each row of a sorted order differs from the one before it."""
    new[0] = True
    for position in range(1, order.shape[0]):
        new[position] = compare_rows(points, order[position - 1], order[position], 0) != 0
