"""Labels, probabilities, outlier scores and predictions of small fits stay as they are."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

from shade._base.errors import ShadeWarning
from tests.clustering.pinned_cases import PINS, describe, fits

KEPT = json.loads(PINS.read_text())


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShadeWarning)  # some are mostly noise
        return dict(fits())


def test_every_case_is_kept(models: dict[str, Any]) -> None:
    assert set(models) == set(KEPT)


@pytest.mark.parametrize("name", KEPT)
def test_a_fit_is_as_it_is_kept(models: dict[str, Any], name: str) -> None:
    found = describe(models[name])
    assert set(found) == set(KEPT[name])
    for key, value in KEPT[name].items():
        if isinstance(value, str):
            assert found[key] == value, key
        else:
            np.testing.assert_allclose(found[key], value, rtol=1e-6, atol=1e-8, err_msg=key)
