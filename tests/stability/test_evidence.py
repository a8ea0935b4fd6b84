"""One cluster, unless chance cannot explain more."""

import numpy as np
import pytest

from shade import DCTreeClustering
from shade.density.dimension import intrinsic_dimension
from shade.stability import select_clusters
from shade.stability.evidence import enough_errors, mass_and_size, more_than_chance, standard_errors


def errors_of(points: np.ndarray) -> float:
    model = DCTreeClustering(selection="information").fit(points)
    found = mass_and_size(model.structure_tree_, select_clusters(model.structure_tree_))
    return intrinsic_dimension(points) * standard_errors(*found)


@pytest.mark.parametrize("columns", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_a_sample_of_one_distribution_is_one_cluster(kind: str, columns: int) -> None:
    found = []
    for seed in range(20):
        points = getattr(np.random.default_rng(seed), kind)(size=(1000, columns))
        found.append(DCTreeClustering(selection="information").fit(points).n_clusters_)
    assert found.count(1) >= 19, found


def test_lines_that_lie_apart_in_all_directions_are_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    starts, directions = random.normal(size=(2, 25, 1, 8))
    lines = starts + 4.0 * np.linspace(0.0, 1.0, 25)[:, None] * directions + 0.02 * random.normal(size=(25, 25, 8))
    points = lines.reshape(-1, 8)
    assert 20 <= DCTreeClustering(selection="information").fit(points).n_clusters_ <= 30
    monkeypatch.setattr("shade.density.dimension.MANY", 10)  # which see lines alone
    assert DCTreeClustering(selection="information").fit(points).n_clusters_ == 1


@pytest.mark.parametrize(("groups", "size", "columns"), [(5, 30, 5), (5, 15, 2), (10, 20, 10)])
def test_groups_smaller_than_a_neighbourhood_are_clusters(groups: int, size: int, columns: int) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        centres = random.normal(size=(groups, 1, columns))
        apart = np.linalg.norm(centres - centres[:, 0], axis=2)
        centres *= 8.0 / apart[apart > 0].min()
        points = (centres + random.normal(size=(groups, size, columns))).reshape(-1, columns)
        assert DCTreeClustering(selection="information").fit(points).n_clusters_ >= groups - 1, seed


def test_more_can_be_asked_for_than_chance() -> None:
    random = np.random.default_rng(0)
    points = np.vstack([random.normal(size=(100, 3)), random.normal(size=(100, 3)) + 4.0])
    model = DCTreeClustering(selection="information").fit(points)
    enough = errors_of(points) / enough_errors(intrinsic_dimension(points))
    assert enough > 1.0
    for factor, expected in ((1.0, True), (0.99 * enough, True), (1.01 * enough, False)):
        found = more_than_chance(model.structure_tree_, model._clustering, model._dimension, factor)
        assert found == expected, factor


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
        masses.append(sum(np.log(clustering.limit[label] / leaving[int(row)]) for row in rows))
        sizes.append(len(rows))
    main = int(np.argmax(masses))
    rest = [label for label in range(3) if label != main]
    expected = sum(sizes[c] * masses[c] / np.sqrt(sizes[c]) for c in rest) / sum(sizes[c] for c in rest)
    assert standard_errors(*mass_and_size(tree, clustering)) == pytest.approx(expected)


def test_a_single_cluster_has_nothing_to_stand_out_from() -> None:
    model = DCTreeClustering(selection="information").fit(np.random.default_rng(0).normal(size=(300, 10)))
    assert model.n_clusters_ == 1
    assert standard_errors(*mass_and_size(model.structure_tree_, model._clustering)) == 0.0
    assert (model.labels_ == 0).all()
