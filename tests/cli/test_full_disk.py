"""A disk that is full and one that is read-only, both real: one line, exit code 5, nothing under the final name."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import QUICK, run
from tests.cli.test_bad_input import assert_refused

READ = ("--drop-non-numeric", "--missing", "mean")


def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system of its own, in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """Room for a checkpoint, not for results."""
    yield from mounted(tmp_path / "full", "size=40k")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "read-only", "ro,size=40k")


def test_results_without_room(table: Path, fitted: Path, full: Path) -> None:
    expected = "cannot be written: No space left on device."
    assert_refused(5, expected, "recluster", fitted, "--n-clusters", 2, "-o", full / "two")
    assert_refused(5, expected, "report", fitted, "--to", full / "report.html")
    assert list(full.iterdir()) == []
    failed = run("fit", table, "-o", full / "out", *READ, *QUICK)
    assert failed.exit_code == 5
    assert failed.stderr.splitlines()[-1] == f"shade: {full / 'out'} {expected}"
    assert f"training is saved in {full / 'out.checkpoint'}: the same command with --resume" in failed.stderr
    assert [path.name for path in full.iterdir()] == ["out.checkpoint"]
    (full / "out.checkpoint").unlink()
    assert_refused(5, expected, "demo", "-o", full / "demo", "--samples", 60, "--epochs", 1, "--quiet")
    assert list(full.iterdir()) == []


@pytest.mark.filterwarnings("default::shade._base.errors.ShadeWarning")
def test_no_room_for_another_checkpoint(table: Path, full: Path) -> None:
    result = run("fit", table, "-o", full / "out", *READ, *QUICK, "--network", "512")
    assert result.exit_code == 5, result.output
    lines = result.stderr.splitlines()
    assert any(line.startswith("warning: The checkpoint") and "No space left" in line for line in lines)
    assert lines[-1] == f"shade: {full / 'out'} cannot be written: No space left on device."
    assert [path.name for path in full.iterdir()] == ["out.checkpoint"]  # of the start, and whole


def test_a_table_without_room(table: Path, fitted: Path, full: Path) -> None:
    with (full / "filler").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(4096))
    for name in ("labels.csv", "labels.npy", "labels.parquet"):
        assert_refused(5, "No space left on device", "predict", fitted, table, "--missing", "mean", "-o", full / name)
    assert [path.name for path in full.iterdir()] == ["filler"]


def test_places_that_are_read_only(table: Path, fitted: Path, read_only: Path) -> None:
    expected = "cannot be written: Read-only file system."
    assert_refused(5, expected, "fit", table, "-o", read_only / "out", *READ, *QUICK)
    assert_refused(5, expected, "predict", fitted, table, "--missing", "mean", "-o", read_only / "labels.csv")
    assert_refused(5, expected, "report", fitted, "--to", read_only / "report.html")
    assert_refused(5, expected, "demo", "-o", read_only / "demo", "--samples", 60, "--epochs", 1, "--quiet")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_without_room(fitted: Path) -> None:
    with open("/dev/full", "wb") as nowhere:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "shade", "info", str(fitted)],
            stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False, env=os.environ,
        )  # fmt: skip
    assert done.returncode == 5
    assert done.stderr == "shade: the answer cannot be written: No space left on device.\n"
