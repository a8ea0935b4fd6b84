"""Fewer clusters than were found are made of those found."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score

from shade import SHADE, DCTreeClustering, load
from shade.clustering import Clustering, ClusterRule, FlatClustering, cluster, find_layers
from shade.clustering.joining import choose_number, variance_index
from shade.clustering.links import follow_links
from shade.clustering.memberships import memberships_of
from tests.clustering.test_selection import check_description
from tests.oracles import partition_of

RULES = {
    "information": ClusterRule(),
    "branches": ClusterRule(selection="branches", between_noise=True),
    "structure": ClusterRule(selection="structure", between_noise=True, background_noise=False),
}


def many_groups(seed: int, groups: int = 16, size: int = 25, columns: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 5.0 * rng.normal(size=(groups, columns))
    return (centres[:, None] + rng.normal(size=(groups, size, columns))).reshape(-1, columns)


def on_a_line(*places: float) -> np.ndarray:
    """Ten points at each place, a tenth apart."""
    return np.concatenate([place + 0.1 * np.arange(10.0) for place in places])[:, None]


def test_the_nearest_of_groups_on_a_line_are_joined_first() -> None:
    model = DCTreeClustering(min_cluster_size=5).fit(on_a_line(0.0, 10.0, 13.0, 30.0))
    assert model.n_clusters_ == 4
    by_group = {k: model.recluster(n_clusters=k).labels_[::10].tolist() for k in (1, 2, 3)}
    assert partition_of(np.array(by_group[3])) == partition_of(np.array([0, 1, 1, 2]))
    assert partition_of(np.array(by_group[2])) == partition_of(np.array([0, 0, 0, 1]))
    assert by_group[1] == [0, 0, 0, 0]


def test_a_joined_cluster_lives_from_where_its_parts_meet_to_where_it_meets_another() -> None:
    model = DCTreeClustering(min_samples=2, min_cluster_size=5).fit(on_a_line(0.0, 10.0, 13.0, 30.0))
    three = model.recluster(n_clusters=3)
    joined = three.labels_[10]
    flat = three.clustering_.flat
    assert flat.death[joined] == pytest.approx(13.0 - 10.9)
    assert three.cluster_persistence_[joined] == pytest.approx(1.0 - 2.1 / 9.1)
    assert three.predict([[12.0]]).tolist() == [joined]
    assert (three.probabilities_[10:30] == 1.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_sizes_stay_sensible_where_one_branch_loses_a_cluster_after_the_other(seed: int) -> None:
    model = DCTreeClustering().fit(many_groups(seed, groups=40))
    assert model.n_clusters_ >= 38
    fewer = model.recluster(n_clusters=10)
    assert np.bincount(fewer.labels_[fewer.labels_ >= 0]).max() < 0.25 * len(fewer.labels_)


def joined(found: Clustering, number: int) -> FlatClustering:
    return replace(found, rule=replace(found.rule, n_clusters=number)).flat


@pytest.mark.parametrize("name", RULES)
def test_smaller_numbers_nest_and_leave_noise_as_it_is(name: str) -> None:
    for seed in range(6):
        found = cluster(many_groups(seed, groups=8), RULES[name], n_jobs=1)
        finer = found.flat
        for number in range(finer.n_clusters, 0, -1):
            flat, clustered = joined(found, number), finer.labels >= 0
            check_description(flat, len(flat.labels), f"{seed=} {number=}")
            assert flat.n_clusters == number
            np.testing.assert_array_equal(flat.labels >= 0, clustered)
            pairs = set(zip(finer.labels[clustered].tolist(), flat.labels[clustered].tolist(), strict=True))
            assert len(pairs) == finer.n_clusters, f"{seed=} {number=}"
            if number == found.flat.n_clusters:
                for array, values in flat.to_arrays().items():
                    np.testing.assert_array_equal(values, found.flat.to_arrays()[array], err_msg=array)
            finer = flat


def test_the_order_of_the_rows_does_not_matter() -> None:
    for seed in range(6):
        X = many_groups(seed, groups=8)
        shuffled = np.random.default_rng(seed).permutation(len(X))
        before, after = (cluster(rows, ClusterRule(), n_jobs=1) for rows in (X, X[shuffled]))
        for number in range(1, before.flat.n_clusters + 1):
            one, other = joined(before, number), joined(after, number)
            assert partition_of(one.labels[shuffled]) == partition_of(other.labels), f"{seed=} {number=}"
            np.testing.assert_allclose(one.strengths[shuffled], other.strengths)
            np.testing.assert_allclose(np.sort(one.persistence), np.sort(other.persistence))


def test_each_step_joins_the_pair_with_the_most_and_shortest_links_for_its_rows() -> None:
    for seed in range(6):
        found = cluster(many_groups(seed, groups=10), ClusterRule(), n_jobs=1)
        groups = follow_links(found.flat.labels, found.links)
        for kept, gone in found.joining_order:
            nearness: dict[tuple[int, int], float] = {}
            for a, b in found.links.tolist():
                if groups[a] != groups[b]:
                    pair = tuple(sorted((int(groups[a]), int(groups[b]))))
                    nearness[pair] = nearness.get(pair, 0.0) + 1.0 / found.dc_tree.dc_distance(a, b)
            sizes = np.bincount(groups)
            best = max(nearness, key=lambda pair: nearness[pair] / (sizes[pair[0]] * sizes[pair[1]]))
            assert (kept, gone) == best, f"{seed=}"
            groups[groups == gone] = kept


def test_a_model_with_joined_clusters_predicts_its_rows_and_is_saved(tmp_path: Path) -> None:
    X = many_groups(0, groups=8)
    model = DCTreeClustering().fit(X)
    fewer = model.recluster(n_clusters=3)
    labels, probabilities = fewer.predict(X, return_probabilities=True)
    np.testing.assert_array_equal(labels, fewer.labels_)
    np.testing.assert_allclose(probabilities, fewer.probabilities_)
    np.testing.assert_array_equal(DCTreeClustering(n_clusters=3).fit(X).labels_, fewer.labels_)
    np.testing.assert_array_equal(fewer.recluster(n_clusters=5).labels_, model.recluster(n_clusters=5).labels_)
    np.testing.assert_array_equal(fewer.recluster().labels_, model.labels_)
    fewer.save(tmp_path / "three.shade")
    np.testing.assert_array_equal(load(tmp_path / "three.shade").labels_, fewer.labels_)


def groups_of_parts(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three groups, each of six clusters that touch and are nearer to each other than to those of other groups."""
    rng = np.random.default_rng(seed)
    parts = 3.0 * np.array([[x, y] for x in range(3) for y in range(2)])
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])[:, None] + parts
    points = (centres[:, :, None] + 0.7 * rng.normal(size=(3, 6, 200, 2))).reshape(-1, 2)
    return points, np.repeat(np.arange(3), 1200)


