"""Networks of an ensemble that train side by side come out as if they had trained one after the other."""

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from shade import SHADE
from shade._base.errors import TrainingError
from shade.training import Callback, EarlyStopping, Trainer
from tests.estimators.test_resume import assert_same
from tests.estimators.thread_cases import compare_threads
from tests.unmeasured import unmeasured

SETTINGS = {
    "epochs": 4, "network": (16, 8), "embedding_size": 2, "n_networks": 3, "batch_size": 50, "selection": "branches",
    "random_state": 0, "device": "cpu",
}  # fmt: skip
X = make_blobs(230, 5, centers=3, center_box=(-12, 12), random_state=0)[0]


class Watch(Callback):
    """Notes which thread trains which network."""

    def __init__(self) -> None:
        self.threads: dict[int, int] = {}

    def of_network(self, network: int, networks: int) -> Callback:
        own, threads = Callback(), self.threads
        own.on_train_begin = lambda epochs: threads.__setitem__(network, threading.get_ident())  # type: ignore[method-assign]
        return own


@pytest.mark.parametrize("options", [{}, {"tree": "complete"}, {"density_weight": 0.0}, {"network": "conv"}])
def test_the_number_of_threads_changes_nothing(options: dict[str, object]) -> None:
    data = X if options.get("network") != "conv" else np.random.default_rng(0).normal(size=(60, 1, 6, 6))
    watch = Watch()
    together = SHADE(**{**SETTINGS, **options}, n_jobs=3, callbacks=[watch]).fit(data)
    assert len(set(watch.threads.values())) == 3
    assert threading.get_ident() not in watch.threads.values()
    alone = SHADE(**{**SETTINGS, **options}, n_jobs=1, callbacks=[watch]).fit(data)
    assert set(watch.threads.values()) == {threading.get_ident()}
    assert_same(together, alone)


def test_two_threads_of_torch_and_blas_give_the_bits_of_one() -> None:
    program = [sys.executable, "-m", "tests.estimators.thread_cases", "2"]
    two = unmeasured(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", MKL_NUM_THREADS="2")
    root = Path(__file__).parents[2]
    done = subprocess.run(program, cwd=root, env=two, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == compare_threads(2)


def test_a_callback_that_watches_one_network_at_a_time_sees_them_one_after_the_other() -> None:
    epochs: list[float] = []
    SHADE(**SETTINGS, n_jobs=3, callbacks=[Watch(), lambda record: epochs.append(record["epoch"])]).fit(X)
    assert epochs == [1, 2, 3, 4] * 3


def test_each_network_stops_early_on_its_own() -> None:
    settings = {**SETTINGS, "epochs": 30, "learning_rate": 0.05}
    make = lambda jobs: SHADE(**settings, n_jobs=jobs, callbacks=[EarlyStopping(3, 0.3)])  # noqa: E731
    expected = make(1).fit(X)
    assert expected.n_iter_ < 90
    assert_same(make(3).fit(X), expected)


class Fails(Callback):
    """Lets one network fail after an epoch; the others would train for hours."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def of_network(self, network: int, networks: int) -> Callback:
        return self if network == 1 else Callback()

    def on_epoch_end(self, record: object) -> None:
        if record["epoch"] == 2:
            if self.error is not None:
                raise self.error
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("error", [TrainingError("diverged"), None])
def test_a_failure_or_ctrl_c_ends_all_and_leaves_a_checkpoint_of_all(
    error: BaseException | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.ckpt"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    endless = {**SETTINGS, "epochs": 10**6}
    try:
        with pytest.raises(type(error) if error else KeyboardInterrupt):
            SHADE(**endless, n_jobs=3, callbacks=[Fails(error)]).fit(X, checkpoint=path, checkpoint_minutes=0)
    finally:
        signal.signal(signal.SIGINT, before)
    trained: list[int] = []
    monkeypatch.setattr(Trainer, "train_step", _count(Trainer.train_step, trained))
    most = 1 + max(len(record) for record in _epochs_in(path))
    assert_same(
        SHADE(**{**SETTINGS, "epochs": most}, n_jobs=2).fit(X, resume=path),
        SHADE(**{**SETTINGS, "epochs": most}, n_jobs=1).fit(X),
    )
    assert len(trained) < 2 * 3 * 5 * most  # what was trained before is not trained again


def _epochs_in(path: Path) -> list[list[dict[str, float]]]:
    from shade.training.checkpoints import read_checkpoint

    states = read_checkpoint(path).states
    assert len(states) == 3
    return [state.progress.history for state in states]


def _count(train_step: object, trained: list[int]) -> object:
    def counted(self: Trainer, batch: object) -> object:
        trained.append(1)
        return train_step(self, batch)

    return counted


def test_verbosity_tells_the_networks_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    SHADE(**{**SETTINGS, "epochs": 1}, n_jobs=3, verbose=2).fit(X)
    lines = sorted(capsys.readouterr().err.splitlines())
    assert [line.split(":")[0] for line in lines] == [f"network {network}, epoch 1" for network in (1, 2, 3)]

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    SHADE(**SETTINGS, n_jobs=3, verbose=1).fit(X)
    assert all(f"training {network} of 3" in stream.getvalue() for network in (1, 2, 3))
    assert "4/4" in stream.getvalue()
