"""Encoding of categories, dates and missing values in tables, for scikit-learn pipelines."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, ShadeWarning, told_as
from shade._base.extras import need
from shade._base.validation import check_choice
from shade.data.encoding import TableEncoding
from shade.data.missing import resolve_missing
from shade.data.samples import FILLS, ReadOptions, Samples
from shade.data.standardize import Standardizer
from shade.data.tables import RawTable, samples_of_table

SOURCE = "The table"


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode the columns of a DataFrame as numbers, as `shade fit` does with a file.

    Columns of text with at most 20 different values become a column of 0 and 1 per value, truth values become 0 and 1,
    and dates become days since 1970. Columns that number the rows, and text with more values, are left out: `notes_`
    says which. For a value that was not in the table of `fit`, there is a warning, and the row is in none of the
    categories. Messages name parameters as options of the command line: `--drop x` is `drop=["x"]`.

    Parameters
    ----------
    categories : collection of str, default=()
        Columns that are always encoded as categories: numbers that are codes, or text with more values.
    drop : collection of str, default=()
        Columns to leave out.
    keep : collection of str, default=()
        Columns to keep that are left out otherwise: row numbers, and text with many different values.
    missing : {"refuse", "mean", "median", "indicator"}, default="refuse"
        What to do with empty cells, as in `read_samples`.
    standardize : bool, default=False
        Scale columns to deviation 1; the columns of one category together weigh like one column. `SHADE` does this
        itself; `DCTreeClustering` does not.

    Attributes
    ----------
    encoding_ : TableEncoding
        How each column is encoded.
    notes_ : tuple of str
        What was left out, encoded or filled in.
    standardizer_ : Standardizer or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import pandas as pd
    >>> from shade.data import TableEncoder
    >>> table = pd.DataFrame({"age": range(30, 60, 3), "city": ["Rome", "Oslo"] * 5})
    >>> TableEncoder().fit(table).get_feature_names_out().tolist()
    ['age', 'city=Oslo', 'city=Rome']
    """

    encoding_: TableEncoding
    notes_: tuple[str, ...]

    def __init__(
        self,
        *,
        categories: Collection[str] = (),
        drop: Collection[str] = (),
        keep: Collection[str] = (),
        missing: str = "refuse",
        standardize: bool = False,
    ) -> None:
        self.categories = categories
        self.drop = drop
        self.keep = keep
        self.missing = missing
        self.standardize = standardize

    def fit(self, X: Any, y: object = None) -> Self:
        """Choose how each column is encoded.

        Parameters
        ----------
        X : DataFrame
        y : ignored

        Returns
        -------
        TableEncoder
            Itself.
        """
        check_choice("missing", self.missing, ("refuse", *FILLS), "TableEncoder")
        samples = resolve_missing(*self._encode(X))
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.encoding_ = samples.encoding or TableEncoding()
        self.notes_ = samples.notes
        self._names = samples.feature_names or ()
        rows = samples.rows
        self.standardizer_ = Standardizer.fit(rows, "feature", one_hot=True) if self.standardize else None
        return self

    def transform(self, X: Any) -> Any:
        """Encode a table like the one of `fit`.

        Parameters
        ----------
        X : DataFrame

        Returns
        -------
        DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        samples, options = self._encode(X, self.encoding_)
        for note in samples.notes:
            warnings.warn(note, ShadeWarning, stacklevel=2)
        rows: AnyArray = resolve_missing(samples, options).rows
        if self.standardizer_ is not None:
            rows = self.standardizer_.apply(rows)
        pandas = need("pandas", "io", "Encoding tables")
        return pandas.DataFrame(rows, columns=list(self._names), index=X.index, copy=False)

    def get_feature_names_out(self, input_features: object = None) -> AnyArray:
        """Names of the columns of the result, such as "city=Oslo".

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array(self._names, dtype=object)

    def _encode(self, X: Any, encoding: TableEncoding | None = None) -> tuple[Samples, ReadOptions]:
        """Encode a DataFrame, anew or as in `fit`; return the samples and the options for missing values."""
        if not hasattr(X, "columns"):
            raise DataError(f"TableEncoder encodes the columns of a DataFrame. Got {type(X).__name__} instead.")
        pyarrow = need("pyarrow", "io", "Encoding tables")
        with told_as(DataError, f"{SOURCE} has a column that cannot be encoded", pyarrow.ArrowException):
            known = None if encoding is None else {column.name for column in encoding.columns}
            names = [name for name in X.columns if known is None or str(name) in known]
            table = pyarrow.table({str(name): pyarrow.array(X[name], from_pandas=True) for name in names})
        options = ReadOptions(
            drop=self.drop if encoding is None else (), keep=self.keep, categories=self.categories,
            missing=self.missing, table=encoding,
        )  # fmt: skip
        return samples_of_table(RawTable(table), SOURCE, options), options
