"""The reachability plot fills the area below every point in the colour of its cluster."""

import time
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from shade.density import DCTree
from shade.plots import NOISE_COLOUR, cluster_colours, plot_reachability


def filled_heights(collection, n):
    """Height of a filled area over the middle of each position."""
    (path,) = collection.get_paths()
    vertices = path.vertices
    top = vertices[: np.flatnonzero(vertices[:, 0] == n)[-1] + 1]
    heights = np.zeros(n)
    for (x, height), (following, _) in pairwise(top):
        if following > x:
            heights[int(x) : int(following)] = height
    return heights


def drawn_heights(ax, n):
    """Heights by colour; the first area is the whole profile."""
    return {
        tuple(np.round(collection.get_facecolor()[0, :3], 6)): filled_heights(collection, n)
        for collection in ax.collections
    }


def rounded(colour):
    return tuple(np.round(to_rgb(colour), 6))


def test_every_position_is_as_high_as_its_reachability_in_its_colour(ax):
    tree = DCTree.from_points([[0.0], [1.0], [3.0], [4.0], [10.0]], min_samples=2)
    labels = np.array([0, 1, 0, 1, -1])
    plot_reachability(tree, labels, ax=ax)
    heights = drawn_heights(ax, 5)
    expected = np.append(tree.height.max(), tree.reachability[1:])
    ordered = labels[tree.order]
    np.testing.assert_allclose(heights[rounded(NOISE_COLOUR)], expected)
    for label in (0, 1):
        np.testing.assert_allclose(
            heights[rounded(cluster_colours(2)[label])], np.where(ordered == label, expected, 0.0)
        )
    assert len(heights) == 3


def test_limits_start_at_zero_and_axes_are_labelled(ax, dc_tree):
    plot_reachability(dc_tree, ax=ax)
    assert ax.get_xlim() == (0, dc_tree.n_points)
    assert ax.get_ylim()[0] == 0.0
    assert ax.get_ylim()[1] == pytest.approx(1.05 * dc_tree.height.max())
    assert ax.get_xlabel() == "Points in the order of the tree"
    assert ax.get_ylabel() == "Reachability (dc-distance)"
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("make_labels", "areas"),
    [
        (lambda n: np.full(n, -1), 1),
        (lambda n: np.zeros(n, int), 2),
        (lambda n: np.arange(n) % 4 + 3, 5),
        (lambda n: np.array(["setosa", "virginica"])[np.arange(n) % 2], 3),
        (lambda n: None, 2),
    ],
)
def test_there_is_one_area_a_cluster_besides_the_profile(ax, dc_tree, make_labels, areas):
    plot_reachability(dc_tree, make_labels(dc_tree.n_points), ax=ax)
    assert len(ax.collections) == areas
    np.testing.assert_allclose(ax.collections[0].get_facecolor()[0, :3], NOISE_COLOUR)
    ax.figure.canvas.draw()


def test_legend_names_clusters(ax, dc_tree, clustering):
    labels = np.where(np.arange(dc_tree.n_points) % 10 == 0, -1, clustering.labels)
    plot_reachability(dc_tree, labels, ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    sizes = np.bincount(labels[labels >= 0])
    assert texts[:-1] == [f"{label} ({size})" for label, size in enumerate(sizes)]
    assert texts[-1] == f"noise ({np.sum(labels < 0)})"


@pytest.mark.parametrize("X", [np.zeros((8, 2)), np.zeros((1, 2))])
def test_points_that_coincide_are_drawn(ax, X):
    tree = DCTree.from_points(X, min_samples=1)
    plot_reachability(tree, np.zeros(len(X), int), ax=ax)
    assert ax.get_ylim() == (0.0, 1.0)
    ax.figure.canvas.draw()


def big_tree(n=70_000):
    reachability = np.abs(np.random.default_rng(0).normal(1.0, 0.3, n))
    reachability[0] = np.inf
    nothing = np.empty(0)
    return DCTree(np.random.default_rng(1).permutation(n), reachability, nothing, nothing, nothing, nothing)


def test_seventy_thousand_points_are_drawn_in_seconds_and_each_keeps_its_height_and_colour():
    tree = big_tree()
    labels = np.random.default_rng(2).integers(-1, 10, tree.n_points)  # interleaved: the slowest case
    started = time.perf_counter()
    ax = plot_reachability(tree, labels)
    ax.figure.canvas.draw()
    # About 1 s where this was written; the naive bar chart needs a minute.
    assert time.perf_counter() - started < 10.0
    top = tree.reachability[1:].max()
    expected = np.where(np.isfinite(tree.reachability), tree.reachability, top)
    ordered = labels[tree.order]
    for label in range(10):
        heights = filled_heights(ax.collections[label + 1], tree.n_points)
        np.testing.assert_allclose(np.sort(heights[heights > 0]), np.sort(expected[ordered == label]))
        moved = np.sort(np.flatnonzero(heights)) - np.flatnonzero(ordered == label)
        assert np.abs(moved).max() <= tree.n_points / 2_000
    assert ax.collections[0].get_rasterized()


def test_a_wall_of_one_point_stays_visible_among_many():
    tree = big_tree()
    tree.reachability[35_000] = 10.0
    ax = plot_reachability(tree, np.zeros(tree.n_points, int))
    ax.figure.canvas.draw()
    picture = np.asarray(ax.figure.canvas.buffer_rgba())[..., :3].astype(int)
    x, y = ax.transData.transform((35_000.5, 6.0))
    row = picture.shape[0] - int(y)
    assert picture[row, int(x) - 2 : int(x) + 3].min() < 200
