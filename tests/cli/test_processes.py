"""Results are never lost, and never destroyed without being asked to: locks, links, signals, streams and names."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shade import SHADE
from shade._base.files import locked
from shade.cli.output import RESULT_NAMES
from tests.cli.commands import QUICK, run
from tests.cli.test_bad_input import assert_refused
from tests.unmeasured import unmeasured

READ = ("--drop-non-numeric", "--missing", "mean")
SIGNALS = os.environ.get("SHADE_SIGNALS", "2")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_a_fit_ends_whole_whatever_its_streams_names_and_signals(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.cli.process_cases", str(tmp_path), SIGNALS]
    root = Path(__file__).parents[2]
    done = subprocess.run(program, cwd=root, env=unmeasured(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"{SIGNALS} signals" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs locks on files")
def test_a_second_fit_into_a_folder_is_refused_before_it_trains(table: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with locked(tmp_path / "out"):
        for output in ("out", "link"):
            expected = "Another process is making results for"
            assert_refused(5, expected, "fit", table, "-o", tmp_path / output, *READ, *QUICK, "--overwrite")
        assert names_in(tmp_path) == [".out.lock", "link"]
    assert run("fit", table, "-o", tmp_path / "out", *READ, *QUICK).exit_code == 0
    assert names_in(tmp_path) == ["link", "out"]


def test_what_a_killed_fit_left_is_cleared_up_and_old_results_get_their_name_back(
    table: Path, fitted: Path, tmp_path: Path
) -> None:
    for name in (".out.partial", ".out.before"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "labels.csv").write_text(name)
    (tmp_path / ".out.lock").write_text("")
    assert_refused(5, "/out holds results. Choose another", "fit", table, "-o", tmp_path / "out", *READ, *QUICK)
    assert (tmp_path / "out" / "labels.csv").read_text() == ".out.before"
    assert run("recluster", fitted, "--n-clusters", 2, "-o", tmp_path / "out", "--overwrite").exit_code == 0
    assert names_in(tmp_path) == ["out"]
    assert names_in(tmp_path / "out") == sorted(RESULT_NAMES)


@pytest.mark.parametrize(("step", "expected"), [(1, 2), (2, 3), (3, 3)])
def test_an_interrupt_while_results_are_replaced_leaves_the_old_ones_or_the_new(
    step: int, expected: int, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ("recluster", fitted, "-o", tmp_path / "out", "--overwrite", "--n-clusters")
    assert run(*again, 2).exit_code == 0
    steps = []

    def interrupted(do: Callable[..., object]) -> Callable[..., object]:
        def work(path: Path, *arguments: object, **options: object) -> object:
            steps.append(path.name)
            if len(steps) == step == 3:
                raise KeyboardInterrupt
            done = do(path, *arguments, **options)
            if len(steps) == step:
                raise KeyboardInterrupt
            return done

        return work

    monkeypatch.setattr(Path, "rename", interrupted(Path.rename))
    monkeypatch.setattr("shade.cli.output.shutil.rmtree", interrupted(shutil.rmtree))
    assert run(*again, 3).exit_code == 130
    assert steps[:step] == ["out", ".out.partial", ".out.before"][:step]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["n_clusters"] == expected
    assert names_in(tmp_path) == ["out"]


def test_a_link_to_a_folder_stays_a_link(fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    for overwrite in ((), ("--overwrite",)):
        assert run("recluster", fitted, "--n-clusters", 2, "-o", tmp_path / "link", *overwrite).exit_code == 0
        assert (tmp_path / "link").is_symlink()
        assert names_in(tmp_path / "elsewhere") == sorted(RESULT_NAMES)
    assert names_in(tmp_path) == ["elsewhere", "link"]


def test_files_that_would_be_missed_are_not_written_over(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in fitted.iterdir()}
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "new.npy"
    np.save(data, np.zeros((3, 4)))
    (tmp_path / "alias.npy").hardlink_to(data)
    for command in ("report", "predict"):
        arguments = [command, fitted, *([data] if command == "predict" else [])]
        assert_refused(5, "its name must end in", *arguments, "-o", fitted / "model.shade")
    for command, name in (("predict", "labels.csv"), ("transform", "embedding.npy")):
        assert_refused(5, "is part of the results of a fit", command, fitted, data, "-o", fitted / name)
    for name in ("new.npy", "alias.npy"):
        assert_refused(5, "is the data itself", "transform", fitted, data, "-o", name)
    assert {path: path.read_bytes() for path in fitted.iterdir()} == before
    assert np.load(data).shape == (3, 4)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for here in (".", "../empty", tmp_path / "empty", "sub/.."):
        (tmp_path / "empty" / "sub").mkdir(exist_ok=True)
        assert_refused(5, "is the folder that you work in", "recluster", fitted, "--n-clusters", 2, "-o", here)
        (tmp_path / "empty" / "sub").rmdir()


@pytest.mark.parametrize("stage", ["cluster", "write"])
def test_ctrl_c_after_training_says_how_to_go_on(
    stage: str, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    place = {"cluster": "shade.estimators.shade.SHADE._cluster_points", "write": "shade.cli.results.write_results"}
    with monkeypatch.context() as patch:
        patch.setattr(place[stage], interrupt)
        stopped = run("fit", table, "-o", tmp_path / "out", *READ, *QUICK)
    assert stopped.exit_code == 130
    assert "out.checkpoint: the same command with --resume continues from there" in stopped.stderr.replace("\n", "")
    assert names_in(tmp_path) == ["out.checkpoint"]
    assert run("fit", table, "-o", tmp_path / "out", *READ, *QUICK, "--resume").exit_code == 0
    assert names_in(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("kind", "memory"), [("npy", ()), ("npy", ("--memory", "1GB")), ("parquet", ("--memory", "1GB"))]
)
def test_data_that_changes_after_training_costs_only_its_part_of_the_report(
    kind: str, memory: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"rows.{kind}"
    rows = np.random.default_rng(0).normal(size=(200, 4))
    if kind == "npy":
        np.save(path, rows)
    else:
        pd.DataFrame(rows, columns=list("abcd")).to_parquet(path, row_group_size=50)
    fit = SHADE.fit

    def fit_and_change(*arguments: Any, **options: Any) -> SHADE:
        model = fit(*arguments, **options)
        path.write_bytes(b"0" * 1000)
        return model

    monkeypatch.setattr(SHADE, "fit", fit_and_change)
    done = run("fit", path, "-o", tmp_path / "out", *QUICK, *memory)
    assert done.exit_code == 0, done.output
    assert "note: the report shows no features: " in done.stderr
    assert names_in(tmp_path / "out") == sorted(RESULT_NAMES)
