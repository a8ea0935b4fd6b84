"""Other inputs than a matrix of floats: sparse matrices and small number formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import MemoryBudgetError
from shade.training import capacity
from tests.estimators.test_resume import assert_same
from tests.estimators.test_shade import QUICK


def mostly_zero(n: int = 300, d: int = 40) -> np.ndarray:
    """Three groups of rows, each with other columns that are not zero."""
    random = np.random.default_rng(0)
    X = np.zeros((n, d))
    for group in range(3):
        some = slice(group * d // 4, (group + 2) * d // 4)
        rows = X[group::3, some].shape
        X[group::3, some] = random.gamma(2.0, size=rows) * (random.random(rows) < 0.5) + 3 * (np.arange(rows[1]) % 2)
    return X


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sparse_matrix_gives_what_the_full_one_gives(form: str, dtype: type) -> None:
    full = mostly_zero().astype(dtype)
    X = sparse.csr_array(full).asformat(form)
    whole, model = (SHADE(**QUICK).fit(given) for given in (full, X))
    assert_same(model, whole)
    np.testing.assert_array_equal(model.predict(X), whole.labels_)
    np.testing.assert_array_equal(model.transform(X[:7] if form != "coo" else full[:7]), whole.embedding_[:7])
    np.testing.assert_array_equal(model.assign_noise("nearest", X), whole.assign_noise("nearest", full))
    np.testing.assert_array_equal(model.update(X).labels_, whole.update(full).labels_)
    tree = DCTreeClustering().fit(X)
    np.testing.assert_array_equal(tree.labels_, DCTreeClustering().fit(full).labels_)
    np.testing.assert_array_equal(tree.predict(X), tree.labels_)
    assert str(tree.explain(X)) == str(tree.explain(full))


def test_sparse_rows_are_streamed_as_full_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "WORKING", 0)
    full = mostly_zero(1200, 100).astype(np.float32)
    settings = {**QUICK, "tree": "batch", "batch_size": 30}
    whole, model = (SHADE(**settings).fit(X, memory="450kB") for X in (full, sparse.csr_array(full)))
    assert_same(model, whole)


def test_a_sparse_matrix_too_large_to_be_full_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shade._base.memory.available_memory", lambda: 10**8)
    model = DCTreeClustering().fit(mostly_zero())
    before = model.labels_
    huge = sparse.csr_array((10**6, 10**3))
    for refuse in (model.fit, model.predict):
        with pytest.raises(MemoryBudgetError, match="A full matrix of 1000000 x 1000, made of a sparse one, takes"):
            refuse(huge)
    assert model.labels_ is before
    monkeypatch.setattr("shade.training.capacity.available_memory", lambda: 10**8)
    with pytest.raises(MemoryBudgetError, match="Fitting 1,000,000 rows of 1,000 columns in memory takes"):
        SHADE(**QUICK).fit(huge)


def test_wrong_sparse_matrices_are_refused_in_one_sentence() -> None:
    broken = mostly_zero()
    broken[5, 3] = np.nan
    for model in (SHADE(**QUICK), DCTreeClustering()):
        with pytest.raises(ValueError, match="Input X contains NaN in row 5, column 3"):
            model.fit(sparse.csr_array(broken))
        with pytest.raises(ValueError, match=r"complex128, not real numbers|Complex data not supported"):
            model.fit(sparse.csr_array(broken.astype(complex)))
        model.fit(sparse.csr_array(mostly_zero()))
        with pytest.raises(ValueError, match="39 features"):
            model.predict(sparse.csr_array(broken[:, 1:]))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8])
def test_small_number_formats_are_read_as_the_numbers_they_hold(dtype: type, tmp_path: Path) -> None:
    X, _ = make_blobs(300, 80, centers=4, cluster_std=6.0, center_box=(20, 100), random_state=0)
    X = X.round().clip(0, 127)
    small = X.astype(dtype)
    standardize = "global" if dtype is np.uint8 else "auto"  # bytes are taken for pixels
    settings = {**QUICK, "standardize": standardize}
    whole, model = SHADE(**settings).fit(X), SHADE(**settings).fit(small)
    assert_same(model, whole)
    np.testing.assert_array_equal(model.predict(small), whole.labels_)
    tree, small_tree = DCTreeClustering().fit(X), DCTreeClustering().fit(small)
    np.testing.assert_array_equal(small_tree.labels_, tree.labels_)
    assert tree.n_clusters_ == 4
    small_tree.save(tmp_path / "model.shade")
    np.testing.assert_array_equal(shade.load(tmp_path / "model.shade").predict(small), tree.labels_)
