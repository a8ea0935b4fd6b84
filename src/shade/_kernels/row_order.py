"""Sorting rows by their first column, then by the second, and so on."""

from shade._kernels.compile import kernel

STRIDE = 16


@kernel
def compare_rows(points, a, b, column):
    """Return −1, 0 or 1 if row a is before, equal to, or after row b, compared from a given column on.

    Equal columns are skipped in blocks, which the compiler turns into one comparison.
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
    """Sort rows that are equal in the first column by the other columns, with a stable merge sort.

    `order` must be sorted by the first column. Only runs of equal rows are sorted: O(n) if there are none. `buffer` has
    the length of `order`.
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
    """Merge order[low:middle] and order[middle:high], which are both sorted."""
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
    """Write for each row of a sorted order whether it differs from the row before it."""
    new[0] = True
    for position in range(1, order.shape[0]):
        new[position] = compare_rows(points, order[position - 1], order[position], 0) != 0
