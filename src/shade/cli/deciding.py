"""Find the columns of a table that determine its clusters."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shade._base.arrays import AnyArray
    from shade.data import Samples

MOST_COLUMNS = 3  # in the message
MOST_ENTRIES = 1 << 24  # of a table; of a larger one, every n-th row is used
FOLLOWED = 0.9  # fraction of wrong guesses of a value that become right if the cluster is known


def find_deciding_columns(model: Any, samples: Samples) -> dict[str, float]:
    """Return the columns that separate clusters most, with effects of `explain` from 0 to 1, averaged over rows."""
    import numpy as np

    if not _is_plain_table(samples) or model.n_clusters_ < 2:
        return {}
    from shade.metrics.explanation import explain_labels

    some = slice(None, None, 1 + samples.rows.size // MOST_ENTRIES)
    labels = model.labels_[some]
    effects = np.abs(explain_labels(samples.rows[some], labels, top=1).effects)
    sizes = np.bincount(labels[labels >= 0])
    strengths: dict[str, float] = {}
    for name, strength in zip(_columns_of(samples), (sizes @ effects / sizes.sum()).tolist(), strict=True):
        strengths[name] = max(strengths.get(name, 0.0), strength)  # a category has several features
    found = sorted(strengths, key=lambda name: -strengths[name])[:MOST_COLUMNS]
    return {name: round(strengths[name], 2) for name in found}


def explain_followed_columns(model: Any, samples: Samples, command: str) -> str | None:
    """A note on columns with few values that the clusters repeat, if there are any; `command` is that of the fit."""
    if not _is_plain_table(samples) or model.n_clusters_ < 2:
        return None
    from shade.data.encoding import FEW_VALUES

    followed = [name for name, values in _values(samples) if _is_followed(values, model.labels_, FEW_VALUES)]
    if not followed:
        return None
    names = ", ".join(map(repr, followed))
    drops = " ".join(f"--drop {quote(name)}" for name in followed)
    return (
        f"the clusters follow the values of {names}: nearly all rows of a cluster have the same value. To find "
        f"what else there is, fit without: {command} {drops} --overwrite"
    )


def explain_filled_clusters(model: Any, samples: Samples, command: str) -> str | None:
    """A note on clusters that may only show which rows had missing values; `command` is that of the fit."""
    import numpy as np

    if samples.filled is None or model.n_clusters_ < 2:
        return None
    inside = model.labels_ >= 0
    sizes = np.bincount(model.labels_[inside])
    filled = np.bincount(model.labels_[inside & samples.filled], minlength=len(sizes))
    found = np.flatnonzero(2 * filled > sizes).tolist()
    if not found or 2 * np.count_nonzero(samples.filled) > len(samples):
        return None
    from shade.data.samples import shorten

    each = shorten([f"{cluster} ({filled[cluster]} of {sizes[cluster]})" for cluster in found])
    what = "cluster" if len(found) == 1 else "clusters"
    return (
        f"most rows of {what} {each} had missing values that were filled, so the {what} may show only that. To "
        f"compare, fit without such rows: {command} --missing drop-rows --overwrite"
    )


def _is_plain_table(samples: Samples) -> bool:
    return samples.in_memory and samples.feature_names is not None and samples.encoding is not None


def _columns_of(samples: Samples) -> list[str]:
    """Return the column of each feature."""
    columns = [] if samples.encoding is None else samples.encoding.columns
    names = [column.name for column in columns for _ in column.features]
    return names + list(samples.feature_names or ())[len(names) :]


def _values(samples: Samples) -> list[tuple[str, AnyArray]]:
    """Return the values of each column; for a category, the number of the feature that is 1."""
    if samples.encoding is None:
        return []
    pairs = zip(samples.encoding.columns, samples.encoding.places, strict=True)
    return [
        (column.name, samples.rows[:, start] if stop == start + 1 else samples.rows[:, start:stop].argmax(axis=1))
        for column, (start, stop) in pairs
    ]


def _is_followed(values: AnyArray, labels: AnyArray, most: int) -> bool:
    """Return whether clusters predict a value much better than guessing does: Goodman and Kruskal's lambda."""
    import numpy as np

    kinds, codes = np.unique(values[labels >= 0], return_inverse=True)
    if not 2 <= len(kinds) <= most:
        return False
    clusters = labels[labels >= 0]
    counts = np.zeros((clusters.max() + 1, len(kinds)), np.int64)
    np.add.at(counts, (clusters, codes), 1)
    wrong, still_wrong = len(clusters) - counts.sum(axis=0).max(), len(clusters) - counts.max(axis=1).sum()
    return bool(still_wrong <= (1 - FOLLOWED) * wrong)
