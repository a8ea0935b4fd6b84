"""Where compiled kernels are kept, and what is said while they are compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import shade
from shade._kernels import compile as compiling

PACKAGE = Path(next(iter(shade.__path__)))
CALL = (
    "import logging, numpy; logging.basicConfig(level=logging.INFO); "
    "from shade._kernels.merge_tree import find_root; find_root(numpy.arange(3), 2)"
)


def call_in_new_process(site_packages: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "COV"))}
    environment |= {"PYTHONPATH": str(site_packages), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    return subprocess.run(
        [sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True, cwd=home
    )


@pytest.fixture
def read_only_site_packages(tmp_path: Path) -> Path:
    """A copy of the package with files where the folders of compiled code would be, which stop even root."""
    copy = tmp_path / "site-packages"
    shutil.copytree(PACKAGE, copy / "shade", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy / "shade", *(path for path in (copy / "shade").rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    return copy


def test_kernels_of_a_read_only_installation_are_cached_in_the_home_folder(
    read_only_site_packages: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    first = call_in_new_process(read_only_site_packages, home)
    assert list(home.rglob("merge_tree.find_root*.nbi"))
    assert first.stderr.count(compiling._MESSAGE) == 1
    assert first.stdout == ""
    second = call_in_new_process(read_only_site_packages, home)
    assert second.stderr == second.stdout == ""


def test_kernels_run_where_nothing_can_be_cached(read_only_site_packages: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "cache").write_text("")
    for _ in range(2):  # compiled, and announced, each time
        assert compiling._MESSAGE in call_in_new_process(read_only_site_packages, home).stderr


def add_one(number: int) -> int:
    return number + 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 1, 40, 0.5, 0.99])
def test_a_damaged_cache_is_compiled_anew_and_mended(
    ending: str, left: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiling.kernel(add_one)(1) == 2
    [file] = tmp_path.rglob(f"*.{ending}")
    file.write_bytes(file.read_bytes()[: int(left if left >= 1 else left * file.stat().st_size)])
    damaged = compiling.kernel(add_one)
    assert damaged(1) == 2
    assert not damaged.stats.cache_hits
    mended = compiling.kernel(add_one)
    assert mended(1) == 2
    assert mended.stats.cache_hits


def test_a_cache_without_room_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", full)
    assert compiling.kernel(add_one)(1) == 2
    assert compiling.kernel(add_one)(1.5) == 2.5


@pytest.mark.parametrize(("terminal", "expected"), [(True, 1), (False, 0)])
def test_a_line_is_written_once_and_to_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, expected: int
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    announcement = compiling._Announcement()
    for module in ("numpy", "shade._kernels.prim", "shade._kernels.prim"):
        function = SimpleNamespace(__module__=module)
        announcement.on_start(SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)}))
    captured = capsys.readouterr()
    assert captured.err.count(compiling._MESSAGE) == expected
    assert captured.out == ""
