"""Each spanning tree of a fit is built once."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from shade import SHADE, DCTreeClustering
from shade.density.spanning_tree import minimum_spanning_tree
from tests.clustering.test_background import groups_and_noise

Sizes = list[tuple[int, int]]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    """The shapes of the points of which spanning trees were built."""
    shapes: Sizes = []

    def count(points: np.ndarray, *arguments: object, **settings: object) -> object:
        shapes.append(points.shape)
        return minimum_spanning_tree(points, *arguments, **settings)

    for room in ("shade.density.grouped_tree", "shade.estimators.training_steps"):
        monkeypatch.setattr(f"{room}.minimum_spanning_tree", count)
    return shapes


def test_points_without_a_background_need_one_tree(built: Sizes) -> None:
    X, _ = make_blobs(200, centers=3, random_state=0)
    model = DCTreeClustering().fit(X)
    assert built == [(200, 2)]
    model.recluster(n_clusters=2)
    model.recluster(between_noise=True)
    assert len(built) == 1


def test_a_background_needs_one_more_tree_of_the_other_rows(built: Sizes) -> None:
    X, noise = groups_and_noise(10, 60)
    DCTreeClustering().fit(X)
    assert built == [X.shape, (int(np.sum(~noise)), X.shape[1])]


@pytest.mark.parametrize("columns", [6, 80])
def test_a_fit_needs_one_tree_of_the_data_and_one_of_the_embedding(built: Sizes, columns: int) -> None:
    X, _ = make_blobs(200, n_features=columns, centers=3, cluster_std=6.0, random_state=0)
    assert SHADE(epochs=2, n_networks=1, random_state=0).fit(X).settled_  # the clusters of the data are not clear
    assert built == [(200, columns), (200, 10)]
