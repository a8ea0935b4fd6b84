"""Kill fits at random moments and resume them: run by test_resume with a folder and a number of kills.

Every fit runs in a process of its own, forked after the imports, which take longer than the fits.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from shade import SHADE

SETTINGS = {
    "epochs": 4, "n_networks": 2, "network": (24,), "embedding_size": 2, "batch_size": 60, "selection": "branches",
    "random_state": 0, "device": "cpu",
}  # fmt: skip


def fit(result: Path, **arguments: object) -> int:
    """Start a fit in a process of its own, which writes its labels when done."""
    child = os.fork()
    if child:
        return child
    try:
        X, _ = make_blobs(600, 6, centers=4, center_box=(-12, 12), random_state=0)
        model = SHADE(**SETTINGS).fit(X, **arguments)
        np.savez(result, labels=model.labels_, embedding=model.embedding_)
    finally:
        sys.stderr.flush()
        os._exit(0 if sys.exc_info()[0] is None else 1)


def finish(child: int) -> None:
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def main(folder: Path, kills: int) -> None:
    SHADE(**{**SETTINGS, "n_jobs": 1}).fit(make_blobs(100, 6, random_state=0)[0])  # compiles, with no thread left after
    started = time.perf_counter()
    finish(fit(folder / "undisturbed.npz"))
    duration = time.perf_counter() - started
    expected = np.load(folder / "undisturbed.npz")
    random = np.random.default_rng(kills)
    while_running = 0
    for kill in range(kills):
        output = folder / str(kill)
        output.mkdir()
        checkpoint = output / "run.ckpt"
        child = fit(output / "result.npz", checkpoint=checkpoint, checkpoint_minutes=0)
        time.sleep(random.uniform(0.0, 1.2 * duration))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        while_running += os.WIFSIGNALED(status)
        finish(fit(output / "result.npz", checkpoint=checkpoint, checkpoint_minutes=0, resume=True))
        found = np.load(output / "result.npz")
        for name in ("labels", "embedding"):
            assert np.array_equal(found[name], expected[name]), f"kill {kill}: other {name}"
        files = sorted(file.name for file in output.iterdir())
        assert files == ["result.npz", "run.ckpt"], f"kill {kill}: {files}"
    sys.stdout.write(f"{kills} kills, {while_running} of them while running\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
