"""The logic of the CUDA kernels, without a GPU."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unmeasured import unmeasured


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton for its interpreter")
def test_the_cuda_kernels_agree_with_the_cpu_in_tritons_interpreter() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.kernels.triton_cases"],
        cwd=Path(__file__).parents[2],
        env=unmeasured(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-4000:]
