"""Rows in another order are the same clusters, with every setting of noise, where distances tie and rows coincide."""

import numpy as np
import pytest

from shade import DCTreeClustering
from tests.oracles import partition_of

SETTINGS = [(background, between) for background in (True, False) for between in (True, False)]


def draw_tied(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    low, high, wide = (random.integers(*ends, (70, 2)) for ends in ((0, 5), (20, 25), (0, 60)))
    kinds = [np.vstack([low, high, wide[:30]]), random.poisson(2, (160, 3)), random.integers(0, 9, (180, 2)), low]
    return kinds[seed % 4].astype(float)


@pytest.mark.parametrize("selection", ["information", "branches", "structure"])
def test_tied_rows_in_another_order_are_the_same_clusters(selection: str) -> None:
    for seed in range(8):
        X = draw_tied(seed)
        for background, between in SETTINGS:
            model = DCTreeClustering(selection=selection, background_noise=background, between_noise=between)
            expected = model.fit(X).labels_.copy()
            for trial in range(2):
                order = np.random.default_rng(100 * seed + trial).permutation(len(X))
                found = model.fit(X[order]).labels_
                assert partition_of(found) == partition_of(expected[order]), (seed, trial, background, between)
