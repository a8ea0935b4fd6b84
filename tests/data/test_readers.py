"""Reading data: every format, and one clear line for what cannot be read."""

import bz2
import gzip
import io
import sys
import zipfile
from pathlib import Path

import anndata
import av
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import zarr
from PIL import Image

from shade._base.errors import DataError, MemoryBudgetError
from shade.data import Samples, read_samples
from shade.data.encoding import TableEncoding
from shade.data.filler import Filler
from shade.data.readers import FORMATS, list_formats

ROWS = np.arange(12.0).reshape(4, 3) ** 2


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def message(*arguments: object, **options: object) -> str:
    """The text of the error, which must be one line."""
    with pytest.raises(DataError) as error:
        read_samples(*arguments, **options)  # type: ignore[arg-type]
    text = str(error.value)
    assert "\n" not in text
    return text


# Tables


PEOPLE = "id,height,city,weight,group\nu1,1.5,Oslo,50,a\nu2,1.6,Rome,60,b\nu3,1.7,Lima,70,a\n"


def test_a_table_is_split_into_features_ids_and_labels(tmp_path: Path) -> None:
    samples = read_samples(write(tmp_path / "a.csv", PEOPLE), id="id", label="group", drop=["city"])
    assert samples.kind == "table"
    assert samples.feature_names == ("height", "weight")
    assert samples.rows.tolist() == [[1.5, 50], [1.6, 60], [1.7, 70]]
    assert samples.ids.tolist() == ["u1", "u2", "u3"]
    assert samples.labels is not None
    assert samples.labels.tolist() == ["a", "b", "a"]
    assert list(samples.to_features().columns) == ["height", "weight"]
    assert len(samples) == 3


def test_text_with_many_values_is_left_out_with_a_note_on_how_to_use_it(tmp_path: Path) -> None:
    rows = "".join(f"u{row},{row * row % 7},town {row % 25}\n" for row in range(50))
    path = write(tmp_path / "a.csv", f"id,x,home town\n{rows}")
    samples = read_samples(path)
    assert samples.feature_names == ("x",)
    assert samples.notes == (
        "left out 2 columns with neither numbers nor categories: 'id' (50 values, such as 'u0'), 'home town' "
        "(25 values, such as 'town 0'). --categories 'home town' encodes a column all the same, --id id names "
        "the rows by a column",
    )  # fmt: skip
    for options in ({"categories": ["home town"]}, {"keep": ["home town"]}):
        assert len(read_samples(path, id="id", **options).feature_names or ()) == 26
    plain = read_samples(path, drop_non_numeric=True)
    assert "left out 2 columns not of numbers: 'id', 'home town'" in plain.notes
    text = message(path, drop=["x"])
    assert "has no column left to cluster by: left out 2 columns with neither numbers" in text
    assert text.endswith("--id id names the rows by a column.")


@pytest.mark.parametrize(("suffix", "separator"), [(".tsv", "\t"), (".csv", ";"), (".txt", "|"), (".csv", ",")])
def test_separators_are_found(tmp_path: Path, suffix: str, separator: str) -> None:
    samples = read_samples(write(tmp_path / f"a{suffix}", "x,y\n1,2\n3,5\n".replace(",", separator)))
    assert samples.rows.tolist() == [[1, 2], [3, 5]]
    assert bool(samples.notes) == (separator in ";|")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "len, cm, or m\twid, cm, or m\n1\t2\n3\t5\n"),
        ("a.csv", '"len, cm, m";"wid, cm, m"\n1;2\n3;5\n'),
        ("a.csv", "\n\r\nx,y\n1,2\n3,5\n"),
    ],
)
def test_separators_in_names_and_empty_lines_before_them_mislead_nobody(tmp_path: Path, name: str, text: str) -> None:
    assert read_samples(write(tmp_path / name, text)).rows.tolist() == [[1, 2], [3, 5]]


def test_packed_tables_and_standard_input_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(PEOPLE.encode()))
    packed = read_samples(tmp_path / "a.csv.gz", drop_non_numeric=True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PEOPLE.encode())))
    piped = read_samples("-", drop_non_numeric=True)
    assert piped.source == "standard input"
    assert np.array_equal(packed.rows, piped.rows)


