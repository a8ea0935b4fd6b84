"""The map: the same every time and in any order of rows, neighbours together, clusters apart."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from shade import DCTreeClustering
from shade.layout import map_points
from tests.unmeasured import unmeasured


@pytest.fixture(scope="module")
def groups():
    """Six groups of 40 points in five dimensions, and ten points anywhere."""
    random = np.random.default_rng(0)
    centres = random.uniform(-20, 20, (6, 5))
    points = [random.normal(centre, 1.0, (40, 5)) for centre in centres]
    return np.vstack([*points, random.uniform(-25, 25, (10, 5))]), np.append(np.repeat(np.arange(6), 40), [-1] * 10)


def share_of_own(places, labels, k=10):
    nearest = np.argsort(cdist(places, places), axis=1)[:, 1 : k + 1]
    clustered = labels >= 0
    return float(np.mean(labels[nearest[clustered]] == labels[clustered, None]))


def test_clusters_are_apart_and_neighbours_together(groups):
    points, labels = groups
    places = map_points(points).places
    assert share_of_own(places, labels) > 0.99
    gaps = [cdist(places[labels == own], places[(labels != own) & (labels >= 0)]).min() for own in range(6)]
    clusters = [places[labels == own] for own in range(6)]
    widths = [np.linalg.norm(cluster - cluster.mean(axis=0), axis=1).mean() for cluster in clusters]
    assert min(gaps) > max(widths)


def test_clusters_that_principal_components_hide_are_apart():
    # Eight corners of a cube in many dimensions: any plane covers some with others.
    random = np.random.default_rng(0)
    corners = np.unpackbits(np.arange(8, dtype=np.uint8)[:, None], axis=1)[:, -3:] * 8.0
    points, labels = np.repeat(corners, 40, axis=0) + random.normal(size=(320, 3)), np.repeat(np.arange(8), 40)
    centred = points - points.mean(axis=0)
    components = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    assert share_of_own(map_points(points).places, labels) > 0.98 > share_of_own(components, labels)


def test_the_same_points_have_the_same_map(groups):
    points, _ = groups
    assert np.array_equal(map_points(points).places, map_points(points.copy()).places)
    assert np.array_equal(map_points(points, n_jobs=1).places, map_points(points, n_jobs=3).places)


def test_the_map_does_not_depend_on_the_threads_of_many_rows():
    points = np.random.default_rng(0).normal(size=(9000, 3))  # more than are worth several threads
    assert np.array_equal(map_points(points, n_jobs=1).places, map_points(points, n_jobs=2).places)


def test_another_process_with_other_threads_finds_the_same(groups, tmp_path):
    points, _ = groups
    np.save(tmp_path / "points.npy", points)
    code = (
        "import sys, numpy as np; from shade.layout import map_points;"
        f"np.save({str(tmp_path / 'map.npy')!r}, map_points(np.load({str(tmp_path / 'points.npy')!r})).places)"
    )
    for threads in ("1", "3"):
        environment = {**unmeasured(), "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
        assert np.array_equal(np.load(tmp_path / "map.npy"), map_points(points).places)


@pytest.mark.parametrize("rounded", [False, True])
def test_the_order_of_rows_changes_nothing(groups, rounded):
    points = np.round(groups[0] / 2) if rounded else groups[0]  # rounded, many distances are equal
    places = map_points(points).places
    for seed in range(3):
        mixed = np.random.default_rng(seed).permutation(len(points))
        assert np.array_equal(map_points(points[mixed]).places, places[mixed])


def test_equal_points_have_one_place_and_change_no_other(groups):
    points, _ = groups
    doubled = np.vstack([points, points[:50], points[:50]])
    places = map_points(doubled).places
    assert np.array_equal(places[: len(points)], map_points(points).places)
    assert np.array_equal(places[len(points) :][:50], places[:50])


def test_the_unit_of_the_points_does_not_matter(groups):
    points, _ = groups
    for factor in (2.0**-400, 2.0**400):
        assert np.array_equal(map_points(factor * points).places, map_points(points).places)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 12, 40])
@pytest.mark.parametrize("columns", [1, 2, 3, 60])
def test_few_points_are_mapped(n, columns):
    points = np.random.default_rng(n).normal(size=(n, columns))
    found = map_points(points)
    assert found.places.shape == (n, 2)
    assert np.isfinite(found.places).all()
    assert len(np.unique(found.places, axis=0)) == n
    np.testing.assert_array_equal(found.place(points), found.places)


@pytest.mark.parametrize("n", [2, 3])
def test_two_and_three_points_keep_their_distances(n):
    points = np.random.default_rng(0).normal(size=(n, 7))
    scaled = cdist(points, points) / cdist(points, points).max()
    places = map_points(points).places
    np.testing.assert_allclose(cdist(places, places) / cdist(places, places).max(), scaled)


def test_points_that_are_all_equal_have_one_place():
    found = map_points(np.full((20, 4), 3.5))
    assert np.array_equal(found.places, np.zeros((20, 2)))
    assert np.array_equal(found.place([[3.5] * 4, [9.0] * 4]), np.zeros((2, 2)))


def test_one_and_two_dimensions_stay_as_they_are():
    points = np.random.default_rng(0).normal(size=(30, 2))
    assert np.array_equal(map_points(points).places, points)
    assert np.array_equal(map_points(points).place(points + 1), points + 1)
    line = map_points(points[:, :1])
    assert np.array_equal(line.places, np.column_stack([points[:, 0], np.zeros(30)]))
    assert np.array_equal(line.place([[7.0]]), [[7.0, 0.0]])


def test_a_constant_column_and_a_line_in_space_are_mapped():
    along = np.linspace(0, 1, 60)[:, None]
    for points in (along * [1.0, 2.0, 3.0], np.column_stack([along, along**2, np.zeros(60)])):
        places = map_points(points).places
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        assert np.isfinite(places).all()
        assert steps.max() < 0.5 * np.ptp(places, axis=0).max()  # nothing is torn off


def test_noise_alone_is_mapped():
    points = np.random.default_rng(0).uniform(size=(200, 6))
    places = map_points(points).places
    assert np.isfinite(places).all() and len(np.unique(places, axis=0)) == 200


def test_the_map_is_centred_and_widest_along_x(groups):
    places = map_points(groups[0]).places
    np.testing.assert_allclose(places.mean(axis=0), 0.0, atol=1e-9)
    covariance = np.cov(places.T)
    assert covariance[0, 0] > covariance[1, 1]
    assert covariance[0, 1] == pytest.approx(0.0, abs=1e-6 * covariance[0, 0])


def test_new_points_are_near_old_ones_like_them(groups):
    points, labels = groups
    found = map_points(points)
    new = points + 0.01 * np.random.default_rng(1).normal(size=points.shape)
    size = np.ptp(found.places, axis=0).max()
    assert np.linalg.norm(found.place(new) - found.places, axis=1).max() < 0.01 * size
    inside = points[labels == 2].mean(axis=0)
    nearest = np.linalg.norm(found.places - found.place(inside[None]), axis=1).argmin()
    assert labels[nearest] == 2


def test_a_new_place_does_not_depend_on_its_batch_and_does_not_jump(groups):
    points, _ = groups
    found = map_points(points)
    way = np.linspace(0, 1, 2001)[:, None]
    new = points[0] + way * (points[1] - points[0])
    places = found.place(new)
    assert np.array_equal(places, np.vstack([found.place(row[None]) for row in new]))
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert steps.max() < 0.1 * max(np.linalg.norm(found.places[0] - found.places[1]), 1.0)


def test_bad_points_are_refused_in_words(groups):
    with pytest.raises(ValueError, match="NaN"):
        map_points([[0.0, np.nan, 1.0]])
    with pytest.raises(ValueError, match=r"must have as many columns as the mapped ones, 5\. Got 3 instead"):
        map_points(groups[0]).place(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="'n_jobs' parameter of map_points"):
        map_points(groups[0], n_jobs=0)


def test_a_model_maps_its_rows_and_new_ones(groups):
    points, _ = groups
    model = DCTreeClustering().fit(points)
    places = model.map()
    assert np.array_equal(places, map_points(points).places)
    assert np.array_equal(model.map(points), places)
    places[:] = 0.0  # a copy
    assert np.array_equal(model.map(), map_points(points).places)
    assert np.array_equal(model.recluster(n_clusters=2).map(), model.map())
    model.fit(points[:100])
    assert np.array_equal(model.map(), map_points(points[:100]).places)
