"""The confusion matrix counts points, matches clusters to classes, and puts noise last."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.metrics.cluster import contingency_matrix

from shade.plots import plot_confusion


def shown(ax):
    """Shares, names of the rows and names of the columns."""
    (image,) = ax.images
    rows, columns = ([tick.get_text() for tick in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis))
    return np.asarray(image.get_array()), rows, columns


def written_counts(ax, shape):
    counts = np.zeros(shape, int)
    for text in ax.texts:
        column, row = text.get_position()
        counts[int(row), int(column)] = int(text.get_text().replace(",", ""))
    return counts


def test_clusters_that_are_classes_by_other_numbers_lie_on_the_diagonal(ax):
    truth = np.repeat([0, 1, 2], [5, 7, 9])
    plot_confusion(truth, np.array([2, 0, 1])[truth], ax=ax)
    shares, rows, columns = shown(ax)
    np.testing.assert_array_equal(shares, np.eye(3))
    assert (rows, columns) == (["2", "0", "1"], ["0", "1", "2"])
    np.testing.assert_array_equal(written_counts(ax, (3, 3)), np.diag([5, 7, 9]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Class", "Cluster")


def test_counts_and_shares_agree_with_a_contingency_table(ax):
    generator = np.random.default_rng(0)
    truth, labels = generator.integers(0, 5, 5000), generator.integers(-1, 7, 5000)
    plot_confusion(truth, labels, ax=ax)
    shares, rows, _ = shown(ax)
    expected = contingency_matrix(labels, truth)  # noise, −1, is its first row
    order = [0 if row == "noise" else int(row) + 1 for row in rows]
    np.testing.assert_array_equal(written_counts(ax, shares.shape), expected[order])
    np.testing.assert_allclose(shares, expected[order] / expected.sum(axis=0))
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)


def test_noise_comes_last_in_rows_and_columns(ax):
    plot_confusion([-1, 3, 5, 5], [-1, 1, -1, 0], ax=ax)
    shares, rows, columns = shown(ax)
    assert (rows, columns) == (["1", "0", "noise"], ["3", "5", "noise"])
    np.testing.assert_allclose(shares, [[1, 0, 0], [0, 0.5, 0], [0, 0.5, 1]])


def test_as_many_points_as_possible_lie_on_the_diagonal(ax):
    # Greedily, cluster 0 would take class 0; together it is better the other way round.
    counts = np.array([[10, 9], [9, 0]])
    labels, truth = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    plot_confusion(truth, labels, ax=ax)
    assert shown(ax)[1] == ["1", "0"]


def test_left_over_clusters_come_after_the_matched_ones_by_class(ax):
    labels = np.repeat([0, 1, 2, 3], [9, 2, 8, 3])
    truth = np.repeat(["b", "b", "a", "a"], [9, 2, 8, 3])
    plot_confusion(truth, labels, ax=ax)
    _, rows, columns = shown(ax)
    assert (rows, columns) == (["2", "0", "3", "1"], ["a", "b"])


def test_more_classes_than_clusters_leave_columns_without_a_match(ax):
    plot_confusion([0, 0, 1, 2, 2], [1, 1, 1, 0, 0], ax=ax)
    shares, rows, _ = shown(ax)
    assert rows == ["1", "0"]
    np.testing.assert_array_equal(shares, [[1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("names", [["cat", "dog"], {1: "cat", 2: "dog"}])
def test_classes_have_the_names_given(ax, names):
    plot_confusion([1, 2, 2], [0, 0, 1], ax=ax, truth_names=names)
    assert shown(ax)[2] == ["cat", "dog"]


def test_names_that_do_not_fit_side_by_side_are_slanted_and_short_ones_not(ax):
    truth = np.arange(20)
    plot_confusion(truth, truth, ax=ax)
    assert {tick.get_rotation() for tick in ax.get_xticklabels()} == {0.0}
    slanted = plot_confusion(truth, truth, truth_names=[f"class {i} with a name" for i in range(20)])
    assert {tick.get_rotation() for tick in slanted.get_xticklabels()} == {45.0}


@pytest.mark.parametrize(("size", "written"), [(20, 20), (21, 0)])
def test_counts_are_written_up_to_twenty_rows_and_columns(ax, size, written):
    plot_confusion(np.arange(size), np.arange(size), ax=ax)
    assert len(ax.texts) == written


@pytest.mark.parametrize("points", [1, 12_345])
def test_counts_fit_into_their_cells(ax, points):
    truth = np.repeat(np.arange(12), points)
    plot_confusion(truth, truth, ax=ax)
    ax.figure.canvas.draw()
    cell = ax.get_window_extent().width / 12
    assert all(text.get_window_extent().width < cell for text in ax.texts)


def test_counts_on_dark_cells_are_white(ax):
    plot_confusion([0] * 9 + [1], [0] * 8 + [1, 1], ax=ax)
    colours = {text.get_position(): text.get_color() for text in ax.texts}
    assert colours == {(0, 0): "white", (0, 1): "black", (1, 1): "white"}


@pytest.mark.parametrize(
    ("truth", "labels", "shape"),
    [([0, 1], [-1, -1], (1, 2)), ([-1, -1], [-1, -1], (1, 1)), ([-1, -1], [0, 0], (1, 1)), ([0, 0], [0, 0], (1, 1))],
)
def test_all_noise_and_single_clusters_are_drawn(truth, labels, shape):
    ax = plot_confusion(truth, labels)
    assert shown(ax)[0].shape == shape
    ax.figure.canvas.draw()


def test_colours_are_explained_beside_the_axes(ax):
    plot_confusion([0, 1], [0, 1], ax=ax)
    _, bar = ax.figure.axes
    assert bar.get_ylabel() == "Share of the class"


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one for each of the 3 points"):
        plot_confusion([0, 1, 1], [0, 1], ax=Figure().subplots())
