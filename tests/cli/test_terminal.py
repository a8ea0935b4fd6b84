"""The command line in a real terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import QUICK, run

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def screen_of(
    arguments: list[str], folder: Path, watch: Callable[[str, subprocess.Popen[bytes]], None] | None = None, **env: str
) -> tuple[str, int]:
    """All that a command shows on a terminal of 100 columns, and its exit code."""
    main, other = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", **env}
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


def test_a_terminal_shows_a_bar_with_losses_and_time(table: Path, tmp_path: Path) -> None:
    arguments = ["fit", str(table), "--drop-non-numeric", "--missing", "mean", *QUICK]
    screen, code = screen_of(arguments, tmp_path)
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
    screen, code = screen_of(["demo", "--samples", "60", "--epochs", "3"], tmp_path)
    assert code == 0, screen
    assert all(word in screen for word in ("training", "3/3", "density", "clusters found"))


def test_without_colour_and_interrupted(table: Path, tmp_path: Path) -> None:
    sent = []

    def interrupt(screen: str, process: subprocess.Popen[bytes]) -> None:
        if "reconstruction" in screen and not sent:
            sent.append(True)
            process.send_signal(signal.SIGINT)

    arguments = ["fit", str(table), "--drop-non-numeric", "--missing", "mean", *QUICK, "--epochs", "1000000"]
    screen, code = screen_of(arguments, tmp_path, interrupt, NO_COLOR="1")
    assert code == 130, screen
    assert screen.rstrip().splitlines()[-1].endswith("shade: interrupted")
    assert "Traceback" not in screen
    assert "training" in screen
    assert not COLOUR.search(screen)
    assert "the same command with --resume goes on from there" in screen
    assert [path.name for path in tmp_path.iterdir()] == ["shade-result.checkpoint"]


def test_an_interrupted_fit_goes_on_to_the_labels_of_an_undisturbed_one(table: Path, tmp_path: Path) -> None:
    sent = []

    def interrupt(screen: str, process: subprocess.Popen[bytes]) -> None:
        if "reconstruction" in screen and not sent:
            sent.append(True)
            process.send_signal(signal.SIGINT)

    arguments = ["fit", str(table), "--drop-non-numeric", "--missing", "mean", *QUICK, "--epochs", "1500"]
    assert screen_of([*arguments, "-o", "broken"], tmp_path, interrupt)[1] == 130
    again = run(*arguments, "-o", tmp_path / "broken", "--resume")
    assert again.exit_code == 0, again.output
    assert run(*arguments, "-o", tmp_path / "whole").exit_code == 0
    broken, whole = (np.load(tmp_path / name / "embedding.npy") for name in ("broken", "whole"))
    assert np.array_equal(broken, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "whole"]
