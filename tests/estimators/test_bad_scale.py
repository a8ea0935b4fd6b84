"""Large data that is bad: one sentence says what and where, in Python and on the command line, and nothing is left."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from shade import SHADE
from shade._base.errors import DataError
from shade.training import Callback, capacity
from tests.cli.commands import QUICK, run

SETTINGS = {"epochs": 3, "network": (16,), "embedding_size": 3, "n_networks": 1, "batch_size": 50, "random_state": 0}
VALUES = np.random.default_rng(0).normal(size=(900, 400)).astype(np.float32)
SHARD_ROWS, BAD_ROW = 1_000_000, 9_876_543

Refused = Callable[..., str]


class Watch(Callback):
    """Shows nothing, but does something after each epoch."""

    def __init__(self, each_epoch: Callable[[], None]) -> None:
        self.each_epoch = each_epoch

    def on_epoch_end(self, record: object) -> None:
        self.each_epoch()

    def close(self) -> None:
        pass


@pytest.fixture(params=["python", "command line"])
def refused(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refused:
    """What one door says to a path, with nothing left beside it but what is named."""
    monkeypatch.setattr(capacity, "WORKING", 0)

    def fit(path: Path, memory: str, left: tuple[str, ...] = (), each_epoch: Callable[[], None] = lambda: None) -> str:
        before = {file.name for file in tmp_path.iterdir()}
        if request.param == "python":
            model = SHADE(**SETTINGS, callbacks=[Watch(each_epoch)])
            with pytest.raises(ValueError) as error:
                model.fit(path, memory=memory)
            assert not hasattr(model, "labels_")
            return str(error.value)
        monkeypatch.setattr("shade.cli.progress.TrainingProgress", lambda *_: Watch(each_epoch))
        result = run("fit", path, "-o", tmp_path / "out", "--memory", memory, "--batch-size", 50, *QUICK)
        assert result.exit_code == 3, result.output
        assert result.stdout == ""
        assert {file.name for file in tmp_path.iterdir()} - before == set(left)
        *_, last = result.stderr.splitlines()
        assert last.startswith("shade: ")
        return last

    return fit


def write_shards(folder: Path, columns: tuple[str, ...] = ("a", "b", "c")) -> Path:
    folder.mkdir()
    for shard, part in enumerate(np.array_split(VALUES[:, : len(columns)], 3)):
        table = pa.table(dict(zip(columns, part.T, strict=True)))
        pq.write_table(table, folder / f"part-{shard}.parquet", row_group_size=100)
    return folder


def test_shards_with_different_columns(refused: Refused, tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "shards")
    write_shards(tmp_path / "others", ("a", "x", "c"))
    (tmp_path / "others" / "part-2.parquet").replace(folder / "part-2.parquet")
    expected = (
        "The shards have different columns: part-2.parquet lacks 'b' and has 'x' in addition, compared with part-0"
    )
    assert expected in refused(folder, "1GB")


def test_a_shard_that_was_cut_short(refused: Refused, tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "shards")
    shard = folder / "part-1.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])
    assert "part-1.parquet cannot be read as parquet, it may have been cut short: " in refused(folder, "1GB")


def test_a_value_that_is_missing_in_row_9876543(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    ones = np.ones(SHARD_ROWS, np.float32)
    for shard in range(10):
        table = pa.table({"a": ones, "b": ones})
        if shard == BAD_ROW // SHARD_ROWS:
            bad = ones.copy()
            bad[BAD_ROW % SHARD_ROWS] = np.nan
            table = pa.table({"a": ones, "b": bad})
        pq.write_table(table, tmp_path / "shards" / f"part-{shard}.parquet")
    said = refused(tmp_path / "shards", "4GB")
    assert (
        "Input X contains NaN in row 9876543 (row 876543 of part-9.parquet), column 'b'. Drop the row, or fill" in said
    )


def resize(path: Path, rows: int) -> None:
    """As another process would."""
    code = f"import zarr; zarr.open_array({str(path)!r}, mode='r+').resize(({rows}, 400))"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("memory", "rows", "trained"), [("1.5MB", 700, False), ("1GB", 1000, True)])
def test_a_zarr_array_that_changes_its_shape_while_it_is_trained_on(
    memory: str, rows: int, trained: bool, refused: Refused, tmp_path: Path
) -> None:
    path = tmp_path / "rows.zarr"
    zarr.create_array(str(path), data=VALUES, chunks=(50, 400))
    ended = []

    def resize_once() -> None:
        if not ended:
            resize(path, rows)
        ended.append(1)

    said = refused(path, memory, ("out.checkpoint",), resize_once)
    assert (len(ended) == 3) == trained  # what is streamed is noticed in training, all else when it is embedded
    assert f"rows.zarr had the shape (900, 400) when reading began, and has ({rows}, 400) now: wait until it is" in said


def test_a_zarr_array_that_changes_its_shape_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.zarr"
    zarr.create_array(str(path), data=VALUES, chunks=(50, 400))
    array = zarr.open_array(str(path), mode="r")
    resize(path, 700)
    with pytest.raises(DataError, match=r"had the shape \(900, 400\) when reading began, and has \(700, 400\) now"):
        SHADE(**SETTINGS).fit(array, memory="1GB")
