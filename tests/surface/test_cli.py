"""The command line, as a program."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shade
from shade.cli import app


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "shade", *arguments], capture_output=True, text=True, check=False)


def test_help_and_version_answer() -> None:
    assert "demo" in run("--help").stdout
    assert run("--version").stdout == f"shade {shade.__version__}\n"


def test_no_command_shows_help_and_an_unknown_one_fails() -> None:
    without = run()
    assert "Usage" in without.stdout + without.stderr
    assert run("dance").returncode == 2


def test_the_demo_writes_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "a folder with spaces"
    result = CliRunner().invoke(app, ["demo", "-o", str(folder), "--samples", "300", "--epochs", "2", "--quiet"])
    assert result.exit_code == 0, result.output
    assert "clusters found" in result.stdout
    expected = {"clusters.csv", "labels.npy", "embedding.npy", "model.shade", "overview.png"}
    assert expected | {"reachability.png", "structure_tree.png", "losses.png"} == {p.name for p in folder.iterdir()}
    with (folder / "clusters.csv").open() as file:
        rows = list(csv.DictReader(file))
    labels = np.load(folder / "labels.npy")
    assert [int(row["label"]) for row in rows] == labels.tolist()
    assert np.load(folder / "embedding.npy").shape == (300, 2)
    assert np.array_equal(shade.load(folder / "model.shade").labels_, labels)
    assert (folder / "overview.png").read_bytes().startswith(b"\x89PNG")


def test_the_demo_keeps_results_and_messages_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished = CliRunner().invoke(app, ["demo", "--samples", "60", "--epochs", "1"])
    assert finished.exit_code == 0, finished.stderr
    assert [line.split("  ")[0] for line in finished.stdout.splitlines()] == [
        "clusters found", "noise", "ARI with truth", "time", "results in",
    ]  # fmt: skip
    assert "two linked rings" in finished.stderr
    assert (tmp_path / "shade-demo" / "labels.npy").exists()


def test_a_report_is_written_beside_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "out put"
    folder.mkdir()
    shade.SHADE(network=(8,), epochs=1, embedding_size=2, device="cpu").fit(
        np.random.default_rng(0).normal(size=(40, 3))
    ).save(folder / "model.shade")
    result = CliRunner().invoke(app, ["report", str(folder), "--title", "Forty <points>"])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{folder / 'report.html'}\n"
    assert "<title>Forty &lt;points&gt;</title>" in (folder / "report.html").read_text(encoding="utf-8")
    assert CliRunner().invoke(app, ["report", str(tmp_path)]).exit_code == 4
    assert CliRunner().invoke(app, ["report", str(folder), "--to", str(tmp_path / "none" / "x.html")]).exit_code == 5
