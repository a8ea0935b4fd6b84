"""Warnings after a fit that went well: one cluster, much noise, and rows that may hide clusters.

They name the next step as `recluster(...)` or `parameter=value`, which the command line turns into its own words.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from shade._base.arrays import IntArray
from shade._base.errors import ShadeWarning
from shade.clustering.clustering import Clustering

MUCH_NOISE = 0.5
LONELY_COLUMNS = 0.1  # fraction of the columns in which one row far out is worth a warning
NEXT_SPLITS = (2, 3)


def warn_of_result(clustering: Clustering) -> None:
    """Say why there is one cluster, or fewer than wanted, or much noise, and what changes it."""
    for message in (_explain_few_clusters(clustering), explain_noise(clustering)):
        if message:
            warnings.warn(message, ShadeWarning, stacklevel=3)


def _explain_few_clusters(clustering: Clustering) -> str:
    wanted, found = clustering.rule.n_clusters, clustering.flat.n_clusters
    if wanted is None:
        return explain_one_cluster(clustering)
    if found >= wanted:
        return ""
    return (
        f"{found} instead of {wanted} clusters were found: the tree has no more branches with at least "
        f"{clustering.structure_tree.test.smallest} rows. A smaller 'min_cluster_size' allows more clusters."
    )


def explain_one_cluster(clustering: Clustering) -> str:
    """Why only one cluster was found, with the figures, and how to divide it; nothing if there are more."""
    rule, n = clustering.rule, len(clustering.flat.labels)
    if clustering.flat.n_clusters != 1 or rule.n_clusters is not None or rule.cut_distance is not None:
        return ""
    sizes = next_splits(clustering)
    if not sizes:
        smallest = clustering.structure_tree.test.smallest
        return (
            f"Only one cluster was found: the density tree of the {n:,} rows has no two branches with at least "
            f"{smallest:,} rows each. recluster(min_cluster_size={max(2, min(smallest, n // 2) // 2)}) allows smaller "
            "clusters."
        )
    parts = " and ".join(f"{size:,}" for size in sizes[0])
    if clustering.shown.decides:
        cause = "no part of the data is separated from the rest by a sparser region"
    else:
        evidence, limit = _strongest_split(clustering)
        cause = (
            f"the strongest split of the density tree is not more than chance (evidence {evidence:.2g}, it needs "
            f"{limit:.2g})"
        )
    return f"Only one cluster was found: {cause}. recluster(n_clusters=2) divides it all the same, into {parts} rows."


def next_splits(clustering: Clustering) -> list[list[int]]:
    """Sizes of the parts if a single cluster is divided into two, into three; as far as it can be."""
    flats = [clustering.with_number(number).flat for number in NEXT_SPLITS]
    return [
        np.bincount(flat.labels[flat.labels >= 0]).tolist()
        for number, flat in zip(NEXT_SPLITS, flats, strict=True)
        if flat.n_clusters == number
    ]


def _strongest_split(clustering: Clustering) -> tuple[float, float]:
    """Evidence and limit of the branch that fails the test of the strongest split by more."""
    tree, test = clustering.with_number(2).structure_tree, clustering.structure_tree.test
    leaves = np.setdiff1d(np.arange(1, tree.n_candidates), tree.parent)
    figures = [(tree.evidence(leaf), test.limit(int(tree.size[leaf]))) for leaf in leaves]
    return min(figures, key=lambda pair: pair[0] / max(pair[1], np.finfo(float).tiny))


def explain_noise(clustering: Clustering) -> str:
    """Why more than half of the rows are noise, and what changes it; nothing if fewer are."""
    share = float(np.mean(clustering.flat.labels < 0))
    if share <= MUCH_NOISE:
        return ""
    rule, background = clustering.rule, float(np.mean(clustering.shown.background))
    if background > 0.5 * share:
        why = f"{background:.0%} lie in a sparse background"
        how = "Fit again with background_noise=False to cluster the background as well."
    elif rule.cut_distance is not None:
        why = f"they lie in no group that is connected within the distance {rule.cut_distance:.3g}"
        how = "A larger 'cut_distance' connects more of them."
    elif rule.between_noise:
        why = "they lie between clusters"
        how = "recluster(between_noise=False) assigns them to the nearest cluster."
    else:
        why = "they lie far outside of all clusters"
        how = f"recluster(min_samples={2 * rule.min_samples}) makes the density smoother."
    return f"{share:.0%} of the rows are noise: {why}. {how} In Python, assign_noise() puts all of them into clusters."


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
