"""Groups that the tree of the data shows beyond doubt."""

import numpy as np
import pytest

from shade.density import DCTree
from shade.density.dimension import intrinsic_dimension
from shade.stability.groups import find_groups, join_small_groups
from shade.stability.structure_tree import smallest_branch


def groups_of(points: np.ndarray, dense: np.ndarray | None = None) -> np.ndarray:
    rows = np.arange(len(points)) if dense is None else np.flatnonzero(dense)
    tree, smallest = DCTree.from_points(points, 5), smallest_branch("information", 5, len(rows))
    return find_groups(tree, rows, lambda: intrinsic_dimension(points[rows]), smallest)


def unequal_blobs(columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Blobs of unequal size and density, two of them near each other."""
    random = np.random.default_rng(seed)
    sizes, spreads, places = (400, 30, 150, 60), (0.4, 0.05, 0.2, 0.6), (0.0, 2.5, 6.0, 11.0)
    parts = [
        spread * random.normal(size=(size, columns)) + place
        for size, spread, place in zip(sizes, spreads, places, strict=True)
    ]
    return np.vstack(parts), np.repeat(np.arange(4), sizes)


@pytest.mark.parametrize("columns", [3, 10, 50])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_groups_of_any_size_and_density_are_found(columns: int, scale: float) -> None:
    X, truth = unequal_blobs(columns)
    found = groups_of(scale * X)
    decided = found >= 0
    assert decided.mean() > 0.9
    assert len(set(zip(found[decided], truth[decided], strict=True))) == 4
    assert len(set(found[decided])) == 4


def test_background_and_the_order_of_rows_change_nothing() -> None:
    random = np.random.default_rng(3)
    X, _ = unequal_blobs(10)
    noise = random.uniform(-4.0, 15.0, size=(200, 10))
    alone = groups_of(X)
    among = groups_of(np.vstack([X, noise]), np.repeat([True, False], [len(X), 200]))
    assert np.array_equal(alone, among)
    order = random.permutation(len(X))
    shuffled = groups_of(X[order])
    assert len(set(zip(shuffled, alone[order], strict=True))) == len(set(alone))


def sample_of_one(kind: str, columns: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if kind == "ring":
        angle = random.uniform(0.0, 2.0 * np.pi, size=(800, 1))
        circle = np.hstack([np.cos(angle), np.sin(angle), np.zeros((800, columns - 2))])
        return circle + 0.05 * random.normal(size=circle.shape)
    if kind == "heavy":
        return random.standard_t(3, size=(800, columns))
    return getattr(random, kind)(size=(800, columns))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("columns", [2, 3, 10])
@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential", "heavy", "ring"])
def test_a_sample_of_one_group_is_one(kind: str, columns: int, seed: int) -> None:
    assert not groups_of(sample_of_one(kind, columns, seed)).any()


@pytest.mark.parametrize("seed", range(5))
def test_a_line_has_gaps_by_chance(seed: int) -> None:
    assert not groups_of(np.random.default_rng(seed).uniform(size=(800, 1))).any()


def test_points_that_coincide_are_a_group_among_others() -> None:
    X, _ = unequal_blobs(5)
    found = groups_of(np.vstack([X, np.full((40, 5), 20.0)]))
    assert len(set(found[-40:])) == 1
    assert found[-1] not in set(found[:-40])
    assert not groups_of(np.zeros((50, 3))).any()


def test_small_groups_join_what_they_reach_first() -> None:
    groups = np.array([0, 0, 0, 1, 2, 2, 2, -1])
    links = np.array([[3, 4], [0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7]], np.int32)
    assert join_small_groups(groups, 1, links).tolist() == groups.tolist()
    assert join_small_groups(groups, 2, links).tolist() == [0, 0, 0, 1, 1, 1, 1, -1]
    assert join_small_groups(groups, 4, links).tolist() == [0, 0, 0, 0, 0, 0, 0, -1]
