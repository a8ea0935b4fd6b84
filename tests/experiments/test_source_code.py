"""The fingerprint of the code that decides labels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import shade
from shade.experiments.source_code import DECIDING, fingerprint_code


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with one function in each part that decides labels."""
    for part in DECIDING:
        path = tmp_path / part if part.endswith(".py") else tmp_path / part / "inner" / "module.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('"""What it is."""\ndef count(rows):\n    """How many."""\n    return rows + 1\n')
    return tmp_path


def fingerprint(package: Path) -> str:
    fingerprint_code.cache_clear()
    return fingerprint_code(package)


@pytest.mark.parametrize("part", DECIDING)
def test_comments_docstrings_and_layout_do_not_change_it_but_code_does(package: Path, part: str) -> None:
    before = fingerprint(package)
    path = package / part if part.endswith(".py") else package / part / "inner" / "module.py"
    path.write_text('"""Other."""\n\n\ndef count(rows):  # why\n    """Other."""\n    return (rows\n            + 1)\n')
    assert fingerprint(package) == before
    path.write_text("def count(rows):\n    return rows + 1\n")
    assert fingerprint(package) == before
    path.write_text("def count(rows):\n    return rows + 2\n")
    assert fingerprint(package) != before


def test_names_and_places_of_modules_are_part_of_it(package: Path) -> None:
    before = fingerprint(package)
    (package / "training" / "inner" / "module.py").rename(package / "training" / "module.py")
    moved = fingerprint(package)
    (package / "training" / "empty.py").touch()
    assert len({before, moved, fingerprint(package)}) == 3


def test_other_rooms_do_not_change_it(tmp_path: Path) -> None:
    copy = shutil.copytree(Path(shade.__file__).parent, tmp_path / "shade")
    before = fingerprint(copy)
    assert before == fingerprint_code()
    for room in ("cli", "report", "plots", "experiments", "metrics"):
        (copy / room / "__init__.py").write_text("changed = True\n")
    assert fingerprint(copy) == before
    (copy / "clustering" / "rule.py").write_text("changed = True\n")
    assert fingerprint(copy) != before