def test_a_parquet_file_keeps_its_type(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": np.array([1, 5, 7], np.uint8), "b": np.array([4, 0, 6], np.uint8), "y": list("xyx")})
    table.to_parquet(tmp_path / "a.parquet")
    samples = read_samples(tmp_path / "a.parquet", label="y")
    assert samples.rows.dtype == np.uint8
    assert samples.rows.tolist() == [[1, 4], [5, 0], [7, 6]]
    write(tmp_path / "b.parquet", "no parquet")
    assert "cannot be read as parquet" in message(tmp_path / "b.parquet")


def test_truth_values_and_decimals_are_numbers(tmp_path: Path) -> None:
    pd.DataFrame({"a": [True, False, None], "b": [1, 2, 4]}).astype({"a": "boolean"}).to_parquet(tmp_path / "a.parquet")
    samples = read_samples(tmp_path / "a.parquet", missing="drop-rows")
    assert samples.rows.tolist() == [[1, 1], [0, 2]]
    assert samples.ids.tolist() == [0, 1]


MISSING = "x,y,z\n1,2,4\n,3,9\n5,4,nan\n9,5,7\n"


def test_missing_values_are_refused_with_counts_and_remedies(tmp_path: Path) -> None:
    text = message(write(tmp_path / "a.csv", MISSING), missing="refuse")
    assert "lacks 2 values in 2 of 4 rows: 'x' (1), 'z' (1). Choose what to do with them: " in text
    assert text.endswith("--missing mean (or median, indicator, drop-rows, drop-columns).")
    of_model = message(write(tmp_path / "a.csv", MISSING), columns=["x", "y"])
    assert of_model.endswith("Choose what to do with them: --missing drop-rows.")


def test_missing_values_are_filled_by_default_with_a_note(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y,z,none\n1,2,a,\n,3,a,\n,,,\n9,inf,b,\n4,5,,\n")
    samples = read_samples(path)
    assert samples.rows.tolist() == [[1, 2, 1, 0], [4, 3, 1, 0], [9, 3, 0, 1], [4, 5, 1, 0]]
    assert samples.ids.tolist() == [0, 1, 3, 4]
    assert samples.notes == (
        "left out 1 column without any value: 'none'",
        "encoded 1 column of categories: 'z' (2)",
        "left out 1 row without any value",
        "filled 3 values (1 of them infinite) in 3 of 4 rows with the median or most frequent category of the column: "
        "'x' (1), 'y' (1), 'z' (1). --missing drop-rows leaves these rows out, --missing drop-columns these columns",
    )  # fmt: skip
    again = read_samples(write(tmp_path / "b.csv", "x,y,z\n,,\n"), table=samples.encoding)
    assert again.rows.tolist() == [[4, 3, 1, 0]]  # a model fills every row
    complete = read_samples(write(tmp_path / "c.csv", "x,y\n1,2\n3,4\n"))
    assert complete.encoding is not None
    assert complete.encoding.filler is None


def test_columns_that_would_be_filled_for_the_most_part_are_left_out_by_default(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,note\n1,\n2,\n7,5\n")
    samples = read_samples(path)
    assert samples.feature_names == ("x",)
    assert samples.notes == (
        "left out 1 column with empty cells in most of the 3 rows: 'note' (2). --keep note clusters by a column all "
        "the same",
    )
    assert read_samples(path, keep=["note"]).feature_names == ("x", "note")
    assert read_samples(path, missing="median").feature_names == ("x", "note")
    assert read_samples(path, missing="drop-rows").rows.tolist() == [[1], [2], [7]]  # as the note of the filling says
    assert read_samples(path, missing="drop-rows", keep=["note"]).rows.tolist() == [[7, 5]]
    assert read_samples(path, drop=["x"]).feature_names == ("note",)  # something must be left


def test_missing_values_of_arrays_are_filled_and_images_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1.0, 2], [3, np.nan], [5, 6]]))
    samples = read_samples(tmp_path / "a.npy")
    assert samples.rows.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert samples.notes[0].startswith("filled 1 value in 1 of 3 rows and 1 of 2 columns with the median of the col")
    np.save(tmp_path / "b.npy", np.array([[1.0, np.nan], [3, np.nan]]))
    assert message(tmp_path / "b.npy").endswith("has 1 column without any value. Add --drop 1.")
    assert read_samples(tmp_path / "b.npy", drop=["1"]).rows.tolist() == [[1], [3]]


