"""Pictures are drawn without a screen, and no figure outlives its test."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from shade.clustering import select_clusters
from shade.density import DCTree
from tests.clustering.trees import read_tree


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    """Axes of a figure that pyplot does not know."""
    return Figure(figsize=(7, 5), layout="constrained").subplots()


@pytest.fixture(scope="session")
def blobs():
    """Four far-apart groups of 60, 50, 40 and 30 points and a few points between them."""
    generator = np.random.default_rng(0)
    centres, sizes = [(0, 0), (20, 0), (0, 20), (20, 20)], [60, 50, 40, 30]
    groups = [generator.normal(centre, 0.5, (size, 2)) for centre, size in zip(centres, sizes, strict=True)]
    return np.vstack([*groups, generator.uniform(5, 15, (6, 2))])


@pytest.fixture(scope="session")
def dc_tree(blobs):
    return DCTree.from_points(blobs)


@pytest.fixture(scope="session")
def structure_tree(dc_tree):
    return read_tree(dc_tree, "information", min_cluster_size=10)


@pytest.fixture(scope="session")
def clustering(structure_tree):
    return select_clusters(structure_tree)
