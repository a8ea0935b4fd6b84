"""Colours stay the same and can be told apart."""

import numpy as np
import pytest

from shade.plots import NOISE_COLOUR, cluster_colours
from shade.plots.palette import DARK_NOISE_COLOUR, DARK_PAGE, _appearance, _difference

# A difference of 0.02 in OKLab is about the smallest that people notice.
CASES = [(8, False, 0.07), (20, False, 0.055), (40, False, 0.03), (8, True, 0.05), (20, True, 0.04), (40, True, 0.025)]


@pytest.mark.parametrize("n", [0, 1, 8, 9, 50, 500])
def test_colours_are_so_many_and_can_be_shown(n):
    colours = cluster_colours(n)
    assert colours.shape == (n, 3)
    assert np.all((colours >= 0.0) & (colours <= 1.0))


def test_the_colour_of_a_cluster_does_not_depend_on_their_number():
    np.testing.assert_array_equal(cluster_colours(60)[:13], cluster_colours(13))


def test_changing_the_result_does_not_change_the_palette():
    cluster_colours(3)[:] = 0.5
    assert not np.any(np.all(cluster_colours(3) == 0.5, axis=1))


@pytest.mark.parametrize(("n", "dark", "least"), CASES)
def test_colours_are_told_apart_by_readers_with_and_without_red_or_green_cones(n, dark, least):
    paper = [DARK_PAGE, DARK_NOISE_COLOUR] if dark else [np.ones(3), NOISE_COLOUR]
    looks = _appearance(np.vstack([cluster_colours(n, dark=dark), *paper]))
    for i in range(1, n):
        assert _difference(looks[:i], looks[i]).min() > least, f"colour {i} looks like an earlier one"
    for i in range(n):
        assert _difference(looks[-2:], looks[i]).min() > least, f"colour {i} looks like paper or noise"


def test_colours_for_a_dark_page_are_light():
    assert _appearance(cluster_colours(40, dark=True))[:, 0, 0].min() > 0.5


def test_noise_is_light_grey():
    assert len(set(NOISE_COLOUR)) == 1 and 0.7 < NOISE_COLOUR[0] < 0.95


def test_appearance_agrees_with_known_oklab_values():
    white, red = _appearance(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]))[:, 0]
    np.testing.assert_allclose(white, [1.0, 0.0, 0.0], atol=1e-4)
    np.testing.assert_allclose(red, [0.62796, 0.22486, 0.12585], atol=1e-4)
