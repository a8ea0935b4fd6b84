"""New points join the tree where they would have in training; noise goes into a cluster on request."""

from __future__ import annotations

import numpy as np
import pytest

from shade.clustering import FlatClustering, cut_at_distance, select_clusters, select_n_clusters
from shade.clustering.assignment import (
    Attachment,
    PointIndex,
    assign_nearest,
    label_new_points,
    score_new_points,
)
from shade.clustering.structure_tree import SELECTIONS
from shade.density import DCTree, SpanningTree, core_distances
from shade.density.search import KDTree, ProductBlocks
from tests import oracles
from tests.clustering.trees import read_tree
from tests.oracles import draw_groups, draw_points


def varied_points(seed: int) -> np.ndarray:
    if seed % 3 == 0:
        return draw_groups(seed, 30 + seed % 90, 1 + seed % 4)
    if seed % 3 == 1:
        X = draw_groups(seed, 30 + seed % 90, 2)
        return X[np.random.default_rng(seed).integers(0, len(X) // 2, len(X))]
    return draw_points(seed, smallest=4, largest=80)


def check_training_points(X: np.ndarray, min_samples: int, what: str, n_jobs: int | None = 1) -> PointIndex:
    """Every clustering of every rule gives the training points their own labels and scores."""
    tree = DCTree.from_points(X, min_samples, n_jobs=n_jobs)
    training = PointIndex(X, min_samples)
    attachment = training.attach(X, n_jobs)
    for selection in SELECTIONS:
        candidates = read_tree(tree, selection, min_samples)
        median = float(np.median(candidates.merges.height))
        for clustering in (
            select_clusters(candidates),
            select_n_clusters(candidates, int(candidates.n_leaves[0])),
            cut_at_distance(candidates, median),
        ):
            found = label_new_points(clustering, attachment)
            np.testing.assert_array_equal(found, clustering.labels, err_msg=f"{what} {selection}")
            scores = score_new_points(candidates, attachment)
            np.testing.assert_allclose(scores, clustering.outlier_scores, rtol=1e-12, atol=1e-15, err_msg=what)
    return training


@pytest.mark.parametrize("part", range(3))
def test_training_points_get_their_own_labels_and_scores(part: int) -> None:
    for seed in range(60 * part, 60 * part + 60):
        X = varied_points(seed)
        check_training_points(X, 2 + seed % min(5, len(X) - 1), f"{seed=}")


@pytest.mark.parametrize("duplicates", [False, True])
def test_training_points_get_their_own_labels_in_a_kd_tree(duplicates: bool) -> None:
    X = draw_groups(3, 1300, 3)
    X = X[np.random.default_rng(0).integers(0, 700, 1300)] if duplicates else X
    assert isinstance(check_training_points(X, 5, "kd-tree", None).search, KDTree)


@pytest.mark.parametrize("duplicates", [False, True])
def test_training_points_get_their_own_labels_in_many_columns(duplicates: bool) -> None:
    X = draw_groups(4, 1100, 50)
    X = X[np.random.default_rng(0).integers(0, 600, 1100)] if duplicates else X
    assert isinstance(check_training_points(X, 5, "blocks", None).search, ProductBlocks)


def test_core_distances_of_training_points_go_by_row() -> None:
    for shape in ((1300, 3), (200, 3), (1100, 30)):
        X = np.random.default_rng(shape).normal(size=shape)
        training = PointIndex(X, 4)
        np.testing.assert_array_equal(np.sqrt(training.core), core_distances(X, 4))


@pytest.mark.parametrize("n", [60, 300, 1200])
def test_new_points_attach_where_brute_force_says(n: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng([n, seed])
        X = draw_groups(seed, n, 2)
        if seed == 3:
            X = np.round(X, 1)
        queries = rng.uniform(-15, 15, (80, 2))
        min_samples = 3 + seed
        attachment = PointIndex(X, min_samples).attach(queries)
        table = oracles.distances(queries, X)
        own = np.sort(table, axis=1)[:, min_samples - 1]
        reach = np.maximum(table, np.maximum(own[:, None], oracles.core_distances(X, min_samples)))
        every = np.arange(len(queries))
        np.testing.assert_allclose(attachment.distance, reach.min(axis=1), rtol=1e-9)
        np.testing.assert_allclose(reach[every, attachment.row], reach.min(axis=1), rtol=1e-9)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_new_point_belongs_to_a_cluster_that_it_reaches_before_the_cluster_ends(selection: str) -> None:
    for seed in range(20):
        X = draw_groups(seed, 150, 2)
        queries = np.random.default_rng(seed).uniform(-15, 15, (60, 2))
        candidates = read_tree(DCTree.from_points(X, 4), selection, 4)
        clustering = select_clusters(candidates)
        attachment = PointIndex(X, 4).attach(queries)
        labels = label_new_points(clustering, attachment)
        for q in range(len(queries)):
            joined = clustering.labels[attachment.row[q]]
            inside = joined >= 0 and attachment.distance[q] < clustering.limit[joined]
            assert labels[q] == (joined if inside else -1), f"{seed=} query {q}"


def test_a_new_point_at_the_very_limit_of_a_cluster_is_outside() -> None:
    X = np.array([0.0, 1.0, 2.0, 3.0, 20.0, 21.0, 22.0, 23.0])[:, None]
    candidates = read_tree(DCTree.from_points(X, 2), "branches", 2)
    clustering = select_clusters(candidates)
    assert clustering.labels.tolist() == [0] * 4 + [1] * 4
    assert clustering.limit.tolist() == [17.0, 17.0]
    distance = np.array([np.nextafter(17.0, 0.0), 17.0, np.nextafter(17.0, 18.0)])
    attachment = Attachment(np.array([3, 3, 3]), distance)
    assert label_new_points(clustering, attachment).tolist() == [0, -1, -1]


def test_a_new_point_at_the_very_birth_of_a_branch_is_scored_in_the_branch_above() -> None:
    # {0 1 2} meets at 4, {3 4 5} at 1, both at 10: a point that joins row 0 at 10 is compared with the densest, 1.
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [2, 3]])
    tree = DCTree.from_spanning_tree(SpanningTree(edges, np.array([4.0, 4.0, 1.0, 1.0, 10.0])))
    candidates = read_tree(tree, "branches", 1)
    attachment = Attachment(np.zeros(4, np.int64), np.array([2.0, 8.0, 10.0, 20.0]))
    assert score_new_points(candidates, attachment).tolist() == [0.0, 0.5, 0.9, 0.95]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_point_in_the_middle_of_a_cluster_joins_it_and_far_away_points_are_noise(selection: str) -> None:
    several = 0
    for seed in range(40):
        X = draw_groups(seed, 150, 3)
        candidates = read_tree(DCTree.from_points(X, 3, n_jobs=1), selection, 3)
        clustering = select_clusters(candidates)
        training = PointIndex(X, 3)
        nudged = X + np.random.default_rng(seed).normal(size=X.shape) * 1e-9
        np.testing.assert_array_equal(
            label_new_points(clustering, training.attach(nudged, 1)), clustering.labels, err_msg=f"{seed=}"
        )
        far = np.random.default_rng(seed).normal(size=(20, 3)) * 1e6
        attachment = training.attach(far, 1)
        scores = score_new_points(candidates, attachment)
        assert ((scores > 0.99) & (scores <= 1)).all(), f"{seed=}"
        if clustering.n_clusters >= 2:
            several += 1
            assert (label_new_points(clustering, attachment) == -1).all(), f"{seed=}"
    assert several >= 25


@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_order_of_the_rows_does_not_decide_the_labels_of_new_points(selection: str) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = draw_groups(seed, 100, 2)
        queries, shuffled = rng.uniform(-15, 15, (60, 2)), rng.permutation(100)
        found = []
        for points in (X, X[shuffled]):
            clustering = select_clusters(read_tree(DCTree.from_points(points, 4), selection, 4))
            clusters = oracles.partition_of(clustering.labels)
            attachment = PointIndex(points, 4).attach(queries)
            labels = label_new_points(clustering, attachment)
            assert len(clusters) == clustering.n_clusters
            found.append(oracles.partition_of(labels))
        assert found[0] == found[1], f"{seed=}"


def test_a_column_in_which_all_points_are_equal_changes_nothing_for_new_points() -> None:
    X = draw_groups(2, 150, 2)
    queries = np.random.default_rng(2).uniform(-15, 15, (80, 2))
    found = []
    for constant in (0.0, 1e3, 2.0**30):  # such as a year or a time stamp
        points, new = (np.column_stack([a, np.full(len(a), constant)]) for a in (X, queries))
        clustering = select_clusters(read_tree(DCTree.from_points(points, 4), "branches", 4))
        assert clustering.n_clusters >= 2
        found.append(label_new_points(clustering, PointIndex(points, 4).attach(new)))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


@pytest.mark.parametrize("n", [200, 1300])
def test_one_row_attaches_like_that_row_of_a_batch(n: int) -> None:
    X = draw_groups(7, n, 2)
    queries = np.concatenate([np.random.default_rng(7).uniform(-15, 15, (30, 2)), X[:20]])
    training = PointIndex(X, 5)
    batch = training.attach(queries, 2)
    for q in range(len(queries)):
        alone = training.attach(queries[q : q + 1])
        assert alone.row[0] == batch.row[q]
        assert alone.distance[0] == batch.distance[q]


def test_no_new_points_get_no_labels() -> None:
    X = draw_groups(7, 60, 2)
    training = PointIndex(X, 5)
    candidates = read_tree(DCTree.from_points(X, 5), "branches", 5)
    attachment = training.attach(np.empty((0, 2)))
    assert label_new_points(select_clusters(candidates), attachment).shape == (0,)
    assert score_new_points(candidates, attachment).shape == (0,)


def test_new_points_are_noise_where_all_training_points_are() -> None:
    X = draw_groups(7, 60, 2)
    candidates = read_tree(DCTree.from_points(X, 5), "branches", 5)
    nothing = cut_at_distance(candidates, 0.0)
    assert (label_new_points(nothing, PointIndex(X, 5).attach(X)) == -1).all()


def test_attaching_and_scoring_leave_the_trees_as_they_are() -> None:
    X = draw_groups(7, 100, 2)
    candidates = read_tree(DCTree.from_points(X, 3), "information", 3)
    branch, leaving = candidates.branches.point_branch.copy(), candidates.branches.leaving.copy()
    attachment = Attachment(np.arange(100), np.full(100, 1e9))
    score_new_points(candidates, attachment)
    np.testing.assert_array_equal(candidates.branches.point_branch, branch)
    np.testing.assert_array_equal(candidates.branches.leaving, leaving)
    assert (attachment.distance == 1e9).all()


def test_a_new_point_scores_by_where_it_would_fall_off() -> None:
    for seed in range(15):
        X = draw_groups(seed, 120, 2)
        candidates = read_tree(DCTree.from_points(X, 3), "branches", 3)
        branches = candidates.branches
        queries = np.random.default_rng(seed).uniform(-15, 15, (50, 2))
        attachment = PointIndex(X, 3).attach(queries)
        scores = score_new_points(candidates, attachment)
        position = {int(row): place for place, row in enumerate(candidates.order)}
        for q in range(len(queries)):
            place = position[int(attachment.row[q])]
            leaving = max(attachment.distance[q], branches.leaving[place])
            branch = branches.point_branch[place]
            while branches.parent[branch] >= 0 and branches.birth[branch] <= leaving:
                branch = branches.parent[branch]
            below = [branch]
            for other in range(branch + 1, len(branches.parent)):
                if branches.parent[other] in below:
                    below.append(other)
            deepest = branches.leaving[np.isin(branches.point_branch, below)].min()
            assert scores[q] == pytest.approx(1.0 - deepest / leaving), f"{seed=} query {q}"


# Noise


def clustered(seed: int, n: int, d: int) -> tuple[np.ndarray, DCTree, FlatClustering]:
    X = draw_groups(seed, n, d)
    if seed % 4 == 3:
        X = np.round(X, 1)
    tree = DCTree.from_points(X, 4)
    return X, tree, select_clusters(read_tree(tree, SELECTIONS[seed % 3], 4))


@pytest.mark.parametrize("shape", [(120, 2), (1500, 3), (1500, 30)])
def test_nearest_puts_noise_into_the_cluster_of_the_nearest_clustered_point(shape: tuple[int, int]) -> None:
    noisy = 0
    for seed in range(8):
        X, _, clustering = clustered(seed, *shape)
        labels = clustering.labels
        assigned = assign_nearest(labels, X)
        inside = np.flatnonzero(labels >= 0)
        np.testing.assert_array_equal(assigned[inside], labels[inside])
        for row in np.flatnonzero(labels < 0):
            apart = oracles.distances(X[[row]], X[inside])[0]
            assert assigned[row] in labels[inside][apart == apart.min()], f"{seed=} {row=}"
            noisy += 1
    assert noisy >= 50


def test_the_order_of_the_rows_does_not_decide_which_cluster_is_nearest() -> None:
    for seed in range(60):
        X, _, clustering = clustered(4 * seed, 60 + seed, 2)
        shuffled = np.random.default_rng(seed).permutation(len(X))
        before = assign_nearest(clustering.labels, X)
        after = assign_nearest(clustering.labels[shuffled], X[shuffled])
        np.testing.assert_array_equal(after, before[shuffled], err_msg=f"{seed=}")


def test_a_clustering_without_noise_or_of_noise_alone_is_returned_as_a_copy() -> None:
    X = draw_groups(1, 50, 2)
    for labels in (np.arange(50) % 3, np.full(50, -1)):
        assigned = assign_nearest(labels, X)
        np.testing.assert_array_equal(assigned, labels)
        assert not np.shares_memory(assigned, labels)


def test_the_labels_given_are_not_changed() -> None:
    X, _, clustering = clustered(2, 100, 2)
    before = clustering.labels.copy()
    assert (before < 0).any()
    assert (assign_nearest(clustering.labels, X) >= 0).all()
    np.testing.assert_array_equal(clustering.labels, before)
