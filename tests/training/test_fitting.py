"""Choices before training."""

import pytest
import torch

from shade.training.fitting import tree_is_bearable


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
