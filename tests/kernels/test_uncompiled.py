"""The kernels as plain Python, where an index out of bounds is an error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import shade

ROOT = Path(__file__).parents[2]


def test_the_kernels_give_the_same_results_uncompiled() -> None:
    paths = [str(Path(next(iter(shade.__path__))).parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    finished = subprocess.run(
        [sys.executable, "-m", "tests.kernels.uncompiled_cases"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-4000:]
    assert finished.stdout.strip().endswith("cases passed")
