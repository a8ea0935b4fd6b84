"""Results where other packages look for them: AnnData, h5ad files, and folders for model hubs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import DataError
from tests.estimators.test_shade import QUICK, blobs

anndata = pytest.importorskip("anndata", reason="needs anndata (the h5ad extra)")
X = blobs(120)[0] if isinstance(blobs(120), tuple) else blobs(120)


def cells(n: int = 120) -> Any:
    names = pd.Index([f"cell{row}" for row in range(n)], dtype=object)
    donor = pd.Categorical.from_codes(np.arange(n) % 2, pd.Index(["one", "two"], dtype=object))
    return anndata.AnnData(
        X[:n].astype(np.float32),
        obs=pd.DataFrame({"donor": donor}, index=names),
        var=pd.DataFrame(index=pd.Index([f"gene{column}" for column in range(X.shape[1])], dtype=object)),
    )


def assert_written(found: Any, model: Any, key: str = "shade") -> None:
    np.testing.assert_array_equal(found.obs[key].astype(int), model.labels_)
    np.testing.assert_array_equal(found.obs[f"{key}_probability"], model.probabilities_)
    np.testing.assert_array_equal(found.obs[f"{key}_outlier_score"], model.outlier_scores_)
    if hasattr(model, "embedding_"):
        np.testing.assert_array_equal(found.obsm[f"X_{key}"], model.embedding_)
    else:
        assert f"X_{key}" not in found.obsm


def test_labels_are_written_into_an_anndata() -> None:
    model, adata = SHADE(**QUICK).fit(X), cells()
    assert model.to_anndata(adata) is adata
    assert_written(adata, model)
    tree = DCTreeClustering().fit(X)
    assert_written(tree.to_anndata(adata, key="tree"), tree, "tree")
    assert_written(tree.to_anndata(), tree)
    with pytest.raises(ValueError, match="The AnnData has 60 rows, but 120 were clustered"):
        model.to_anndata(cells(60))
    with pytest.raises(ValueError, match="'key' parameter of to_anndata must be a name without '/'"):
        model.to_anndata(adata, key="a/b")


def test_labels_are_written_into_a_file_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "cells.h5ad"
    cells().write_h5ad(path)
    models = SHADE(**QUICK).fit(X), DCTreeClustering().fit(X)
    for model in (*models, models[0]):  # the last time, columns are replaced
        assert model.to_anndata(path) is None
        found = anndata.read_h5ad(path)
        assert list(found.obs.columns) == ["donor", "shade", "shade_probability", "shade_outlier_score"]
        np.testing.assert_array_equal(found.X, X.astype(np.float32))
        assert found.obs["donor"].astype(str).tolist() == cells().obs["donor"].astype(str).tolist()
        assert found.obs_names.tolist() == cells().obs_names.tolist()
        np.testing.assert_array_equal(found.obs["shade"].astype(int), model.labels_)
    assert_written(found, models[0])
    assert [file.name for file in tmp_path.iterdir()] == ["cells.h5ad"]


def test_a_file_that_cannot_be_changed_stays_as_it_is(tmp_path: Path) -> None:
    model, path = DCTreeClustering().fit(X), tmp_path / "cells.h5ad"
    cells(60).write_h5ad(path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match="The AnnData has 60 rows, but 120 were clustered"):
        model.to_anndata(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    other = tmp_path / "text.h5ad"
    other.write_text("no cells")
    with pytest.raises(DataError, match=r"text.h5ad cannot be changed as h5ad"):
        model.to_anndata(other)
    with pytest.raises(DataError, match=r"gone.h5ad does not exist"):
        model.to_anndata(tmp_path / "gone.h5ad")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cells.h5ad", "text.h5ad"]


def test_a_folder_for_a_hub_holds_the_model_and_its_card(tmp_path: Path) -> None:
    named = pd.DataFrame(X, columns=[f"a|{column}`" for column in range(X.shape[1])])
    for model, told in (
        (SHADE(**QUICK).fit(named), "the decoder turns it back into approximate rows"),
        (DCTreeClustering().fit(X), "holds the rows of the fit"),
    ):
        folder = tmp_path / "hub" / "my model"
        model.save_folder(folder)
        np.testing.assert_array_equal(shade.load(folder).labels_, model.labels_)
        card = (folder / "README.md").read_text()
        assert card.startswith("---\nlibrary_name: shade\n")
        assert "# my model" in card
        assert f"It has {model.n_clusters_} clusters" in card
        assert told in card
        sizes = [int(row) for row in re.findall(r"^\| \d+ \| (\d+) \|$", card, flags=re.MULTILINE)]
        assert sizes == np.bincount(model.labels_[model.labels_ >= 0]).tolist()
        assert sorted(file.name for file in folder.iterdir()) == ["README.md", "model.shade"]
    model = SHADE(**QUICK).fit(named)
    model.save_folder(folder, title="Blobs | small\n# no heading", decoder=False)
    card = (folder / "README.md").read_text()
    assert "# Blobs \\| small # no heading\n" in card
    assert "`a\\|0'`" in card
    assert "saved without the decoder" in card