def test_missing_values_are_mended_as_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", MISSING)
    assert read_samples(path, missing="mean").rows.tolist() == [[1, 2, 4], [5, 3, 9], [5, 4, 20 / 3], [9, 5, 7]]
    model = TableEncoding(filler=Filler("mean", [[8.0, 0, 6]], [1.0, 1, 1], []))
    assert read_samples(path, missing="mean", table=model).rows[1:3].tolist() == [[8, 3, 9], [5, 4, 6]]
    assert read_samples(path, table=model).rows[1:3].tolist() == [[8, 3, 9], [5, 4, 6]]
    assert read_samples(path, missing="median").rows.tolist() == [[1, 2, 4], [5, 3, 9], [5, 4, 7], [9, 5, 7]]
    head, *lines = MISSING.splitlines(keepends=True)
    many = write(tmp_path / "many.csv", "".join([head, *(lines * 25), ",3,9\n"]))
    flagged = read_samples(many, missing="indicator")
    assert flagged.rows[-2:].tolist() == [[9, 5, 7, 0], [9, 3, 9, 1]]
    later = read_samples(write(tmp_path / "later.csv", f"{head},3,9\n"), table=flagged.encoding)
    assert later.rows.tolist() == [[9, 3, 9, 1]]
    assert flagged.feature_names == ("x", "y", "z", "a value is missing")
    assert flagged.notes[-1].endswith(". Added a column of 0 and 1: whether a row lacks a value")
    few = read_samples(path, missing="indicator")  # so few rows would be far from all others, and noise
    assert few.feature_names == ("x", "y", "z")
    assert few.notes[-1].endswith(". Added no column of 0 and 1: that needs more than 20 rows that lack a value")
    rows = read_samples(path, missing="drop-rows")
    assert rows.rows.tolist() == [[1, 2, 4], [9, 5, 7]]
    assert rows.ids.tolist() == [0, 3]
    columns = read_samples(path, missing="drop-columns")
    assert columns.feature_names == ("y",)
    assert "left out 2 columns with missing values: 'x', 'z'" in columns.notes
    empty = write(tmp_path / "b.csv", "x,y\n1,\n2,\n4,\n")
    assert read_samples(empty, missing="mean").feature_names == ("x",)
    holes = write(tmp_path / "c.csv", "x,y\n1,\n,2\n")
    assert "Try drop-columns" in message(holes, missing="drop-rows")
    with pytest.raises(ValueError, match="must be None, 'mean'"):
        read_samples(path, missing="guess")


def test_columns_that_lack_values_are_dropped_from_arrays_and_from_encoded_tables(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", [[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
    kept = read_samples(tmp_path / "a.npy", missing="drop-columns")
    assert kept.rows.tolist() == [[1, 3], [4, 6]]
    path = write(tmp_path / "a.csv", "x,kind,z\n1,red,2\n,blue,4\n3,red,5\n4,blue,7\n")
    encoded = read_samples(path, missing="drop-columns")
    assert encoded.encoding is not None
    assert "x" not in [column.name for column in encoded.encoding.columns]
    assert read_samples(path, columns=["kind", "z"], table=encoded.encoding).rows.tolist() == encoded.rows.tolist()


def test_a_model_reads_the_columns_it_knows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "b,name,a\n1,u,2\n3,v,5\n")
    samples = read_samples(path, columns=["a", "b"])
    assert samples.rows.tolist() == [[2, 1], [5, 3]]
    assert "left out 1 column the model was not trained on: 'name'" in samples.notes
    assert "lacks 2 of the 3 columns the model was trained on: 'c', 'd'" in message(path, columns=["a", "c", "d"])
    assert "has text where the model needs numbers: 'name'" in message(path, columns=["name"])


