"""Rows between clusters belong to the nearest cluster unless they lie far outside it."""

from __future__ import annotations

import numpy as np
import pytest

from shade.clustering import Clustering, ClusterRule, FlatClustering, cluster, select_n_clusters
from shade.clustering.between import FENCE, assign_between
from shade.clustering.links import follow_links
from tests.oracles import draw_groups, partition_of


def touching(seed: int = 0, n: int = 300, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two round groups so near each other that their branches end well inside them."""
    random = np.random.default_rng(seed)
    X = np.vstack([random.normal(size=(n, columns)), random.normal(size=(n, columns)) + 5.0 / np.sqrt(columns)])
    return X, np.repeat([0, 1], n)


def with_noise(seed: int, n_noise: int) -> tuple[np.ndarray, np.ndarray]:
    """The same with rows far from everything, as far from each other."""
    random = np.random.default_rng(seed)
    X, _ = touching(seed)
    directions = random.normal(size=(n_noise, X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    far = directions * random.uniform(30.0, 60.0, size=(n_noise, 1))
    return np.vstack([X, far]), np.repeat([False, True], [len(X), n_noise])


def branches_of(X: np.ndarray, **settings: object) -> Clustering:
    """A clustering with all rows between clusters as noise."""
    return cluster(X, ClusterRule(background_noise=False, between_noise=True, **settings), n_jobs=1)


def halves_of(X: np.ndarray) -> tuple[Clustering, FlatClustering]:
    """A clustering of the two groups above, and the branches of both."""
    found = branches_of(X, selection="branches", min_cluster_size=60)
    return found, select_n_clusters(found.structure_tree, 2)


def grow(found: Clustering, branches: FlatClustering | None = None, groups: np.ndarray | None = None) -> FlatClustering:
    groups = np.zeros(len(found.points), int) if groups is None else groups
    return assign_between(found.structure_tree, found.flat if branches is None else branches, found.links, groups)


def leaving_of(found: Clustering) -> np.ndarray:
    tree = found.structure_tree
    leaving = np.empty(len(tree.order))
    for position, row in enumerate(tree.order):
        leaving[row] = max(tree.branches.leaving[position], tree.floor)
    return leaving


def fence_of(distances: np.ndarray) -> float:
    """Tukey's outer fence, in the logarithm of distance."""
    ordered = np.log(np.sort(distances))
    low, high = ordered[(len(ordered) - 1) // 4], ordered[-((len(ordered) - 1) // 4) - 1]
    return float(np.exp(high + FENCE * (high - low)))


def same_partition(first: np.ndarray, second: np.ndarray) -> bool:
    return len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


def test_clusters_that_touch_get_their_rows_back() -> None:
    for seed in range(5):
        X, truth = touching(seed)
        found, branches = halves_of(X)
        grown = grow(found, branches)
        assert np.mean(branches.labels < 0) > 0.09, seed
        assert np.mean(grown.labels < 0) < 0.02, seed
        right = np.bincount(2 * truth[grown.labels >= 0] + grown.labels[grown.labels >= 0], minlength=4)
        assert max(right[0] + right[3], right[1] + right[2]) / right.sum() > 0.95, seed


@pytest.mark.parametrize("selection", ["structure", "branches", "information"])
def test_rows_of_branches_stay_where_they_are_and_the_rest_follows_links_up_to_a_limit(selection: str) -> None:
    several = 0
    for seed in range(30):
        found = branches_of(draw_groups(seed, 60 + 5 * seed, 2), selection=selection, min_cluster_size=5)
        before, after = found.flat, grow(found)
        if before.n_clusters == 1:
            continue
        several += 1
        assert same_partition(before.labels[before.labels >= 0], after.labels[before.labels >= 0]), seed
        assert np.array_equal(after.branch_labels >= 0, before.labels >= 0), seed
        assert np.array_equal(after.outskirts, (before.labels < 0) & (after.labels >= 0)), seed
        was = before.labels[[rows[0] for rows in after.exemplars]]
        reached, leaving = follow_links(after.branch_labels, found.links), leaving_of(found)
        top = found.dc_tree.height.max()
        for label in range(after.n_clusters):
            fence = fence_of(leaving[(reached == label) & (leaving > found.structure_tree.floor)])
            expected = min(max(before.limit[was[label]], fence), np.nextafter(top, np.inf))
            assert after.limit[label] == pytest.approx(expected, rel=1e-5), seed
        expected = np.where((leaving < after.limit[reached]) | (before.labels >= 0), reached, -1)
        np.testing.assert_array_equal(after.labels, expected, err_msg=f"{seed=}")
        assert np.array_equal(after.strengths > 0, after.labels >= 0), seed
        assert (np.diff(np.bincount(after.labels[after.labels >= 0])) <= 0).all(), seed
        for name in ("stability", "persistence", "death"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name)[was], err_msg=f"{seed=}")
    assert several >= 15


def test_strength_goes_on_falling_beyond_the_branch() -> None:
    X, _ = touching()
    found, branches = halves_of(X)
    grown, leaving = grow(found, branches), leaving_of(found)
    for label in (0, 1):
        members = np.flatnonzero(grown.labels == label)
        outer, inner = members[grown.outskirts[members]], members[~grown.outskirts[members]]
        assert grown.strengths[outer].max() < grown.strengths[inner].min()
        below_one = members[grown.strengths[members] < 1.0]
        core = grown.strengths[below_one] * leaving[below_one]
        np.testing.assert_allclose(core, core[0])


def test_rows_far_from_everything_stay_noise() -> None:
    for seed in range(5):
        X, far = with_noise(seed, 5)
        grown = grow(*halves_of(X))
        assert (grown.labels[far] == -1).all(), seed
        assert np.mean(grown.labels[~far] >= 0) > 0.97, seed


def test_the_one_cluster_of_everything_loses_rows_beyond_the_fence() -> None:
    X = np.vstack([np.random.default_rng(0).normal(size=(200, 2)), [[40.0, 0.0], [0.0, -60.0]]])
    found = branches_of(X)
    assert found.flat.n_clusters == 1
    grown, leaving = grow(found), leaving_of(found)
    assert grown.limit[0] == pytest.approx(fence_of(leaving))
    np.testing.assert_array_equal(grown.labels, np.where(leaving < grown.limit[0], 0, -1))
    assert (grown.labels[-2:] == -1).all()
    assert np.mean(grown.labels >= 0) > 0.95
    assert (grown.strengths[grown.labels < 0] == 0).all()
    assert all((grown.labels[rows] == 0).all() for rows in grown.exemplars)
    assert not grown.outskirts.any()


def test_background_never_belongs_to_a_cluster_and_leads_to_none() -> None:
    X, _ = touching()
    found, branches = halves_of(X)
    groups = np.zeros(len(X), int)
    groups[np.flatnonzero(branches.labels < 0)[::2]] = -1
    grown = grow(found, branches, groups)
    assert (grown.labels[groups < 0] == -1).all()
    assert grown.outskirts.any()
    groups = np.where(branches.labels < 0, -1, 0)
    groups[np.flatnonzero(groups < 0)[0]] = 0  # alone among background, it leads nowhere
    links = found.links[(groups[found.links] < 0).any(axis=1)]
    assert not assign_between(found.structure_tree, branches, links, groups).outskirts.any()


def test_rows_join_no_cluster_of_another_group() -> None:
    X, truth = touching(2)
    found, branches = halves_of(X)
    free, bound = grow(found, branches), grow(found, branches, truth)
    for label in (0, 1):
        assert len(np.unique(truth[bound.outskirts & (bound.labels == label)])) == 1
    assert any(len(np.unique(truth[free.outskirts & (free.labels == label)])) == 2 for label in (0, 1))


def test_without_rows_outside_every_row_stays_where_it_is() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    X[40:] += 50.0
    found = branches_of(X, selection="branches")
    assert (found.flat.labels >= 0).all()
    grown = grow(found)
    np.testing.assert_array_equal(grown.labels, found.flat.labels)
    np.testing.assert_array_equal(grown.strengths, found.flat.strengths)
    assert not grown.outskirts.any()


def test_a_clustering_without_clusters_stays_one() -> None:
    X, _ = touching()
    nothing = cluster(X, ClusterRule(background_noise=False, cut_distance=0.0)).flat
    assert nothing.n_clusters == 0
    found, _ = halves_of(X)
    assert grow(found, nothing) is nothing


def test_the_unit_changes_nothing() -> None:
    X, _ = touching(3)
    first, second = (grow(*halves_of(scale * X)) for scale in (1.0, 1024.0))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_allclose(1024.0 * first.limit, second.limit)


def test_the_fence_is_three_quartile_ranges_beyond_the_upper_quartile_by_hand() -> None:
    # Two groups of eight on a line, 2.0 apart inside and 20 from each other; one row 3 beyond a group, one 15 beyond.
    assert FENCE == 3.0
    steps = np.arange(8.0)
    X = np.concatenate([steps, 20.0 + steps, [30.0], [45.0]])[:, None]
    found = branches_of(X, min_samples=2, selection="branches", min_cluster_size=5)
    grown = grow(found)
    # All rows of a group leave at 1, so that the fence is there, too, and the limit that of the branch: 13.
    assert grown.limit.tolist() == [13.0, 13.0]
    assert grown.labels.tolist() == [1] * 8 + [0] * 9 + [-1]


def test_rows_that_coincide_say_nothing_about_how_far_out_others_are() -> None:
    X, far = with_noise(1, 5)
    repeated = np.vstack([X, np.repeat(X[~far][::6], 5, axis=0)])
    found = branches_of(repeated, selection="branches", min_cluster_size=90)
    grown = grow(found, select_n_clusters(found.structure_tree, 2))
    assert grown.outskirts.any()
    assert (grown.labels[: len(X)][far] == -1).all()
    heaps = branches_of(np.repeat(np.arange(4.0), 20)[:, None], selection="branches")
    assert partition_of(grow(heaps).labels) == partition_of(heaps.flat.labels)


def test_a_sparse_background_stays_noise_whatever_chance_makes_of_a_part_of_it() -> None:
    kept = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        groups = [random.normal(centre, 0.4, size=(300, 4)) for centre in 6.0 * np.eye(4)[:3]]
        X = np.vstack([*groups, random.uniform(-4, 10, size=(500, 4))])
        noise = np.arange(len(X)) >= 900
        labels = cluster(X, ClusterRule(min_cluster_size=10), n_jobs=1).flat.labels
        kept += bool(np.mean(labels[noise] < 0) > 0.9)
        assert np.mean(labels[~noise] >= 0) > 0.98, seed
    assert kept == 10
