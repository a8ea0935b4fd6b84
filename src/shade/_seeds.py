"""One seed becomes independent ones, and global random state is neither read nor changed."""

from __future__ import annotations

from typing import Any

import numpy as np


def spawn_seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Turn a random_state into so many independent seeds."""
    if random_state is None:
        entropy = None
    elif isinstance(random_state, np.random.Generator):
        entropy = int(random_state.integers(2**63))
    elif isinstance(random_state, np.random.RandomState):
        entropy = int(random_state.randint(2**31))
    else:
        entropy = int(random_state)
    return np.random.SeedSequence(entropy).spawn(count)
