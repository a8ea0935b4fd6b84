"""Repulsion by a grid equals the sum over all pairs, up to the error of the grid."""

import numpy as np
import pytest

from shade.layout.repulsion import FEW_ROWS, RIM, SIZES, STEP, Repulsion


def forces_of_pairs(places):
    gaps = places[:, None] - places
    nearness = 1.0 / (1.0 + np.square(gaps).sum(axis=2))
    return nearness.sum(axis=1), (nearness[..., None] ** 2 * gaps).sum(axis=1)


def forces_of_grid(places, field=None):
    felt, push = np.empty(len(places)), np.empty((len(places), 2))
    (field or Repulsion()).find(places, felt, push)
    return felt, push


def test_few_points_are_compared_in_pairs():
    places = 5.0 * np.random.default_rng(0).normal(size=(FEW_ROWS, 2))
    for found, expected in zip(forces_of_grid(places), forces_of_pairs(places), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("deviation", [1.0, 5.0, 20.0, 40.0])
def test_the_grid_agrees_with_the_sum_over_pairs(deviation):
    places = deviation * np.random.default_rng(0).normal(size=(500, 2))
    felt, push = forces_of_pairs(places)
    found, pushed = forces_of_grid(places)
    np.testing.assert_allclose(found, felt, atol=0.02 * felt.max())
    np.testing.assert_allclose(pushed, push, atol=0.1 * np.abs(push).max())
    assert found.sum() == pytest.approx(felt.sum(), rel=0.02)


def test_a_grid_twice_as_fine_is_several_times_as_exact(monkeypatch):
    places = 5.0 * np.random.default_rng(0).normal(size=(500, 2))
    _, push = forces_of_pairs(places)
    coarse = np.abs(forces_of_grid(places)[1] - push).max()
    monkeypatch.setattr("shade.layout.repulsion.STEP", STEP / 2)
    assert np.abs(forces_of_grid(places)[1] - push).max() < coarse / 4


def test_a_very_large_map_has_a_coarser_grid_and_all_points_are_on_it():
    field = Repulsion()
    places = np.array([[0.0, 0.0], [1e4, 0.0], [0.0, 1e4]])
    assert len(field.potential(places)) == 2 * SIZES[-1]
    assert field.step == pytest.approx(1e4 / (SIZES[-1] - 2 * RIM))
    inside = (places - field.corner) / field.step
    assert inside.min() >= 1 and inside.max() < SIZES[-1] - 2


def test_the_potential_does_not_depend_on_the_threads():
    places = 30.0 * np.random.default_rng(0).normal(size=(500, 2))
    assert np.array_equal(Repulsion(1).potential(places), Repulsion(3).potential(places))
