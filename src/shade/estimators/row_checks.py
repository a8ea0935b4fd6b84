"""Checks of rows that are given to an estimator: numbers, finite, and with the columns of the fit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from shade._base import validation
from shade._base.arrays import AnyArray
from shade._base.extras import installed_versions
from shade._base.memory import check_room
from shade._base.ranks import Ranks
from shade._base.text import is_number
from shade._base.version import __version__
from shade.data.readers import as_source
from shade.data.row_sources import RowSource, fingerprint, open_memmap
from shade.data.samples import enumerate_names

if TYPE_CHECKING:
    from shade.estimators.embedding_methods import EmbeddingMixin

OF_A_RANK = {"callbacks", "device", "n_jobs", "verbose"}  # parameters that may differ between the processes of a fit


def check_samples(model: EmbeddingMixin, X: Any, *, reset: bool) -> Any:
    """Check rows and flatten images. The shape of one sample is stored for the network."""
    source = as_source(X)
    X = validation.to_numpy(X)
    shape = tuple(getattr(X, "shape", ()))[1:] if source is None else source.sample_shape
    if len(shape) > 1 and not reset and shape != model.sample_shape_:
        raise ValueError(f"X has samples of shape {shape}, but SHADE is expecting {model.sample_shape_}.")
    rows: Any
    if source is not None:
        rows = check_source(model, source, reset=reset)
    else:
        rows = check_rows(model, np.asarray(X).reshape(len(X), math.prod(shape)) if len(shape) > 1 else X, reset=reset)
    if reset:
        validation.check_min_samples(model.min_samples, len(rows), 2, "SHADE")
        model.sample_shape_ = shape if len(shape) > 1 else rows.shape[1:]
        if isinstance(model.network, str) and len(model.sample_shape_) not in (2, 3):
            raise ValueError(
                'network="conv" needs images of shape (n_samples, channels, height, width) or (n_samples, height, '
                f"width). Got samples of shape {model.sample_shape_} instead."
            )
    return rows


def check_values(rows: Any) -> None:
    """Raise an error for NaN, infinity and too large integers in rows that are read later."""
    if isinstance(rows, RowSource):
        validation.check_finite(rows, rows.place, rows.names)
        validation.check_whole_numbers(rows)


def check_ranks(ranks: Ranks, parameters: Mapping[str, object], rows: Any) -> None:
    """Raise an error if the processes of a fit have different versions, parameters or data, before they share work."""
    if ranks.count > 1:
        # The text of other objects has their address in memory, which differs between processes.
        given = {name: re.sub(" at 0x[0-9A-Fa-f]+", "", repr(value)) for name, value in parameters.items()}
        ranks.check_same({"shade": __version__, **installed_versions(("torch", "numpy"))}, "versions")
        ranks.check_same({name: given[name] for name in set(given) - OF_A_RANK}, "parameters")
        ranks.check_same(fingerprint(rows), "data")


def check_rows(estimator: Any, X: Any, *, reset: bool) -> AnyArray:
    """Check rows as scikit-learn does, with our own messages for values that are not numbers."""
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        for position, name in enumerate(X.columns):
            validation.check_whole_numbers(X.iloc[:, position].to_numpy(), f"Column {str(name)!r}")
    elif hasattr(X, "tocsr"):
        X = _without_zeros_left_out(X)
    elif isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of unequal lengths are reported below
            X = np.asarray(X)
    if isinstance(X, np.memmap) and X.ndim > 1 and X.size and X.dtype.kind in "fiub":
        X = open_memmap(X)[:].reshape(X.shape)  # a copy: a memmap ends the process if its file is cut short
    if isinstance(X, np.ndarray):
        validation.check_whole_numbers(X)
    try:
        checked = validation.check_numeric(
            validate_data(
                estimator, X, reset=reset, dtype="numeric", ensure_all_finite=False, ensure_min_samples=1,
                ensure_min_features=1,
            )
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        _blame_columns(X, error)
        raise
    names = getattr(estimator, "feature_names_in_", None)
    rows: AnyArray = validation.check_finite(checked, names=names)
    return rows


def _without_zeros_left_out(X: Any) -> AnyArray:
    """Return a sparse matrix as an ndarray, if there is enough memory for it in double precision."""
    check_room(
        8.0 * math.prod(X.shape), None, f"A full matrix of {' x '.join(map(str, X.shape))}, made of a sparse one,",
        "Use SHADE, which reads sparse rows in blocks, or reduce the columns first, for example by "
        "sklearn.decomposition.TruncatedSVD.",
    )  # fmt: skip
    full: AnyArray = X.toarray()
    return full


def _blame_columns(X: Any, error: Exception) -> None:
    """Raise our own error for columns of a DataFrame or an entry of an array that is no number, if there is one."""
    if not (hasattr(X, "dtypes") and hasattr(X, "iloc")):
        texts = np.ndenumerate(X) if isinstance(error, ValueError) and isinstance(X, np.ndarray) else ()
        for place, value in texts:
            if isinstance(value, str) and not is_number(value):
                raise ValueError(
                    f"Only numbers can be clustered. X holds {value[:40]!r} in row {place[0]}, column {place[-1]}. "
                    "Encode it as a number, or leave the column out."
                ) from error
        return
    twice = sorted({str(name) for name in X.columns[X.columns.duplicated()]})
    if twice:
        raise ValueError(f"Columns must have different names. There are several called {twice[0]!r}.") from None
    odd = {str(name): value for name in X.columns if (value := _odd_value(X[name])) is not None}
    if odd:
        first, value = next(iter(odd.items()))
        raise ValueError(
            f"Only columns of numbers can be clustered. Encode these as numbers, or leave them out: "
            f"{enumerate_names(list(odd))} ({first!r} holds {value!r}). shade.data.TableEncoder encodes categories and "
            "dates."
        ) from error


def _odd_value(column: Any) -> str | None:
    """Return the first entry of a column that is no number, as text."""
    if column.to_numpy().dtype.kind in "fiub":
        return None
    for value in column.dropna():
        try:
            float(value)
        except (TypeError, ValueError):
            return str(value)
    return None


def check_source(estimator: Any, source: RowSource, *, reset: bool) -> RowSource:
    """Check number and names of the columns of data that is read later, as scikit-learn does."""
    n_features, names = source.shape[1], source.names
    if reset:
        estimator.n_features_in_ = n_features
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return source
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None and list(fitted) != names:
        raise ValueError("The feature names should match those that were passed during fit, in the same order.")
    return source
