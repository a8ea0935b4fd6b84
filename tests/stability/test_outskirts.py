"""Rows around a cluster belong to it unless they are of another kind or far out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from shade import DCTreeClustering
from shade.stability.evidence import firm_clusters
from shade.stability.links import follow_links
from shade.stability.outskirts import _end_of_outskirts, with_outskirts
from shade.stability.selection import FlatClustering, select_n_clusters
from tests.oracles import draw_groups


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


def clusters_of(X: np.ndarray, **settings: object) -> DCTreeClustering:
    """A clustering without the warning that much of it is noise."""
    model = DCTreeClustering(**settings)
    model._cluster(X)
    return model


def grow(model: DCTreeClustering, groups: np.ndarray | None = None, n_clusters: int | None = None) -> FlatClustering:
    tree, clustering = model.structure_tree_, model._clustering
    if n_clusters is not None:
        clustering = select_n_clusters(tree, n_clusters)
    groups = np.zeros(len(model.labels_), int) if groups is None else groups
    return with_outskirts(tree, clustering, model._links, groups)


def leaving_of(model: DCTreeClustering) -> np.ndarray:
    tree = model.structure_tree_
    leaving = np.empty(len(tree.order))
    for position, row in enumerate(tree.order):
        leaving[row] = max(tree.branches.leaving[position], tree.floor)
    return leaving


def same_partition(first: np.ndarray, second: np.ndarray) -> bool:
    return len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


def test_clusters_that_touch_get_their_rows_back() -> None:
    for seed in range(5):
        X, truth = touching(seed)
        model = clusters_of(X, selection="branches", min_cluster_size=60)
        branches = select_n_clusters(model.structure_tree_, 2)
        grown = grow(model, n_clusters=2)
        assert np.mean(branches.labels < 0) > 0.09, seed
        assert np.mean(grown.labels < 0) < 0.02, seed
        right = np.bincount(2 * truth[grown.labels >= 0] + grown.labels[grown.labels >= 0], minlength=4)
        assert max(right[0] + right[3], right[1] + right[2]) / right.sum() > 0.95, seed


def test_rows_of_branches_stay_where_they_are_and_the_rest_follows_links_up_to_a_limit() -> None:
    for seed in range(30):
        model = clusters_of(draw_groups(seed, 60 + 5 * seed, 2), selection="information", min_cluster_size=5)
        before, after = model._clustering, grow(model)
        assert same_partition(before.labels[before.labels >= 0], after.labels[before.labels >= 0]), seed
        assert np.array_equal(after.branch_labels >= 0, before.labels >= 0), seed
        assert np.array_equal(after.outskirts, (before.labels < 0) & (after.labels >= 0)), seed
        reached, leaving = follow_links(after.branch_labels, model._links), leaving_of(model)
        outside = before.labels < 0
        grown = after.limit > before.limit[before.labels[[rows[0] for rows in after.exemplars]]]
        expected = np.where(grown[reached] & (leaving < after.limit[reached]), reached, -1)
        np.testing.assert_array_equal(after.labels[outside], expected[outside], err_msg=f"{seed=}")
        assert np.array_equal(after.strengths > 0, after.labels >= 0), seed
        assert (np.diff(np.bincount(after.labels[after.labels >= 0])) <= 0).all(), seed
        was = before.labels[[rows[0] for rows in after.exemplars]]
        for name in ("stability", "persistence"):
            np.testing.assert_array_equal(getattr(after, name), getattr(before, name)[was], err_msg=f"{seed=}")
        assert (after.limit >= before.limit[was]).all(), seed
        assert (after.limit <= np.nextafter(model.dc_tree_.height.max(), np.inf)).all(), seed


def test_strength_goes_on_falling_beyond_the_branch() -> None:
    X, _ = touching()
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    grown, leaving = grow(model, n_clusters=2), leaving_of(model)
    for label in (0, 1):
        members = np.flatnonzero(grown.labels == label)
        outer, inner = members[grown.outskirts[members]], members[~grown.outskirts[members]]
        assert grown.strengths[outer].max() < grown.strengths[inner].min()
        below_one = members[grown.strengths[members] < 1.0]
        core = grown.strengths[below_one] * leaving[below_one]
        np.testing.assert_allclose(core, core[0])


@pytest.mark.parametrize("n_noise", [5, 40])
def test_rows_of_another_kind_stay_noise(n_noise: int) -> None:
    for seed in range(5):
        X, far = with_noise(seed, n_noise)
        grown = grow(clusters_of(X, selection="branches", min_cluster_size=60), n_clusters=2)
        assert (grown.labels[far] == -1).all(), seed
        assert np.mean(grown.labels[~far] >= 0) > 0.95, seed


def test_background_never_belongs_to_a_cluster_and_leads_to_none() -> None:
    X, _ = touching()
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    branches = select_n_clusters(model.structure_tree_, 2)
    groups = np.zeros(len(X), int)
    groups[np.flatnonzero(branches.labels < 0)[::2]] = -1
    grown = grow(model, groups, n_clusters=2)
    assert (grown.labels[groups < 0] == -1).all()
    assert grown.outskirts.any()
    groups = np.where(branches.labels < 0, -1, 0)
    groups[np.flatnonzero(groups < 0)[0]] = 0  # alone among background, it leads nowhere
    model._links = model._links[(groups[model._links] < 0).any(axis=1)]
    assert not grow(model, groups, n_clusters=2).outskirts.any()


def test_rows_join_no_cluster_of_another_group() -> None:
    X, truth = touching(2)
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    free, bound = grow(model, n_clusters=2), grow(model, truth, n_clusters=2)
    for label in (0, 1):
        assert len(np.unique(truth[bound.outskirts & (bound.labels == label)])) == 1
    assert any(len(np.unique(truth[free.outskirts & (free.labels == label)])) == 2 for label in (0, 1))


def test_a_branch_that_is_left_out_is_nobodys_outskirts() -> None:
    offsets, within = np.array([0.0, 1000.0, 2000.0]), np.arange(20.0)
    X = (offsets[:, None] + within).reshape(-1, 1)  # all three part at one distance
    model = clusters_of(X, min_points=2, selection="branches", min_cluster_size=5)
    assert grow(model).n_clusters == 3
    fewer = grow(model, n_clusters=2)
    assert np.bincount(fewer.labels + 1).tolist() == [20, 20, 20]
    assert not fewer.outskirts.any()


def test_without_rows_outside_nothing_changes() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    X[40:] += 50.0
    model = clusters_of(X, selection="branches")
    assert (model.labels_ >= 0).all()
    assert grow(model) is model._clustering


def test_the_unit_changes_nothing() -> None:
    X, _ = touching(3)
    settings = {"selection": "branches", "min_cluster_size": 60}
    first, second = (grow(clusters_of(scale * X, **settings), n_clusters=2) for scale in (1.0, 1024.0))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_allclose(1024.0 * first.limit, second.limit)


def test_the_end_lies_in_a_valley_between_two_kinds_or_at_the_whisker() -> None:
    random = np.random.default_rng(0)
    one, other = random.normal(0.0, 0.2, size=700), random.normal(2.0, 0.2, size=300)
    assert 0.6 < _end_of_outskirts(np.append(one, other)) < 1.4
    low, high = np.percentile(one, [25, 75])
    assert _end_of_outskirts(one) == high + 1.5 * (high - low)
    assert 3.0 < _end_of_outskirts(np.full(10, 3.0)) < 3.0 + 1e-5
    assert _end_of_outskirts(np.repeat([3.0, np.nextafter(3.0, 4.0)], 5)) == pytest.approx(3.0, abs=1e-5)


@pytest.mark.parametrize(("apart", "valley"), [(0.62, True), (0.5, False)])
def test_only_a_clear_valley_is_an_end(apart: float, valley: bool) -> None:
    # Of two humps of deviation 0.2, the place between is at 0.6 and 0.88 of their height.
    one = 0.2 * norm.ppf((np.arange(10_000) + 0.5) / 10_000)
    distances = np.append(one, one + apart)
    assert (_end_of_outskirts(distances) < apart) == valley
    if valley:
        assert _end_of_outskirts(distances) == pytest.approx(apart / 2, abs=0.05)


@pytest.mark.parametrize(("near", "valley"), [(150, False), (400, True)])
def test_a_valley_around_a_small_core_is_no_end(near: int, valley: bool) -> None:
    """Where most rows of a cluster are beyond a valley, they are the cluster."""
    rng = np.random.default_rng(0)
    distances = np.append(rng.normal(0.0, 0.05, near), rng.normal(0.6, 0.2, 1000 - near))
    low, high = np.percentile(distances, [25, 75])
    end = _end_of_outskirts(distances)
    assert 0.1 < end < 0.3 if valley else end == high + 1.5 * (high - low)


def test_rows_that_coincide_say_nothing_about_how_far_out_others_are() -> None:
    X, far = with_noise(1, 40)
    repeated = np.vstack([X, np.repeat(X[~far][::6], 5, axis=0)])
    model = clusters_of(repeated, selection="branches", min_cluster_size=90)
    grown = grow(model, n_clusters=2)
    assert grown.outskirts.any()
    assert (grown.labels[: len(X)][far] == -1).all()
    nothing = clusters_of(np.repeat(np.arange(4.0), 20)[:, None], selection="branches")
    assert grow(nothing).n_clusters == nothing.n_clusters_


def test_the_unit_of_distances_decides_nothing_where_rows_tie_with_a_quartile() -> None:
    for seed in range(150):
        distances = np.random.default_rng(seed).normal(size=13)
        distances = np.append(distances, np.full(6, np.sort(distances)[3]))
        for octaves in (-7, 3, 20):
            shift = octaves * np.log(2.0)
            moved = _end_of_outskirts(distances + shift) - shift
            assert moved == pytest.approx(_end_of_outskirts(distances), abs=1e-6), seed


def test_a_limit_that_is_known_is_kept() -> None:
    X, _ = touching()
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    tree, branches = model.structure_tree_, select_n_clusters(model.structure_tree_, 2)
    nothing = np.zeros(len(X), int)
    wide = with_outskirts(tree, branches, model._links, nothing)
    narrow = with_outskirts(tree, branches, model._links, nothing, limit=branches.limit * 1.05)
    assert 0 < narrow.outskirts.sum() < wide.outskirts.sum()
    assert leaving_of(model)[narrow.outskirts].max() < 1.05 * branches.limit.max()


def test_a_chance_branch_has_no_wider_outskirts_than_the_others() -> None:
    pairs = [touching(seed)[0] * scale + 60.0 * seed for seed, scale in enumerate([1.0, 0.8, 1.1])]
    remote = np.random.default_rng(5).normal(size=(300, 5)) + 900.0  # nothing around it tells where outskirts end
    X = np.vstack([*pairs, remote])
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    tree, branches = model.structure_tree_, select_n_clusters(model.structure_tree_, 7)
    arguments = tree, branches, model._links, np.zeros(len(X), int)
    alone = by_branch(branches, with_outskirts(*arguments))
    pair_labels = np.delete(np.arange(7), branches.labels[-1])
    assert (alone[pair_labels] > branches.limit[pair_labels]).all()
    narrower = 0
    for doubtful in pair_labels:
        limits = by_branch(branches, with_outskirts(*arguments, np.arange(7) != doubtful))
        usual = np.median(alone[pair_labels[pair_labels != doubtful]])
        np.testing.assert_array_equal(np.delete(limits, doubtful), np.delete(alone, doubtful))
        assert limits[doubtful] == max(branches.limit[doubtful], min(alone[doubtful], usual))
        narrower += bool(branches.limit[doubtful] < limits[doubtful] < alone[doubtful])
    assert narrower > 1  # some end earlier, and yet none of these without outskirts


def test_without_a_firm_cluster_nothing_is_outskirts() -> None:
    X, _ = touching()
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    tree, branches = model.structure_tree_, select_n_clusters(model.structure_tree_, 2)
    np.testing.assert_array_equal(firm_clusters(tree, branches, lambda: 5.0), [True, True])
    np.testing.assert_array_equal(firm_clusters(tree, branches, lambda: 1.0), [False, False])
    bare = with_outskirts(tree, branches, model._links, np.zeros(len(X), int), np.array([False, False]))
    assert not bare.outskirts.any()
    np.testing.assert_array_equal(bare.labels, branches.labels)


def by_branch(branches: FlatClustering, clustering: FlatClustering) -> np.ndarray:
    """Where outskirts end, in the order of the branches."""
    limits = np.empty(branches.n_clusters)
    limits[branches.labels[[rows[0] for rows in clustering.exemplars]]] = clustering.limit
    return limits


def test_noise_around_a_chance_branch_of_it_stays_noise() -> None:
    random = np.random.default_rng(0)
    for seed in range(5):
        groups = [random.normal(centre, 0.4, size=(300, 4)) for centre in 6.0 * np.eye(4)[:3]]
        X = np.vstack([*groups, random.uniform(-4, 10, size=(500, 4))])
        truth = np.arange(len(X)) >= 900
        model = DCTreeClustering(noise="outliers", min_cluster_size=10)
        model._cluster(X)
        assert np.mean(model.labels_[truth] < 0) > 0.6, seed
        assert np.mean(model.labels_[~truth] >= 0) > 0.98, seed
