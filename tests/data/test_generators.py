"""The generated data has the shapes it promises, from local generators only."""

import numpy as np
import pytest

from shade.clustering import select_clusters
from shade.data import make_blobs, make_densired, make_moons, make_rings, make_three_clusters
from shade.density import DCTree
from tests.clustering.trees import read_tree


def test_points_and_labels_have_the_promised_types_and_sizes():
    X, y = make_three_clusters(301, random_state=0)
    assert X.shape == (301, 3) and X.dtype == np.float64
    assert y.shape == (301,) and y.dtype == np.int64
    assert np.bincount(y).tolist() == [101, 100, 100]
    assert np.any(np.diff(y) < 0)  # shuffled


def test_without_noise_the_rings_pass_through_each_others_centre_in_perpendicular_planes():
    X, y = make_three_clusters(3000, noise=0.0, random_state=1)
    first, second = X[y == 0], X[y == 1]
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(second - [1.0, 0.0, 0.0], axis=1), 1.0)
    assert np.all(first[:, 2] == 0.0) and np.all(second[:, 1] == 0.0)
    assert np.linalg.norm(second, axis=1).min() < 0.02
    assert np.linalg.norm(first - [1.0, 0.0, 0.0], axis=1).min() < 0.02


def test_without_noise_the_s_is_apart_but_within_two_radii():
    X, y = make_three_clusters(3000, noise=0.0, random_state=1)
    rings, s = X[y < 2], X[y == 2]
    gap = min(np.linalg.norm(rings - point, axis=1).min() for point in s)
    assert 1.2 < gap < 2.0
    # An S has its upper bow open to the right and its lower one to the left.
    upper, lower = s[s[:, 2] > 0.9], s[s[:, 2] < -0.9]
    assert len(upper) and len(lower)
    centre = (s[:, 0].min() + s[:, 0].max()) / 2
    middle = s[(np.abs(s[:, 2]) > 0.4) & (np.abs(s[:, 2]) < 0.5)]
    assert np.all((middle[:, 0] < centre) == (middle[:, 2] > 0))


def test_jitter_has_the_given_standard_deviation():
    X, y = make_three_clusters(30_000, noise=0.1, random_state=2)
    assert X[y == 0, 2].std() == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize("selection", ["structure", "branches", "information"])
def test_density_tells_the_three_clusters_apart(selection):
    X, y = make_three_clusters(900, random_state=3)
    labels = select_clusters(read_tree(DCTree.from_points(X), selection)).labels
    assert labels.max() == 2
    for cluster in range(3):
        assert len(np.unique(y[labels == cluster])) == 1
    assert np.mean(labels < 0) < 0.05


@pytest.mark.parametrize(
    "make_seed", [lambda: 7, lambda: np.int64(7), lambda: np.random.default_rng(7), lambda: np.random.RandomState(7)]
)
def test_equal_seeds_give_equal_points(make_seed):
    X, y = make_three_clusters(60, random_state=make_seed())
    again, labels = make_three_clusters(60, random_state=make_seed())
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert not np.array_equal(X, make_three_clusters(60, random_state=8)[0])


@pytest.mark.parametrize("generator", [np.random.default_rng(7), np.random.RandomState(7), None])
def test_a_generator_goes_on_from_call_to_call(generator):
    first, second = (make_three_clusters(60, random_state=generator)[0] for _ in range(2))
    assert not np.array_equal(first, second)


def test_global_random_state_is_not_touched():
    before = np.random.get_state()[1].copy()
    make_three_clusters(30, random_state=0)
    make_three_clusters(30)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_samples": 2}, r"'n_samples' parameter of make_three_clusters must be an int in the range \[3, inf\)"),
        ({"n_samples": 10.0}, "Got 10.0 instead"),
        ({"noise": -0.1}, r"'noise' parameter of make_three_clusters must be a float in the range \[0.0, inf\)"),
        ({"random_state": -1}, "a Generator, a RandomState or None. Got -1 instead"),
        ({"random_state": "0"}, "Got '0' instead"),
        ({"random_state": True}, "Got True instead"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_three_clusters(**parameters)


@pytest.mark.parametrize(
    ("make", "clusters", "columns"), [(make_blobs, 10, 10), (make_moons, 2, 2), (make_rings, 2, 2)]
)
def test_noise_is_mixed_in_in_the_given_share(make, clusters, columns):
    X, y = make(400, noise_share=0.25, random_state=3)
    assert X.shape == (400, columns) and y.dtype == np.int64
    assert np.sum(y == -1) == 100 and set(y[y >= 0]) == set(range(clusters))
    assert np.any(np.diff(y) < 0)
    extent = np.ptp(X[y >= 0], axis=0)
    assert np.all(np.ptp(X[y < 0], axis=0) <= 1.2 * extent)
    np.testing.assert_array_equal(X, make(400, noise_share=0.25, random_state=3)[0])
    with pytest.raises(ValueError, match=rf"'noise_share' parameter of {make.__name__} must be a float"):
        make(noise_share=1.0)


def test_rings_have_the_promised_radii():
    X, y = make_rings(200, noise=0.0, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X[y == 0], axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(X[y == 1], axis=1), 0.5)


def test_densired_data_is_what_the_appendix_says(capsys):
    pytest.importorskip("densired", reason="needs the densired package")
    X, y = make_densired(600, n_features=10, noise_share=0.3)
    assert X.shape == (600, 10) and y.dtype == np.int64
    assert set(y) == set(range(-1, 10))
    assert abs(np.mean(y < 0) - 0.3) < 0.02
    np.testing.assert_array_equal(X, make_densired(600, n_features=10, noise_share=0.3)[0])
    assert capsys.readouterr().out == ""
