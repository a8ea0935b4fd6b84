"""Rows around a cluster belong to it unless they are of another kind or far out."""

from __future__ import annotations

import numpy as np
import pytest

from shade import DCTreeClustering
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


def grow(
    model: DCTreeClustering, background: np.ndarray | None = None, n_clusters: int | None = None
) -> FlatClustering:
    tree, clustering = model.structure_tree_, model._clustering
    if n_clusters is not None:
        clustering = select_n_clusters(tree, n_clusters)
    nothing = np.zeros(len(model.labels_), np.bool_)
    return with_outskirts(tree, clustering, model._links, nothing if background is None else background)


def leaving_of(model: DCTreeClustering) -> np.ndarray:
    tree = model.structure_tree_
    leaving = np.empty(len(tree.order))
    leaving[tree.order] = np.maximum(tree.branches.leaving, tree.merges.floor)
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
        expected = np.where(leaving < after.limit[reached], reached, -1)
        np.testing.assert_array_equal(after.labels[outside], expected[outside], err_msg=f"{seed=}")
        assert np.array_equal(after.strengths > 0, after.labels >= 0), seed
        assert (np.diff(np.bincount(after.labels[after.labels >= 0])) <= 0).all(), seed
        assert [after.labels[rows[0]] for rows in after.exemplars] == list(range(after.n_clusters)), seed


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


def test_background_never_belongs_to_a_cluster() -> None:
    X, _ = touching()
    model = clusters_of(X, selection="branches", min_cluster_size=60)
    branches = select_n_clusters(model.structure_tree_, 2)
    background = np.zeros(len(X), np.bool_)
    background[np.flatnonzero(branches.labels < 0)[::2]] = True
    grown = grow(model, background, n_clusters=2)
    assert (grown.labels[background] == -1).all()
    assert not grown.outskirts[background].any()
    assert grown.outskirts.any()


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
    assert _end_of_outskirts(np.full(10, 3.0)) == 3.0
    assert _end_of_outskirts(np.empty(0)) == -np.inf


def test_rows_that_coincide_say_nothing_about_how_far_out_others_are() -> None:
    X, _ = touching(1)
    repeated = np.vstack([X, np.repeat(X[:20], 10, axis=0)])
    model = clusters_of(repeated, selection="information")
    grown = grow(model)
    assert np.isfinite(grown.limit).all()
    assert (grown.limit > 0).all()
    assert same_partition(model.labels_[model.labels_ >= 0], grown.labels[model.labels_ >= 0])
