"""From one seed to several independent ones. Global random state is neither used nor changed."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw_seed(random_state: Any) -> int:
    """Convert a random_state into a seed; for None, the system provides one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])  # short enough to type
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(random_state)


def spawn_seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Convert a random_state into independent seeds."""
    return np.random.SeedSequence(draw_seed(random_state)).spawn(count)
