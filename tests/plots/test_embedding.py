"""Scatter plots show each point where it is and in the colour of its cluster."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shade import DCTreeClustering
from shade.layout import map_points
from shade.plots import NOISE_COLOUR, cluster_colours, plot_embedding


def drawn_points(ax):
    """Coordinates and colours of all points, noise first."""
    offsets = np.vstack([np.asarray(collection.get_offsets()) for collection in ax.collections])
    colours = np.vstack([collection.get_facecolors()[:, :3] for collection in ax.collections])
    return offsets, colours


def legend_texts(ax):
    legend = ax.get_legend()
    return None if legend is None else [text.get_text() for text in legend.get_texts()]


def make_points(n, dimensions, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dimensions))


def test_every_point_has_the_colour_of_its_label(ax):
    points, labels = make_points(50, 2), np.arange(50) % 5 - 1
    plot_embedding(points, labels, ax=ax)
    offsets, colours = drawn_points(ax)
    assert len(offsets) == 50
    palette = np.vstack([cluster_colours(4), NOISE_COLOUR])
    for point, colour in zip(offsets, colours, strict=True):
        (row,) = np.flatnonzero((points == point).all(axis=1))
        np.testing.assert_allclose(colour, palette[labels[row]])


def test_noise_is_drawn_below_the_clusters(ax):
    plot_embedding(make_points(50, 2), np.arange(50) % 5 - 1, ax=ax)
    noise, clusters = ax.collections
    np.testing.assert_allclose(np.unique(noise.get_facecolors()[:, :3], axis=0), [NOISE_COLOUR])
    assert noise.get_zorder() < clusters.get_zorder()


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        (None, None),
        (np.repeat([0, 1], 5), ["0 (5)", "1 (5)"]),
        (np.full(10, -1), ["noise (10)"]),
        (np.zeros(10, int), ["0 (10)"]),
        (np.repeat([-1, 4], 5), ["4 (5)", "noise (5)"]),
        (np.repeat(["cat", "dog"], 5), ["cat (5)", "dog (5)"]),
    ],
)
def test_legend_names_clusters_with_their_sizes_and_noise_only_where_there_is_any(ax, labels, texts):
    plot_embedding(make_points(10, 2), labels, ax=ax)
    assert legend_texts(ax) == texts
    assert sum(len(collection.get_offsets()) for collection in ax.collections) == 10
    ax.figure.canvas.draw()


def test_legend_colours_are_those_of_the_points(ax):
    plot_embedding(make_points(10, 2), np.repeat([-1, 4], 5), ax=ax)
    cluster, noise = ax.get_legend().legend_handles
    np.testing.assert_allclose(cluster.get_color(), cluster_colours(5)[4])
    np.testing.assert_allclose(noise.get_color(), NOISE_COLOUR)


def test_names_replace_labels_in_the_legend(ax):
    plot_embedding(make_points(10, 2), np.repeat([-1, 4], 5), ax=ax, names=["ring"])
    assert legend_texts(ax) == ["ring (5)", "noise (5)"]


@pytest.mark.parametrize(("n_clusters", "has_legend"), [(12, True), (13, False)])
def test_legend_has_at_most_twelve_clusters(ax, n_clusters, has_legend):
    plot_embedding(make_points(39, 2), np.arange(39) % n_clusters, ax=ax)
    assert (ax.get_legend() is not None) == has_legend


@pytest.mark.parametrize(("layout", "inside"), [(None, True), ("constrained", False)])
def test_legend_is_beside_the_axes_only_where_a_layout_engine_makes_room(layout, inside):
    figure, ax = plt.subplots(layout=layout)
    plot_embedding(make_points(20, 2), np.arange(20) % 3, ax=ax)
    figure.canvas.draw()
    legend, box = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert (legend.x1 < box.x1) == inside
    assert legend.x1 <= figure.bbox.x1


@pytest.mark.parametrize("shape", [(30,), (30, 1)])
def test_one_dimension_lies_on_x(ax, shape):
    values = make_points(30, 1).reshape(shape)
    plot_embedding(values, ax=ax)
    np.testing.assert_allclose(np.sort(drawn_points(ax)[0][:, 0]), np.sort(values.ravel()))
    assert ax.get_xlabel() == "Dimension 1"
    assert len(ax.get_yticks()) == 0


def test_two_dimensions_are_drawn_as_they_are_at_equal_scale(ax):
    points = make_points(30, 2) * [10.0, 1.0]
    plot_embedding(points, ax=ax)
    np.testing.assert_array_equal(np.sort(drawn_points(ax)[0], axis=0), np.sort(points, axis=0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Dimension 1", "Dimension 2")
    assert ax.get_aspect() == 1.0


def test_equal_scale_works_where_both_axes_are_shared():
    figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    for ax in axes:
        plot_embedding(make_points(30, 2), ax=ax)
    figure.canvas.draw()
    assert [ax.get_aspect() for ax in axes] == [1.0, 1.0]


def test_more_dimensions_are_projected_on_principal_components(ax):
    spread = np.array([3.0, 0.1, 1.0, 0.1])
    points = make_points(4000, 4) * spread
    plot_embedding(points, layout="components", ax=ax)
    share = 100 * spread**2 / np.sum(spread**2)
    assert ax.get_xlabel() == f"PCA 1 ({share[0]:.0f} % of variance)"
    assert ax.get_ylabel() == f"PCA 2 ({share[2]:.0f} % of variance)"
    offsets, _ = drawn_points(ax)
    np.testing.assert_allclose(offsets.std(axis=0), [3.0, 1.0], rtol=0.05)
    correlation = np.corrcoef(np.sort(offsets[:, 0]), np.sort(points[:, 0]))[0, 1]
    assert correlation > 0.99  # not mirrored


def test_projected_distances_agree_with_a_full_decomposition(ax):
    points = make_points(40, 6)
    plot_embedding(points, layout="components", ax=ax)
    _, _, directions = np.linalg.svd(points - points.mean(axis=0))
    expected = (points - points.mean(axis=0)) @ directions[:2].T
    np.testing.assert_allclose(np.sort(np.abs(drawn_points(ax)[0]), axis=0), np.sort(np.abs(expected), axis=0))


@pytest.mark.parametrize("points", [np.zeros((5, 4)), np.zeros((1, 4)), np.zeros((1, 2)), np.zeros(3)])
def test_points_without_extent_are_drawn(points):
    ax = plot_embedding(points)
    assert len(drawn_points(ax)[0]) == len(points)
    ax.figure.canvas.draw()


def test_many_points_are_smaller_fainter_and_rasterized():
    few = plot_embedding(make_points(100, 2))
    many = plot_embedding(make_points(70_000, 10), np.arange(70_000) % 11 - 1, layout="components")
    many.figure.canvas.draw()
    (few_points,), (noise, many_points) = few.collections, many.collections
    assert many_points.get_sizes()[0] < few_points.get_sizes()[0]
    assert many_points.get_alpha() < few_points.get_alpha()
    assert many_points.get_rasterized() and noise.get_rasterized() and not few_points.get_rasterized()
    assert len(noise.get_offsets()) + len(many_points.get_offsets()) == 70_000


def test_points_are_rasterized_above_five_thousand():
    at_limit, above = (plot_embedding(make_points(n, 2)).collections[0].get_rasterized() for n in (5_000, 5_001))
    assert not at_limit and above


def test_clusters_are_not_drawn_one_over_the_other(ax):
    plot_embedding(make_points(200, 2), np.repeat([0, 1], 100), ax=ax)
    (clusters,) = ax.collections
    is_first = np.all(np.isclose(clusters.get_facecolors()[:, :3], cluster_colours(1)), axis=1)
    assert 25 < is_first[:100].sum() < 75


@pytest.mark.parametrize("embedding", [np.zeros((0, 2)), np.zeros((3, 2, 2)), [[0.0, np.nan]]])
def test_what_is_no_embedding_is_refused(embedding):
    with pytest.raises(ValueError, match=r"array|NaN"):
        plot_embedding(embedding)
    assert not plt.get_fignums()  # no empty figure is left behind


def test_members_of_clusters_say_where_to_look_from():
    random = np.random.default_rng(0)
    points = np.zeros((300, 4))
    points[:100, :2] = random.normal(size=(100, 2)) * [3.0, 1.0]
    points[100:, 2:] = random.normal(size=(200, 2)) * 40.0
    labels = np.repeat([0, -1], [100, 200])
    axes = plot_embedding(points, labels, layout="components")
    noise, members = (np.asarray(collection.get_offsets()) for collection in axes.collections)
    assert np.ptp(members, axis=0) == pytest.approx(np.ptp(points[:100, :2], axis=0), rel=0.2)
    np.testing.assert_allclose(np.ptp(noise, axis=0), 0.0, atol=1e-9)
    everything = plot_embedding(points, np.zeros(300), layout="components").collections[0].get_offsets()
    assert np.ptp(np.asarray(everything)[100:], axis=0).min() > 100


def test_more_dimensions_are_drawn_as_a_map_without_a_scale(ax):
    points, labels = make_points(60, 5) + 8 * (np.arange(60) % 3)[:, None], np.arange(60) % 3
    plot_embedding(points, labels, ax=ax)
    expected = map_points(points).places
    np.testing.assert_array_equal(np.sort(drawn_points(ax)[0], axis=0), np.sort(expected, axis=0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Map 1", "Map 2")
    assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0


def test_a_model_is_mapped_once(ax, monkeypatch):
    model = DCTreeClustering().fit(make_points(120, 5) + 20 * (np.arange(120) % 3)[:, None])
    plot_embedding(model, ax=ax)
    made = []
    monkeypatch.setattr("shade.estimators.result_methods.map_points", lambda *given, **_: made.append(given))
    plot_embedding(model, ax=ax)
    plot_embedding(model.recluster(n_clusters=2), ax=ax)
    assert not made


def test_an_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="'layout' parameter of plot_embedding must be 'map' or 'components'"):
        plot_embedding(make_points(10, 3), layout="pca")
