"""Model files that were damaged or forged: refused in one line, or harmless."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shade import SHADE

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="bounds memory by Linux's means")
def test_thousands_of_mutated_files_are_refused_or_harmless(tmp_path: Path) -> None:
    """More of each kind with SHADE_MUTATIONS=10."""
    X = np.random.default_rng(0).normal(size=(24, 3)) + 8 * (np.arange(24) % 2)[:, None]
    np.save(tmp_path / "X.npy", X)
    for seed, name in enumerate(("model.shade", "other.shade")):
        model = SHADE(
            network=(4,), embedding_size=2, ensemble=1, epochs=1, min_points=3, selection="branches", random_state=seed
        )
        model.fit(X).save(tmp_path / name)
    command = [sys.executable, "-m", "tests.estimators.mutations", ".", "0", os.environ.get("SHADE_MUTATIONS", "1")]
    # Following every line would take most of the time; what is checked here has tests of its own.
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_PROCESS")}
    environment = {**unmeasured, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    finished = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    result = json.loads(finished.stdout)
    assert result["failures"] == []
    assert result["counts"]["files"] >= 2000
    assert result["counts"]["refused"] > 1500
    assert result["grown"] < 2**30
