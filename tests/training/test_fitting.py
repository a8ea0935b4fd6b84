"""Choices before training."""

import numpy as np
import pytest
import torch

from shade._base.errors import MemoryBudgetError
from shade.training import TrainSettings
from shade.training.fitting import TrainingJob, plan_training, tree_is_bearable


@pytest.mark.parametrize(
    ("shape", "kind", "expected"),
    [
        ((100_000, 100), "cpu", True),
        ((1_000_000, 100), "cpu", False),
        ((100, 1_000_000), "cpu", True),  # pairs of rows count, not of columns
        ((1_000_000, 100), "cuda", True),
        ((10_000_000, 100), "cuda", False),
        ((10_000_000, 2), "cpu", True),  # few columns are searched with a tree
    ],
)
def test_the_tree_of_all_data_is_built_if_that_takes_minutes(shape: tuple[int, int], kind: str, expected: bool) -> None:
    assert tree_is_bearable(shape, torch.device(kind)) == expected


def test_networks_on_a_gpu_take_none_of_the_memory() -> None:
    job = TrainingJob("conv", (1, 64, 64), 10, 1, TrainSettings(epochs=1, batch_size=250), "data")
    rows = np.zeros((300, 64 * 64), np.float32)
    with pytest.raises(MemoryBudgetError, match=r"Training networks on batches of 250 rows takes about 1\.18 GB"):
        plan_training(rows, "300MB", torch.device("cpu"), tree="batch", job=job)
    assert (
        plan_training(rows[:20], "300MB", torch.device("cpu"), tree="batch", job=job)[1] == "batch"
    )  # one small batch
    assert plan_training(rows, "300MB", torch.device("cuda"), tree="batch", job=job)[1] == "batch"
