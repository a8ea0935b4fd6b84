"""Known labels of some rows, from the column that --label names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shade.cli.exit_codes import UsageError

if TYPE_CHECKING:
    from shade._base.arrays import AnyArray
    from shade.data import Samples

UNKNOWN = ("", "nan", "None", "<NA>")  # what is read from an empty cell, as text


def read_known(samples: Samples) -> tuple[AnyArray, list[str]]:
    """The number of each row's label, −1 where the cell is empty, and what the labels are called."""
    import numpy as np

    if samples.labels is None:
        raise UsageError("--known-labels needs the column that holds the labels. Add --label COLUMN.")
    named = samples.labels.astype(str)
    known = ~np.isin(named, UNKNOWN)
    if known.all() or not known.any():
        rows = "Every row has" if known.all() else "No row has"
        raise UsageError(
            f"{rows} a label, and --known-labels needs rows with a label and rows with an empty cell. Leave "
            "--known-labels out."
        )
    names, codes = np.unique(named[known], return_inverse=True)
    numbers = np.full(len(named), -1)
    numbers[known] = codes
    return numbers, names.tolist()


def names_of_clusters(model: Any, names: list[str]) -> list[str]:
    """The known label of each cluster, empty for clusters that hold no known row."""
    return [names[label] if label >= 0 else "" for label in model.known_labels_.tolist()]
