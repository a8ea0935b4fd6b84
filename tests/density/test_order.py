"""The canonical order of rows against NumPy's own sort by several keys."""

import numpy as np
import pytest

from shade.density.order import canonical_order, differs_from_last


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "columns", "values"), [(1, 3, 2), (2, 1, 5), (1000, 3, 2), (2000, 40, 2), (700, 2, 50), (64, 1, 1)]
)
def test_the_order_is_that_of_a_sort_by_all_columns(n, columns, values, kind):
    rng = np.random.default_rng(n)
    points = rng.integers(0, values, (n, columns)).astype(kind)
    points[:, : columns // 2] = 0.0  # rows that differ late only
    points[rng.random(points.shape) < 0.1] = -0.0  # the same as 0
    assert np.array_equal(canonical_order(points), np.lexsort(points.T[::-1]))


def test_rows_that_equal_the_one_before_are_found():
    points = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [-0.0, 5.0], [1.0, 3.0]])
    order = canonical_order(points)
    assert order.tolist() == [1, 3, 0, 2, 4]
    assert differs_from_last(points, order).tolist() == [True, False, True, False, True]