def test_columns_that_number_or_name_the_rows_are_left_out_unless_they_are_kept(tmp_path: Path) -> None:
    rows = [f"{1 + row},u{row},{row * row % 7},{row * 7 % 30},{1960 + row}" for row in range(30)]
    path = write(tmp_path / "a.csv", "n,name,x,id,year\n" + "\n".join(rows) + "\n")
    samples = read_samples(path)
    assert samples.feature_names == ("x", "year")  # no value of "id" occurs twice
    assert samples.notes == (
        *(
            f"left out column {name!r}, as it numbers the rows: --keep {name} clusters by it all the same, --id {name} "
            "names the rows by it"
            for name in ("n", "id")
        ),
        "left out 1 column with neither numbers nor categories: 'name' (30 values, such as 'u0'). --id name "
        "names the rows by a column",
        "1 column with few different values may become the clusters: 'x'. --drop leaves a column out",
    )  # fmt: skip
    assert read_samples(path, keep=["n"], id="name").feature_names == ("n", "x", "year")
    few = write(tmp_path / "b.csv", "n,x\n7,3\n8,1\n9,4\n")
    assert read_samples(few).feature_names == ("n", "x")  # too few rows to tell


def test_a_column_that_may_name_groups_is_told_of(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,Target\n1.5,7,0\n2.5,9,1\n0.5,2,1\n")
    assert read_samples(path).notes == (
        "column 'Target' is used for clustering like any other column. If it holds known groups, add --label Target",
    )
    assert read_samples(path, label="Target").notes == ()
    assert read_samples(path, columns=["a", "b", "Target"]).notes == ()  # a model knows it


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("\n", "is empty"),
        ("x,y\n", "has 2 columns, but no rows"),
        ("x,y\n1,2\n3\n", "has 2 columns, but another line has 1: '3'. Correct such lines, or name what separates"),
        ("1,2\n3,4\n", "say whether it is a row (--no-header) or names (--header)"),
        ("x,x\n1,2\n", "several columns of one name: 'x'"),
        ("x,y\na,b\n", "2 columns with neither numbers nor categories"),
    ],
)
def test_bad_tables_are_told_in_one_line(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in message(write(tmp_path / "a.csv", text))


def test_other_ways_to_write_a_table_are_hinted_at_and_read(tmp_path: Path) -> None:
    comma = write(tmp_path / "a.csv", "x;y\n1,5;2\n3,5;4\n")
    assert read_samples(comma).rows.tolist() == read_samples(comma, decimal=",").rows.tolist() == [[1.5, 2], [3.5, 4]]
    mark = write(tmp_path / "b.csv", "x,y\n1,-\n3,4\n")
    assert "'y' (such as '-' in row 0). Correct these cells, or add --empty - to treat them as empty" in message(mark)
    assert read_samples(mark, empty=["-"], missing="drop-rows").rows.tolist() == [[3, 4]]
    usual = write(tmp_path / "usual.csv", "x,y,z\n1,.,?\n3,4,7\n..,5,6\n")
    assert read_samples(usual, missing="drop-rows").rows.tolist() == [[3, 4, 7]]
    for text in ("größe,n\n1,Ann\n2,Bo\n", "x,n\n1,Jörg\n2,Ann\n"):
        (tmp_path / "c.csv").write_bytes(text.encode("latin1"))
        assert "--encoding latin1" in message(tmp_path / "c.csv", id="n")
        assert read_samples(tmp_path / "c.csv", encoding="latin1", id="n").rows.tolist() == [[1], [2]]
    assert "cannot be read as a table" in message(tmp_path / "c.csv", encoding="klingon")
    write(tmp_path / "d.csv.gz", "no gzip")
    assert "d.csv.gz cannot be read as a table" in message(tmp_path / "d.csv.gz")


def test_names_that_are_no_columns_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", PEOPLE)
    for option, given in (("label", "kind"), ("id", "kind"), ("drop", ["kind"])):
        assert f"has no column 'kind' for --{option}. It has 'id', 'height'" in message(path, **{option: given})
    assert message(path, drop=["id,height"]).endswith("Give --drop once for each column.")


def test_tables_without_names_are_read_when_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "1,2\n3,4\n")
    assert read_samples(path, header=False).rows.tolist() == [[1, 2], [3, 4]]
    assert read_samples(path, header=True).rows.tolist() == [[3, 4]]


