"""Tables as people really have them: the exact numbers that come out, or the one sentence that is said."""

import gzip
import io
import json
import os
import random
import sqlite3
import sys
import zipfile
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shade._base.errors import DataError
from shade.data import read_samples

NAN = float("nan")
TRIES = int(os.environ.get("SHADE_TABLES", "60"))  # random tables; 1000 for a thorough run


def text(value: str, encoding: str = "utf8"):
    return lambda path: path.write_bytes(value.encode(encoding))


def zipped(**members: str):
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in members.items():
                archive.writestr(name.replace("_", "."), value)

    return write


def lines(*records: dict[str, object]):
    return text("".join(json.dumps(record) + "\n" for record in records))


def database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "my points" (x REAL, y INTEGER, note TEXT)')
        connection.executemany('INSERT INTO "my points" VALUES (?, ?, ?)', [(1.5, 2, "a"), (3.5, None, "b")])
    connection.close()


def duck(path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(path) as connection:
        connection.execute('CREATE TABLE "my points" (x DOUBLE, y INTEGER, note VARCHAR, gap INTERVAL)')
        connection.execute("INSERT INTO \"my points\" VALUES (1.5, 2, 'a', INTERVAL 1 DAY), (3.5, NULL, 'b', NULL)")
        connection.execute("CREATE VIEW halves AS SELECT x / 2 AS half, DATE '1970-01-03' AS day FROM \"my points\"")


def arrow(layout: str):
    def write(path: Path) -> None:
        table = pa.table({"x": [1.5, 3.5], "y": pa.array(["b", "a"]).dictionary_encode()})
        with pa.OSFile(str(path), "wb") as file, getattr(pa.ipc, layout)(file, table.schema) as writer:
            writer.write_table(table)

    return write


CITIES = "".join(f"{row},{'Oslo' if row % 2 else 'Rome'}\n" for row in (3, 8, 2, 9, 4, 1, 7, 5, 6, 0))
TABLES = {  # a file, how it is written, options, and the rows that must come out
    "thousands.csv": (text('p,q\n"4,733",1.5\n988,2.5\n'), {}, [[4733, 1.5], [988, 2.5]]),
    "thousands_of_both.csv": (text('p\n"4,733.25"\n988\n'), {}, [[4733.25], [988]]),
    "told_thousands.csv": (text('p\n"4,733"\n988\n'), {"thousands": ","}, [[4733], [988]]),
    "german.csv": (text("p;q\n1.234,5;3\n-12,25;4\n"), {}, [[1234.5, 3], [-12.25, 4]]),
    "german_thousands.csv": (text("p;q\n1.234;3,5\n988;4,25\n"), {}, [[1234, 3.5], [988, 4.25]]),
    "swiss.csv": (text("p;q\n1'234.50;3\n12;4\n"), {}, [[1234.5, 3], [12, 4]]),
    "french.csv": (text("p;q\n1\u202f234,5;3\n12\u00a0000;4\n"), {}, [[1234.5, 3], [12000, 4]]),
    "told_decimal.csv": (text("p;q\n4,733;1\n988;2\n"), {"decimal": ","}, [[4.733, 1], [988, 2]]),
    "signs.csv": (text("p,q\n+5, -3 \n1e3,.5\n"), {}, [[5, -3], [1000, 0.5]]),
    "three_decimals.csv": (text("p,q\n1.234,2.345\n3.456,4.567\n"), {}, [[1.234, 2.345], [3.456, 4.567]]),
    "tabs.txt": (text("p\tq\n1\t2\n3\t4\n"), {"delimiter": "\\t"}, [[1, 2], [3, 4]]),
    "mark.csv": (text("\ufeffgröße,n\n1,2\n3,4\n"), {}, [[1, 2], [3, 4]]),
    "latin.csv": (text("größe,n\n1,2\n3,4\n", "latin1"), {"encoding": "latin1"}, [[1, 2], [3, 4]]),
    "dates.csv": (text("day,x\n1970-01-02,5\n1971-01-01,\n"), {"missing": "mean"}, [[1, 5], [365, 5]]),
    "german_dates.csv": (text("day;x\n31.12.1970;5\n02.01.1970;6\n"), {}, [[364, 5], [1, 6]]),
    "truths.csv": (text("a,b,x\nyes,TRUE,1\nNo,False,2\n"), {}, [[1, 1, 1], [0, 0, 2]]),
    "codes.csv": (text("zip,x\n0150,1\n9000,2\n"), {"categories": ["zip"]}, [[1, 0, 1], [0, 1, 2]]),
    "cities.csv": (text("x,city\n" + CITIES), {}, [[x, x % 2, 1 - x % 2] for x in (3, 8, 2, 9, 4, 1, 7, 5, 6, 0)]),
    "blanks.csv": (text("x,y\n 1 ,2\n   ,4\n"), {"missing": "drop-rows"}, [[1, 2]]),
    "one.csv.zip": (zipped(a_csv="x,y\n1,2\n3,4\n"), {}, [[1, 2], [3, 4]]),
    "download.zip": (zipped(readme_md="about", data_tsv="x\ty\n1\t2\n3\t4\n"), {}, [[1, 2], [3, 4]]),
    "lines.jsonl": (lines({"x": 1.5, "ok": True}, {"x": 2, "ok": False}), {}, [[1.5, 1], [2, 0]]),
    "points.db": (database, {"drop": ["note"], "missing": "drop-rows"}, [[1.5, 2]]),
    "points.duckdb": (duck, {"key": "my points", "drop": ["note"], "missing": "drop-rows"}, [[1.5, 2]]),
    "view.ddb": (duck, {"key": "halves"}, [[0.75, 2], [1.75, 2]]),
    "new.feather": (arrow("new_file"), {"categories": ["y"]}, [[1.5, 0, 1], [3.5, 1, 0]]),
    "stream.arrow": (arrow("new_stream"), {"categories": ["y"]}, [[1.5, 0, 1], [3.5, 1, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_the_numbers_that_are_meant_come_out(tmp_path: Path, name: str) -> None:
    write, options, expected = TABLES[name]
    write(tmp_path / name)
    assert read_samples(tmp_path / name, **options).rows.tolist() == expected


REFUSED = {  # a file, how it is written, options, and the sentence that must be said
    "prices.csv": (
        text('p,n\n"4,733",1\n988,2\n'), {},
        "'4,733' in column 'p' may be the number 4733 or 4.733 (if the comma separates thousands, add --thousands ',')"
        ".",
    ),
    "semicolons.csv": (
        text("p;n\n4,733;1\n988;2\n"), {},
        "'4,733' in column 'p' may be the number 4733 or 4.733 (if the comma separates thousands, add --thousands ','; "
        "if it is the decimal comma, add --decimal ',').",
    ),
    "points.csv": (
        text("p;n\n1.234;1\n12.500;2\n"), {},
        "'1.234' in column 'p' may be the number 1234 or 1.234 (if the point separates thousands, add --thousands '.'; "
        "if it is the decimal point, add --decimal '.').",
    ),
    "both.csv": (
        text('p,n\n"1,234.5",1\n"3,5",2\n'), {},
        "column 'p' has numbers written in two ways, such as '1,234.5' and '3,5': write all in one way.",
    ),
    "two_columns.csv": (
        text("p;q\n3,5;12.75\n4,5;13.75\n"), {},
        "numbers are written in two ways, such as '3,5' in 'p' and '12.75' in 'q': write all in one way, or leave one "
        "out with --drop.",
    ),
    "twice.csv": (text("x,y,x\n1,2,3\n"), {}, "has several columns of one name: 'x'. Rename them."),
    "names.csv": (text("x,naïve 名\n1,9 kg\n2,4\n"), {}, "--drop 'naïve 名'"),
    "american.csv": (
        text("day,x\n01/02/2020,1\n03/04/2020,2\n"), {},
        "the dates of column 'day' may have the day or the month first, such as '01/02/2020': write them as 2024-12-31"
        ", or add --drop day.",
    ),
    "several.zip": (zipped(a_csv="x\n1\n", b_csv="x\n1\n"), {}, "holds 2 tables. Unpack it and give one of its files."),
    "nested.jsonl": (
        lines({"y": [2]}), {}, "has no column left to cluster by: left out 1 column with neither numbers nor "
        "categories: 'y' (of type list<item: int64>).",
    ),
    "no.db": (text("no database"), {}, "no.db cannot be read as a table: file is not a database."),
    "no.duckdb": (text("no database"), {}, "no.duckdb cannot be read as a table: "),
    "two.duckdb": (duck, {}, "two.duckdb has the tables 'halves', 'my points': choose with --key."),
    "all_at_once.csv": (
        text('p,name,q\n"4,733",Ann Lee,5\n988,Bo Day,5x\n'), {},
        "'4,733' in column 'p' may be the number 4733 or 4.733 (if the comma separates thousands, add --thousands ',')"
        "; 1 column of numbers or dates with other text: 'q' (such as '5x' in row 1). Correct these cells, or add "
        "--empty 5x to treat them as empty, --categories q to treat each value as a category, or --drop q to "
        "leave it out.",
    ),
    "scale.csv": (  # with one slip among answers from 1 to 5
        text("q,x\n" + "".join(f"{1 + row % 5},{row * row}\n" for row in range(30)) + "4x,7\n"), {},
        "1 column of numbers or dates with other text: 'q' (such as '4x' in row 30). Correct these cells, or add "
        "--empty 4x to treat them as empty, --categories q to treat each value as a category, or --drop q to "
        "leave it out.",
    ),
    "income.csv": (  # all values different, as names are
        text("income,x\n" + "".join(f"{row * row + 7},1{row % 3}\n" for row in range(30)) + "n.a.,12\n"),
        {}, "'income' (such as 'n.a.' in row 30). Correct these cells, or add --empty n.a. to treat them as empty, "
        "--categories income to",
    ),
    "days.csv": (
        text("day,x\n" + "".join(f"2024-01-{row:02d},{row % 7}\n" for row in range(1, 29)) + "2024-02-3O,3\n"), {},
        "1 column of numbers or dates with other text: 'day' (such as '2024-02-3O' in row 28)",
    ),
    "lines.csv": (
        text("178,13,wine\n1.5,2,3,4\n"), {},
        "The first line of {} has 3 columns, but another line has 4: '1.5,2,3,4'. Correct such lines, or name what "
        "separates columns with --delimiter.",
    ),
    "made_twice.csv": (text("x,x=1\n1,2\n"), {"categories": ["x"]}, "has several columns of one name: 'x=1'. Rename"),
    "marks.csv": (text("p,n\n4,733\n"), {"decimal": ",", "thousands": ","}, "cannot both be ','"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_clear_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    write, options, expected = REFUSED[name]
    write(tmp_path / name)
    with pytest.raises(DataError) as error:
        read_samples(tmp_path / name, **options)
    assert expected.replace("{}", str(tmp_path / name)) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_advice_for_a_typing_error_works_as_it_is_written(tmp_path: Path) -> None:
    write, _, _ = REFUSED["scale.csv"]
    write(tmp_path / "scale.csv")
    read = read_samples(tmp_path / "scale.csv", empty=["4x"], missing="mean")
    assert read.feature_names == ("q", "x")
    assert read.rows[:5, 0].tolist() == [1, 2, 3, 4, 5]
    assert 1 <= read.rows[30, 0] <= 5


def test_a_category_of_one_row_is_named_as_it_may_be_a_slip(tmp_path: Path) -> None:
    rows = "".join(f"{row * row},{('Oslo', 'Rome')[row % 2]}\n" for row in range(30))
    text(f"x,city\n{rows}7,Romme\n")(tmp_path / "a.csv")
    notes = read_samples(tmp_path / "a.csv").notes
    assert "encoded 1 column of categories: 'city' (3, of which 'Romme' in 1 row)" in notes


def test_how_numbers_were_read_is_told(tmp_path: Path) -> None:
    text("p;q\n1.234,5;3\n-12,25;4\n")(tmp_path / "a.csv")
    assert read_samples(tmp_path / "a.csv").notes == (
        "columns are separated by semicolons",
        "in numbers the decimal point is a comma and points separate thousands: '1.234,5' in 'p' is 1234.5",
    )


def test_packed_text_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"x,y\n1,2\n3,4\n"))))
    assert read_samples("-").rows.tolist() == [[1, 2], [3, 4]]


def test_a_sheet_of_excel_is_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["x", "day", None], [1.5, pd.Timestamp("1970-01-02").to_pydatetime(), None], [2, None, None]):
        book.active.append(row)
    book.create_sheet("other").append(["z"])
    book["other"].append([7])
    book.save(tmp_path / "a.xlsx")
    assert read_samples(tmp_path / "a.xlsx", missing="drop-rows").rows.tolist() == [[1.5, 1]]
    assert read_samples(tmp_path / "a.xlsx", key="other").rows.tolist() == [[7]]
    with pytest.raises(DataError, match=r"has no table 'none' for --key\. It has 'Sheet', 'other'"):
        read_samples(tmp_path / "a.xlsx", key="none")


def test_the_advice_for_odd_cells_works_for_tables_that_are_no_text(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE points (x, y)")
        connection.executemany("INSERT INTO points VALUES (?, ?)", [(1.5, 2), ("n.a.", 3), (3.5, 4), (2.5, 5)])
    connection.close()
    with pytest.raises(
        DataError, match=r"'x' \(such as 'n\.a\.' in row 1\)\. Correct these cells, or add --empty n\.a\."
    ):
        read_samples(tmp_path / "a.db")
    read = read_samples(tmp_path / "a.db", empty=["n.a."], missing="drop-rows")
    assert read.rows.tolist() == [[1.5, 2], [3.5, 4], [2.5, 5]]


def test_the_rows_of_several_files_are_joined(tmp_path: Path) -> None:
    for part, rows in enumerate(("x,c\n1,a\n2,b\n", "c,x\nb,3\na,4.5\n")):
        (tmp_path / f"part-{part}.csv").write_text(rows)
    joined = read_samples(tmp_path / "part-*.csv", categories=["c"])
    assert joined.rows.tolist() == [[1, 1, 0], [2, 0, 1], [3, 0, 1], [4.5, 1, 0]]
    paths = [tmp_path / "part-0.csv", tmp_path / "part-1.csv"]
    assert np.array_equal(read_samples(paths, categories=["c"]).rows, joined.rows)
    (tmp_path / "part-2.csv").write_text("x,d\n1,2\n")
    with pytest.raises(DataError, match="have different columns: only one of them has 'c', 'd'"):
        read_samples(tmp_path / "part-*.csv")
    with pytest.raises(DataError, match="No file matches the pattern"):
        read_samples(tmp_path / "none-*.csv")


def test_a_table_with_text_is_encoded_from_parquet_too(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": range(0, 60, 2), "city": ["Oslo", "Rome", "Lima"] * 10})
    table.to_parquet(tmp_path / "a.parquet")
    samples = read_samples(tmp_path / "a.parquet", keep=["x"])
    assert samples.feature_names == ("x", "city=Lima", "city=Oslo", "city=Rome")
    assert samples.rows[:2].tolist() == [[0, 0, 1, 0], [2, 0, 0, 1]]
    with pytest.raises(DataError, match="can only be encoded when all rows are read at once: 'city'"):
        read_samples(tmp_path / "a.parquet", memory=10**9)


# Random tables in random conventions

WORDS = ("Oslo", "Rome", "Zürich", "São Paulo", "a b", "x-1")
TRUTHS = (("no", "yes"), ("FALSE", "TRUE"), ("n", "y"))
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
NUMBERS = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", "'"))


@dataclass
class Written:
    """A table as somebody wrote it, the numbers that are meant, and the options that say how it was written."""

    content: bytes
    meant: list[list[float]]
    options: dict[str, object]
    unclear: bool  # dates that may have the day or the month first


def write_number(value: float, digits: int, decimal: str, thousands: str) -> str:
    whole, _, part = f"{value:,.{digits}f}".partition(".")
    return whole.replace(",", thousands) + (decimal + part if digits else "")


def numbers(chance: random.Random, n: int, marks: tuple[str, str]) -> tuple[list[str], list[list[float]]]:
    digits, size = chance.choice([0, 0, 1, 2, 3]), 10 ** chance.uniform(0, 7)
    values = [round(chance.uniform(-0.2, 1) * size, digits) + 0.0 for _ in range(n)]
    return [write_number(value, digits, *marks) for value in values], [[value] for value in values]


def words(chance: random.Random, n: int) -> tuple[list[str], list[list[float]]]:
    cells = chance.choices(chance.choice([WORDS, *TRUTHS]), k=n)
    if set(cells) in map(set, TRUTHS):
        return cells, [[float(cell in {"yes", "TRUE", "y"})] for cell in cells]
    return cells, [[float(cell == word) for word in sorted(set(cells))] for cell in cells]


def dates(chance: random.Random, n: int, form: str) -> tuple[list[str], list[list[float]]]:
    days = [chance.randint(0, 20_000) for _ in range(n)]
    return [(date(1970, 1, 1) + timedelta(day)).strftime(form) for day in days], [[float(day)] for day in days]


def random_table(chance: random.Random) -> Written:
    n, marks, form = chance.randint(2, 40), chance.choice(NUMBERS), chance.choice(DATES)
    kinds = ["number", *chance.choices(["number", "word", "date"], k=chance.randint(0, 4))]
    columns = [
        numbers(chance, n, marks)
        if kind == "number"
        else words(chance, n)
        if kind == "word"
        else dates(chance, n, form)
        for kind in kinds
    ]
    mark, empty = chance.choice(["", "NA", "?", "-"]), [False] * n
    for kind, (cells, _) in zip(kinds, columns, strict=True):
        for row in range(n):
            if chance.random() < 0.05 and (kind == "number" or (kind == "date" and mark in ("", "NA"))):
                cells[row], empty[row] = mark, True
    meant = [[value for _, values in columns for value in values[row]] for row in range(n) if not empty[row]]
    # Where commas separate columns, points separate decimals: a file that says otherwise can only be read when told.
    delimiter = chance.choice([";", "\t", "|"] + [","] * (marks[1] != "."))
    quoted, name = chance.choice([True, False]), chance.choice(["column", "größe"])
    names = [f"{name} {place}" for place in range(len(kinds))]
    lines = [
        delimiter.join(f'"{cell}"' if quoted or delimiter in cell else cell for cell in row)
        for row in [names, *zip(*(cells for cells, _ in columns), strict=True)]
    ]
    encoding = chance.choice(["utf8", "utf-8-sig", "latin1", "utf-16"])
    text_ends = chance.choice(["\n", "\r\n"])
    options = {
        "decimal": marks[0], "thousands": marks[1], "delimiter": delimiter, "encoding": encoding.removesuffix("-sig"),
        "empty": [mark], "categories": [
            name for name, kind, (_, values) in zip(names, kinds, columns, strict=True)
            if kind == "word" and (len(values[0]) > 1 or len({*map(tuple, values)}) == 1)
        ],
    }  # fmt: skip
    content = (text_ends.join(lines) + text_ends).encode(encoding)
    return Written(content, meant, options, unclear="date" in kinds and "/" in form)


def test_random_tables_are_read_as_they_were_written_or_refused(tmp_path: Path) -> None:
    read = 0
    for seed in range(TRIES):
        written = random_table(random.Random(seed))
        (tmp_path / "a.csv").write_bytes(written.content)
        for options in (written.options, {}):
            try:
                found = read_samples(tmp_path / "a.csv", missing="drop-rows", **options)
            except DataError as error:
                hopeless = not written.meant or (written.unclear and "the day or the month first" in str(error))
                assert not options or hopeless, (seed, error, written)
                continue
            read += not options
            assert np.shape(found.rows) == np.shape(written.meant), (seed, written, found)
            assert np.allclose(found.rows, written.meant, rtol=1e-15), (seed, written, found)
    assert read > TRIES / 3
