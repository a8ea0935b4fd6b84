"""Distances instead of points: the same clusters as of the points that they were measured between."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import kneighbors_graph

import shade
from shade import DCTreeClustering
from shade._base.errors import ModelFileError
from shade.density import SpanningTree, minimum_spanning_tree
from shade.density.distances import DistanceMatrix, NeighbourGraph
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from tests import oracles

RULES: tuple[dict[str, Any], ...] = (
    {},
    {"between_noise": True},
    {"selection": "branches"},
    {"min_cluster_size": 15, "background_noise": False},
    {"selection": "structure"},
)


@pytest.fixture(autouse=True)
def few_clusters_may_be_found() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Only . clusters? instead of|Only one cluster|.* of the rows are noise")
        yield


def given(**settings: Any) -> DCTreeClustering:
    return DCTreeClustering(metric="precomputed", **settings)


def same(one: DCTreeClustering, other: DCTreeClustering, what: str) -> None:
    np.testing.assert_array_equal(one.labels_, other.labels_, err_msg=what)
    for name in ("probabilities_", "outlier_scores_", "cluster_persistence_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9, err_msg=f"{what} {name}")


def same_clusters(one: DCTreeClustering, other: DCTreeClustering, what: str) -> None:
    """The same partition of all rows but those around clusters: where several are equally near, any may be theirs."""
    flat, expected = one.clustering_.flat, other.clustering_.flat
    sure = ~(flat.outskirts | expected.outskirts)
    assert oracles.partition_of(flat.labels[sure]) == oracles.partition_of(expected.labels[sure]), what
    np.testing.assert_allclose(flat.outlier_scores, expected.outlier_scores, atol=1e-9, err_msg=what)


def with_sparse_rows(seed: int) -> np.ndarray:
    """Groups of rows; every fourth set has a background, and every fifth has equal rows."""
    X = oracles.draw_groups(seed, 120, 3)
    if seed % 4 == 0:
        X = np.vstack([X, np.random.default_rng(seed).uniform(-80, 80, (25, 3))])
    return np.vstack([X, X[:9]]) if seed % 5 == 0 else X


def test_distances_give_what_points_give(tmp_path: Path) -> None:
    backgrounds = 0
    for seed in range(100):
        X, rule = with_sparse_rows(seed), {"min_samples": 2 + seed % 4, **RULES[seed % len(RULES)]}
        points, model = DCTreeClustering(**rule).fit(X), given(**rule).fit(oracles.distances(X))
        backgrounds += bool(points.clustering_.shown.background.any())
        what = f"{seed=} {rule}"
        (same if rule.get("between_noise") else same_clusters)(model, points, what)
        new = np.random.default_rng(seed).normal(X[::3], 0.5)
        far = oracles.distances(np.vstack([X, new]), X)
        np.testing.assert_array_equal(model.predict(far[: len(X)]), model.labels_, err_msg=what)
        if rule.get("between_noise"):
            np.testing.assert_array_equal(model.predict(far[len(X) :]), points.predict(new), err_msg=what)
            np.testing.assert_allclose(model.memberships(), points.memberships(), atol=1e-9, err_msg=what)
        scores = model.score_samples(far[len(X) :])
        np.testing.assert_allclose(scores, points.score_samples(new), atol=1e-9, err_msg=what)
        if seed % 10 == 0:
            model.save(tmp_path / "model.shade")
            again = shade.load(tmp_path / "model.shade")
            same(again, model, what)
            np.testing.assert_array_equal(again.predict(far), model.predict(far), err_msg=what)
    assert 10 < backgrounds < 60


def test_the_order_of_rows_does_not_matter() -> None:
    for seed in range(20):
        X = oracles.draw_groups(seed, 100, 3)
        order = np.random.default_rng(seed).permutation(len(X))
        for form in (np.asarray, lambda full: kneighbors_graph(full, 60, mode="distance", metric="precomputed")):
            for rule in ({}, {"min_samples": 3, "selection": "branches"}):
                labels = given(**rule).fit(form(oracles.distances(X))).labels_
                again = given(**rule).fit(form(oracles.distances(X[order]))).labels_[np.argsort(order)]
                assert oracles.partition_of(again) == oracles.partition_of(labels), f"{seed=} {rule}"


def test_a_graph_of_all_neighbours_is_the_matrix() -> None:
    for seed in range(40):
        X, rule = with_sparse_rows(seed), {**RULES[seed % len(RULES)], "background_noise": False}
        full = oracles.distances(X)
        rows, others = np.nonzero(np.triu(np.ones_like(full), 1 if seed % 3 else 0))
        graph = sparse.csr_array((full[rows, others], (rows, others)), full.shape)
        matrix, model = given(**rule).fit(full), given(**rule).fit(graph)
        (same if rule.get("between_noise") else same_clusters)(model, matrix, f"{seed=}")
        entries = np.indices(full.shape).reshape(2, -1)
        every = sparse.csr_array((full.ravel(), tuple(entries)), full.shape)  # zeros are distances, too
        np.testing.assert_array_equal(model.predict(every), model.labels_)


def test_the_tree_of_a_graph_is_a_lightest_one() -> None:
    for seed in range(60):
        X, min_samples = oracles.draw_points(seed, 12, 40).astype(np.float64), 3
        full = oracles.distances(X)
        graph = NeighbourGraph.from_user(kneighbors_graph(full, 8, mode="distance", metric="precomputed"))
        core = graph.core_distances(min_samples)
        np.testing.assert_allclose(core, oracles.core_distances(X, min_samples), atol=1e-9, err_msg=f"{seed=}")
        whole = np.full((len(X), len(X)), np.inf)
        coordinates = graph.graph.tocoo()
        reach = np.maximum(np.maximum(coordinates.data, core[coordinates.row]), core[coordinates.col])
        whole[coordinates.row, coordinates.col] = reach
        if np.isinf(oracles.minimax_by_relaxation(whole)).any():
            with pytest.raises(ValueError, match=r"The graph is not connected: it has . parts"):
                graph.spanning_tree(core)
        else:
            tree = graph.spanning_tree(core)
            np.testing.assert_array_equal(np.sort(tree.weights), oracles.prim_weights(whole), err_msg=f"{seed=}")
            assert oracles.spans(tree.edges, len(X))


def test_a_spanning_tree_gives_what_its_points_give(tmp_path: Path) -> None:
    for seed in range(20):
        X, rule = oracles.draw_groups(seed, 120, 3), {**RULES[seed % len(RULES)], "background_noise": False}
        points = DCTreeClustering(**rule).fit(X)
        model = given(**rule).fit(minimum_spanning_tree(X), dimension=points.clustering_.dimension)
        same_clusters(model, points, f"{seed=}")
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade")
    same(loaded, model, "loaded")
    for tree in (model, loaded):
        with pytest.raises(ValueError, match="a spanning tree, which says nothing about new rows"):
            tree.predict(oracles.distances(X))


def test_dimensions_of_distances_are_those_of_points() -> None:
    X = np.random.default_rng(0).normal(size=(400, 6))
    points = DCTreeClustering().fit(X).clustering_.dimension
    assert DistanceMatrix.from_user(oracles.distances(X)).dimension() == pytest.approx(points, rel=1e-9)
    assert 4 < points < 8
    near = NeighbourGraph.from_user(kneighbors_graph(X, 30, mode="distance")).dimension()
    assert near == pytest.approx(points, rel=0.2)
    assert given().fit(oracles.distances(X), dimension=2.5).clustering_.dimension == 2.5


def test_cosine_compares_angles(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(4, 12))
    X = (centres[np.arange(400) % 4] + random.normal(0, 0.25, (400, 12))) * random.lognormal(0, 3, (400, 1))
    X[7] = 0.0
    model = DCTreeClustering(metric="cosine").fit(X)
    assert model.n_clusters_ == 4
    assert (model.labels_.reshape(-1, 4)[2:] == model.labels_[8:12]).all()
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    unit = DCTreeClustering().fit(X / np.where(lengths > 0, lengths, 1.0))
    np.testing.assert_array_equal(model.labels_, unit.labels_)
    np.testing.assert_array_equal(model.predict(1e160 * X), model.labels_)
    directions = np.delete(X, 7, axis=0)
    angles = given().fit(np.sqrt(2.0 * cosine_distances(directions)))
    np.testing.assert_array_equal(angles.labels_, DCTreeClustering(metric="cosine").fit(directions).labels_)
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    assert loaded.update(5 * X[:3]).labels_[-3:].tolist() == model.labels_[:3].tolist()


SQUARE = oracles.distances(np.arange(12.0)[:, None])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (SQUARE[:, :5], r"a square matrix. Got the shape \(12, 5\)"),
        (-SQUARE, "Distances must not be negative. Got -11"),
        (1.0 - SQUARE / 11, "The distance of row 0 to itself is 1, not 0. Give distances, not similarities"),
        (SQUARE + np.triu(SQUARE), "The distance from row 0 to row 1 is 2, but in the other direction it is 1"),
        (np.where(SQUARE == 3, np.inf, SQUARE), "infinity in row 0, column 3"),
        (sparse.csr_array(SQUARE[:, :5]), "a square matrix"),
        (sparse.csr_array(-SQUARE), "must not be negative"),
        (sparse.csr_array(np.where(SQUARE == 3, np.nan, SQUARE)), "Distances must be finite numbers"),
        (sparse.csr_array(np.where(SQUARE < 3, SQUARE, 0)), "Row 0 has 2 neighbours in the graph, but min_samples=5"),
        (sparse.block_diag([SQUARE, SQUARE]), "not connected: it has 2 parts"),
        (SpanningTree(np.zeros((3, 3), int), np.ones(3)), r"an int array of edges of shape \(n_samples - 1, 2\)"),
        (SpanningTree(np.array([[0, 1], [1, 9]] * 3), np.ones(6)), "joins the rows 0 to 6. Got row 9"),
        (SpanningTree(np.array([[0, 1], [0, 1]] * 3), np.ones(6)), "some of them close a cycle"),
        (SpanningTree(np.column_stack([np.arange(6), np.arange(6) + 1]), -np.ones(6)), "must not be negative"),
    ],
)
def test_wrong_distances_are_refused_and_change_nothing(X: Any, message: str) -> None:
    model = given().fit(SQUARE)
    before = pickle.dumps(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, dimension=2.0)
    assert pickle.dumps(vars(model)) == before


def test_what_needs_points_says_so() -> None:
    model = given().fit(SQUARE)
    for refuse, message in (
        (lambda: model.update(SQUARE), "update needs points, but this model was fitted on distances"),
        (model.map, "map needs points"),
        (model.reliability, "reliability needs points"),
        (lambda: model.assign_noise("nearest"), "needs points"),
        (lambda: model.recluster(min_samples=3), "recluster cannot change 'min_samples' of a model of distances"),
        (lambda: model.predict(SQUARE[:, :3]), "X has 3 features"),
        (lambda: model.predict(sparse.csr_array(SQUARE[:, :3])), "X has 3 features"),
        (lambda: model.predict(-SQUARE), "must not be negative"),
        (lambda: given().fit(SQUARE, y=[0] + [-1] * 11), "Known labels, pairs and weights need points"),
        (lambda: given().fit(minimum_spanning_tree(SQUARE)), "needs the number of dimensions"),
        (lambda: given().fit(SQUARE, dimension=0.5), r"'dimension' parameter of fit must be a float in the range \[1"),
        (lambda: DCTreeClustering().fit(SQUARE, dimension=2.0), "go with metric='precomputed' only"),
        (lambda: DCTreeClustering().fit(minimum_spanning_tree(SQUARE)), "go with metric='precomputed' only"),
        (lambda: DCTreeClustering(metric="manhattan").fit(SQUARE), "'euclidean', 'cosine' or 'precomputed'"),
        (lambda: model.set_params(metric="euclidean").save("never"), "are not those that it was fitted with"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            refuse()


def test_forged_distances_are_refused(tmp_path: Path) -> None:
    X = oracles.draw_groups(1, 60, 3)
    path = tmp_path / "model.shade"
    given().fit(oracles.distances(X)).save(path)
    contents = read_model_file(path)
    core = contents.arrays["core"]
    for changed, message in (
        ({"core": core[:-1]}, "core distances for"),
        ({"core": core - core.max()}, "core distances that are no distances"),
        ({"core": core * 3}, "not of the core distances"),
        ({"embedding": X}, "the embedding has shape"),
    ):
        forged = ModelContents(contents.description, contents.tensors, {**contents.arrays, **changed})
        write_model_file(path, forged)
        with pytest.raises(ModelFileError, match=message):
            shade.load(path)
    description = {**contents.description, "parameters": {**contents.description["parameters"], "metric": "cosine"}}
    write_model_file(path, ModelContents(description, contents.tensors, contents.arrays))
    with pytest.raises(ModelFileError, match="it holds the arrays"):
        shade.load(path)
