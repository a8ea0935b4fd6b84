"""Which columns share a unit, and what data without deviations becomes."""

import numpy as np
import pytest

from shade.data.standardize import FEWEST_PIXELS, PILED_SHARE, Standardizer, choose_standardization


def rows_of_one_length(zeros: int, columns: int = FEWEST_PIXELS) -> np.ndarray:
    """Rows of random directions; so many of the values of each are zero."""
    random = np.random.default_rng(0)
    rows = random.uniform(1, 2, size=(50, columns))
    for row in rows:
        row[random.permutation(columns)[:zeros]] = 0.0
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(("zeros", "expected"), [(33, "global"), (32, "feature"), (31, "feature")])
def test_rows_of_one_length_share_a_unit_if_more_than_half_of_them_is_zero(zeros: int, expected: str) -> None:
    assert choose_standardization("auto", rows_of_one_length(zeros), (FEWEST_PIXELS,)) == expected


@pytest.mark.parametrize(("piled", "expected"), [(33, "global"), (32, "feature")])
def test_columns_are_pixels_if_more_than_a_third_pile_up_at_both_ends(piled: int, expected: str) -> None:
    columns = 96
    assert PILED_SHARE * columns == 32
    rows = np.random.default_rng(0).uniform(0.1, 0.9, size=(50, columns))
    rows[:5, :piled], rows[5:10, :piled] = 0.0, 1.0
    assert choose_standardization("auto", rows, (columns,)) == expected


def test_equal_rows_keep_their_values_without_a_unit() -> None:
    standardizer = Standardizer.fit(np.full((20, 3), 2.0), False, unit_free=True)
    np.testing.assert_array_equal(standardizer.apply(np.full((2, 3), 2.0)), np.full((2, 3), 2.0, np.float32))


@pytest.mark.parametrize("standardize", ["feature", "global", False])
def test_values_whose_differences_may_overflow_are_refused(standardize: str | bool) -> None:
    rows = np.array([[-1.0], [1.0], [0.5]]) * np.finfo(np.float64).max
    Standardizer.fit(0.2 * rows, standardize)
    with pytest.raises(ValueError, match="their range exceeds that of double precision"):
        Standardizer.fit(0.3 * rows, standardize)
