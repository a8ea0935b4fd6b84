"""Warnings after a successful fit: one cluster, much noise, and rows that may hide clusters.

They give the next step as a method call, `recluster(...)` or `set_params(...).fit(X)`. The command line replaces these
calls by its own options.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shade._base.arrays import IntArray
from shade._base.errors import ShadeWarning
from shade.clustering.clustering import Clustering

MUCH_NOISE = 0.5
LONELY_COLUMNS = 0.1  # fraction of the columns with one far row, from which a warning is given
NEXT_SPLITS = (2, 3)


def warn_of_result(clustering: Clustering) -> None:
    """Warn if there is one cluster, fewer clusters than wanted, or much noise; give the reason and a remedy."""
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
    """Return why only one cluster was found, with figures, and how to divide it; "" if there are more clusters."""
    rule, n = clustering.rule, len(clustering.flat.labels)
    if clustering.flat.n_clusters != 1 or rule.n_clusters is not None or rule.cut_distance is not None:
        return ""
    sizes = next_splits(clustering)
    if not sizes:
        smallest = clustering.structure_tree.test.smallest
        size = max(2, min(smallest, n // 2) // 2)
        how = f"To allow smaller clusters: recluster(min_cluster_size={size})" if size < smallest else "Give more rows."
        return (
            f"Only one cluster was found: the density tree of the {n:,} rows has no two branches with at least "
            f"{smallest:,} rows each. {how}"
        )
    parts = " and ".join(f"{size:,}" for size in sizes[0])
    if clustering.shown.decides:
        cause = f"in the data, no part of the {n:,} rows is separated from the rest by a sparser region"
    else:
        evidence, limit = _strongest_split(clustering)
        cause = (
            f"the strongest split of the density tree is not more than chance (evidence {evidence:.2g}, it needs "
            f"{limit:.2g})"
        )
    return f"Only one cluster was found: {cause}. To divide it all the same, into {parts} rows: recluster(n_clusters=2)"


def next_splits(clustering: Clustering) -> list[list[int]]:
    """Return the sizes of the parts if the data is divided into two or three clusters, as far as possible."""
    flats = [clustering.with_number(number).flat for number in NEXT_SPLITS]
    return [
        np.bincount(flat.labels[flat.labels >= 0]).tolist()
        for number, flat in zip(NEXT_SPLITS, flats, strict=True)
        if flat.n_clusters == number
    ]


def _strongest_split(clustering: Clustering) -> tuple[float, float]:
    """Return evidence and limit of that branch of the strongest split which fails the test by more."""
    tree, test = clustering.with_number(2).structure_tree, clustering.structure_tree.test
    leaves = np.setdiff1d(np.arange(1, tree.n_candidates), tree.parent)
    figures = [(tree.evidence(leaf), test.limit(int(tree.size[leaf]))) for leaf in leaves]
    return min(figures, key=lambda pair: pair[0] / max(pair[1], np.finfo(float).tiny))


def explain_noise(clustering: Clustering) -> str:
    """Return why more than half of the rows are noise, and a remedy; "" if fewer rows are noise."""
    share, n = _share_of_noise(clustering), len(clustering.flat.labels)
    if share <= MUCH_NOISE:
        return ""
    rule, background = clustering.rule, float(np.mean(clustering.shown.background))
    if background > 0.5 * share:
        why = f"{background:.0%} lie in a sparse background"
        how = "To cluster the background as well: set_params(background_noise=False).fit(X)"
    elif rule.cut_distance is not None:
        why = f"they lie in no group that is connected within the distance {rule.cut_distance:.3g}"
        how = f"To connect more of them: recluster(cut_distance={_connecting_distance(clustering)})"
    elif rule.between_noise:
        why = "they lie between clusters"
        how = "To assign them to the nearest cluster: recluster(between_noise=False)"
    else:
        why = "they lie far outside of all clusters"
        how = f"To make the density smoother: recluster(min_samples={min(2 * rule.min_samples, n)})"
    return (
        f"{share:.0%} of the {n:,} rows are noise: {why}. In Python, assign_noise() puts all of them into clusters. "
        f"{how}"
    )


def _share_of_noise(clustering: Clustering) -> float:
    return float(np.mean(clustering.flat.labels < 0))


def _connecting_distance(clustering: Clustering) -> str:
    """Return a larger distance at which at most half of the rows are noise, or the largest in the tree."""
    reachability = clustering.dc_tree.reachability
    found = [f"{value:.3g}" for value in np.quantile(reachability[np.isfinite(reachability)], (0.5, 0.7, 0.9, 1.0))]
    cuts = (replace(clustering, rule=replace(clustering.rule, cut_distance=float(text))) for text in found)
    return next((text for text, cut in zip(found, cuts, strict=True) if _share_of_noise(cut) <= MUCH_NOISE), found[-1])


def warn_of_lonely_rows(lonely: IntArray, names: Sequence[str]) -> None:
    """Warn if one row is far from all others in so many columns that clusters may be hidden."""
    if len(lonely) < LONELY_COLUMNS * len(names):
        return
    first = str(names[lonely[0]])
    which = f"{len(lonely)} of {len(names)} columns, such as {first!r}," if len(lonely) > 1 else f"column {first!r}"
    message = (
        f"In {which} one row lies so far out that all other rows look alike after standardisation. This may hide "
        "clusters. Correct or remove such rows."
    )
    warnings.warn(message, ShadeWarning, stacklevel=3)
