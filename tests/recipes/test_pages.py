"""What the pages show can be typed: their code runs, and the options of their commands exist."""

import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

from shade.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.rst"))]


def code_blocks(page: Path) -> list[str]:
    found = re.findall(
        r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [textwrap.dedent(block) for block in found]


def commands(page: Path) -> list[list[str]]:
    lines = re.findall(r"^(?: *\$ )?(shade [a-z].*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.parametrize("page", [page for page in PAGES if code_blocks(page)], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shade import SHADE

    monkeypatch.chdir(tmp_path)  # where files are written

    X = np.random.default_rng(0).normal(np.repeat([[0.0], [9.0]], 60, axis=0), 0.5, (120, 6))
    model = SHADE(epochs=2, random_state=0).fit(X)
    scope: dict[str, Any] = {"X": X, "X_new": X[:3], "model": model, "frame": pd.DataFrame(X)}
    for block in code_blocks(page):
        exec(compile(block, page.name, "exec"), scope)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for words in commands(page):
        command: Any = typer.main.get_command(app)
        while getattr(command, "commands", None):
            assert words, page
            command = command.commands[words.pop(0)]
        known = {name for parameter in command.params for name in [*parameter.opts, *parameter.secondary_opts]}
        assert {word for word in words if word.startswith("-")} <= known


def test_pages_have_code_and_commands() -> None:
    assert sum(map(len, map(code_blocks, PAGES))) >= 3
    assert sum(map(len, map(commands, PAGES))) >= 10
