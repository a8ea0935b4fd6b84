"""Labels of any kind become groups with colours."""

import numpy as np
import pytest

from shade.plots import NOISE_COLOUR, cluster_colours
from shade.plots._groups import group_points, name_groups


def colours_of(labels):
    groups = group_points(labels, len(labels))
    return groups.colours[groups.codes]


def test_whole_numbers_keep_the_colours_of_their_numbers():
    np.testing.assert_array_equal(colours_of([5, 2, 5]), cluster_colours(6)[[5, 2, 5]])


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"], object),
        [2019, 1999, 2019],
        [-3, -7, -3],
        [0.5, 0.25, 0.5],
        [True, False, True],
        [b"b", b"a", b"b"],
        np.array(["b", None, "b"], object),
    ],
)
def test_other_labels_get_colours_by_rank(labels):
    np.testing.assert_array_equal(colours_of(labels), cluster_colours(2)[[1, 0, 1]])


@pytest.mark.parametrize("kind", [np.int32, np.float64, object])
def test_minus_one_is_noise_whatever_the_type(kind):
    groups = group_points(np.array([-1, 1, 0, -1]).astype(kind), 4)
    assert groups.values == [0, 1]
    assert groups.codes.tolist() == [-1, 1, 0, -1]
    assert groups.n_noise == 2 and groups.sizes.tolist() == [1, 1]
    np.testing.assert_array_equal(groups.colours[groups.codes[0]], NOISE_COLOUR)


def test_text_has_no_noise():
    assert group_points(["-1", "0"], 2).n_noise == 0


def test_without_labels_all_points_are_one_group():
    groups = group_points(None, 3)
    assert groups.codes.tolist() == [0, 0, 0]


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"one for each of the 3 points, an array of shape \(3,\). Got shape \(2,\)"):
        group_points([0, 1], 3)


def test_names_go_by_order_or_by_label():
    groups = group_points([3, 7, -1], 3)
    assert name_groups(groups, None) == ["3", "7"]
    assert name_groups(groups, ["three", "seven"]) == ["three", "seven"]
    assert name_groups(groups, {7: "seven"}) == ["3", "seven"]
    with pytest.raises(ValueError, match=r"one for each of the 2 labels in ascending order.* Got 3 names instead"):
        name_groups(groups, ["a", "b", "c"])