# Arrays


def test_an_array_stays_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ROWS)
    samples = read_samples(tmp_path / "a.npy")
    assert isinstance(samples.rows, np.memmap)
    assert samples.to_features() is samples.rows
    assert type(samples.load().rows) is np.ndarray
    within = read_samples(tmp_path / "a.npy", memory=10**6)  # what a memmap has read counts as memory of the process
    assert not isinstance(within.rows, np.ndarray)
    assert within.rows[:].tolist() == ROWS.tolist()
    chosen = read_samples(tmp_path / "a.npy", id="0", drop=["2"])
    assert chosen.rows.tolist() == ROWS[:, [1]].tolist()
    assert chosen.ids.tolist() == ROWS[:, 0].tolist()
    assert "Give a number from 0 to 2" in message(tmp_path / "a.npy", label="y")


def test_arrays_are_chosen_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=ROWS, y=np.arange(4), names=np.array(list("abcd")))
    samples = read_samples(tmp_path / "a.npz", label="y", id="names")
    assert np.array_equal(samples.rows, ROWS)
    assert samples.labels is not None
    assert samples.labels.tolist() == [0, 1, 2, 3]
    assert samples.ids.tolist() == list("abcd")
    assert read_samples(tmp_path / "a.npz").labels is None
    np.savez(tmp_path / "b.npz", left=ROWS, right=ROWS + 1)
    assert "has no array 'X'. It has 'left', 'right': choose with --key" in message(tmp_path / "b.npz")
    assert np.array_equal(read_samples(tmp_path / "b.npz", key="right").rows, ROWS + 1)
    np.savez(tmp_path / "c.npz", X=ROWS, y=np.arange(3))
    assert "has 4 rows, but its label has the shape (3,)" in message(tmp_path / "c.npz", label="y")


@pytest.mark.parametrize("group", [False, True])
def test_zarr_is_read(tmp_path: Path, group: bool) -> None:
    path = tmp_path / "a.zarr"
    if group:
        root = zarr.create_group(str(path))
        root.create_array("X", data=ROWS)
        root.create_array("y", data=np.arange(4))
    else:
        zarr.create_array(str(path), data=ROWS)
    samples = read_samples(path, label="y" if group else None)
    assert np.array_equal(samples.rows, ROWS)
    assert (samples.labels is not None) == group


def test_cells_are_read_from_h5ad(tmp_path: Path) -> None:
    plain = {"dtype": object}  # anndata cannot write pandas' own kind of text yet
    types = pd.Categorical(list("abab"), categories=pd.Index(["a", "b"], **plain))
    cells = anndata.AnnData(
        scipy.sparse.csr_matrix(ROWS),
        obs=pd.DataFrame({"type": types}, index=pd.Index(["c1", "c2", "c3", "c4"], **plain)),
        var=pd.DataFrame(index=pd.Index(["g1", "g2", "g3"], **plain)),
    )
    cells.obsm["X_pca"] = ROWS[:, :2]
    cells.write_h5ad(tmp_path / "a.h5ad")
    samples = read_samples(tmp_path / "a.h5ad", label="type")
    assert np.array_equal(samples.rows, ROWS)
    assert samples.feature_names == ("g1", "g2", "g3")
    assert samples.ids.tolist() == ["c1", "c2", "c3", "c4"]
    assert samples.labels is not None
    assert samples.labels.tolist() == list("abab")
    assert read_samples(tmp_path / "a.h5ad", drop=["g2"]).feature_names == ("g1", "g3")
    assert np.array_equal(read_samples(tmp_path / "a.h5ad", columns=["g3", "g1"]).rows, ROWS[:, [2, 0]])
    assert read_samples(tmp_path / "a.h5ad", key="X_pca").rows.shape == (4, 2)
    assert "has no 'X_umap' for --key. It has 'X', 'X_pca'" in message(tmp_path / "a.h5ad", key="X_umap")
    assert "no column 'kind' of cells for --label" in message(tmp_path / "a.h5ad", label="kind")


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.arange(3), r"shape (3,)"),
        (np.empty((0, 3)), "shape (0, 3)"),
        (np.ones((2, 2), complex), "not real numbers"),
        (np.array([["a"]]), "not real numbers"),
        (np.array([[None]], object), "cannot be read as an array"),
        (np.full((3, 2), np.nan), "has 2 columns without any value"),
        (np.full((3, 2, 2), np.inf), "--missing drop-rows."),
    ],
)
def test_bad_arrays_are_told_in_one_line(tmp_path: Path, array: np.ndarray, expected: str) -> None:
    np.save(tmp_path / "a.npy", array)
    assert expected in message(tmp_path / "a.npy")


