"""How rows are divided into blocks that can be read on their own."""

import numpy as np
import pytest

from shade.training.capacity import plan_fit


class Rows:
    """Rows of a file with parts that can only be read as a whole."""

    def __init__(self, n: int, columns: int, boundaries: list[int] | None) -> None:
        self.shape = (n, columns)
        self.boundaries = None if boundaries is None else np.array(boundaries)


@pytest.mark.parametrize("boundaries", [None, [0, 3, 10, 500, *range(4000, 100_001, 4000)]])
def test_blocks_hold_every_row_once_and_parts_stay_whole(boundaries: list[int] | None) -> None:
    rows = Rows(100_000, 1000, boundaries)
    plan = plan_fit(rows, "300MB", embedding_columns=10, batch_size=50, complete_tree=False)
    assert plan.window_rows is not None and plan.boundaries is not None
    assert plan.boundaries[0] == 0
    assert plan.boundaries[-1] == 100_000
    assert np.all(np.diff(plan.boundaries) > 0)
    assert boundaries is None or set(plan.boundaries.tolist()) <= set(boundaries)
