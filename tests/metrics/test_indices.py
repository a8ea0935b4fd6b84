"""DCSI, DISCO and DBCV against their formulas written out over n × n matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

from shade.density import DCTree
from shade.metrics import dbcv_score, dcsi_score, disco_samples, disco_score
from tests import oracles

SEEDS = range(12)


def draw_clustering(seed: int, noise: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Groups of points with labels that follow them mostly."""
    rng = np.random.default_rng([9, seed])
    X = oracles.draw_groups(seed, 60 + 5 * seed, 1 + seed % 4)
    labels = (X[:, 0] > np.median(X[:, 0])).astype(int) + 2 * (X[:, -1] > 3)
    labels[rng.random(len(X)) < 0.1] = rng.integers(0, 3)
    if noise:
        labels[rng.random(len(X)) < 0.15] = -1
    return X, labels


def dcsi_by_matrix(X: np.ndarray, labels: np.ndarray, m: int, power: int) -> float:
    D = oracles.distances(X)
    core, longest = [], []
    for c in [c for c in np.unique(labels[labels >= 0]) if np.sum(labels == c) > 1]:
        rows = np.flatnonzero(labels == c)
        ordered = np.sort(D[np.ix_(rows, rows)], axis=1)  # column 0 is the point itself
        last = len(rows) - 1
        core.append(rows[ordered[:, min(m, last)] <= np.median(ordered[:, min(2 * m, last)])])
        longest.append(oracles.prim_weights(D[np.ix_(core[-1], core[-1])]).max(initial=0.0))
    values = []
    for i in range(len(core)):
        for j in range(i):
            s, c = D[np.ix_(core[i], core[j])].min() ** power, max(longest[i], longest[j]) ** power
            values.append(s / (s + c) if s + c > 0 else 0.0)
    return float(np.mean(values))


@pytest.mark.parametrize("squared", [False, True])
def test_dcsi_is_the_formula(squared: bool) -> None:
    for seed in SEEDS:
        X, labels = draw_clustering(seed)
        m = 1 + seed % 6
        expected = dcsi_by_matrix(X, labels, m, 2 if squared else 1)
        assert dcsi_score(X, labels, min_samples=m, squared=squared) == pytest.approx(expected, rel=1e-9), seed


def test_dcsi_of_far_classes_is_near_one_and_of_coinciding_ones_zero() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    labels = np.repeat([0, 1], 100)
    assert dcsi_score(X + 1e4 * labels[:, None], labels) > 0.99
    assert dcsi_score(np.vstack([X[:100], X[:100]]), labels) == 0.0
    assert math.isnan(dcsi_score(X, np.zeros(200, int)))
    assert math.isnan(dcsi_score(X[:3], [0, 0, 1]))


def disco_by_matrix(X: np.ndarray, labels: np.ndarray, m: int) -> np.ndarray:
    dc = oracles.minimax_distances(oracles.mutual_reachability(X, m))
    core = oracles.core_distances(X, m)
    values = np.empty(len(X))
    clustered, clusters = labels >= 0, np.unique(labels[labels >= 0])
    if len(clusters) > 1:
        values[clustered] = silhouette_samples(
            dc[np.ix_(clustered, clustered)], labels[clustered], metric="precomputed"
        )
    else:
        alone = np.where(clustered, -1, np.arange(len(X)))
        values[clustered] = silhouette_samples(dc, alone, metric="precomputed")[clustered]
    for i in np.flatnonzero(~clustered):
        pairs = [(r, core[labels == c].max()) for c in clusters for r in (core[i], dc[i, labels == c].min())]
        values[i] = min((reach - most) / max(reach, most) if max(reach, most) > 0 else 0.0 for reach, most in pairs)
    return values


def test_disco_is_the_formula() -> None:
    for seed in SEEDS:
        X, labels = draw_clustering(seed, noise=seed % 3 > 0)
        if seed % 4 == 3:
            labels = np.minimum(labels, 0)  # one cluster, and noise
        m = 2 + seed % 4
        if np.all(labels == 0):
            continue
        values = disco_samples(X, labels, min_samples=m)
        np.testing.assert_allclose(values, disco_by_matrix(X, labels, m), rtol=1e-9, atol=1e-12, err_msg=str(seed))
        assert disco_score(X, labels, min_samples=m, tree=DCTree.from_points(X, m)) == pytest.approx(values.mean())