@pytest.mark.parametrize("dimension", [1.4, 2.0, 3.7, 9.0])
def test_the_best_number_has_the_highest_index_by_its_formula(dimension: float) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(80, 3)) + 3.0 * rng.integers(0, 3, (80, 1))
        labels = rng.permutation(np.repeat(np.arange(-1, 9), 8))
        order = np.array([[0, place] for place in rng.permutation(np.arange(1, 9))])
        inside, values = labels >= 0, {}
        groups, rows = labels[inside], points[inside]
        for number, (kept, gone) in zip(range(9, 1, -1), order, strict=True):
            score = calinski_harabasz_score(rows, groups)  # B / W (n − k) / (k − 1)
            values[number] = score * (number - 1) ** (1.0 - 2.0 / max(dimension, 2.0))
            groups = np.where(groups == gone, kept, groups)
        index = variance_index(labels, order, points, dimension)
        np.testing.assert_allclose(index, [values[number] for number in range(2, 10)])
        assert choose_number(index) == max(values, key=lambda number: values[number])


def test_of_equally_good_numbers_the_largest_is_chosen() -> None:
    assert choose_number(np.array([1.0, 3.0, 3.0 * (1.0 - 1e-12), 2.0])) == 4
    assert choose_number(np.array([0.5])) == 2


def test_one_or_two_clusters_are_not_joined() -> None:
    for places, number in (((0.0,), 1), ((0.0, 10.0), 2)):
        found = cluster(on_a_line(*places), ClusterRule(min_cluster_size=5), settled=True, n_jobs=1)
        assert found.flat.n_clusters == found.parts.n_clusters == number


def test_in_a_settled_embedding_parts_of_one_group_become_one_cluster() -> None:
    for seed in range(5):
        points, groups = groups_of_parts(seed)
        given = cluster(points, ClusterRule(), n_jobs=1)
        found = cluster(points, ClusterRule(), settled=True, n_jobs=1)
        assert given.flat.n_clusters > 10
        inside = found.flat.labels >= 0
        assert inside.mean() > 0.98
        assert adjusted_rand_score(groups[inside], found.flat.labels[inside]) > 0.99  # a few rows are nearer to another
        assert found.parts.n_clusters > 10
        check_description(found.flat, len(points), f"{seed=}")
        layers = find_layers(found)
        assert layers.clusterings[layers.chosen].n_clusters == 3
        assert [layer.n_clusters for layer in layers.clusterings][layers.chosen + 1] == found.parts.n_clusters
        np.testing.assert_array_equal(memberships_of(found).argmax(axis=1)[inside], found.flat.labels[inside])


def test_only_the_default_rule_joins_and_a_wanted_number_counts_the_parts() -> None:
    points, _ = groups_of_parts(0)
    found = cluster(points, ClusterRule(), settled=True, n_jobs=1)
    parts = found.parts.n_clusters
    assert found.with_number(parts).flat.n_clusters == parts
    np.testing.assert_array_equal(found.with_number(parts).flat.labels, found.parts.labels)
    for rule in (
        ClusterRule(selection="branches"),
        ClusterRule(selection="structure"),
        ClusterRule(cut_distance=float(np.median(found.dc_tree.height))),
    ):
        other = replace(found, rule=rule)
        assert other.flat.n_clusters == other.parts.n_clusters == replace(other, settled=False).flat.n_clusters


def test_a_model_knows_from_its_file_that_its_points_are_an_embedding(tmp_path: Path) -> None:
    points, _ = groups_of_parts(1)
    X = np.column_stack([points, points @ [[1.0, 0.5], [0.5, -1.0]]])
    for settle in (False, True):
        model = SHADE(network=(32,), epochs=5, n_networks=1, settle=settle, random_state=0).fit(X)
        model.save(tmp_path / "model.shade")
        loaded = load(tmp_path / "model.shade")
        assert loaded.clustering_.settled == model.clustering_.settled == model.settled_
        np.testing.assert_array_equal(loaded.labels_, model.labels_)
        np.testing.assert_array_equal(loaded.predict(X), model.labels_)


def test_clusters_of_equal_rows_have_a_finite_index() -> None:
    labels, order = np.repeat(np.arange(4), 5), np.array([[0, 1], [0, 2], [0, 3]])
    points = np.repeat([[0.0], [1.0], [50.0], [51.0]], 5, axis=0)
    index = variance_index(labels, order, points, 1.0)
    assert np.isfinite(index).all()
    assert choose_number(index) == 4
    assert np.isfinite(variance_index(labels, order, np.zeros((20, 1)), 1.0)).all()
