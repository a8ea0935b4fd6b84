"""The intrinsic dimension of points."""

import numpy as np
import pytest

from shade.density.dimension import intrinsic_dimension


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("columns", [5, 40])
def test_points_that_fill_few_dimensions_of_many_columns(dimension: int, columns: int) -> None:
    random = np.random.default_rng(dimension)
    flat = random.uniform(size=(3000, dimension)) @ random.normal(size=(dimension, columns))
    found = intrinsic_dimension(flat)
    assert (
        0.7 * dimension <= found <= 1.1 * dimension
    )  # low by nature: near the border points have no neighbours outside
    assert intrinsic_dimension(1e3 * flat + 7.0) == pytest.approx(found, rel=1e-6)


def test_points_that_coincide_or_are_too_few_tell_nothing() -> None:
    assert intrinsic_dimension(np.zeros((100, 3))) == 1.0
    assert intrinsic_dimension(np.arange(9.0).reshape(3, 3)) == 1.0
    random = np.random.default_rng(0)
    points = random.uniform(size=(1000, 2))
    doubled = np.repeat(points, 2, axis=0)
    assert intrinsic_dimension(np.vstack([points, np.zeros((300, 2))])) == pytest.approx(
        intrinsic_dimension(points), rel=0.2
    )
    assert intrinsic_dimension(doubled) == 1.0
