"""Warnings after a fit that went well: much noise, and rows that may hide clusters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from shade._base.arrays import IntArray
from shade._base.errors import ShadeWarning
from shade.clustering.clustering import Clustering

MUCH_NOISE = 0.5
LONELY_COLUMNS = 0.1  # fraction of the columns in which one row far out is worth a warning


def warn_of_result(clustering: Clustering) -> None:
    """Say why there are fewer clusters than wanted, or why most rows are noise, and which setting changes it."""
    wanted, found = clustering.rule.n_clusters, clustering.flat.n_clusters
    if wanted is not None and found < wanted:
        message = (
            f"{found} instead of {wanted} clusters were found: the tree has no more branches with at least "
            f"{clustering.structure_tree.test.smallest} rows. A smaller 'min_cluster_size' allows more clusters."
        )
        warnings.warn(message, ShadeWarning, stacklevel=3)
    share = float(np.mean(clustering.flat.labels < 0))
    background = float(np.mean(clustering.shown.background))
    if share <= MUCH_NOISE:
        return
    if background > 0.5 * share:
        why = f"{background:.0%} lie in a sparse background"
        how = "Set background_noise=False to cluster the background as well."
    elif clustering.rule.between_noise:
        why = "they lie between clusters"
        how = "Set between_noise=False to assign them to the nearest cluster."
    else:
        why = "they lie far outside of all clusters"
        how = "A larger 'min_samples' makes the density smoother."
    message = f"{share:.0%} of the rows are noise: {why}. {how} assign_noise() puts all of them into clusters."
    warnings.warn(message, ShadeWarning, stacklevel=3)


def warn_of_lonely_rows(lonely: IntArray, names: Sequence[str]) -> None:
    """Warn of columns in which one row lies far out, if there are so many that clusters may be hidden."""
    if len(lonely) < LONELY_COLUMNS * len(names):
        return
    first = str(names[lonely[0]])
    which = f"{len(lonely)} of {len(names)} columns, such as {first!r}," if len(lonely) > 1 else f"column {first!r}"
    message = (
        f"In {which} one row lies so far out that all other rows look alike after standardisation. This may hide "
        "clusters. Correct or remove such rows."
    )
    warnings.warn(message, ShadeWarning, stacklevel=3)
