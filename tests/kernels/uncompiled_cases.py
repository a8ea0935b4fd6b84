"""Tiny cases through every kernel, to be run with NUMBA_DISABLE_JIT=1: Python checks indices, compiled code does not.

Run as `python -m tests.kernels.uncompiled_cases`; prints how many cases passed.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict

import numba
import numpy as np
import torch

from shade._kernels import prim
from shade._kernels.density_loss import loss_and_gradient
from shade.clustering import SplitTest, StructureTree, cut_at_distance, select_clusters, select_n_clusters
from shade.clustering.assignment import PointIndex, assign_nearest, label_new_points, score_new_points
from shade.clustering.background import find_background
from shade.clustering.between import assign_between
from shade.clustering.links import follow_links, links_of
from shade.clustering.structure_tree import SELECTIONS
from shade.density import DCTree, core_distances, minimum_spanning_tree, mutual_reachability, targets
from shade.density.search import AllPairs, KDTree, ProductBlocks
from shade.metrics import dbcv_score, disco_samples
from tests import oracles
from tests.clustering.trees import read_tree
from tests.kernels import test_bfloat16_training
from tests.metrics.test_indices import disco_by_matrix
from tests.oracles import candidates_for, draw_groups, draw_points, multiway_tree, partition_of, select

ALGORITHMS = ("prim", "kd_tree", "blocks")


def check_trees(X: np.ndarray, min_samples: int) -> DCTree:
    matrix = oracles.mutual_reachability(X, min_samples)
    expected = oracles.minimax_distances(matrix)
    np.testing.assert_allclose(core_distances(X, min_samples), oracles.core_distances(X, min_samples), rtol=1e-12)
    np.testing.assert_allclose(mutual_reachability(X, min_samples), matrix, rtol=1e-12)
    trees = []
    for algorithm in ALGORITHMS:
        spanning_tree = minimum_spanning_tree(X, min_samples, algorithm=algorithm)
        assert oracles.spans(spanning_tree.edges, len(X))
        np.testing.assert_allclose(np.sort(spanning_tree.weights), oracles.prim_weights(matrix), rtol=1e-12)
        trees.append(DCTree.from_spanning_tree(spanning_tree))
        np.testing.assert_allclose(trees[-1].dc_distances(), expected, rtol=1e-12)
    batch = np.arange(0, len(X), 2)
    rows, steps = trees[0].sort_batch(batch)
    assert sorted(rows.tolist()) == batch.tolist()
    assert len(steps) == len(batch)
    assert len(trees[0].sort_batch(batch[:0])[0]) == 0
    assert trees[0].sort_batch(trees[0].order[[-1, -1]])[1].tolist() == [0.0, 0.0]
    return trees[0]


def check_batch(X: np.ndarray, min_samples: int) -> None:
    order, weights = np.empty(len(X), np.int64), np.empty(len(X))
    prim.batch_order(oracles.squared_distances(X), min_samples, order, weights)
    expected = oracles.minimax_distances(oracles.mutual_reachability(X, min_samples))
    np.testing.assert_allclose(oracles.expand_steps(weights), expected[np.ix_(order, order)], rtol=1e-9)
    distances = np.sqrt(oracles.squared_distances(X[order]))
    for squared in (True, False):
        gradient = np.zeros(X.T.shape)
        loss = loss_and_gradient(np.ascontiguousarray(X[order].T), weights, squared, gradient)
        errors = oracles.expand_steps(weights) - (distances**2 if squared else distances)
        np.testing.assert_allclose(loss, np.mean(errors**2), rtol=1e-5, atol=1e-12)
        assert np.isfinite(gradient).all()
    for wide in (X, np.tile(X, (1, 40))):
        rows, steps = targets.batch_order(wide.astype(np.float32), min_samples)
        assert sorted(rows.tolist()) == list(range(len(X)))
        assert steps[0] == 0.0


def check_clusterings(X: np.ndarray, min_samples: int, tree: DCTree) -> None:
    root = multiway_tree(oracles.minimax_distances(oracles.mutual_reachability(X, min_samples)))
    by_pairs, by_tree, by_blocks = (PointIndex(X, min_samples) for _ in range(3))
    vars(by_tree)["search"] = KDTree.from_points(X)  # what larger data would be searched with
    vars(by_blocks)["search"] = ProductBlocks.from_points(X)  # and what has more columns
    assert isinstance(by_tree.search, KDTree)
    assert isinstance(by_pairs.search, AllPairs)
    queries = np.random.default_rng(len(X)).normal(size=(10, X.shape[1])) * 5
    for selection in SELECTIONS:
        candidates = read_tree(tree, selection, min_samples)
        clustering = select_clusters(candidates)
        chosen = select(candidates_for(root, selection, **asdict(candidates.test)))
        assert partition_of(clustering.labels) == oracles.partition_of_candidates(chosen)
        for k in range(1, int(candidates.n_leaves[0]) + 1):
            assert select_n_clusters(candidates, k).n_clusters == k
        for distance in (0.0, float(np.median(tree.height)), float(tree.height[-1])):
            cut_at_distance(candidates, distance)
        for training in (by_pairs, by_tree, by_blocks):
            attachment = training.attach(X)
            np.testing.assert_array_equal(label_new_points(clustering, attachment), clustering.labels)
            scores = score_new_points(candidates, attachment)
            np.testing.assert_allclose(scores, clustering.outlier_scores, rtol=1e-12, atol=1e-15)
            score_new_points(candidates, training.attach(queries))
        links = links_of(minimum_spanning_tree(X, min_samples))
        for assigned in (assign_nearest(clustering.labels, X), follow_links(clustering.labels, links)):
            assert (assigned >= 0).all()


def check_split_tests(X: np.ndarray, min_samples: int, tree: DCTree) -> None:
    root = multiway_tree(oracles.minimax_distances(oracles.mutual_reachability(X, min_samples)))
    for slope, level in ((0.0, 0.0), (0.4, 0.1), (1e9, 0.0)):
        candidates = StructureTree.from_dc_tree(tree, "information", SplitTest(slope, level, 2))
        top = oracles.tested_tree(root, 2, slope, level)
        stability = {c.points: c.stability for c in top.walk()}
        rows = [frozenset(candidates.rows(c).tolist()) for c in range(candidates.n_candidates)]
        assert set(rows) == set(stability)
        expected = [stability[owned] for owned in rows]
        np.testing.assert_allclose(candidates.stability, expected, rtol=1e-9, atol=1e-12)
        grown = assign_between(
            candidates,
            select_clusters(candidates),
            links_of(minimum_spanning_tree(X, min_samples)),
            np.zeros(len(X), np.int64),
        )
        assert grown.n_clusters >= 1
        find_background(tree, candidates)


def check_indices(X: np.ndarray, min_samples: int, tree: DCTree) -> None:
    labels = np.arange(len(X)) % 3 - (np.arange(len(X)) % 7 == 0)
    np.testing.assert_allclose(
        disco_samples(X, labels, min_samples=min_samples, tree=tree),
        disco_by_matrix(X, labels, min_samples),
        atol=1e-12,
    )
    assert -1.0 <= dbcv_score(X, labels) <= 1.0


def main() -> None:
    """Run all cases."""
    assert numba.config.DISABLE_JIT, "set NUMBA_DISABLE_JIT=1"
    warnings.simplefilter("error")
    cases = 0
    with np.errstate(divide="ignore"):  # heights of zero are meant to have an infinite inverse
        for X in (np.zeros((1, 2)), np.array([[0.0], [2.0]])):
            check_trees(X, 1)
        for seed in range(3):
            for X in (
                draw_groups(seed, 55, 2),
                draw_points(seed, 30, 40, "integer grid"),
                draw_points(seed, 30, 40, "duplicates"),
                draw_points(seed, 2, 6, "normal"),
                np.ones((8 + seed, 2)),
            ):
                min_samples = min(2 + seed, len(X))
                tree = check_trees(X, min_samples)
                check_batch(X, min_samples)
                check_clusterings(X, min_samples, tree)
                check_split_tests(X, min_samples, tree)
                if len(X) >= 8:
                    check_indices(X, min_samples, tree)
                cases += 1
        X = np.random.default_rng(0).normal(size=(70, 1))
        for k in (64, 65, 70):  # a sorted list of neighbours up to 64, a partition above
            expected = oracles.core_distances(X, k)
            np.testing.assert_allclose(np.sqrt(AllPairs.from_points(X).core_distances(k)), expected)
            np.testing.assert_allclose(np.sqrt(ProductBlocks.from_points(X).core_distances(k)), expected)
            tree = KDTree.from_points(X)
            np.testing.assert_allclose(np.sqrt(tree.core_distances(k)), expected[tree.indices])
    test_bfloat16_training.test_rows_are_rounded_as_by_torch()
    test_bfloat16_training.test_activation_and_its_gradient_are_those_of_torch()
    test_bfloat16_training.test_the_squared_error_and_its_gradient_are_those_of_torch()
    test_bfloat16_training.test_steps_are_those_of_torchs_adam(torch.bfloat16)
    sys.stdout.write(f"{cases} cases passed\n")


if __name__ == "__main__":
    main()
