"""What cannot work: one clear line, the exit code of the list, and nothing left under the final name."""

import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.commands import QUICK, run
from tests.estimators.mutations import MARK, MEMBERS, Payload, forge, npy, pack, parts_of, unpack

TEXT = "name,city\nAnna,Oslo\nBert,Rome\n"


def assert_refused(code: int, expected: str, *arguments: object) -> str:
    """What a command says that must refuse: its last line."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("shade: ")
    assert expected in last
    assert "Traceback" not in result.stderr
    return str(last)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("missing.csv", None, "does not exist"),
        ("data.docx", "x", "ends in '.docx'"),
        ("empty.csv", "", "is empty"),
        ("ragged.csv", "x,y\n1,2\n3\n", "The first line of"),
        ("text.csv", TEXT, "has no column left to cluster by: left out 2 columns"),
        ("kilos.csv", "x,y\n1,2 kg\n7,3\n4,5\n", "--drop y"),
        ("nan.csv", "x,y\nnan,1\n-inf,2\n", "nan.csv has 1 column without any value. Add --drop x."),
        ("few.csv", "x,y\n1,2\n4,3\n", "n_samples = 2, fewer than min_samples = 5"),
        ("large.csv", "x\n" + "1e308\n-1e308\n" * 5, "too large"),
        ("broken.npz", "no zip", "cannot be read as arrays"),
    ],
)
def test_bad_data(tmp_path: Path, name: str, content: str | None, expected: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert_refused(3, expected, "fit", tmp_path / name, "-o", tmp_path / "out", *QUICK)
    assert [path.name for path in tmp_path.iterdir() if path.name != name] == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--epochs", "0"],
            "--epochs must be an int in the range [1, inf). Got 0 instead.",
        ),
        (["--network", "big"], "--network takes"),
        (["--device", "abacus"], "abacus"),
        (["--batch-size", "3"], "--batch-size must be"),
        (["--checkpoint-minutes", "-1"], "--checkpoint-minutes must be"),
        (["--checkpoint-epochs", "0"], "--checkpoint-epochs must be"),
        (["--every", "0"], "--every must be an int in the range [1, inf). Got 0 instead."),
        (["--thousands", "x"], "--thousands must be None, '', ',', '.', ' ' or"),
        (["--memory", "plenty"], "a text such as '800MB' or '4GiB'. Got 'plenty' instead."),
    ],
)
def test_bad_options(table: Path, tmp_path: Path, options: list[str], expected: str) -> None:
    read = ["--drop-non-numeric", "--missing", "mean", "--id", "customer"]
    assert_refused(2, expected, "fit", table, "-o", tmp_path / "out", *read, *options)
    assert list(tmp_path.iterdir()) == []


def test_a_memory_that_cannot_do(table: Path, tmp_path: Path) -> None:
    read = ["--drop-non-numeric", "--missing", "mean", "--id", "customer"]
    expected = "takes about 160 MB (266 bytes a row), more than --memory 1MB. Give more, a smaller --embedding-size, or"
    assert_refused(1, expected, "fit", table, "-o", tmp_path / "out", *read, *QUICK, "--memory", "1MB")
    assert list(tmp_path.iterdir()) == []


def test_a_csv_that_cannot_be_read_within_the_memory(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n" + "0.5,0.25\n" * 1000)
    expected = (
        "of at least 1,001 lines of 2 columns, takes about 73.1 kB, more than --memory 50kB. Give more, or write it as"
    )
    assert_refused(1, expected, "fit", tmp_path / "rows.csv", "-o", tmp_path / "out", *QUICK, "--memory", "50kB")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_options_that_typer_knows_to_be_wrong(table: Path, fitted: Path) -> None:
    assert run("fit", table, "--selection", "guess").exit_code == 2
    assert run("fit").exit_code == 2
    assert_refused(2, "Say which clusters you want", "recluster", fitted)
    assert_refused(2, "--n-clusters must be", "recluster", fitted, "--n-clusters", 5000)
    assert_refused(2, "exclude each other", "recluster", fitted, "--n-clusters", 2, "--cut-distance", 0.1)
    assert_refused(2, "a model needs all its columns", "predict", fitted, table, "--missing", "drop-columns")


def test_other_columns_than_the_model_knows(fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("height,weight\n1,2\n3,4\n")
    assert_refused(
        3,
        "lacks 2 of the 4 columns the model was trained on: 'age', 'income'",
        "predict",
        fitted,
        tmp_path / "other.csv",
    )
    (tmp_path / "text.csv").write_text("height,weight,age,income\n1,2,old,4\n")
    assert_refused(3, "has text where the model needs numbers: 'age'", "predict", fitted, tmp_path / "text.csv")
    np.save(tmp_path / "wide.npy", np.ones((3, 9)))
    assert_refused(
        3, "9 columns without names. Give the 4 of the training data", "transform", fitted, tmp_path / "wide.npy"
    )
    np.save(tmp_path / "images.npy", np.ones((6, 5, 5)))
    assert_refused(3, "samples of shape (5, 5)", "predict", fitted, tmp_path / "images.npy")


def test_bad_model_files(fitted: Path, table: Path, tmp_path: Path) -> None:
    assert_refused(4, "No such file", "predict", tmp_path / "none.shade", table)
    assert_refused(4, "holds no model.shade", "info", tmp_path)
    assert_refused(4, "is not a model file of shade: its first bytes are different", "info", table)


def bad_model_files(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """What a line must say, and a file that was damaged or made with bad intent."""
    members = unpack(whole)
    for start, stop in parts_of(whole):
        yield "model file", whole[: (start + stop) // 2]
    for start, stop in parts_of(whole)[1:-1]:  # what is neither a member nor its name may hold a time, say
        flipped = bytearray(whole)
        flipped[(start + stop) // 2] ^= 4
        yield "model file", bytes(flipped)
    for name, other in zip(MEMBERS, (*MEMBERS[1:], MEMBERS[0]), strict=True):
        yield "model file", pack({**members, name: members[other], other: members[name]})
        for named in (f"../{name}", f"/tmp/{name}"):
            yield "model file", pack({named if key == name else key: data for key, data in members.items()})
    pickled = pickle.dumps(Payload())
    array = npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps(np.array([Payload()])))
    inner = unpack(members["arrays.npz"])
    yield "manifest", pack({**members, "manifest.json": pickled})
    yield "network.safetensors", forge(members, network=pickled)
    yield "arrays.npz", forge(members, arrays=pickled)
    yield "embedding", forge(members, arrays=pack({**inner, "embedding.npy": array}))


@pytest.mark.parametrize("command", ["info", "predict", "report"])
def test_damaged_and_malicious_model_files(
    fitted: Path, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.shade"
    arguments = {"info": [], "predict": [table, "--missing", "mean", "-o", "labels.csv"], "report": ["-o", "r.html"]}
    for expected, data in bad_model_files((fitted / "model.shade").read_bytes()):
        bad.write_bytes(data)
        assert_refused(4, expected, command, bad, *arguments[command])
        assert [path.name for path in tmp_path.iterdir()] == ["bad.shade"], MARK


def test_a_report_needs_as_many_rows_as_were_clustered(fitted: Path, table: Path, tmp_path: Path) -> None:
    options = ["--id", "customer", "--missing", "drop-rows", "-o", tmp_path / "report.html"]
    assert_refused(3, "customers.csv: ", "report", fitted, "--data", table, *options)
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_shows_less_does_not_take_the_place_of_one_that_shows_more(fitted: Path, tmp_path: Path) -> None:
    shutil.copytree(fitted, tmp_path / "out")
    before = (tmp_path / "out" / "report.html").read_bytes()
    assert_refused(5, "a report without --data shows less", "report", tmp_path / "out")
    assert (tmp_path / "out" / "report.html").read_bytes() == before


@pytest.mark.parametrize("size", ["8", "8x8x3", "0x8", "abc"])
def test_sizes_of_pictures_are_two_numbers(tmp_path: Path, size: str) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    line = assert_refused(2 if size == "abc" else 3, "such as", "fit", tmp_path, "--resize", size)
    assert size in line


def test_an_empty_name_is_no_folder() -> None:
    assert assert_refused(3, "its name is empty", "fit", "").startswith("shade: There is no file")


def test_means_are_asked_of_a_model_that_has_some(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("x\n" + "\n".join(str(100 + row % 7 + 9 * (row % 2)) for row in range(60)) + "\n")
    assert run("fit", path, "-o", tmp_path / "out", "--standardize", "false", *QUICK).exit_code == 0
    for missing in ("mean", "median"):
        expected = f"--missing {missing} needs a model that was fitted with it. Use --missing drop-rows."
        assert_refused(2, expected, "predict", tmp_path / "out", path, "--missing", missing)


def test_a_full_disk(table: Path, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shade._base.files.os.fsync", full)
    read = ["--drop-non-numeric", "--missing", "mean"]
    assert_refused(5, "No space left on device", "fit", table, "-o", tmp_path / "out", *read, *QUICK)
    assert_refused(5, "No space left", "predict", fitted, table, "--missing", "mean", "-o", tmp_path / "labels.csv")
    assert_refused(5, "No space left", "recluster", fitted, "--n-clusters", 2, "-o", tmp_path / "two")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_to(table: Path, fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    read = ["--drop-non-numeric", "--missing", "mean"]
    assert_refused(5, "cannot be written: ", "fit", table, "-o", tmp_path / "file" / "out", *read)
    assert_refused(5, "exists and is no folder", "fit", table, "-o", tmp_path / "file", *read)
    assert_refused(5, "there is no folder", "predict", fitted, table, "-o", tmp_path / "none" / "labels.csv")
    assert_refused(5, "must end in .csv, .npy, .parquet", "predict", fitted, table, "-o", tmp_path / "labels.doc")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_without_permission(table: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert_refused(
        5, "Permission denied", "fit", table, "-o", tmp_path / "out", "--drop-non-numeric", "--missing", "mean"
    )


def test_the_old_results_stay_when_new_ones_fail(
    table: Path, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(fitted, tmp_path / "out")
    before = (tmp_path / "out" / "labels.csv").read_bytes()
    monkeypatch.setattr(np, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    read = ["--drop-non-numeric", "--missing", "mean", "--overwrite"]
    assert_refused(5, "No space left", "fit", table, "-o", tmp_path / "out", *read, *QUICK)
    assert (tmp_path / "out" / "labels.csv").read_bytes() == before
    # Training need not be done again once there is room.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.checkpoint"]