def test_disco_of_the_extremes() -> None:
    X = np.arange(10.0)[:, None]
    assert disco_score(X, np.full(10, -1)) == -1.0
    assert disco_score(X, np.zeros(10, int)) == 0.0
    assert disco_score(np.zeros((10, 2)), [0] * 5 + [1] * 5) == 0.0
    for labels in (["a"] * 10, [np.nan] * 10, [0.5] * 10):
        with pytest.raises(ValueError, match="Labels must be whole numbers"):
            disco_score(np.zeros((10, 2)), labels)
    with pytest.raises(ValueError, match="one label a row: 10"):
        disco_score(X, [0, 1])


def prim_edges(matrix: np.ndarray) -> list[tuple[int, int]]:
    """Prim's tree from row 0. Equal edges are the rule here, and the tie goes as in the package: the place of a point
    that was reached is taken by the last one, and of equals the first place wins.
    """
    waiting, best, parent, edges = list(range(len(matrix))), [np.inf] * len(matrix), [0] * len(matrix), []
    place = 0
    while len(waiting) > 1:
        current = waiting[place]
        for values in (waiting, best, parent):
            values[place] = values[-1]
            values.pop()
        for j, other in enumerate(waiting):
            if matrix[current, other] < best[j]:
                best[j], parent[j] = matrix[current, other], current
        place = int(np.argmin(best))
        edges.append((parent[place], waiting[place]))
    return edges


def dbcv_by_matrix(X: np.ndarray, labels: np.ndarray) -> float:
    D, d = oracles.distances(X), X.shape[1]
    clusters = [rows for c in np.unique(labels[labels >= 0]) if len(rows := np.flatnonzero(labels == c)) > 1]
    core, inner, sparseness = np.zeros(len(X)), [], []
    for rows in clusters:
        for i in rows:
            others = D[i, rows[rows != i]]
            core[i] = 0.0 if others.min() == 0 else np.mean(others ** -float(d)) ** (-1 / d)
        reach = np.maximum(D[np.ix_(rows, rows)], np.maximum(core[rows][:, None], core[rows]))
        edges = prim_edges(reach)
        assert np.allclose(np.sort([reach[a, b] for a, b in edges]), oracles.prim_weights(reach))
        degree = np.bincount(np.ravel(edges), minlength=len(rows))
        inside = [reach[a, b] for a, b in edges if degree[a] > 1 and degree[b] > 1]
        sparseness.append(max(inside or [reach[a, b] for a, b in edges]))
        inner.append(rows[degree > 1] if (degree > 1).any() else rows)
    total = 0.0
    for i, rows in enumerate(clusters):
        gap = min(
            np.maximum(D[np.ix_(inner[i], inner[j])], np.maximum(core[inner[i]][:, None], core[inner[j]])).min()
            for j in range(len(clusters))
            if j != i
        )
        total += len(rows) * (gap - sparseness[i]) / max(gap, sparseness[i])
    return total / len(X)


def test_dbcv_is_the_formula() -> None:
    for seed in SEEDS:
        X, labels = draw_clustering(seed)
        assert dbcv_score(X, labels) == pytest.approx(dbcv_by_matrix(X, labels), rel=1e-9), seed


def test_dbcv_survives_many_columns_and_needs_two_clusters() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2000)) + 50 * labels[:, None]
    assert 0.5 < dbcv_score(X, labels) <= 1.0
    assert math.isnan(dbcv_score(X, np.zeros(60, int)))
    assert -1.0 <= dbcv_score(np.zeros((6, 2)), [0, 0, 0, 1, 1, 1]) <= 1.0


def test_seventy_thousand_points_need_no_square_memory() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 10, 70_000)
    X = rng.normal(size=(70_000, 3)) + 30 * rng.normal(size=(10, 3))[y]
    y[:500] = -1  # a matrix of 70,000 × 70,000 doubles would take 39 GB
    assert dcsi_score(X, y) > 0.5
    assert disco_score(X, y) > 0.3
