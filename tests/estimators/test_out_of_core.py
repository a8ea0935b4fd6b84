"""Fits on data that is read as it is needed, within a budget of memory."""

import logging
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import zarr
from PIL import Image
from sklearn.datasets import make_blobs

from shade import SHADE, DCTreeClustering
from shade._base.errors import DataError, MemoryBudgetError
from shade._base.memory import available_memory, format_memory, parse_memory
from shade.training import capacity
from tests.estimators.test_resume import StopError, assert_same, stop_at_step
from tests.unmeasured import unmeasured

SETTINGS = {
    "epochs": 2, "network": (16,), "embedding_size": 2, "n_networks": 1,
    "batch_size": 50, "selection": "branches", "random_state": 0
}  # fmt: skip


def blobs(n: int = 900, d: int = 8) -> np.ndarray:
    return make_blobs(n, d, centers=3, center_box=(-12, 12), random_state=0)[0].astype(np.float32)


@pytest.fixture
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let budgets of kilobytes make sense: what is taken whatever the data is does not count."""
    monkeypatch.setattr(capacity, "WORKING", 0)


def test_every_kind_of_file_and_array_gives_what_memory_gives(tmp_path: Path) -> None:
    X = blobs()
    expected = SHADE(**SETTINGS).fit(X)
    np.save(tmp_path / "rows.npy", X)
    (tmp_path / "shards").mkdir()
    for shard, part in enumerate(np.array_split(X, 3)):
        pd.DataFrame(part, columns=list("abcdefgh")).to_parquet(tmp_path / "shards" / f"{shard}.parquet")
    zarr.create_array(str(tmp_path / "rows.zarr"), data=X, chunks=(100, 8))
    for data in (
        tmp_path / "rows.npy",
        str(tmp_path / "rows.npy"),
        np.load(tmp_path / "rows.npy", mmap_mode="r"),
        tmp_path / "shards",
        tmp_path / "rows.zarr",
        zarr.open_array(str(tmp_path / "rows.zarr")),
    ):
        for memory in (None, "1GB"):
            model = SHADE(**SETTINGS).fit(data, memory=memory)
            assert_same(model, expected)
        assert np.array_equal(model.predict(data), expected.labels_)
        assert np.array_equal(model.transform(data), expected.embedding_)
        assert np.array_equal(expected.score_samples(data), expected.score_samples(X))
    named = SHADE(**SETTINGS).fit(tmp_path / "shards")
    assert list(named.feature_names_in_) == list("abcdefgh")


def test_a_folder_of_images_gives_what_its_pixels_give(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8), np.uint8)
    for index, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"{index:03}.png")
    settings = {**SETTINGS, "network": "conv", "standardize": "global"}
    assert_same(SHADE(**settings).fit(tmp_path), SHADE(**settings).fit(pixels))


@pytest.mark.usefixtures("small_budgets")
def test_data_that_does_not_fit_is_read_in_windows_and_clustered_as_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    X = blobs(900, 400)
    np.save(tmp_path / "rows.npy", X)
    with caplog.at_level(logging.INFO, logger="shade"):
        model = SHADE(**SETTINGS).fit(tmp_path / "rows.npy", memory="1.2MB")
    assert "Fitting 900 rows of 400 columns in windows of 247 rows: about 1.2 MB of 1.2 MB; in memory " in caplog.text
    assert model.n_clusters_ == SHADE(**SETTINGS).fit(X).n_clusters_ == 3
    assert np.array_equal(model.predict(tmp_path / "rows.npy"), model.labels_)
    again = SHADE(**SETTINGS).fit(X, memory="1.2MB")  # rows in memory, but no copy of all of them
    assert_same(again, model)


@pytest.mark.usefixtures("small_budgets")
def test_a_fit_in_windows_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    X, path = blobs(900, 400), tmp_path / "run.ckpt"
    expected = SHADE(**SETTINGS).fit(X, memory="1.2MB")
    for last in (3, 18, 25):
        with pytest.MonkeyPatch.context() as patch:
            stop_at_step(patch, last)
            with pytest.raises(StopError):
                SHADE(**SETTINGS).fit(X, memory="1.2MB", checkpoint=path, checkpoint_minutes=0)
        assert_same(SHADE(**SETTINGS).fit(X, memory="1.2MB", resume=path), expected)
    with pytest.raises(ValueError, match=r"is of a fit with .*window_rows=247, not None"):
        SHADE(**SETTINGS).fit(X, resume=path)


def test_embeddings_are_written_as_they_come(tmp_path: Path) -> None:
    X = blobs()
    model = SHADE(**SETTINGS).fit(X)
    written = model.transform(X, out=tmp_path / "embedding.npy")
    assert isinstance(written, np.memmap)
    assert np.array_equal(np.load(tmp_path / "embedding.npy"), model.embedding_)
    X[700, 3] = np.nan
    np.save(tmp_path / "bad.npy", X)
    with pytest.raises(ValueError, match=r"contains NaN in row 700, column 3"):
        model.transform(tmp_path / "bad.npy", out=tmp_path / "other.npy")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.npy", "embedding.npy"]


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 1000])
def test_prediction_does_not_depend_on_how_rows_are_read(rows_at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = blobs()
    model = SHADE(**SETTINGS).fit(X)
    monkeypatch.setattr("shade.training.embedder.ENTRIES_AT_A_TIME", rows_at_a_time * 8)
    monkeypatch.setattr("shade.training.embedder.POINTS_AT_A_TIME", 20)
    assert np.array_equal(model.predict(X[:70]), model.labels_[:70])
    assert np.array_equal(model.transform(X[:50]), model.embedding_[:50])


def test_columns_must_be_those_of_the_fit(tmp_path: Path) -> None:
    X = blobs()
    pd.DataFrame(X, columns=list("abcdefgh")).to_parquet(tmp_path / "rows.parquet")
    pd.DataFrame(X, columns=list("abcdefgx")).to_parquet(tmp_path / "other.parquet")
    np.save(tmp_path / "few.npy", X[:, :5])
    model = SHADE(**SETTINGS).fit(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        model.predict(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="X has 5 features, but SHADE is expecting 8 features as input"):
        model.predict(tmp_path / "few.npy")


def test_a_missing_value_is_found_before_training(tmp_path: Path) -> None:
    X = blobs()
    X[777, 2] = np.inf
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match=r"contains infinity in row 777, column 2"):
        SHADE(**SETTINGS).fit(tmp_path / "rows.npy")
    with pytest.raises(DataError, match=r"nowhere\.npy does not exist"):
        SHADE(**SETTINGS).fit("nowhere.npy")


def test_what_cannot_fit_is_refused_with_numbers_and_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_budgets: None
) -> None:
    X = blobs(900, 400)
    with pytest.raises(
        MemoryBudgetError, match=r"Clustering 900 embedded rows takes about 229 kB \(254 bytes a row\), m"
    ):
        SHADE(**SETTINGS).fit(X, memory="100kB")
    with pytest.raises(
        MemoryBudgetError, match=r"takes at least 974 kB for windows of 200 rows, more than memory='500kB'"
    ):
        SHADE(**SETTINGS).fit(X, memory="500kB")
    with pytest.raises(MemoryBudgetError, match=r"with tree='complete' takes about .* or use tree='batch'"):
        SHADE(**SETTINGS, tree="complete").fit(X, memory="1MB")
    with pytest.raises(ValueError, match=r"The 'memory' parameter of fit must be a number of bytes, or a text such as"):
        SHADE(**SETTINGS).fit(X, memory="plenty")
    np.save(tmp_path / "rows.npy", X)
    monkeypatch.setattr(capacity, "available_memory", lambda: 1_000_000)
    with pytest.raises(MemoryBudgetError, match=r"about 1.67 MB, and 1 MB are free. Give memory='800kB' to read"):
        SHADE(**SETTINGS).fit(tmp_path / "rows.npy")


@pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning")
@pytest.mark.parametrize("columns", [2, 10, 30])
def test_the_estimate_of_the_clustering_step_is_neither_too_low_nor_twice_too_high(columns: int) -> None:
    n = 20_000 if columns <= 24 else 6000
    embedding = np.random.default_rng(0).normal(size=(n, columns)).astype(np.float32)
    model = DCTreeClustering(selection="branches")
    # The same settings and type: a kernel compiled for the first time below would count as memory of the step.
    model.fit(embedding[:2000].astype(np.float64))
    tracemalloc.start()
    try:
        copy = embedding.copy()
        model.fit(copy)  # converted inside, as an embedding is
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    slack = 70_000_000 if columns > 24 else 3_000_000  # blocks of products and of rows have a size of their own
    estimate = capacity.clustering_bytes(n, columns)
    assert peak <= estimate + slack
    assert estimate <= 2 * peak


@pytest.mark.parametrize(
    ("text", "size"), [("1GB", 10**9), ("1.5 GiB", 3 << 29), ("800mb", 8 * 10**8), ("20 kB", 20_000), ("7B", 7), (5, 5)]
)
def test_amounts_of_memory_are_read_as_people_write_them(text: object, size: int) -> None:
    assert parse_memory(text, "fit") == size


def test_amounts_of_memory_are_written_as_people_read_them() -> None:
    assert [format_memory(size) for size in (1.234e9, 5.67e8, 1234)] == ["1.23 GB", "567 MB", "1.23 kB"]


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="needs /proc")
def test_free_memory_is_known() -> None:
    assert available_memory() > 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory differ elsewhere")
def test_a_file_four_times_the_memory_of_the_process_is_fitted_and_predicted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.out_of_core", str(tmp_path), "--megabytes", "760", "--epochs", "1"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=unmeasured(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "labels of the file equal predict" in done.stdout
