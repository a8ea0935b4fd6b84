"""Weights of neighbours, and places of branches."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from shade._kernels import layout
from shade.layout.arrangement import Arrangement
from shade.layout.descent import Attraction


def test_attraction_is_symmetric_and_one_a_row_in_the_mean():
    points = np.random.default_rng(0).normal(size=(40, 3))
    squared = cdist(points, points, "sqeuclidean")
    neighbours = np.argsort(squared, axis=1)[:, 1:13]
    found = Attraction.of_neighbours(neighbours, np.take_along_axis(squared, neighbours, 1), 8.0)
    matrix = csr_array((found.weights, found.neighbours, found.starts), shape=(40, 40)).toarray()
    np.testing.assert_allclose(matrix, matrix.T)
    assert matrix.sum() == pytest.approx(40.0)
    assert np.array_equal(matrix > 0, (squared > 0) & ((matrix > 0) | (matrix.T > 0)))


def test_perplexity_is_met():
    squared = np.sort(np.random.default_rng(0).uniform(0.1, 1.0, (50, 30)), axis=1)
    weights = np.empty_like(squared)
    layout.neighbour_weights(squared, 20.0, weights, 0, 50)
    entropy = -(weights * np.log(weights)).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropy), 20.0, rtol=1e-6)
    assert np.all(np.diff(weights, axis=1) <= 0)


def test_equal_distances_have_equal_weights():
    for squared in (np.zeros((1, 4)), np.full((1, 4), 7.0)):
        weights = np.empty((1, 4))
        layout.neighbour_weights(squared, 3.0, weights, 0, 1)
        np.testing.assert_allclose(weights, 0.25)


def four_groups():
    """Two pairs of groups: groups of a pair merge early, the pairs late."""
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0, 0], [8, 0, 0], [0, 60, 0], [8, 60, 0]])
    return np.vstack([centre + random.normal(size=(80, 3)) for centre in centres]), np.repeat(np.arange(4), 80)


def test_branches_that_merge_late_should_be_far_apart():
    points, group = four_groups()
    found = Arrangement.of_points(points)
    assert found.n_branches == 4 and found.matters
    assert all(len(set(found.branch[group == own])) == 1 for own in range(4))
    branch = found.branch[[0, 80, 160, 240]]
    distance = found.distance[np.ix_(branch, branch)]
    assert max(distance[0, 1], distance[2, 3]) < distance[:2, 2:].min()
    places = found.start(points[:, :2])
    centre = np.array([places[group == own].mean(axis=0) for own in range(4)])
    apart = np.linalg.norm(centre[:, None] - centre, axis=2)
    assert max(apart[0, 1], apart[2, 3]) < apart[:2, 2:].min()


def test_a_shift_moves_rows_of_a_branch_alike_and_the_map_as_a_whole_nowhere():
    points, _ = four_groups()
    found = Arrangement.of_points(points)
    shift = found.shift(points[:, :2])
    for own in range(found.n_branches):
        assert np.ptp(shift[found.branch == own], axis=0).max() == 0.0
    centres = np.array([shift[found.branch == own][0] for own in range(found.n_branches)])
    np.testing.assert_allclose(centres.sum(axis=0), 0.0, atol=1e-9)


def test_one_cloud_is_one_branch_and_left_alone():
    found = Arrangement.of_points(np.random.default_rng(0).normal(size=(300, 4)))
    assert found.n_branches == 1 and not found.matters
