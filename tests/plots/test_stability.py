"""The curve shows the total stability of what recluster gives for each number."""

from types import SimpleNamespace

import numpy as np
import pytest

from shade.clustering import ClusterRule, StructureTree, cluster, select_clusters, select_n_clusters
from shade.plots import plot_stability
from tests.clustering.test_joining import groups_of_parts


def test_each_point_is_the_total_of_the_clustering_with_that_number(structure_tree: StructureTree, ax):
    plot_stability(structure_tree, ax=ax)
    numbers, totals = ax.lines[0].get_data()
    assert numbers.tolist() == list(range(1, int(structure_tree.n_leaves[0]) + 1))
    assert totals[0] == 0.0
    expected = [select_n_clusters(structure_tree, int(number)).stability.sum() for number in numbers[1:]]
    np.testing.assert_allclose(totals[1:], expected)


def test_the_highest_is_marked_and_is_the_clustering_chosen_without_a_number(structure_tree: StructureTree, ax):
    plot_stability(structure_tree, ax=ax)
    (number,), (total,) = ax.lines[1].get_data()
    chosen = select_clusters(structure_tree)
    assert number == chosen.n_clusters
    np.testing.assert_allclose(total, chosen.stability.sum())
    assert [text.get_text() for text in ax.texts] == [str(chosen.n_clusters)]


def test_most_limits_the_curve_and_is_checked(structure_tree: StructureTree, ax):
    plot_stability(structure_tree, most=2, ax=ax)
    assert len(ax.lines[0].get_xdata()) == 2
    with pytest.raises(ValueError, match=r"The 'most' parameter of plot_stability must be an int in the range \[1, "):
        plot_stability(structure_tree, most=0, ax=ax)


def test_a_model_with_joined_clusters_shows_the_index_that_chose_their_number(ax):
    found = cluster(groups_of_parts(0)[0], ClusterRule(), settled=True, n_jobs=1)
    plot_stability(SimpleNamespace(clustering_=found), ax=ax)
    numbers, scores = ax.lines[0].get_data()
    assert numbers.tolist() == list(range(1, found.parts.n_clusters + 1))
    np.testing.assert_array_equal(scores, np.append(0.0, found.variance_index))
    assert ax.lines[1].get_xdata().tolist() == [found.flat.n_clusters] == [3]
    assert ax.get_ylabel() == "Index of the variances"
