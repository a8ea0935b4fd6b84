"""Model files that were damaged or forged: refused in one line, or harmless."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unmeasured import unmeasured

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="bounds memory by Linux's means")
def test_mutated_files_are_refused_or_harmless(tmp_path: Path) -> None:
    """All of them: python -m tests.estimators.mutations 2600."""
    command = [sys.executable, "-m", "tests.estimators.mutations", "200"]
    environment = unmeasured(PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    finished = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr[-2000:]
    result = json.loads(finished.stdout)
    assert result["failures"] == []
    assert result["grown_bytes"] < 2**30
    for counts in result["counts"].values():
        assert counts["damaged"] + counts["forged"] >= 200
        assert counts["refused"] > 120
        assert counts.get("another model", 0) <= 3  # all of them with one bit of a weight changed