def test_channels_come_first(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (5, 8, 6, 3), np.uint8)
    np.save(tmp_path / "a.npy", images)
    samples = read_samples(tmp_path / "a.npy")
    assert samples.kind == "images"
    assert np.array_equal(samples.rows, np.moveaxis(images, 3, 1))
    assert samples.notes == ("read the last axis as the channels of images",)


# Pictures and videos


def picture(path: Path, mode: str = "L", size: tuple[int, int] = (6, 5), value: int = 7) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    colour = {"L": value, "I;16": 300 + value}.get(mode, (value,) * len(mode))
    Image.new(mode, size, colour).save(path)


def test_a_folder_of_pictures_is_read(tmp_path: Path) -> None:
    for number in range(3):
        picture(tmp_path / f"kind{number % 2}" / f"{number}.png", value=number)
    picture(tmp_path / ".hidden.png")
    write(tmp_path / "notes.md", "about")
    samples = read_samples(tmp_path, label="folder")
    assert samples.kind == "images"
    assert samples.rows.shape == (3, 5, 6)
    assert samples.rows.dtype == np.uint8
    assert samples.ids.tolist() == ["kind0/0.png", "kind0/2.png", "kind1/1.png"]
    assert samples.rows[:, 0, 0].tolist() == [0, 2, 1]
    assert samples.labels is not None
    assert samples.labels.tolist() == ["kind0", "kind0", "kind1"]
    assert samples.notes == ("left out 1 file of another kind: 'notes.md'",)
    assert "use --label folder" in message(tmp_path, label="kind")
    assert "which have no columns. Leave out --id and --drop" in message(tmp_path, id="name")


def test_a_zip_of_pictures_is_read_like_the_folder(tmp_path: Path) -> None:
    for number in range(3):
        picture(tmp_path / "folder" / f"{number}.png", "RGB", value=number)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for file in sorted((tmp_path / "folder").iterdir()):
            archive.write(file, file.name)
        archive.writestr("__MACOSX/0.png", b"")
    folder, packed = read_samples(tmp_path / "folder"), read_samples(tmp_path / "a.zip")
    assert folder.rows.shape == (3, 3, 5, 6)
    assert np.array_equal(folder.rows, packed.rows)
    assert folder.ids.tolist() == packed.ids.tolist()


def test_sizes_must_agree_or_be_made_to(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "b.png")
    picture(tmp_path / "c.png", size=(12, 10))
    assert "2 sizes (2 of 6x5, 1 of 12x10). Bring them to one with --resize 6x5" in message(tmp_path)
    samples = read_samples(tmp_path, resize=(4, 3))
    assert samples.rows.shape == (3, 3, 4)
    assert samples.notes == ("resized the images to 4x3",)


def test_kinds_of_pictures_are_brought_together(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "b.png", "RGBA")
    samples = read_samples(tmp_path)
    assert samples.rows.shape == (2, 3, 5, 6)
    assert "read images of several kinds (1 L, 1 RGBA) as colour" in samples.notes
    assert "left out the transparency of images" in samples.notes
    picture(tmp_path / "deep" / "a.png", "I;16")
    assert read_samples(tmp_path / "deep").rows[0, 0, 0] == 307


