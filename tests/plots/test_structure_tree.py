"""The icicle shows each candidate over its points, from birth to death."""

import dataclasses

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from shade.clustering import cut_at_distance, select_clusters
from shade.density import DCTree
from shade.plots import cluster_colours, plot_structure_tree
from shade.plots.structure_tree import MOST_CANDIDATES
from tests.clustering.trees import read_tree


def bars(ax):
    """The bars of candidates and those of clusters: x, y, width and height of each."""
    return [
        np.array([[bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()] for bar in container])
        for container in ax.containers
    ]


def test_every_candidate_is_a_bar_over_its_points_from_birth_to_death(ax, structure_tree):
    plot_structure_tree(structure_tree, ax=ax)
    (drawn,) = bars(ax)
    by_size = np.argsort(-structure_tree.size, kind="stable")
    nodes = structure_tree.node[by_size]
    top = ax.get_ylim()[1]
    np.testing.assert_array_equal(drawn[:, 0], structure_tree.merges.start[nodes])
    np.testing.assert_array_equal(drawn[:, 2], structure_tree.size[by_size])
    np.testing.assert_allclose(drawn[:, 1], np.maximum(structure_tree.death[by_size], ax.get_ylim()[0]))
    np.testing.assert_allclose(drawn[:, 1] + drawn[:, 3], np.minimum(structure_tree.birth[by_size], top))
    assert drawn[0, 2] == len(structure_tree.order) and drawn[0, 3] > 0  # the root
    assert ax.get_xlim() == (0, len(structure_tree.order))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Points in the order of the tree", "dc-distance")
    assert ax.get_title() == ""


def test_selected_clusters_have_their_colours_and_numbers(ax, structure_tree, clustering):
    plot_structure_tree(structure_tree, clustering, ax=ax)
    _, clusters = ax.containers
    assert len(clusters) == clustering.n_clusters == 4
    for label, bar in enumerate(clusters):
        np.testing.assert_allclose(to_rgb(bar.get_facecolor()), cluster_colours(4)[label])
        positions = np.arange(int(bar.get_x()), int(bar.get_x() + bar.get_width()))
        assert np.all(clustering.labels[structure_tree.order[positions]] == label)
        assert bar.get_width() == np.sum(clustering.labels == label)
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2", "3"]


def test_bars_of_selected_clusters_cover_those_of_their_candidates(ax, structure_tree, clustering):
    plot_structure_tree(structure_tree, clustering, ax=ax)
    candidates, clusters = bars(ax)
    for cluster in clusters:
        assert np.any(np.all(np.isclose(candidates, cluster), axis=1))


def test_clusters_of_a_cut_end_at_the_cut(ax, structure_tree):
    distance = 3.0
    cut = cut_at_distance(structure_tree, distance)
    assert cut.n_clusters == 4
    plot_structure_tree(structure_tree, cut, ax=ax)
    _, clusters = bars(ax)
    np.testing.assert_allclose(clusters[:, 1] + clusters[:, 3], distance)
    assert np.all(clusters[:, 3] > 0)


def test_candidates_without_a_cluster_are_grey(ax, structure_tree, clustering):
    plot_structure_tree(structure_tree, clustering, ax=ax)
    for bar in ax.containers[0]:
        assert len(set(to_rgb(bar.get_facecolor()))) == 1


@pytest.mark.parametrize("selection", ["structure", "branches", "information"])
def test_every_rule_can_be_drawn(ax, dc_tree, selection):
    tree = read_tree(dc_tree, selection)
    chosen = select_clusters(tree)
    plot_structure_tree(tree, chosen, ax=ax)
    assert [len(drawn) for drawn in bars(ax)] == [tree.n_candidates, chosen.n_clusters]
    ax.figure.canvas.draw()


def test_distances_over_more_than_two_decades_get_a_logarithmic_axis(ax, structure_tree):
    generator = np.random.default_rng(0)
    points = np.vstack([generator.normal(centre, spread, (50, 2)) for centre, spread in ((0, 1e-4), (1, 1e-2), (9, 1))])
    tree = read_tree(DCTree.from_points(points), "information")
    plot_structure_tree(tree, select_clusters(tree), ax=ax)
    assert ax.get_yscale() == "log"
    assert 0.0 < ax.get_ylim()[0] <= tree.death.min()
    ax.figure.canvas.draw()


def test_other_distances_get_a_linear_axis_from_zero(ax, structure_tree):
    plot_structure_tree(structure_tree, ax=ax)
    assert ax.get_yscale() == "linear"
    assert ax.get_ylim()[0] == 0.0


def test_the_largest_candidates_are_drawn_and_the_title_says_so(ax):
    generator = np.random.default_rng(0)
    points = generator.uniform(size=(3000, 2))
    tree = read_tree(DCTree.from_points(points, 2), "branches", 2, 2)
    assert tree.n_candidates > MOST_CANDIDATES
    plot_structure_tree(tree, ax=ax)
    (drawn,) = bars(ax)
    np.testing.assert_array_equal(drawn[:, 2], -np.sort(-tree.size)[:MOST_CANDIDATES])
    assert ax.get_title() == f"The 400 largest of {tree.n_candidates:,} candidates"


def test_clusters_outside_the_largest_candidates_are_drawn_too(ax):
    points = np.random.default_rng(0).uniform(size=(3000, 2))
    tree = read_tree(DCTree.from_points(points, 2), "branches", 2, 2)
    chosen = select_clusters(tree)
    plot_structure_tree(tree, chosen, ax=ax)
    assert len(bars(ax)[1]) == chosen.n_clusters > 100


def test_one_cluster_of_all_points_is_drawn(ax):
    tree = read_tree(DCTree.from_points(np.zeros((20, 2))), "information")
    plot_structure_tree(tree, select_clusters(tree), ax=ax)
    assert bars(ax)[1].tolist() == [[0.0, 0.0, 20.0, 1.0]]
    ax.figure.canvas.draw()


def test_a_clustering_without_clusters_is_drawn(ax, structure_tree):
    plot_structure_tree(structure_tree, cut_at_distance(structure_tree, 0.0), ax=ax)
    assert len(ax.containers) == 1


def test_a_clustering_of_another_tree_is_refused(ax, structure_tree, clustering):
    other = dataclasses.replace(clustering, labels=np.roll(clustering.labels, 3))
    with pytest.raises(ValueError, match="Give a clustering chosen from this tree"):
        plot_structure_tree(structure_tree, other, ax=ax)
