"""The command line in a real terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from shade.training.checkpoints import read_checkpoint
from tests.cli.commands import QUICK, run
from tests.unmeasured import unmeasured

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def screen_of(
    arguments: list[str],
    folder: Path,
    environment: Mapping[str, str],
    watch: Callable[[str, subprocess.Popen[bytes]], None] | None = None,
) -> tuple[str, int]:
    """All that a command shows on a terminal of 100 columns, and its exit code."""
    main, other = pty.openpty()
    environment = {**environment, "TERM": "xterm-256color", "COLUMNS": "100"}
    command = [sys.executable, "-m", "shade", *arguments]
    screen = b""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    with subprocess.Popen(command, cwd=folder, stdout=other, stderr=other, env=environment) as process:
        signal.signal(signal.SIGINT, before)
        os.close(other)
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:
                break
            if not part:
                break
            screen += part
            if watch is not None:
                watch(screen.decode(errors="replace"), process)
    os.close(main)
    return screen.decode(), process.returncode


def test_a_terminal_shows_a_bar_with_losses_and_time(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    arguments = ["fit", str(table), "--drop-non-numeric", "--missing", "mean", *QUICK]
    screen, code = screen_of(arguments, tmp_path, os.environ)
    assert code == 0, screen
    assert "training" in screen
    assert "3/3" in screen
    assert "reconstruction" in screen
    assert "density" in screen
    assert "left" in screen
    assert "clusters found" in screen
    assert COLOUR.search(screen)
    assert [path.name for path in tmp_path.iterdir()] == ["shade-result"]


def test_the_demo_shows_a_bar_too(tmp_path: Path) -> None:
    screen, code = screen_of(["demo", "--samples", "60", "--epochs", "3"], tmp_path, unmeasured())
    assert code == 0, screen
    assert all(word in screen for word in ("training", "3/3", "density", "clusters found"))


def test_an_interrupted_fit_goes_on_to_the_labels_of_an_undisturbed_one(table: Path, tmp_path: Path) -> None:
    sent = []

    def interrupt(screen: str, process: subprocess.Popen[bytes]) -> None:
        if "reconstruction" in screen and not sent:
            sent.append(True)
            process.send_signal(signal.SIGINT)

    arguments = ["fit", str(table), "--drop-non-numeric", "--missing", "mean", *QUICK]
    screen, code = screen_of([*arguments, "--epochs", "1000000"], tmp_path, unmeasured(NO_COLOR="1"), interrupt)
    assert code == 130, screen
    assert screen.rstrip().splitlines()[-1].endswith("shade: interrupted")
    assert "Traceback" not in screen
    assert "training" in screen
    assert not COLOUR.search(screen)
    assert "the same command with --resume continues from there" in screen
    assert [path.name for path in tmp_path.iterdir()] == ["shade-result.checkpoint"]
    trained = len(read_checkpoint(tmp_path / "shade-result.checkpoint").states[0].progress.history)
    longer = [*arguments, "--epochs", trained + 2]
    again = run(*longer, "-o", tmp_path / "shade-result", "--resume")
    assert again.exit_code == 0, again.output
    assert run(*longer, "-o", tmp_path / "whole").exit_code == 0
    broken, whole = (np.load(tmp_path / name / "embedding.npy") for name in ("shade-result", "whole"))
    assert np.array_equal(broken, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shade-result", "whole"]


def test_recluster_shows_a_summary_on_a_terminal_not_every_row(fitted: Path, tmp_path: Path) -> None:
    screen, code = screen_of(["recluster", str(fitted), "--n-clusters", "2"], tmp_path, unmeasured(NO_COLOR="1"))
    assert code == 0, screen
    lines = screen.split("\r\n")
    assert lines[:2] == ["rows            120", "clusters found  2"]
    assert lines[-2] == "note: nothing was written; add -o FOLDER for the model, labels and report of these clusters"
    assert len(lines) == 6


def test_what_a_terminal_shows_of_a_dirty_table_and_of_one_cluster_can_be_pasted(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    rows = [f"{answer},{x:.3f},{y:.3f}" for answer, x, y in zip(range(80), *chance.normal(size=(2, 80)), strict=True)]
    rows[30] = f"3O,{rows[30].partition(',')[2]}"  # the letter, not the digit
    chance.shuffle(rows)
    (tmp_path / "survey.csv").write_text("\n".join(["score,x,y", *rows]) + "\n")
    command = ["fit", "survey.csv", *QUICK, "--selection", "information"]
    screen, code = screen_of(command, tmp_path, unmeasured(NO_COLOR="1"))
    assert code == 3, screen
    assert "1 column of numbers or dates with other text: 'score' (such as '3O' in row " in screen
    advice = re.search(r"add (--empty \w+) to treat them as empty", screen)
    assert advice is not None, screen
    screen, code = screen_of([*command, *advice[1].split()], tmp_path, unmeasured(NO_COLOR="1"))
    assert code == 0, screen
    assert "note: filled 1 value in 1 of 80 rows with the median of similar rows: 'score' (1). --missing" in screen
    assert "clusteringwarning" not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen)  # above the spinner, not beside it
    step = re.search(
        r"warning: Only one cluster was found: .* rows: shade (recluster shade-result --n-clusters 2)\r\n", screen
    )
    assert step is not None, screen
    screen, code = screen_of(step[1].split(), tmp_path, unmeasured(NO_COLOR="1"))
    assert code == 0, screen
    assert re.search(r"clusters found +2\r\n", screen), screen
