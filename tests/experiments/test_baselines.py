"""What ClustPy's methods are given."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shade.experiments.baselines import _Batches


@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_hold_every_row_once_with_its_samples(shuffle: bool) -> None:
    X = np.arange(23 * 2, dtype=np.float32).reshape(23, 2)
    loader = _Batches(X, 5, torch.device("cpu"), shuffle)
    torch.manual_seed(0)
    batches = list(loader)
    rows = torch.cat([batch[0] for batch in batches]).numpy()
    assert len(batches) == len(loader) == 5
    assert sorted(rows) == list(range(23))
    assert (list(rows) == list(range(23))) is not shuffle
    np.testing.assert_array_equal(torch.cat([batch[1] for batch in batches]).numpy(), X[rows])


def test_batches_follow_the_seed_and_change_from_epoch_to_epoch() -> None:
    loader = _Batches(np.zeros((40, 1), np.float32), 40, torch.device("cpu"), True)

    def orders() -> list[list[int]]:
        torch.manual_seed(3)
        return [[int(row) for row in rows] for _ in range(2) for rows, _ in loader]

    first, second = orders()
    assert first != second
    assert orders() == [first, second]
