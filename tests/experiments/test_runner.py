"""The runner: resumable whatever happens to it."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import shade
from shade.experiments import Method, Run, RunStore, plan_runs, run_experiments
from shade.experiments.runner import Plan, _Worker
from shade.experiments.store import pack_labels, unpack_labels
from shade.metrics import measure_agreement
from tests.experiments.conftest import QUICK
from tests.unmeasured import unmeasured


def test_runs_are_planned_seed_by_seed_and_what_has_no_seed_once() -> None:
    plans = plan_runs("t", ["mice", "coil20"], [Method("SHADE"), Method("HDBSCAN"), Method("SHADE")], 2)
    assert [(p.dataset, p.method.name, p.seed) for p in plans] == [
        ("mice", "SHADE", 0), ("mice", "HDBSCAN", 0), ("coil20", "SHADE", 0), ("coil20", "HDBSCAN", 0),
        ("mice", "SHADE", 1), ("coil20", "SHADE", 1),
    ]  # fmt: skip


def test_a_stored_run_comes_back_as_it_was(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    assert store.runs() == []
    run = Run("t", "mice", "SHADE", "{}", "", 3, seconds=1.5, ari=float("nan"), labels=pack_labels(np.array([-1, 7])))
    store.add(run)
    store.add(dataclasses.replace(run, seed=4))
    store.add(dataclasses.replace(run, seed=4, failure="late"))
    first, second = store.runs("t", "mice")
    assert first == dataclasses.replace(run, ari=None)
    assert (second.seed, second.failure) == (4, "late")
    assert unpack_labels(first.labels or b"").tolist() == [-1, 7]
    other = RunStore(tmp_path / "other.sqlite")
    assert other.merge([store]) == 2 and other.runs() == store.runs()
    assert store.runs("u") == []


def test_runs_are_measured_and_not_run_twice(folder: Path, tmp_path: Path, quick: Method) -> None:
    lines: list[str] = []
    missing = "kmnist_test10k"  # cannot be fetched, so that it fails at once
    arguments = {"database": tmp_path / "runs.sqlite", "device": "cpu", "folder": folder, "report": lines.append,
                 "jobs": 0}  # fmt: skip
    store = run_experiments("trial", ["mice", missing], [quick], 1, **arguments)  # type: ignore[arg-type]
    failed, run = store.runs()
    assert "DatasetError: The dataset 'kmnist_test10k'" in failed.failure
    assert run.failure == "" and run.device == "cpu"
    assert run.seconds is not None and run.seconds > 0
    assert run.peak_megabytes is not None and run.peak_megabytes > 10
    assert json.loads(run.versions)["shade"] == shade.__version__
    assert json.loads(run.parameters) == QUICK
    model = shade.SHADE(**{**shade.PAPER, **QUICK}, random_state=0, device="cpu")
    X = np.load(folder / "mice.npz")["X"]
    model.fit(X)
    np.testing.assert_array_equal(unpack_labels(run.labels or b""), model.labels_)
    np.testing.assert_array_equal(unpack_labels(run.assigned or b""), model.assign_noise("nearest", X))
    assert run.n_clusters == model.n_clusters_ and run.dcsi is not None and run.disco is not None
    assert lines[0].startswith("trial: 2 runs, 0 of them stored already")
    assert lines[1].startswith("[1/2] mice SHADE") and " left" in lines[1]
    assert "FAILED, DatasetError" in lines[2] and lines[2].endswith("all done")
    run_experiments("trial", ["mice", missing], [quick], 1, **arguments)  # type: ignore[arg-type]
    assert lines[3].startswith("trial: 2 runs, 2 of them stored already") and len(lines) == 4
    assert store.runs() == [failed, run]


def test_the_defaults_are_measured_with_noise_over_links_and_in_the_nearest_cluster(
    folder: Path, tmp_path: Path
) -> None:
    arguments = {"database": tmp_path / "runs.sqlite", "device": "cpu", "folder": folder, "jobs": 0, "report": str}
    # These leave much noise to assign.
    settings = {**QUICK, "n_networks": 1, "selection": "branches", "between_noise": True}
    store = run_experiments("t", ["mice"], [Method("default", settings)], 1, **arguments)  # type: ignore[arg-type]
    [run] = store.runs()
    X, y = (np.load(folder / "mice.npz")[name] for name in ("X", "y"))
    model = shade.SHADE(**settings, random_state=0, device="cpu").fit(X)
    over_links, nearest = model.assign_noise(), model.assign_noise("nearest", X)
    assert run.ari_links == measure_agreement(y, model.labels_, over_links).ari_1nn
    assert run.ari_1nn == measure_agreement(y, model.labels_, nearest).ari_1nn != run.ari_links
    np.testing.assert_array_equal(unpack_labels(run.assigned or b""), over_links)


def test_a_worker_that_dies_is_a_failure_of_its_run(folder: Path) -> None:
    worker = _Worker("cpu", str(folder), 1)
    worker.start(Plan("t", "mice", Method("SHADE", {"epochs": 10**6}), 5))
    assert worker.collect() is None  # it is up
    os.kill(worker.process.pid or 0, signal.SIGKILL)
    run = worker.collect()
    assert worker.dead and run is not None and run.failure == "The process died with exit code -9."
    assert run.identity == ("t", "mice", "SHADE", Method("SHADE", {"epochs": 10**6}).key, 5)
    worker.stop()


def test_a_script_without_a_guard_is_told_so_and_stores_nothing(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "from shade.experiments import run_experiments\n"
        f"run_experiments('t', ['mice'], ['HDBSCAN'], 1, database='runs.sqlite', folder={str(folder)!r})\n"
    )
    command = [sys.executable, str(script)]
    finished = subprocess.run(command, cwd=tmp_path, env=unmeasured(), capture_output=True, text=True, check=False)
    assert finished.returncode == 1 and 'needs if __name__ == "__main__"' in finished.stderr
    assert RunStore(tmp_path / "runs.sqlite").runs() == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killing_the_runner_loses_the_run_in_flight_only(folder: Path, tmp_path: Path, quick: Method) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    program = (
        "from shade.experiments import Method, run_experiments\n"
        "if __name__ == '__main__':\n"
        f"    run_experiments('trial', ['mice'], [Method('SHADE', {QUICK!r})], 1000, database={str(store.path)!r},"
        f" device='cpu', folder={str(folder)!r})\n"
    )
    script = tmp_path / "program.py"
    script.write_text(program)
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, env=unmeasured(), stderr=subprocess.PIPE, text=True) as process:
        told = [process.stderr.readline() for _ in range(4)]  # type: ignore[union-attr]
        workers = _children(process.pid)
        process.kill()
    before = store.runs()
    assert told[3].startswith("[   3/1000] mice SHADE"), told
    # Three were told about, so three are stored; the fourth may be.
    assert [run.seed for run in before][:3] == [0, 1, 2] and len(before) <= 5
    run_experiments("trial", ["mice"], [quick], len(before) + 1, database=store.path, device="cpu", folder=folder,
                    jobs=0, report=lambda line: None)  # fmt: skip
    after = store.runs()
    assert after[:-1] == before and [run.seed for run in after] == list(range(len(before) + 1))
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]  # workers do not outlive the runner


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []
