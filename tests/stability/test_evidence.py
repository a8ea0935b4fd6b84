"""One cluster, unless chance cannot explain more."""

import numpy as np
import pytest

from shade import DCTreeClustering
from shade.density.dimension import intrinsic_dimension
from shade.stability import select_clusters
from shade.stability.evidence import standard_errors


def errors_of(points: np.ndarray) -> float:
    model = DCTreeClustering(selection="information").fit(points)
    return standard_errors(model.structure_tree_, select_clusters(model.structure_tree_), intrinsic_dimension(points))


@pytest.mark.parametrize("columns", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_a_sample_of_one_distribution_is_one_cluster(kind: str, columns: int) -> None:
    found = []
    for seed in range(20):
        points = getattr(np.random.default_rng(seed), kind)(size=(1000, columns))
        found.append(DCTreeClustering(selection="information").fit(points).n_clusters_)
    assert found.count(1) >= 19, found


def test_short_lines_that_lie_apart_in_all_directions_are_clusters() -> None:
    random = np.random.default_rng(0)
    starts, directions = random.normal(size=(2, 25, 1, 8))
    points = starts + 1.5 * np.linspace(0.0, 1.0, 25)[:, None] * directions + 0.02 * random.normal(size=(25, 25, 8))
    found = DCTreeClustering(selection="information").fit(points.reshape(-1, 8)).n_clusters_
    assert 20 <= found <= 30


def test_two_groups_are_found_whatever_the_unit() -> None:
    random = np.random.default_rng(0)
    points = np.vstack([random.normal(size=(200, 3)), random.normal(size=(200, 3)) + 8.0])
    assert DCTreeClustering(selection="information").fit(points).n_clusters_ == 2
    assert errors_of(points) > 10.0
    assert errors_of(points * 1e6) == pytest.approx(errors_of(points), rel=1e-6)


def test_the_mean_is_what_a_slow_count_gives() -> None:
    random = np.random.default_rng(3)
    points = np.vstack([random.normal(size=(100, 2)) * size + at for size, at in ((1.0, 0.0), (0.5, 6.0), (0.7, -7.0))])
    model = DCTreeClustering(selection="information").fit(points)
    tree, clustering = model.structure_tree_, model._clustering
    assert clustering.n_clusters == 3
    leaving = {int(row): float(distance) for row, distance in zip(tree.order, tree.branches.leaving, strict=True)}
    masses, sizes = [], []
    for label in range(3):
        rows = np.flatnonzero(clustering.labels == label)
        masses.append(sum(4.0 * np.log(clustering.limit[label] / leaving[int(row)]) for row in rows))
        sizes.append(len(rows))
    main = int(np.argmax(masses))
    rest = [label for label in range(3) if label != main]
    expected = sum(sizes[c] * masses[c] / np.sqrt(sizes[c]) for c in rest) / sum(sizes[c] for c in rest)
    assert standard_errors(tree, clustering, 4.0) == pytest.approx(expected)


def test_a_single_cluster_has_nothing_to_stand_out_from() -> None:
    model = DCTreeClustering(selection="information").fit(np.random.default_rng(0).normal(size=(300, 10)))
    assert model.n_clusters_ == 1
    assert standard_errors(model.structure_tree_, model._clustering, 10.0) == 0.0
    assert (model.labels_ == 0).all()
