"""Agreement with a truth, by the conventions of the paper."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from shade.metrics import measure_agreement


def test_true_noise_is_left_out_and_labelled_noise_only_of_the_first_columns() -> None:
    truth = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    labels = np.array([0, 0, -1, 1, 1, 0, 1, -1])
    assigned = np.array([0, 0, 1, 1, 1, 0, 1, 0])
    found = measure_agreement(truth, labels, assigned)
    seen = [0, 1, 3, 4, 5]
    assert found.ari == adjusted_rand_score(truth[seen], labels[seen])
    assert found.nmi == normalized_mutual_info_score(truth[seen], labels[seen])
    assert found.ari_1nn == adjusted_rand_score(truth[:6], assigned[:6])
    assert found.nmi_1nn == normalized_mutual_info_score(truth[:6], assigned[:6])
    assert (found.n_clusters, found.noise_share) == (2, 0.25)
    assert (found.noise_recall, found.noise_precision) == (0.5, 0.5)


def test_without_noise_both_columns_agree_and_figures_of_noise_are_missing() -> None:
    found = measure_agreement([0, 0, 1, 1], [1, 1, 0, 1])
    assert (found.ari, found.nmi) == (found.ari_1nn, found.nmi_1nn)
    assert math.isnan(found.noise_recall) and math.isnan(found.noise_precision)


def test_nothing_but_noise_found() -> None:
    found = measure_agreement([0, 0, 1, -1], [-1, -1, -1, -1])
    assert math.isnan(found.ari) and math.isnan(found.nmi)
    assert (found.ari_1nn, found.n_clusters) == (0.0, 0)
    assert (found.noise_recall, found.noise_precision) == (1.0, 0.25)


def test_a_result_cannot_be_changed_and_wrong_labels_are_refused() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        measure_agreement([0], [0]).ari = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match=r"equally long\. Got 2, 1 and 1"):
        measure_agreement([0, 1], [0])
    with pytest.raises(ValueError, match="'labels' parameter of measure_agreement must hold labels, not measurements"):
        measure_agreement([0, 1], [0.5, 1.0])
    with pytest.raises(ValueError, match=r"must be one-dimensional with at least one entry\. Got shape \(2, 1\)"):
        measure_agreement([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match=r"labels of one kind, such as all text\. Got int and str instead"):
        measure_agreement(np.array(["a", 1], object), [0, 1])


@pytest.mark.parametrize("kind", [np.array, pd.Series, pd.Categorical, lambda names: np.array(names, object)])
def test_labels_may_be_names(kind: Callable[[list[str]], Any]) -> None:
    numbers, found = [0, 0, 1, 1, 0], [2, 2, -1, 7, 7]
    named, numbered = (dataclasses.astuple(measure_agreement(truth, found)) for truth in (kind(list("aabba")), numbers))
    assert np.array_equal(named, numbered, equal_nan=True)
    assert measure_agreement(numbers, kind(list("aabba"))).ari == 1.0


def test_noise_is_a_negative_number_and_never_a_name() -> None:
    assert measure_agreement([0.0, 1.0, -1.0], [0, 1, -1]).noise_recall == 1.0
    assert measure_agreement(np.array([0, 1, -1], object), [0, 1, -1]).noise_recall == 1.0
    named = measure_agreement(["0", "1", "-1"], ["0", "1", "-1"])
    assert (named.n_clusters, named.noise_share) == (3, 0.0)
