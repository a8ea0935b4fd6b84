"""Labels, probabilities, outlier scores and predictions of small fits stay as they are."""

import json

import numpy as np
import pytest

from tests.clustering.pinned_cases import PINS, describe, fits

KEPT = json.loads(PINS.read_text())


def test_every_case_is_kept():
    assert {name for name, _ in fits()} == set(KEPT)


@pytest.mark.parametrize("name, model", fits())
def test_fit_is_as_kept(name, model):
    found = describe(model)
    for key, value in KEPT[name].items():
        if isinstance(value, str):
            assert found[key] == value, key
        else:
            np.testing.assert_allclose(found[key], value, rtol=1e-6, atol=1e-8, err_msg=key)
