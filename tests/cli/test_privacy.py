"""What results reveal and to whom, and text from files that must not steer a terminal or a spreadsheet."""

import csv
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError
from shade._base.text import as_cell, from_cell, is_number, printable
from shade.persistence.model_file import ModelContents, read_model_file, write_model_file
from shade.report import write_report
from tests.cli.commands import QUICK, run

ESCAPE = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e"
FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-x", "@sum", "\tx", "\rx", "'=1", "''-x"]
HARMLESS = ["a", "-1.5", "+3e4", "", "'quoted", "a=b", "1=", "'"]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    random = np.random.default_rng(0)
    return np.vstack([random.normal(size=(40, 3)), random.normal(size=(40, 3)) + 9])


def write_csv(path: Path, rows: np.ndarray, names: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["id", "a", "b", "c"], *([name, *row] for name, row in zip(names, rows, strict=True))]
        )
    return path


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_all_results_obey_the_umask(mask: int, rows: np.ndarray, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        model = DCTreeClustering().fit(rows)
        model.save(tmp_path / "model.shade")
        for _ in range(2):  # once more over the file that is there
            write_report(model, tmp_path / "report.html", samples=rows)
        run("report", tmp_path / "model.shade", "-o", tmp_path / "again.html")
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == dict.fromkeys(
        ["model.shade", "report.html", "again.html"], 0o666 & ~mask
    )


def test_without_data_the_report_holds_no_names_or_pictures(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for number in range(40):
        pixels = np.random.default_rng(number).integers(0, 255, (8, 8)).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"secret-{number}.png")
    shown = run("fit", tmp_path / "images", "-o", tmp_path / "shown", *QUICK)
    assert "report.html shows the names and small pictures of the rows to whoever has it; --no-data" in shown.stderr
    hidden = run("fit", tmp_path / "images", "-o", tmp_path / "hidden", "--no-data", *QUICK)
    assert "to whoever has it" not in hidden.stderr
    pages = {name: (tmp_path / name / "report.html").read_text(encoding="utf-8") for name in ("shown", "hidden")}
    assert "secret-7" in pages["shown"] and '"thumbnails":{' in pages["shown"]
    assert "secret-7" not in pages["hidden"] and '"thumbnails":null' in pages["hidden"]


def test_without_data_the_report_holds_no_values(tmp_path: Path, rows: np.ndarray) -> None:
    table = write_csv(tmp_path / "rows.csv", rows, [f"secret-{row}" for row in range(len(rows))])
    for name, options in {"shown": [], "hidden": ["--no-data"]}.items():
        said = run("fit", table, "--drop", "id", "-o", tmp_path / name, *QUICK, *options).stderr
        assert ("report.html shows the values of the rows to whoever has it; --no-data" in said) == (name == "shown")
        page = (tmp_path / name / "report.html").read_text(encoding="utf-8")
        assert ("secret-7" in page) == (name == "shown")
        assert ('"columns":[]' in page) == (name == "hidden")


def test_a_model_may_be_saved_without_its_decoder(rows: np.ndarray, tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((40, 6, 6))
    quick = {"epochs": 1, "embedding_size": 2, "n_networks": 2, "random_state": 0}
    for X, network in ((rows, (8,)), (images, "conv")):
        model = SHADE(network=network, **quick).fit(X)
        model.save(tmp_path / "model.shade", decoder=False)
        with zipfile.ZipFile(tmp_path / "model.shade") as archive:
            names = str(read_model_file(tmp_path / "model.shade").tensors.keys())
            assert json.loads(archive.read("manifest.json"))["decoder"] is False
        assert "decoder" not in names and "deconvolutions" not in names and "from_embedding" not in names
        loaded = shade.load(tmp_path / "model.shade")
        np.testing.assert_array_equal(loaded.predict(X), model.labels_)
        with pytest.raises(ValueError, match="saved without its decoder"):
            loaded.inverse_transform(loaded.embedding_)
        loaded.save(tmp_path / "again.shade")
        np.testing.assert_array_equal(shade.load(tmp_path / "again.shade").transform(X), model.embedding_)


def test_escape_sequences_of_a_model_file_do_not_reach_the_terminal(rows: np.ndarray, tmp_path: Path) -> None:
    SHADE(epochs=1, n_networks=1, network=(8,)).fit(rows).save(tmp_path / "model.shade")
    contents = read_model_file(tmp_path / "model.shade")
    plain = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    changes = {
        "feature_names": [ESCAPE, "b", "c"],
        "versions": {ESCAPE: ESCAPE},
        "parameters": {**plain["parameters"], "random_state": ESCAPE},
        "estimator": ESCAPE,
        "sample_shape": [ESCAPE],
    }
    table = write_csv(tmp_path / "rows.csv", rows, list(map(str, range(len(rows)))))
    for name, value in changes.items():
        path = tmp_path / f"{name}.shade"
        write_model_file(path, ModelContents({**plain, name: value}, contents.tensors, contents.arrays))
        for command in (
            ["info", path],
            ["info", path, "--json"],
            ["predict", path, table, "--id", "id"],
            ["report", path],
        ):
            answer = run(*command)
            said = answer.stderr + (
                json.dumps(json.loads(answer.stdout)) if "--json" in command and answer.stdout else ""
            )
            said += "" if "--json" in command else answer.stdout
            assert not set(said) & set(ESCAPE) - set("owned]0;[31m2J"), (name, command)


def test_bytes_of_a_bad_csv_do_not_reach_the_terminal(tmp_path: Path) -> None:
    texts = [
        f"a,b\n1,2\n{ESCAPE},3,4\n",
        f"a,b\n1,{ESCAPE}\n2,3\n",
        f"{ESCAPE},b\n1,x\n",
        f"a,{ESCAPE},{ESCAPE}\n1,2,3\n",
    ]
    for text in texts:
        (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
        answer = run("fit", tmp_path / "bad.csv", "-o", tmp_path / "out", *QUICK)
        assert answer.exit_code == 3
        assert not set(answer.output) & {"\x1b", "\x07", "\x9b", "\u202e"}, text


def test_what_steers_a_terminal_is_spelled_out() -> None:
    assert printable("a\x1b[31m\u202eb\udc80") == "a\\x1b[31m\\u202eb\\udc80"
    for text in ("plain", "line\nline", "日本語 עברית é\u00a0x"):
        assert printable(text) == text


def test_no_text_of_the_data_is_a_formula_in_the_results(rows: np.ndarray, tmp_path: Path) -> None:
    frame = pd.DataFrame(rows, columns=["=first", "b", "c"])
    frame["group"] = [FORMULAS[row // 40] if row % 40 < 5 else "" for row in range(len(rows))]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = ("--label", "group", "--known-labels", "--with-data", "--quiet")
    done = run("fit", tmp_path / "rows.csv", "-o", tmp_path / "out", *QUICK, *options)
    assert done.exit_code == 0, done.output
    with (tmp_path / "out" / "labels.csv").open(newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert f"'{FORMULAS[0]}" in cells and "'=first" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@")) and not is_number(cell)]


def test_ids_are_no_formulas_and_come_back_as_they_were(rows: np.ndarray, tmp_path: Path) -> None:
    for text in FORMULAS:
        assert as_cell(text).startswith("'") and from_cell(as_cell(text)) == text
    for text in HARMLESS:
        assert from_cell(as_cell(text)) == as_cell(text) == text
    names = [FORMULAS[row % 4] + str(row) for row in range(len(rows))]
    table = write_csv(tmp_path / "rows.csv", rows, names)
    assert run("fit", table, "--id", "id", "-o", tmp_path / "out", *QUICK).exit_code == 0
    with (tmp_path / "out" / "labels.csv").open(newline="", encoding="utf-8") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [f"'{name}" for name in names]
    run("recluster", tmp_path / "out", "--n-clusters", 1, "-o", tmp_path / "again")
    assert (tmp_path / "again" / "labels.csv").read_text().count("''") == 0


def test_a_history_that_a_report_could_not_show_is_refused(rows: np.ndarray, tmp_path: Path) -> None:
    SHADE(epochs=2, n_networks=1, network=(8,)).fit(rows).save(tmp_path / "model.shade")
    contents = read_model_file(tmp_path / "model.shade")
    plain = {name: value for name, value in contents.description.items() if name not in ("format", "sha256")}
    whole = plain["history"]
    bad = [[], [{}], [{}, whole[0]], [{**whole[0], "loss": float("nan")}], [{**whole[0], "seconds": float("inf")}], [1]]
    for history in bad:
        write_model_file(
            tmp_path / "bad.shade", ModelContents({**plain, "history": history}, contents.tensors, contents.arrays)
        )
        with pytest.raises(ModelFileError, match="history"):
            shade.load(tmp_path / "bad.shade")
        assert run("info", tmp_path / "bad.shade").exit_code == 4
