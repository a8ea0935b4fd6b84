"""Labels of rows written where packages for single cells look for them: into an AnnData object or its h5ad file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade._base.extras import need


def columns_of(model: Any, key: str) -> dict[str, Any]:
    """Return the columns of `obs`, named after a key."""
    pandas = need("pandas", "io", "to_anndata")
    return {
        key: pandas.Categorical(model.labels_),
        f"{key}_probability": model.probabilities_,
        f"{key}_outlier_score": model.outlier_scores_,
    }


def new_anndata(n: int) -> Any:
    """Return an AnnData of n rows without values."""
    pandas = need("pandas", "io", "to_anndata")
    names = pandas.Index([str(row) for row in range(n)], dtype=object)
    return need("anndata", "h5ad", "to_anndata").AnnData(obs=pandas.DataFrame(index=names))


def write_into(adata: Any, columns: Mapping[str, Any], name: str, embedding: AnyArray | None) -> Any:
    """Add columns, and an embedding if there is one, to an AnnData object."""
    _check_rows(int(adata.n_obs), columns)
    for column, values in columns.items():
        adata.obs[column] = values
    if embedding is not None:
        adata.obsm[name] = embedding
    return adata


def write_into_file(path: Path, columns: Mapping[str, Any], name: str, embedding: AnyArray | None) -> None:
    """Add columns, and an embedding, to an h5ad file. Its other parts are copied, and never read into memory.

    If that fails, the file is not changed.
    """
    anndata, h5py = need("anndata.io", "h5ad", "to_anndata"), need("h5py", "h5ad", "to_anndata")
    if not path.is_file():
        raise DataError(f"{path} does not exist.")
    aside = path.with_name(f".shade-{token_hex(8)}.partial")
    try:
        shutil.copyfile(path, aside)
        with told_as(DataError, f"{path} cannot be changed as h5ad", OSError, KeyError), h5py.File(aside, "r+") as file:
            obs = file["obs"]
            if "_index" not in obs.attrs or "column-order" not in obs.attrs:
                raise DataError(f"{path} has an old format. Read it with anndata, and write it again.")
            _check_rows(len(obs[obs.attrs["_index"]]), columns)
            for column, values in columns.items():
                anndata.write_elem(obs, column, values)
            others = [column for column in obs.attrs["column-order"] if column not in columns]
            obs.attrs["column-order"] = [*others, *columns]
            if embedding is not None:
                anndata.write_elem(file.require_group("obsm"), name, embedding)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _check_rows(n: int, columns: Mapping[str, Any]) -> None:
    clustered = len(next(iter(columns.values())))
    if n != clustered:
        raise ValueError(f"The AnnData has {n} rows, but {clustered} were clustered. Give the rows of the fit.")