def test_a_broken_picture_is_named(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "b.png", size=(60, 50))
    (tmp_path / "b.png").write_bytes((tmp_path / "b.png").read_bytes()[:60])
    assert f"The image b.png in {tmp_path} cannot be read" in message(tmp_path, resize=(6, 5))
    (tmp_path / "b.png").write_text("no picture")
    assert "The image b.png in" in message(tmp_path)
    write(tmp_path / "c.zip", "no zip")
    assert "cannot be read as a zip of images" in message(tmp_path / "c.zip")


def film(path: Path, frames: int, size: tuple[int, int] = (32, 16)) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(frames):
            pixels = np.full((size[1], size[0], 3), 40 * number, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())


def test_a_frame_of_a_video_is_a_sample(tmp_path: Path) -> None:
    film(tmp_path / "a.mp4", 5)
    film(tmp_path / "b.mp4", 3)
    one = read_samples(tmp_path / "a.mp4")
    assert one.kind == "frames"
    assert one.rows.shape == (5, 3, 16, 32)
    brightness = one.rows.mean(axis=(1, 2, 3))
    assert np.allclose(brightness, 40 * np.arange(5), atol=8)
    both = read_samples(tmp_path, label="file", every=2, resize=(8, 4))
    assert both.rows.shape == (5, 3, 4, 8)
    assert both.ids.tolist() == ["a.mp4#0", "a.mp4#2", "a.mp4#4", "b.mp4#0", "b.mp4#2"]
    assert both.labels is not None
    assert both.labels.tolist() == ["a.mp4"] * 3 + ["b.mp4"] * 2
    assert both.notes == ("read 5 frames of 2 videos", "read one of every 2 frames")
    film(tmp_path / "c.mp4", 2, (16, 16))
    assert "are 16x16, those before 32x16. Bring them to one size with --resize 32x16" in message(tmp_path)
    write(tmp_path / "d.mp4", "no video")
    assert "d.mp4 cannot be read" in message(tmp_path / "d.mp4")


# Paths


# Within an amount of memory


def test_shards_are_read_like_one_table_at_once_or_as_needed(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"a": [1, 2, 3, 4, 5], "name": list("vwxyz"), "b": [0.5, 1.5, 2.5, 3.5, 4.5], "y": [1, 0] * 2 + [1]}
    )
    table.to_parquet(tmp_path / "whole.parquet", row_group_size=2)
    (tmp_path / "shards").mkdir()
    for shard, rows in enumerate((slice(0, 1), slice(1, 4), slice(4, 5))):
        table[rows].to_parquet(tmp_path / "shards" / f"{shard}.parquet")
    for path in (tmp_path / "whole.parquet", tmp_path / "shards"):
        for memory in (None, 10**9):
            samples = read_samples(path, id="name", label="y", memory=memory)
            assert samples.in_memory == (memory is None)
            assert np.array_equal(samples.rows[1:4], table[["a", "b"]][1:4])
            assert samples.feature_names == ("a", "b")
            assert samples.ids.tolist() == list("vwxyz")
            assert samples.labels.tolist() == [1, 0, 1, 0, 1]
            assert samples.shape == samples.load().rows.shape == (5, 2)
    noted = read_samples(tmp_path / "shards", memory=10**9).notes
    assert noted[0].startswith("left out 1 column with neither numbers nor categories: 'name' (1 value")


def test_zarr_and_images_stay_on_disk_within_memory(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 5, 6), np.uint8)
    zarr.create_array(str(tmp_path / "a.zarr"), data=pixels, chunks=(2, 5, 6))
    (tmp_path / "images").mkdir()
    for index, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / "images" / f"{index}.png")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for file in (tmp_path / "images").iterdir():
            archive.write(file, file.name)
    for name in ("a.zarr", "images", "a.zip"):
        samples = read_samples(tmp_path / name, memory=10**9)
        assert not samples.in_memory
        assert samples.shape == (4, 5, 6)
        assert np.array_equal(samples.load().rows, read_samples(tmp_path / name).rows)


