"""What a user is warned of after a fit that went well: much noise, and rows that may hide clusters."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from shade._errors import ShadeWarning

if TYPE_CHECKING:
    from shade.estimator import SHADE

MUCH_NOISE = 0.5
LONELY_COLUMNS = 0.1  # share of the columns in which one row far out is worth a warning


def warn_of_noise(model: Any) -> None:
    """Tell why most rows are noise, if they are, and which setting moves it."""
    share, background = float(np.mean(model.labels_ < 0)), float(np.mean(model._background))
    if share <= MUCH_NOISE:
        return
    if background > 0.5 * share:
        why = f"the data itself shows {background:.0%} as a sparse background"
        how = "noise='embedding' asks the embedding alone."
    else:
        why = f"they lie in no part of the density tree that is stable by selection={model.selection!r}"
        how = "another 'selection', a smaller 'min_points' or a larger 'min_cluster_size' changes how much there is."
        if model.noise == "outliers":
            why += ", and farther out than others around these parts"
        else:
            how = f"noise='outliers' leaves those around clusters in them; {how}"
    message = f"{share:.0%} of the points are noise: {why}. assign_noise() puts them into clusters; {how}"
    warnings.warn(message, ShadeWarning, stacklevel=3)


def warn_of_lonely_rows(model: SHADE) -> None:
    """Tell of columns that one row has for itself, if they are so many that clusters may be hidden."""
    lonely, columns = model._standardizer.lonely, model.n_features_in_
    if len(lonely) < LONELY_COLUMNS * columns:
        return
    first = str(getattr(model, "feature_names_in_", [f"x{column}" for column in range(columns)])[lonely[0]])
    which = f"{len(lonely)} of {columns} columns, such as {first!r}," if len(lonely) > 1 else f"column {first!r}"
    message = (
        f"In {which} one row lies so far out that all others look alike once they are standardised, which may hide "
        "clusters. Correct such rows or leave them out."
    )
    warnings.warn(message, ShadeWarning, stacklevel=3)
