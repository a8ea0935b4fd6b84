"""Flat clusterings: chosen by stability, by number, or by a cut; the same for any order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from shade.clustering import (
    ClusterRule,
    FlatClustering,
    StructureTree,
    cluster,
    cut_at_distance,
    select_clusters,
    select_each_number,
    select_n_clusters,
    total_stabilities,
)
from shade.clustering.structure_tree import SELECTIONS
from shade.density import DCTree, SpanningTree
from tests.clustering.trees import read_tree
from tests.oracles import choices, draw_groups, draw_points, draw_spanning_tree, partition_of


def structure_tree(X: np.ndarray, selection: str, min_samples: int, smallest: int | None = None) -> StructureTree:
    return read_tree(DCTree.from_points(X, min_samples, n_jobs=1), selection, min_samples, smallest)


def varied_points(seed: int) -> np.ndarray:
    """Grids, duplicates and continuous data in turn."""
    if seed % 4 == 0:
        return draw_groups(seed, 20 + seed % 70, 1 + seed % 3)
    if seed % 4 == 1:
        return np.round(draw_groups(seed, 20 + seed % 70, 2)) * (0.1 if seed % 8 == 1 else 1.0)
    if seed % 4 == 2:
        rng = np.random.default_rng(seed)
        X = draw_groups(seed, 20 + seed % 70, 2)
        return X[rng.integers(0, len(X) // 2, len(X))]
    return draw_points(seed, smallest=4, largest=60)


def check_description(clustering: FlatClustering, n: int, what: str) -> None:
    """What holds for every flat clustering."""
    labels, strengths = clustering.labels, clustering.strengths
    assert len(clustering.death) == len(clustering.limit) == clustering.n_clusters, what
    assert ((clustering.death > 0) & (clustering.death < np.inf)).all(), what
    k = clustering.n_clusters
    assert labels.shape == strengths.shape == clustering.outlier_scores.shape == (n,), what
    assert len(clustering.stability) == len(clustering.persistence) == len(clustering.exemplars) == k, what
    assert set(labels[labels >= 0].tolist()) == set(range(k)), what
    sizes = [int((labels == label).sum()) for label in range(k)]
    assert sizes == sorted(sizes, reverse=True), what
    assert ((strengths >= 0) & (strengths <= 1)).all(), what
    assert (strengths[labels < 0] == 0).all(), what
    assert (strengths[labels >= 0] > 0).all(), what
    assert ((clustering.persistence >= 0) & (clustering.persistence <= 1)).all(), what
    assert ((clustering.outlier_scores >= 0) & (clustering.outlier_scores < 1)).all(), what
    for label in range(k):
        assert strengths[labels == label].max() == 1.0, what
        rows = clustering.exemplars[label]
        assert len(rows) > 0, what
        assert (labels[rows] == label).all(), what
        assert rows.tolist() == sorted(set(rows.tolist())), what


# What every clustering says


def test_strengths_scores_and_exemplars_of_six_points_by_hand() -> None:
    # {0 1 2} meets at 1 and 2, {3 4 5} at 1 and 4, both at 10.
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [2, 3]])
    tree = DCTree.from_spanning_tree(SpanningTree(edges, np.array([1.0, 2.0, 1.0, 4.0, 10.0])))
    clustering = select_clusters(read_tree(tree, "branches", 1))
    assert clustering.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert clustering.strengths.tolist() == [1.0, 1.0, 0.5, 1.0, 1.0, 0.25]
    assert clustering.outlier_scores.tolist() == [0.0, 0.0, 0.5, 0.0, 0.0, 0.75]
    assert clustering.persistence.tolist() == [0.9, 0.9]
    assert clustering.limit.tolist() == [10.0, 10.0]
    assert [rows.tolist() for rows in clustering.exemplars] == [[0, 1], [3, 4]]
    assert clustering.stability.tolist() == pytest.approx([2 + 0.5 - 0.3, 2 + 0.25 - 0.3])


def test_cluster_zero_is_the_largest_and_the_first_row_decides_between_equals() -> None:
    X = np.concatenate([np.arange(8) * 0.1 + 50, np.arange(12) * 0.1, np.arange(8) * 0.1 + 100])[:, None]
    clustering = select_clusters(structure_tree(X, "branches", 2))
    assert clustering.labels.tolist() == [1] * 8 + [0] * 12 + [2] * 8


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_clustering_describes_its_rows_on_continuous_data(selection: str) -> None:
    for seed in range(120):
        X = draw_groups(seed, 20 + seed, 1 + seed % 4)
        tree = structure_tree(X, selection, 2 + seed % 5)
        check_description(select_clusters(tree), len(X), f"{seed=}")
        check_description(select_n_clusters(tree, int(tree.n_leaves[0])), len(X), f"{seed=} by number")
        for share in (0.05, 0.5, 0.95):
            cut = cut_at_distance(tree, float(np.quantile(tree.merges.height, share)))
            check_description(cut, len(X), f"{seed=} {share=}")


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_clustering_describes_its_rows_on_data_with_ties_and_duplicates(selection: str) -> None:
    for seed in range(160):
        X = varied_points(seed)
        tree = structure_tree(X, selection, 2 + seed % min(5, len(X) - 1))
        check_description(select_clusters(tree), len(X), f"{seed=}")
        check_description(select_n_clusters(tree, int(tree.n_leaves[0])), len(X), f"{seed=} by number")
        for share in (0.05, 0.5, 0.95):
            cut = cut_at_distance(tree, float(np.quantile(tree.merges.height, share)))
            check_description(cut, len(X), f"{seed=} {share=}")


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_clustering_is_made_again_from_its_arrays(selection: str) -> None:
    for seed in range(10):
        tree = structure_tree(draw_groups(seed, 80, 2), selection, 3)
        for clustering in (select_clusters(tree), cut_at_distance(tree, 0.0)):
            arrays = clustering.to_arrays()
            assert all(isinstance(array, np.ndarray) for array in arrays.values())
            again = FlatClustering.from_arrays(arrays)
            assert again.n_clusters == clustering.n_clusters
            for name, array in arrays.items():
                np.testing.assert_array_equal(again.to_arrays()[name], array, err_msg=name)
            assert [rows.tolist() for rows in again.exemplars] == [rows.tolist() for rows in clustering.exemplars]


# The order of the rows


@pytest.mark.parametrize("part", range(5))
def test_permuting_the_rows_never_changes_the_partition(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        rng = np.random.default_rng([4, seed])
        X = varied_points(seed)
        min_samples = 2 + seed % min(6, len(X) - 1)
        tree = DCTree.from_points(X, min_samples, n_jobs=1)
        distance = float(rng.choice(tree.height))
        before = [read_tree(tree, selection, min_samples) for selection in SELECTIONS]
        for _ in range(3):
            shuffled = rng.permutation(len(X))
            other = DCTree.from_points(X[shuffled], min_samples, n_jobs=1)
            for candidates in before:
                after = read_tree(other, candidates.selection, min_samples)
                what = f"{seed=} {min_samples=} {candidates.selection}"
                both = select_clusters(candidates), select_clusters(after)
                if candidates.selection == "information":
                    # Of two equal branches that dissolve, the tree decides which rows go on; see the estimator below.
                    assert equal_partitions(both[0].labels, both[1].labels, shuffled), what
                    for name in ("strengths", "outlier_scores"):
                        figures = [np.sort(getattr(clustering, name)) for clustering in both]
                        np.testing.assert_allclose(*figures, rtol=1e-9, atol=1e-12, err_msg=what)
                else:
                    assert same_partition(*both, shuffled), what
                cuts = cut_at_distance(candidates, distance), cut_at_distance(after, distance)
                assert equal_partitions(cuts[0].labels, cuts[1].labels, shuffled), f"{what} {distance=}"
                assert np.array_equal(cuts[0].strengths[shuffled], cuts[1].strengths), f"{what} {distance=}"


def draw_integers(seed: int) -> np.ndarray:
    """Small integers in one group or two, so that most distances tie and many rows coincide."""
    rng = np.random.default_rng([9, seed])
    n = int(rng.integers(30, 90))
    if seed % 3 == 0:
        return rng.integers(0, 9, (n, 2)).astype(float)
    if seed % 3 == 1:
        return np.round(rng.normal(size=(n, 2)) * 2 + 9 * rng.integers(0, 2, (n, 1)))
    return rng.integers(0, 4, (n, 3)).astype(float) + 8 * rng.integers(0, 2, (n, 1))


@pytest.mark.parametrize("between_noise", [False, True])
def test_permuting_rows_of_integers_changes_nothing_of_a_clustering_of_points(between_noise: bool) -> None:
    several = with_noise = 0
    for seed in range(150):
        X = draw_integers(seed)
        rule = ClusterRule(min_samples=2 + seed % 4, background_noise=seed % 2 == 0, between_noise=between_noise)
        before = cluster(X, rule, n_jobs=1).flat
        several += before.n_clusters > 1
        with_noise += bool((before.labels < 0).any())
        for turn in range(2):
            shuffled = np.random.default_rng([seed, turn]).permutation(len(X))
            after = cluster(X[shuffled], rule, n_jobs=1).flat
            assert same_partition(before, after, shuffled), f"{seed=} {turn=}"
    assert several >= 40 and with_noise >= 20


@pytest.mark.parametrize("between_noise", [False, True])
def test_a_power_of_two_as_unit_changes_no_label(between_noise: bool) -> None:
    for seed in range(40):
        X = varied_points(seed) if seed % 2 else draw_integers(seed)
        if len(X) < 8:
            continue
        for selection in SELECTIONS:
            rule = ClusterRule(min_samples=2 + seed % 4, selection=selection, between_noise=between_noise)
            labels = [cluster(scale * X, rule, n_jobs=1).flat.labels for scale in (1.0, 2.0**-20, 2.0**13)]
            for other in labels[1:]:
                np.testing.assert_array_equal(other, labels[0], err_msg=f"{seed=} {selection}")


def equal_partitions(first: np.ndarray, second: np.ndarray, shuffled: np.ndarray) -> bool:
    """Whether labels of shuffled rows are the same clusters."""
    labels = np.empty_like(second)
    labels[shuffled] = second
    return partition_of(first) == partition_of(labels)


def same_partition(first: FlatClustering, second: FlatClustering, shuffled: np.ndarray) -> bool:
    """Whether a clustering of shuffled rows is the same, with the same strengths and scores."""
    return (
        equal_partitions(first.labels, second.labels, shuffled)
        and np.array_equal(first.strengths[shuffled], second.strengths)
        and np.array_equal(first.outlier_scores[shuffled], second.outlier_scores)
    )


@pytest.mark.parametrize("selection", SELECTIONS)
def test_permuting_the_rows_never_changes_the_choice_of_a_number_of_clusters(selection: str) -> None:
    for seed in range(120):
        rng = np.random.default_rng([6, seed])
        X = draw_groups(seed, 30 + seed % 60, 1 + seed % 3)  # on grids several choices may be equally good
        min_samples = 2 + seed % 4
        candidates = structure_tree(X, selection, min_samples, 2 + seed % 4)
        shuffled = rng.permutation(len(X))
        after = structure_tree(X[shuffled], selection, min_samples, 2 + seed % 4)
        for k in range(1, int(candidates.n_leaves[0]) + 1):
            both = select_n_clusters(candidates, k), select_n_clusters(after, k)
            assert same_partition(*both, shuffled), f"{seed=} {k=}"


@pytest.mark.parametrize("selection", SELECTIONS)
def test_permuting_the_rows_of_a_grid_never_changes_how_good_the_choice_of_a_number_is(selection: str) -> None:
    for seed in range(1, 240, 2):
        rng = np.random.default_rng([6, seed])
        X = varied_points(seed)
        min_samples = 2 + seed % 2
        candidates = structure_tree(X, selection, min_samples, min_samples)
        after = structure_tree(X[rng.permutation(len(X))], selection, min_samples, min_samples)
        assert candidates.n_leaves[0] == after.n_leaves[0]
        for k in range(1, int(candidates.n_leaves[0]) + 1):
            totals = [select_n_clusters(tree, k).stability.sum() for tree in (candidates, after)]
            np.testing.assert_allclose(totals[0], totals[1], rtol=1e-9, atol=1e-12, err_msg=f"{seed=} {k=}")


def test_rounding_does_not_decide_whether_a_split_is_as_stable_as_the_whole() -> None:
    # In 1 / distance: {A B} lasts from 0.1 to 0.3, A and B from 0.3 to 0.5. As 0.3 − 0.1 = 0.5 − 0.3, the sum of A and
    # B is as stable as {A B}, which is taken then; but each sum is rounded in another way.
    for a in range(2, 30):
        for b in range(a, 30, 3):
            groups = np.split(np.arange(a + b + 2), [a, a + b])
            edges = [(rows[i], rows[i + 1]) for rows in groups for i in range(len(rows) - 1)]
            weights = [1 / 0.5] * (a - 1 + b - 1) + [1 / 0.7]
            edges += [(groups[0][0], groups[1][0]), (groups[1][0], groups[2][0])]
            weights += [1 / 0.3, 1 / 0.1]
            tree = DCTree.from_spanning_tree(SpanningTree(np.array(edges), np.array(weights)))
            clustering = select_clusters(read_tree(tree, "branches", 1))
            assert clustering.labels.tolist() == [0] * (a + b) + [1, 1], f"{a=} {b=}"


# Well-separated groups


@pytest.mark.parametrize("seed", range(20))
def test_ten_far_apart_blobs_are_found_with_and_without_outliers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(10), 300)
    X = rng.normal(size=(10, 10))[truth] * 20 + rng.normal(size=(3000, 10))
    tree = DCTree.from_points(X)
    for selection in ("branches", "information"):
        check_blobs(select_clusters(read_tree(tree, selection)), truth)
    with_outliers = np.concatenate([X, rng.normal(size=(12, 10)) * 200])
    clustering = select_clusters(read_tree(DCTree.from_points(with_outliers), "information"))
    check_blobs(clustering, truth)


def check_blobs(clustering: FlatClustering, truth: np.ndarray) -> None:
    labels = clustering.labels[: len(truth)]
    assert clustering.n_clusters == 10
    assert (labels < 0).mean() < 0.01
    assert adjusted_rand_score(truth[labels >= 0], labels[labels >= 0]) == 1.0


# A wanted number of clusters


@pytest.mark.parametrize("selection", SELECTIONS)
def test_one_cluster_is_everything(selection: str) -> None:
    for seed in range(100):
        X = varied_points(seed)
        tree = structure_tree(X, selection, 2 + seed % 3)
        clustering = select_n_clusters(tree, 1)
        assert clustering.labels.tolist() == [0] * len(X), f"{seed=}"


@pytest.mark.parametrize("selection", SELECTIONS)
def test_every_possible_number_of_clusters_is_given_exactly(selection: str) -> None:
    for seed in range(60):
        X = draw_groups(seed, 40 + seed, 2)
        tree = structure_tree(X, selection, 2 + seed % 3, 2 + seed % 4)
        for k in range(1, int(tree.n_leaves[0]) + 1):
            clustering = select_n_clusters(tree, k)
            assert clustering.n_clusters == k, f"{seed=} {k=}"
            assert len(partition_of(clustering.labels)) == k, f"{seed=} {k=}"


@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_automatic_number_gives_the_automatic_partition(selection: str) -> None:
    compared = 0
    for seed in range(150):
        X = draw_groups(seed, 30 + seed, 1 + seed % 3)
        tree = structure_tree(X, selection, 2 + seed % 4)
        automatic = select_clusters(tree)
        if automatic.n_clusters == 1 and (automatic.labels < 0).any():
            continue  # the paper's rule may leave points out of a single cluster; one wanted cluster is everything
        compared += 1
        same = select_n_clusters(tree, automatic.n_clusters)
        np.testing.assert_array_equal(same.labels, automatic.labels, err_msg=f"{seed=}")
        np.testing.assert_array_equal(same.strengths, automatic.strengths, err_msg=f"{seed=}")
    assert compared >= 100


def childless(parent: list[int], choice: tuple[int, ...]) -> int:
    """How many childless candidates lie at or below those chosen."""
    count = 0
    for leaf in set(range(len(parent))) - set(parent):
        above = leaf
        while above >= 0 and above not in choice:
            above = parent[above]
        count += above >= 0
    return count


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("ties", [False, True])
def test_a_wanted_number_is_the_best_of_all_choices(selection: str, ties: bool) -> None:
    compared = 0
    for seed in range(250):
        edges, weights = draw_spanning_tree(seed, 6 + seed % 30, ties=ties)
        tree = read_tree(DCTree.from_spanning_tree(SpanningTree(edges, weights + 0.5)), selection, 2, 2 + seed % 2)
        if not 3 <= tree.n_candidates <= 13:
            continue
        parent = tree.parent.tolist()
        best: dict[int, tuple[int, float]] = {}
        for choice in choices(parent):
            value = childless(parent, choice), float(tree.stability[list(choice)].sum())
            best[len(choice)] = max(best.get(len(choice), (-1, 0.0)), value)
        assert max(best) == tree.n_leaves[0]
        owners = {frozenset(tree.rows(c).tolist()): c for c in range(tree.n_candidates)}
        for k, (covered, stability) in best.items():
            if k == 1:
                continue  # everything, whatever its stability
            clustering = select_n_clusters(tree, k)
            chosen = tuple(owners[cluster] for cluster in partition_of(clustering.labels))
            assert len(chosen) == k, f"{seed=} {k=}"
            assert childless(parent, chosen) == covered, f"{seed=} {k=}"
            np.testing.assert_allclose(
                clustering.stability.sum(), stability, rtol=1e-9, atol=1e-12, err_msg=f"{seed=} {k=}"
            )
            compared += 1
    assert compared >= 60


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_number_of_clusters_out_of_range_is_refused(selection: str) -> None:
    tree = structure_tree(draw_groups(0, 80, 2), selection, 3)
    available = int(tree.n_leaves[0])
    for wanted in (available + 1, 10_000, 0, -1):
        sentence = (
            rf"The 'n_clusters' parameter must be an int in the range \[1, {available}\], the number of separate "
            rf"branches with at least {tree.test.smallest} points in this tree\. Got {wanted} instead\."
        )
        with pytest.raises(ValueError, match=sentence):
            select_n_clusters(tree, wanted)


# A cut


def test_a_cut_gives_the_core_points_of_dbscan() -> None:
    compared = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = draw_groups(seed, 30 + seed, 1 + seed % 4) if seed % 3 else varied_points(seed + 1)
        min_samples, smallest = 2 + seed % 5, 2 + seed % 7
        tree = structure_tree(X, SELECTIONS[seed % 3], min_samples, smallest)
        heights = np.unique(tree.merges.height)
        at = int(rng.integers(0, max(1, len(heights) - 1)))
        distance = float(heights[at : at + 2].mean())  # between two merges, where rounding does not matter
        if len(heights) > at + 1 and heights[at + 1] - heights[at] < 1e-9 * heights[at + 1]:
            continue
        other = DBSCAN(eps=max(distance, 1e-12), min_samples=min_samples).fit(X)
        core = np.full(len(X), -1)
        core[other.core_sample_indices_] = other.labels_[other.core_sample_indices_]
        expected = frozenset(group for group in partition_of(core) if len(group) >= smallest)
        assert partition_of(cut_at_distance(tree, distance).labels) == expected, f"{seed=}"
        compared += len(expected) > 0
    assert compared >= 90


def test_a_cut_below_all_distances_is_noise_and_above_all_is_one_cluster() -> None:
    X = draw_groups(1, 60, 2)
    for selection in SELECTIONS:
        tree = structure_tree(X, selection, 3)
        below = cut_at_distance(tree, float(tree.merges.height.min()) / 2)
        assert below.n_clusters == 0
        assert (below.labels == -1).all()
        check_description(below, len(X), selection)
        above = cut_at_distance(tree, float(tree.merges.height.max()))
        assert above.labels.tolist() == [0] * 60
        check_description(above, len(X), selection)


def test_clusters_of_a_cut_are_no_candidates_and_have_no_stability() -> None:
    tree = structure_tree(draw_groups(1, 60, 2), "branches", 3)
    cut = cut_at_distance(tree, float(np.median(tree.merges.height)))
    assert cut.n_clusters > 0
    assert np.isnan(cut.stability).all()


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("seed", range(8))
def test_each_number_at_once_is_each_number_alone(seed: int, selection: str) -> None:
    tree = structure_tree(varied_points(seed), selection, 2)
    most = min(int(tree.n_leaves[0]), 6)
    totals = total_stabilities(tree, most)
    together = list(select_each_number(tree, most))
    assert len(together) == len(totals) == most
    for number, (clustering, total) in enumerate(zip(together, totals, strict=True), 1):
        alone = select_n_clusters(tree, number)
        assert clustering.n_clusters == number
        assert np.array_equal(clustering.labels, alone.labels), f"seed {seed}"
        if number > 1:
            assert total == pytest.approx(clustering.stability.sum()), f"seed {seed}"


def test_more_numbers_than_branches_are_refused() -> None:
    tree = structure_tree(draw_groups(0, 40, 2), "branches", 2)
    with pytest.raises(ValueError, match=r"The 'n_clusters' parameter must be an int in the range \[1, \d+\]"):
        total_stabilities(tree, 1000)
    with pytest.raises(ValueError, match=r"Got 1000 instead"):
        select_each_number(tree, 1000)
