"""Driving features: an exact effect size by hand and against brute force, blind to units, order and outliers."""

import numpy as np
import pandas as pd
import pytest

from shade import DCTreeClustering
from shade.metrics import explanation
from shade.metrics.explanation import explain_groups, explain_labels


def brute_force_delta(inside: np.ndarray, outside: np.ndarray) -> float:
    return float(np.sign(inside[:, None] - outside[None, :]).mean())


def test_effects_by_hand() -> None:
    # Inside {1, 4}, outside {2, 4, 9}: larger once (4 > 2), smaller four times, equal once.
    X = np.array([[1.0], [4.0], [2.0], [4.0], [9.0]])
    found = explain_groups(X, [np.array([0, 1])])
    assert found.effects[0, 0] == pytest.approx((1 - 4) / 6)
    assert found.inside[0, 0] == 2.5
    assert found.outside[0, 0] == 4.0


@pytest.mark.parametrize("seed", range(5))
def test_effects_are_those_of_all_pairs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (60, 7)).astype(np.float64)
    labels = rng.integers(-1, 3, 60)
    whole = explain_labels(X, labels, top=7)
    expected = [
        [brute_force_delta(X[labels == cluster, feature], X[labels != cluster, feature]) for feature in range(7)]
        for cluster in range(3)
    ]
    np.testing.assert_allclose(whole.effects, expected, atol=1e-12, err_msg=f"seed {seed}")
    monkeypatch.setattr(explanation, "BLOCK", 120)
    np.testing.assert_array_equal(explain_labels(X, labels).effects, whole.effects)


def test_units_and_outliers_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 4)) + np.outer(labels, [0, 3, 1, 0])
    plain = explain_labels(X, labels)
    X[7, 1] = -1e30 if X[7, 1] < 1 else X[7, 1]
    scaled = explain_labels(X * [1e-6, 1e9, 1.0, 5.0], labels)
    assert plain.features[:, 0].tolist() == scaled.features[:, 0].tolist() == [1, 1]
    np.testing.assert_allclose(plain.effects, scaled.effects, atol=0.05)


def test_of_features_that_tell_everything_the_widest_gap_comes_first() -> None:
    labels = np.repeat([0, 1], 4)
    narrow = np.array([0.0, 1.0, 2.0, 3.0, 3.1, 4.1, 5.1, 6.1])
    wide = narrow + 100 * labels
    found = explain_labels(np.column_stack([narrow, wide]), labels)
    assert found.effects[0].tolist() == [-1.0, -1.0]
    assert found.features[0].tolist() == [1, 0]


def test_constant_columns_and_one_group_of_everything_tell_nothing() -> None:
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    everything = explain_groups(X, [np.arange(6)])
    assert everything.effects.tolist() == [[0.0, 0.0]]
    assert np.isnan(everything.outside).all()
    assert str(everything) == "cluster 0: x0 1, x1 2.5"  # there are no others to compare with
    half = explain_groups(X, [np.arange(3)])
    assert half.effects.tolist() == [[0.0, -1.0]]


def test_names_come_from_the_frame_from_fitting_or_by_number() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.1, (30, 2)), rng.normal(5, 0.1, (30, 2))])
    frame = pd.DataFrame(X, columns=["weight", "height"])
    model = DCTreeClustering(selection="branches").fit(frame)
    assert model.explain(frame).feature_names == ("weight", "height")
    assert model.explain(X).feature_names == ("weight", "height")
    assert model.explain(np.hstack([X, X]), top=1).feature_names == ("x0", "x1", "x2", "x3")
    table = model.explain(frame, top=1).to_frame()
    assert list(table.columns) == ["cluster", "feature", "effect", "inside", "outside"]
    assert len(table) == model.n_clusters_ == 2
    assert sorted(table["effect"]) == [-1.0, 1.0]


def test_images_are_flattened() -> None:
    images = np.zeros((4, 2, 2))
    images[:2, 1, 0] = 1.0
    found = explain_labels(images, np.array([0, 0, 1, 1]), top=1)
    assert found.features.tolist() == [[2], [2]]


def test_wrong_rows_text_and_numbers_are_told() -> None:
    labels = np.array([0, 0, 1])
    with pytest.raises(ValueError, match=r"X has 2 rows, but 3 were clustered"):
        explain_labels([[1.0], [2.0]], labels)
    with pytest.raises(ValueError, match=r"The 'top' parameter of explain must be an int in the range \[1, inf\)"):
        explain_labels([[1.0], [2.0], [3.0]], labels, top=0)
    with pytest.raises(ValueError, match=r"The data must be numeric"):
        explain_labels([["a"], ["b"], ["c"]], labels)
    with pytest.raises(ValueError, match=r"contains NaN in row 1, column 'x0'"):
        explain_labels([[1.0], [np.nan], [3.0]], labels)


def test_features_that_are_zero_or_one_are_told_by_their_share() -> None:
    X = np.column_stack([np.repeat([1, 0], 50), np.arange(100) % 4 == 0, np.repeat([0.0, 7.0], 50)])
    found = explain_groups(X, [np.arange(50)], top=3, feature_names=["first", "fourth", "height"])
    shown = dict(zip(found.features[0].tolist(), zip(found.inside[0], found.outside[0], strict=True), strict=True))
    assert shown == {0: (1.0, 0.0), 1: (0.26, 0.24), 2: (0.0, 7.0)}