def test_what_must_be_read_as_a_whole_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shade.data.text.HEAD_BYTES", 1000)
    text = "a,b\n" + "0.123,4.567\n" * 5000
    write(tmp_path / "a.csv", text)
    zarr.create_array(str(tmp_path / "a.zarr"), data=np.ones((1000, 4)), chunks=(100, 4))
    pd.DataFrame(np.ones((1000, 4)), columns=list("abcd")).to_parquet(tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", X=np.ones((1000, 4)))
    (tmp_path / "images").mkdir()
    Image.new("L", (200, 100)).save(tmp_path / "images" / "a.png")
    refused = {
        "a.csv": (
            {},
            r"a.csv, of at least 1,7\d\d lines of 2 columns, takes about 13\d kB, more than memory='20kB'. ",
        ),
        "-": ({}, r"Reading standard input, of at least [\d,]+ lines of 2 columns, takes"),
        "a.npz": ({}, r"Reading .*a.npz takes about 32.3 kB, more than memory='20kB'. Give more: it can only be"),
        "a.zarr": ({"drop": ["1"]}, r"Leaving out columns of .*a.zarr takes about 64 kB, more"),
        "a.parquet": ({"missing": "mean"}, r"Changing .*a.parquet with --missing mean takes about 64 kB, more"),
        "images": ({"resize": (200, 100)}, r"Reading 1 image takes about 40 kB, more .*or a smaller --resize."),
    }
    for name, (options, expected) in refused.items():
        stdin = io.BytesIO(text.encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
        with pytest.raises(MemoryBudgetError, match=expected):
            read_samples(name if name == "-" else tmp_path / name, memory=20_000, **options)
        assert stdin.tell() <= 20_001
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert read_samples(name if name == "-" else tmp_path / name, memory=10**6, **options).shape[0] > 0
    monkeypatch.setattr("shade._base.memory.available_memory", lambda: 20_000)
    with pytest.raises(
        MemoryBudgetError, match=r"takes about 32 kB, and 20 kB are free. Give 'memory' to read the rows"
    ):
        read_samples(tmp_path / "a.parquet")


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_a_text_is_measured_whole_whatever_its_beginning(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that cannot be packed comes first, then lines that take next to nothing."""
    monkeypatch.setattr("shade.data.text.HEAD_BYTES", 1000)
    noise = "".join(f"{value},{value}\n" for value in np.random.default_rng(0).random(40))
    data = ("a,b\n" + noise + "1,1\n" * 100_000).encode()
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending]
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(pack(data))
    needed = len(data) + 100_041 * 2 * 32
    with pytest.raises(MemoryBudgetError, match=r"100,041 lines of 2 columns, takes about 6.8 MB"):
        read_samples(path, memory=needed - 1)
    assert read_samples(path, memory=needed).shape == (100_040, 2)


def test_paths_that_cannot_be_data_are_told(tmp_path: Path) -> None:
    assert "does not exist" in message(tmp_path / "none.csv")
    assert "ends in '.doc', which is none of: csv, tsv" in message(write(tmp_path / "a.doc", "x"))
    (tmp_path / "empty").mkdir()
    assert "empty holds no data in a known format: csv, tsv, xlsx" in message(tmp_path / "empty")
    assert "is empty" in message(write(tmp_path / "a.npy", ""))
    picture(tmp_path / "a.png")
    assert "is one image" in message(tmp_path / "a.png")
    film(tmp_path / "a.mp4", 1)
    assert "holds images and videos" in message(tmp_path)


def test_a_missing_package_is_told_with_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(ImportError, match=r"Reading csv needs pyarrow: .*pip install 'shade-clustering\[io\]'"):
        read_samples(write(tmp_path / "a.csv", PEOPLE))


def test_the_documentation_and_the_messages_list_the_formats_of_the_table() -> None:
    listed = (
        "csv, tsv, xlsx, jsonl, feather, sqlite, duckdb, parquet, npy, npz, zarr, h5ad, a zip of images, a video, or a"
    )
    assert list_formats() == f"{listed} folder of parquet files, images or videos"
    documented = " ".join((read_samples.__doc__ or "").split())
    assert [found.name for found in FORMATS if found.name not in documented] == []


def test_samples_keep_rows_and_notes() -> None:
    samples = Samples(ROWS, "table", "here", np.arange(4)).with_note("one").with_note("two")
    assert samples.notes == ("one", "two")
    assert samples.keep_rows(np.array([True, False, True, False])).ids.tolist() == [0, 2]
