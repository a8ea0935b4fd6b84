"""Rows that are read when they are used: the same values as in memory, and clear words for what is wrong with them."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from PIL import Image

from shade import SHADE
from shade._base.errors import DataError
from shade._base.validation import check_finite
from shade.data.readers import as_source, open_source, read_samples
from shade.data.row_sources import ArraySource, _files_of
from shade.data.standardize import Standardizer

VALUES = np.random.default_rng(0).normal(size=(103, 6)).astype(np.float32)


class Sliceable:
    """The least that a source needs."""

    shape, dtype = VALUES.shape, VALUES.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        return VALUES[rows]


def write_npy(folder: Path) -> Path:
    np.save(folder / "rows.npy", VALUES)
    return folder / "rows.npy"


def write_parquet(folder: Path, names: str = "abcdef") -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(dict(zip(names, VALUES.T, strict=True))), path, row_group_size=40)
    return path


def write_shards(folder: Path) -> Path:
    path = folder / "shards"
    path.mkdir()
    for shard, part in enumerate(np.split(VALUES, [50, 51, 90])):
        pd.DataFrame(part, columns=list("abcdef")).to_parquet(path / f"part-{shard}.parquet", row_group_size=15)
    return path


def write_zarr(folder: Path) -> Path:
    array = zarr.create_array(str(folder / "rows.zarr"), shape=VALUES.shape, chunks=(20, 6), dtype="f4")
    array[:] = VALUES
    return folder / "rows.zarr"


@pytest.mark.parametrize("write", [write_npy, write_parquet, write_shards, write_zarr])
def test_any_slice_of_a_file_has_the_values_that_were_written(write: object, tmp_path: Path) -> None:
    source = open_source(write(tmp_path))
    assert source.shape == VALUES.shape
    assert source.dtype == np.float32
    for start, stop in ((0, 103), (0, 1), (39, 41), (49, 52), (100, 103), (7, 7)):
        assert np.array_equal(source[start:stop], VALUES[start:stop])


@pytest.mark.parametrize("what", ["memmap", "zarr", "sliceable"])
def test_arrays_that_are_not_in_memory_are_read_in_slices(what: str, tmp_path: Path) -> None:
    arrays = {
        "memmap": lambda: np.load(write_npy(tmp_path), mmap_mode="r"),
        "zarr": lambda: zarr.open_array(str(write_zarr(tmp_path))),
        "sliceable": Sliceable,
    }
    source = as_source(arrays[what]())
    assert source is not None
    assert np.array_equal(source[10:90], VALUES[10:90])


@pytest.mark.parametrize(
    "data", [VALUES, VALUES.tolist(), pd.DataFrame(VALUES), np.float32(3.0), None, [["a", "b"]]], ids=type
)
def test_data_in_memory_is_no_source(data: object) -> None:
    assert as_source(data) is None


@pytest.mark.parametrize("write", [write_npy, write_shards, write_zarr])
@pytest.mark.parametrize("kind", ["feature", "global", False])
def test_standardising_a_source_equals_standardising_memory_to_the_last_bit(
    write: object, kind: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shade.data.standardize.SLICE_ENTRIES", 100)
    source = open_source(write(tmp_path))
    expected, found = Standardizer.fit(VALUES, kind), Standardizer.fit(source, kind)
    assert np.array_equal(found.mean, expected.mean)
    assert np.array_equal(found.scale, expected.scale)
    assert np.array_equal(found.apply(source), expected.apply(VALUES))


@pytest.mark.parametrize(("mode", "shape"), [("L", (5, 4)), ("RGB", (3, 5, 4))])
def test_a_folder_of_images_is_read_file_by_file(mode: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 4, 3), np.uint8)[..., : 3 if mode == "RGB" else 1]
    for index, image in enumerate(pixels):
        Image.fromarray(image.squeeze()).save(tmp_path / f"{index}.png")
    source = open_source(tmp_path)
    assert source.sample_shape == shape
    expected = np.moveaxis(pixels, 3, 1).reshape(7, -1)
    assert np.array_equal(source[2:6], expected[2:6])
    assert source.place(3) == "row 3 (3.png)"
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(tmp_path / "large.png")
    with pytest.raises(DataError, match=r"have 2 sizes \(7 of 4x5, 1 of 9x9\)"):
        open_source(tmp_path)


def test_parquet_keeps_names_and_the_rows_that_are_read_together(tmp_path: Path) -> None:
    source = open_source(write_shards(tmp_path))
    assert source.names == list("abcdef")
    assert source.boundaries.tolist() == [0, 15, 30, 45, 50, 51, 66, 81, 90, 103]


def test_whole_numbers_with_empty_cells_are_found_as_missing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, None, 3], "b": [True, False, True]}), tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"contains NaN in row 1 \(row 1 of rows.parquet\), column 0"):
        check_finite(source, source.place)


def test_a_value_that_is_missing_is_reported_with_its_shard_and_row(tmp_path: Path) -> None:
    folder = write_shards(tmp_path)
    table = pd.read_parquet(folder / "part-2.parquet")
    table.loc[17, "d"] = np.nan
    table.to_parquet(folder / "part-2.parquet", row_group_size=15)
    source = open_source(folder)
    with pytest.raises(ValueError, match=r"contains NaN in row 68 \(row 17 of part-2.parquet\), column 3\. Drop"):
        check_finite(source, source.place)


def test_shards_with_different_columns_are_refused(tmp_path: Path) -> None:
    folder = write_shards(tmp_path)
    table = pd.read_parquet(folder / "part-1.parquet")
    table.rename(columns={"c": "x"}).to_parquet(folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet lacks 'c' and has 'x' in addition, compared with part-0.parq"):
        open_source(folder)
    table[list("fedcba")].to_parquet(folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet has them in another order, compared with part-0.parquet"):
        open_source(folder)
    table.assign(c="text").to_parquet(folder / "part-1.parquet")
    with pytest.raises(DataError, match=r"part-1.parquet has columns that are not numbers: 'c'"):
        open_source(folder)


@pytest.mark.parametrize("left", [0, 10, 0.5, -1])
def test_a_parquet_file_that_was_cut_short_is_refused(left: float, tmp_path: Path) -> None:
    path = write_parquet(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(left * len(whole)) if left == 0.5 else int(left)])
    expected = (
        "rows.parquet cannot be read as parquet, it may have been cut short: " if left else "rows.parquet is empty"
    )
    with pytest.raises(DataError, match=expected):
        open_source(path)


def test_a_parquet_file_damaged_inside_is_refused_when_its_rows_are_read(tmp_path: Path) -> None:
    path = write_parquet(tmp_path)
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    source = open_source(path)
    with pytest.raises(DataError, match=r"rows.parquet cannot be read as parquet"):
        source[0:10]


def test_a_parquet_file_that_is_replaced_is_refused(tmp_path: Path) -> None:
    source = open_source(write_parquet(tmp_path))
    assert len(source[0:10]) == 10
    write_parquet(tmp_path, "abcdex")
    with pytest.raises(DataError, match=r"rows.parquet was changed while it was read: start again"):
        source[50:60]


def test_an_array_whose_shape_changes_is_refused(tmp_path: Path) -> None:
    source = open_source(write_zarr(tmp_path))
    assert len(source[0:10]) == 10
    zarr.open_array(str(tmp_path / "rows.zarr"), mode="r+").resize((90, 6))
    with pytest.raises(DataError, match=r"had the shape \(103, 6\) when reading began, and has \(90, 6\) now"):
        source[0:10]


def test_a_npy_file_that_was_cut_short_says_where_it_ends(tmp_path: Path) -> None:
    path = write_npy(tmp_path)
    source = open_source(path)
    path.write_bytes(path.read_bytes()[: -10 * 6 * 4])
    with pytest.raises(DataError, match=r"rows.npy ends in row 93 of 103: it was cut short"):
        source[80:103]
    with pytest.raises(DataError, match=r"rows.npy ends in row 93 of 103: it was cut short"):
        open_source(path)
    path.write_bytes(b"no array")
    with pytest.raises(DataError, match=r"rows.npy cannot be read as an array"):
        open_source(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.npy does not exist"):
        open_source(tmp_path / "nothing.npy")
    with pytest.raises(DataError, match=r"holds no data in a known format: csv, tsv, xlsx"):
        open_source(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    able = "parquet, npy, zarr, a zip of images, or a folder of parquet files or images"
    with pytest.raises(DataError, match=rf"rows.csv cannot be read piece by piece. Formats that can: {able}\."):
        open_source(tmp_path / "rows.csv")
    for array, message in (
        (np.array(["a", "b"])[:, None], "holds <U1, not real numbers"),
        (np.zeros(3), r"has the shape \(3,\): give one row per sample"),
        (np.zeros((0, 3)), r"has the shape \(0, 3\)"),
    ):
        with pytest.raises(DataError, match=message):
            ArraySource(array)
    np.save(tmp_path / "columns.npy", np.asfortranarray(VALUES))
    with pytest.raises(DataError, match="stored by columns"):
        open_source(tmp_path / "columns.npy")
    with pytest.raises(IndexError, match="consecutive"):
        ArraySource(VALUES)[0:10:2]


def test_shards_are_files_of_any_case_without_hidden_ones(tmp_path: Path) -> None:
    folder = tmp_path / "sales.parquet"
    write_shards(tmp_path).rename(folder)
    (folder / "part-1.parquet").rename(folder / "part-1.PARQUET")
    (folder / "._part-1.parquet").write_bytes(b"what another system notes of a file")
    wanted = open_source(folder)[0 : len(open_source(folder))]
    assert len(wanted) == len(VALUES)
    assert np.array_equal(open_source(tmp_path)[0 : len(wanted)], wanted)  # a folder of such a folder


def test_labels_of_shards_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    for number, labels in enumerate((["a", "b"], [1, 2])):
        pd.DataFrame({"x": [0.0, 1.0], "l": labels}).to_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(DataError, match="have different types"):
        read_samples(tmp_path, label="l")


def file_with_rows(path: Path) -> Path:
    """The file itself, or the last of a folder."""
    return path if path.is_file() else max(path.rglob("c/*/*"))


def overwrite(path: Path) -> None:
    """Write other bytes of the same number in place."""
    data, status = file_with_rows(path).read_bytes(), path.stat()
    with file_with_rows(path).open("r+b") as file:
        file.write(data[:-8] + bytes(8))
    # Clocks of file systems are slow.
    os.utime(file_with_rows(path), ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def cut(path: Path) -> None:
    os.truncate(file_with_rows(path), file_with_rows(path).stat().st_size // 2)


def memmap_of_columns(path: Path) -> np.ndarray:
    return np.load(path, mmap_mode="r")[:, :2]


LAZY: dict[str, Callable[[Path], object]] = {
    "npy": write_npy,
    "memmap": lambda folder: np.load(write_npy(folder), mmap_mode="r"),
    "part of a memmap": lambda folder: np.load(write_npy(folder), mmap_mode="r")[7:90],
    "columns of a memmap": lambda folder: memmap_of_columns(write_npy(folder)),
    "a private memmap": lambda folder: np.load(write_npy(folder), mmap_mode="c"),
    "parquet": write_parquet,
    "zarr": write_zarr,
}


@pytest.mark.parametrize("what", LAZY)
@pytest.mark.parametrize("change", [overwrite, cut])
def test_a_file_that_is_changed_while_it_is_read_is_refused_by_name(
    what: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    source = as_source(LAZY[what](tmp_path))
    assert source is not None
    check_finite(source)
    [path] = tmp_path.iterdir()
    change(path)
    with pytest.raises(DataError, match=r"rows.*(was changed while it was read|was cut short)"):
        check_finite(source)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("part", [slice(None), slice(3, 50), np.s_[::2], np.s_[:, 1:3], np.s_[5:9, :]])
def test_parts_of_memmaps_give_their_rows(mode: str, part: object, tmp_path: Path) -> None:
    mapped = np.load(write_npy(tmp_path), mmap_mode=mode)
    if mode != "r":
        mapped[4] = 7.0
    source = as_source(mapped[part])
    assert source is not None
    assert np.array_equal(source[:], np.asarray(mapped[part]))


def test_a_memmap_whose_file_is_gone_or_replaced_gives_its_own_rows(tmp_path: Path) -> None:
    path = write_npy(tmp_path)
    mapped = np.load(path, mmap_mode="r")
    path.unlink()
    assert np.array_equal(as_source(mapped)[:], VALUES)
    np.save(path, np.zeros_like(VALUES))
    assert np.array_equal(as_source(mapped)[:], VALUES)


@pytest.mark.parametrize("what", ["npy", "memmap", "parquet", "zarr"])
def test_a_file_that_is_written_over_during_a_fit_ends_it(what: str, tmp_path: Path) -> None:
    def change(record: object) -> None:
        overwrite(next(tmp_path.iterdir()))

    settings = {"epochs": 1, "n_networks": 1, "network": (4,), "embedding_size": 2, "random_state": 0, "device": "cpu"}
    with pytest.raises(DataError, match=r"rows.* was changed while it was read: start again"):
        SHADE(**settings, callbacks=[change]).fit(LAZY[what](tmp_path))


def test_the_files_of_rows_are_those_of_their_chunks(tmp_path: Path) -> None:
    array = zarr.create_array(str(tmp_path / "rows.zarr"), shape=(10, 7, 3), chunks=(4, 3, 3), dtype="f4")
    array[:] = 1.0
    for start, stop, expected in ((0, 4, 3), (3, 5, 6), (8, 10, 3), (0, 10, 9)):
        found = _files_of(array, start, stop)
        assert len(found) == len(set(found)) == expected
        assert all(file.is_file() for file in found)
