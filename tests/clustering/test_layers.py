"""Layers are nested, each made of whole clusters or of real branches, and the clustering itself is one of them."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from shade import DCTreeClustering, load
from shade.clustering import Clustering, ClusterRule, Layers, cluster, find_layers, recluster
from shade.clustering.layers import _stable_numbers
from shade.density import SpanningTree
from tests.clustering.test_joining import RULES, many_groups
from tests.clustering.test_selection import check_description
from tests.oracles import choices, draw_groups, draw_points, partition_of


def groups_of_groups(seed: int, counts: tuple[int, ...] = (4, 4, 4), size: int = 40, apart: float = 30.0) -> np.ndarray:
    """Groups far apart, each of so many smaller groups, in eight columns."""
    rng = np.random.default_rng(seed)
    parts = [
        centre + 6.0 * rng.normal(size=(count, 1, 8)) + rng.normal(size=(count, size, 8))
        for count, centre in zip(counts, apart * rng.normal(size=(len(counts), 8)), strict=True)
    ]
    return np.concatenate([part.reshape(-1, 8) for part in parts])


def clusterings() -> Iterator[tuple[str, Clustering]]:
    """Clusterings of all rules, with wanted numbers below and above those found, and cuts."""
    for seed in range(5):
        for name, rule in RULES.items():
            spread = groups_of_groups(seed, (2, 3, 4), size=20, apart=10.0)
            scattered = np.random.default_rng(seed).uniform(-20, 20, (60, 2))
            for data, X in (
                ("groups", draw_groups(seed, 250, 2)), ("many", many_groups(seed, 8)), ("nested", spread),
                ("background", np.concatenate([0.1 * many_groups(seed, 5, 40, 2), scattered])),
                ("grid", draw_points(seed, 20, 90, "integer grid")),
                ("duplicates", draw_points(seed, 20, 90, "duplicates")),
            ):  # fmt: skip
                found = cluster(X, rule, n_jobs=1)
                k = found.flat.n_clusters
                yield f"{seed=} {name} {data}", found
                yield f"{seed=} {name} {data} fewer", found.with_number(max(1, k - 1))
                most = int(found.with_number(k + 2).structure_tree.n_leaves[0])
                yield f"{seed=} {name} {data} more", found.with_number(min(k + 2, most))
            found = cluster(spread, rule, n_jobs=1)
            cut = ClusterRule(**{**vars(rule), "cut_distance": float(np.quantile(found.dc_tree.height, 0.8))})
            yield f"{seed=} {name} cut", recluster(found, cut)


def inside(fine: np.ndarray, coarse: np.ndarray) -> bool:
    """Whether every cluster of the first labels lies in one cluster of the others."""
    return all(len(np.unique(coarse[fine == c])) == 1 and (coarse[fine == c] >= 0).all() for c in range(fine.max() + 1))


def check_layers(layers: Layers, found: Clustering, what: str) -> None:
    assert inside_all(layers), what
    np.testing.assert_array_equal(layers.labels[layers.chosen], found.flat.labels, err_msg=what)
    counts = [layer.n_clusters for layer in layers.clusterings]
    assert counts == sorted(set(counts)), what
    for layer, labels, parents in zip(layers.clusterings, layers.labels, layers.parents, strict=True):
        check_description(layer, len(found.points), what)
        assert len(parents) == labels.max() + 1, what
    for (coarse, fine), parents in zip(pairwise(layers.labels), layers.parents[1:], strict=True):
        np.testing.assert_array_equal(coarse[fine >= 0], parents[fine[fine >= 0]], err_msg=what)
    assert (layers.parents[0] == -1).all(), what


def inside_all(layers: Layers) -> bool:
    return all(inside(fine, coarse) for coarse, fine in pairwise(layers.labels))


def test_layers_are_nested_and_hold_the_clustering_itself() -> None:
    coarser = finer = 0
    for what, found in clusterings():
        layers = find_layers(found)
        check_layers(layers, found, what)
        coarser, finer = coarser + layers.chosen, finer + len(layers.labels) - 1 - layers.chosen
        if found.rule.cut_distance is None and (found.rule.n_clusters is None or found.joins):
            for layer in layers.clusterings[: layers.chosen]:
                joined = found.with_number(layer.n_clusters)
                np.testing.assert_array_equal(layer.labels, joined.flat.labels, err_msg=what)
    assert coarser > 20
    assert finer > 20


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("counts", [(4, 4, 4), (2, 3, 5, 4)])
def test_groups_of_groups_are_a_coarser_layer(seed: int, counts: tuple[int, ...]) -> None:
    found = cluster(groups_of_groups(seed, counts, apart=60.0), ClusterRule(), n_jobs=1)
    truth = np.repeat(np.arange(len(counts)), 40 * np.array(counts))
    assert partition_of(truth) in [partition_of(labels) for labels in find_layers(found).labels]


def information(found: Clustering, number: int) -> float:
    """The information of so many joined clusters, from all dc-distances between their rows."""
    labels, tree = found.with_number(number).flat.labels, found.structure_tree
    leaving, distances, total = tree.leaving_distances(), found.dc_tree.dc_distances(), 0.0
    core = ~found.flat.outskirts
    for c in range(number):
        own = labels == c
        birth = max(distances[np.ix_(own & core, (labels >= 0) & ~own & core)].min(), tree.floor)
        depth = np.mean([max(np.log(birth / distance), 0.0) for distance in leaving[own]])
        total += np.log(tree.n_counted / own.sum()) * own.sum() * depth**2
    return float(total)


def test_a_coarser_layer_beats_all_smaller_numbers_and_the_next_larger_one() -> None:
    coarser = 0
    for seed in range(4):
        for X in (groups_of_groups(seed, (2, 3, 4), size=15, apart=15.0), many_groups(seed, 12, 12)):
            found = cluster(X, ClusterRule(), n_jobs=1)
            k = found.flat.n_clusters
            value = {number: information(found, number) for number in range(2, k + 1)}
            peaks = [
                m for m in range(2, k)
                if all(value[m] > value[less] for less in range(2, m)) and value[m] > value[m + 1]
            ]  # fmt: skip
            expected: list[int] = []
            for m in sorted([*peaks, k], key=lambda number: -value[number]):  # the best first
                if all(2 * m <= other or 2 * other <= m for other in expected):
                    expected.append(m)
            layers = find_layers(found)
            counts = [int(labels.max()) + 1 for labels in layers.labels[: layers.chosen]]
            assert counts == sorted(set(expected) - {k}), f"{seed=} {value}"
            coarser += len(counts)
    assert coarser > 4


def test_a_difference_by_rounding_makes_no_layer() -> None:
    above = float(np.nextafter(2.0, 3.0))
    assert _stable_numbers(np.array([1.0, above, 2.0, 2.0, 1.5, 3.0])) == []  # of 2, 3, … 7 clusters
    assert _stable_numbers(np.array([1.0, 2.1, 2.0, 2.0, 1.5, 3.0])) == [3]


def branches_inside(layer: np.ndarray, found: Clustering) -> list[list[int]]:
    """For each cluster of a layer, the candidates that are smaller than its own branch and lie in it."""
    tree, homes = found.structure_tree, []
    for c in range(layer.max() + 1):
        rows = set(np.flatnonzero(layer == c).tolist())
        held = [b for b in range(tree.n_candidates) if set(tree.rows(b).tolist()) <= rows]
        top = [b for b in held if tree.parent[b] not in held]
        homes.append([b for b in held if b not in top] if len(top) == 1 else held)
    return homes


@pytest.mark.parametrize("name", RULES)
def test_finer_layers_are_the_most_stable_branches_inside_then_those_without_others(name: str) -> None:
    deeper = [0, 0]
    for seed in range(24):
        X = draw_groups(seed, 300, 1) if seed % 2 else many_groups(seed, 25, 20, 3)
        found = cluster(X, RULES[name], n_jobs=1)
        layers, tree = find_layers(found), found.structure_tree
        for step, (coarse, fine) in enumerate(pairwise(layers.clusterings[layers.chosen :])):
            deeper[step] += 1
            own = {frozenset(tree.rows(b).tolist()): b for b in range(tree.n_candidates)}
            branches = partition_of(fine.branch_labels)
            for held in branches_inside(coarse.labels, found):
                rows = frozenset(row for b in held for row in tree.rows(b).tolist())
                used = [own[branch] for branch in branches if branch <= rows] if held else []
                leaves = [b for b in held if not (tree.parent == b).any()]
                if step == 1:
                    assert sorted(used) == sorted(leaves), f"{seed=}"
                elif 0 < len(held) < 12:  # the brute force takes 2^n
                    parent = [held.index(tree.parent[b]) if tree.parent[b] in held else -1 for b in held]
                    best = max(sum(tree.stability[held[b]] for b in choice) for choice in choices(parent))
                    assert sum(tree.stability[used]) == pytest.approx(best), f"{seed=}"
    assert deeper[0] > 5
    assert deeper[1] > 0 or name == "information"


def test_the_order_and_the_unit_of_the_rows_do_not_matter() -> None:
    for seed in range(6):
        X = groups_of_groups(seed, (2, 3, 4), size=20, apart=12.0)
        shuffled = np.random.default_rng(seed).permutation(len(X))
        before, after = (find_layers(cluster(rows, ClusterRule(), n_jobs=1)) for rows in (X, 1e3 * X[shuffled]))
        assert before.chosen == after.chosen
        for one, other in zip(before.labels, after.labels, strict=True):
            assert partition_of(one[shuffled]) == partition_of(other), f"{seed=}"


def test_one_cluster_and_no_cluster_are_one_layer() -> None:
    one = find_layers(cluster(np.random.default_rng(0).normal(size=(200, 3)), ClusterRule(), n_jobs=1))
    assert [labels.max() for labels in one.labels] == [0]
    found = cluster(np.arange(20.0)[:, None], ClusterRule(cut_distance=0.1), n_jobs=1)
    none = find_layers(found)
    assert (len(none.labels), none.chosen, none.parents[0].tolist()) == (1, 0, [])
    assert len(none.to_frame()) == 0


def test_a_model_and_its_file_have_the_same_layers(tmp_path: Path) -> None:
    model = DCTreeClustering().fit(groups_of_groups(1, (2, 3, 4), size=20))
    model.save(tmp_path / "model.shade")
    again = load(tmp_path / "model.shade").layers()
    layers = model.layers()
    assert len(layers.labels) > 1
    np.testing.assert_array_equal(layers.labels[layers.chosen], model.labels_)
    for one, other in zip(layers.labels, again.labels, strict=True):
        np.testing.assert_array_equal(one, other)
    frame = layers.to_frame()
    assert frame.groupby("layer")["size"].sum().tolist() == [int(np.sum(labels >= 0)) for labels in layers.labels]
    for row in frame[frame["layer"] > 0].itertuples():
        members = layers.labels[row.layer] == row.cluster
        assert (layers.labels[row.layer - 1][members] == row.parent).all()
        assert members.sum() == row.size
    with pytest.raises(NotFittedError):
        DCTreeClustering().layers()


def test_a_tree_from_elsewhere_has_layers() -> None:
    edges = np.column_stack([np.arange(79), np.arange(1, 80)])
    lengths = np.where(edges[:, 0] % 20 == 19, 50.0, 1.0)
    lengths[39] = 5000.0
    tree = SpanningTree(edges, lengths)
    X = np.cumsum(np.append(0.0, tree.weights))[:, None]
    layers = find_layers(cluster(X, ClusterRule(selection="branches", min_samples=2), n_jobs=1))
    assert [int(labels.max()) + 1 for labels in layers.labels] == [2, 4]
