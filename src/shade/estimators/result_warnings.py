"""Warnings after a successful fit: one cluster, much noise, and rows that may hide clusters.

They give the next step as a method call, `recluster(...)` or `set_params(...).fit(X)`. The command line replaces these
calls by its own options.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shade._base.arrays import IntArray, SingleArray
from shade._base.errors import ShadeWarning
from shade.clustering.clustering import Clustering
from shade.clustering.structure_tree import StructureTree
from shade.data.samples import counted

MUCH_NOISE = 0.5
LONELY_COLUMNS = 0.1  # fraction of the columns with one far row, from which a warning is given
NEXT_SPLITS = (2, 3)
MOST_UNUSUAL = 0.5  # fraction of new rows that may be unlike those that were fitted


def warn_of_result(clustering: Clustering) -> None:
    """Say why there is one cluster, or fewer than wanted, or much noise, or an unmet label or pair, and what helps."""
    for message in (explain_few_clusters(clustering), explain_noise(clustering), _explain_unmet(clustering)):
        if message:
            warnings.warn(message, ShadeWarning, stacklevel=3)


def explain_few_clusters(clustering: Clustering) -> str:
    """Why there is only one cluster, or fewer than wanted, with the figures and the next step; else nothing."""
    rule, found, n = clustering.rule, clustering.flat.n_clusters, len(clustering.flat.labels)
    wanted = rule.n_clusters or 2
    if rule.cut_distance is not None or found >= wanted or (rule.n_clusters is None and found != 1):
        return ""
    if rule.n_clusters is not None and clustering.known is not None:  # which may need another number
        return ""
    what = "Only one cluster was found"
    if rule.n_clusters is not None:
        what = f"Only {counted(found, 'cluster')} instead of {wanted} {'was' if found == 1 else 'were'} found"
    sizes = next_splits(clustering)
    smallest = clustering.structure_tree.test.smallest
    if rule.n_clusters is not None or not sizes:
        cause = (
            f"the density tree of the {n:,} rows does not have {wanted} separate branches with at least {smallest:,} "
            "rows each"
        )
        size = _smaller_size(clustering, wanted)
        step = _recluster(n_clusters=rule.n_clusters, min_cluster_size=size)
        return f"{what}: {cause}. {f'To allow smaller clusters: {step}' if size else 'Give more rows.'}"
    split, where = clustering.structure_tree.strongest_split(clustering.dc_tree), ""
    if clustering.shown.decides:
        split, where = clustering.shown.strongest_split, "in the data, "
    cause = f"{where}no part of at least {smallest:,} rows is separated from the rest by a sparser region"
    if split is not None:
        cause = (
            f"{where}the strongest split of the density tree is not more than chance (evidence {split[0]:.2g}, it "
            f"needs {split[1]:.2g})"
        )
    parts = " and ".join(f"{size:,}" for size in sizes[0])
    return f"{what}: {cause}. To divide it all the same, into {parts} rows: {_recluster(n_clusters=len(sizes[0]))}"


def _recluster(**changes: object) -> str:
    """The step to another clustering, without what is None."""
    return f"recluster({', '.join(f'{name}={value}' for name, value in changes.items() if value is not None)})"


def _smaller_size(clustering: Clustering, wanted: int) -> int | None:
    """The largest of ever smaller halves of the minimum size for which there are as many branches as wanted."""
    tree = clustering.structure_tree
    size = min(tree.test.smallest, len(clustering.flat.labels))
    while size > 2:
        size = max(size // 2, 2)
        test = replace(tree.test.times(0.0), smallest=size)
        if StructureTree.from_dc_tree(clustering.dc_tree, tree.selection, test).n_leaves[0] >= wanted:
            return size
    return None


def _explain_unmet(clustering: Clustering) -> str:
    """How many known labels and pairs the clusters contradict, and why; nothing if none."""
    unmet = 0 if clustering.known is None else clustering.known.count_unmet(clustering.flat.labels)
    if not unmet:
        return ""
    what = "1 known label or pair is" if unmet == 1 else f"{unmet:,} known labels or pairs are"
    return (
        f"{what} not satisfied: rows with equal values are always in one cluster, and some of them have different "
        "labels or are a cannot-link pair. Correct these labels or pairs, or add a column that tells the rows apart."
    )


def next_splits(clustering: Clustering) -> list[list[int]]:
    """Return the sizes of the parts if the data is divided into two or three clusters, as far as possible."""
    flats = [clustering.with_number(number).flat for number in NEXT_SPLITS]
    return [
        np.bincount(flat.labels[flat.labels >= 0]).tolist()
        for number, flat in zip(NEXT_SPLITS, flats, strict=True)
        if flat.n_clusters == number
    ]


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
        number = None if rule.n_clusters is None else clustering.flat.n_clusters
        why = "they lie between clusters"
        how = f"To assign them to the nearest cluster: {_recluster(n_clusters=number, between_noise=False)}"
    else:
        why = "they lie far outside of all clusters"
        how = f"To make the density smoother: {_recluster(min_samples=min(2 * rule.min_samples, n))}"
    assigning = " In Python, assign_noise() puts all of them into clusters." if clustering.flat.n_clusters else ""
    return f"{share:.0%} of the {n:,} rows are noise: {why}.{assigning} {how}"


def _share_of_noise(clustering: Clustering) -> float:
    return float(np.mean(clustering.flat.labels < 0))


def _connecting_distance(clustering: Clustering) -> str:
    """Return a larger distance at which at most half of the rows are noise, or the largest in the tree."""
    reachability = clustering.dc_tree.reachability
    found = [f"{value:.3g}" for value in np.quantile(reachability[np.isfinite(reachability)], (0.5, 0.7, 0.9, 1.0))]
    free, rule = replace(clustering, numbers=None), clustering.rule
    cuts = (replace(free, rule=replace(rule, cut_distance=float(text))) for text in found)
    return next((text for text, cut in zip(found, cuts, strict=True) if _share_of_noise(cut) <= MUCH_NOISE), found[-1])


def warn_of_misfit(far_away: float, badly_embedded: float) -> None:
    """Warn if most of some new rows are unlike 95 % of those that were fitted."""
    bad = "do not fit the new rows", "are reconstructed with a larger error"
    far = "place the new rows far outside", "are farther from their neighbours"
    for share, (what, why) in ((badly_embedded, bad), (far_away, far)):
        if share > MOST_UNUSUAL:
            message = (
                f"The networks {what}: {share:.0%} of them {why} than 95% of the rows before. "
                "If there will be more rows of this kind, fit all rows again."
            )
            warnings.warn(message, ShadeWarning, stacklevel=3)
            return


def warn_of_lonely_rows(lonely: IntArray, names: Sequence[str], samples: SingleArray | None) -> None:
    """Warn if one row is far from all others in so many columns that clusters may be hidden; name it if possible."""
    if len(lonely) < LONELY_COLUMNS * len(names):
        return
    first = str(names[lonely[0]])
    which = f"{len(lonely)} of {len(names)} columns, such as {first!r}," if len(lonely) > 1 else f"column {first!r}"
    row = "one row" if samples is None else f"row {np.abs(samples[:, lonely[0]]).argmax()}"
    message = (
        f"In {which} the value of {row} is so far from all others that these look alike after standardisation. This "
        "may hide clusters. Correct the value, or remove the row."
    )
    warnings.warn(message, ShadeWarning, stacklevel=3)
