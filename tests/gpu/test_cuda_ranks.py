"""Several processes on a CUDA device, and fits on it that stop and go on; `pytest -m gpu` where there is one."""

import socket
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist

import shade
from shade import SHADE
from shade._base import ranks
from shade.training import capacity, cuda_trainer
from shade.training.batches import Batch
from shade.training.cuda_trainer import CudaTrainer
from shade.training.stream_trainer import StreamTrainer
from shade.training.trainer import Trainer
from tests.estimators.rank_cases import train_in_groups
from tests.estimators.test_ranks import run
from tests.estimators.test_resume import SETTINGS, Dropping, StopError, assert_same, blobs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning"),
]
ON_CUDA = {**SETTINGS, "device": "cuda"}


def stop_after(patch: pytest.MonkeyPatch, kind: type[Trainer], last: int) -> None:
    """Let training fail once it has taken so many pieces."""
    taken, train_next = 0, kind.train_next

    def counted(self: Trainer) -> tuple[torch.Tensor, int]:
        nonlocal taken
        taken += 1
        if taken > last:
            raise StopError
        return train_next(self)

    patch.setattr(kind, "train_next", counted)


def fit_until(
    last: int, path: Path, settings: dict[str, object], X: np.ndarray, kind: type[Trainer] = CudaTrainer, **more: object
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, kind, last)
        with pytest.raises(StopError):
            SHADE(**settings).fit(X, checkpoint=path, checkpoint_minutes=0, **more)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches a piece, so that checkpoints fall into the midst of epochs."""
    monkeypatch.setattr(cuda_trainer, "TARGET_ENTRIES", 2 * 50 * 50)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("options", [{}, {"n_networks": 2}, {"tree": "complete"}, {"density_weight": 0.0}])
@pytest.mark.parametrize("last", [0, 1, 4, 9])
def test_a_fit_that_stopped_anywhere_goes_on_to_the_same_result(
    last: int, options: dict[str, object], tmp_path: Path
) -> None:
    settings = {**ON_CUDA, **options}
    fit_until(last, tmp_path / "run.ckpt", settings, blobs())
    resumed = SHADE(**settings).fit(blobs(), resume=tmp_path / "run.ckpt")
    assert_same(resumed, SHADE(**settings).fit(blobs()))


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("last", [1, 4, 9])
def test_dropout_and_buffers_go_on_with_the_generator_of_the_device(last: int, tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        settings = {**ON_CUDA, "network": Dropping()}
        torch.manual_seed(1)
        expected = SHADE(**settings).fit(blobs())
        torch.manual_seed(1)
        fit_until(last, tmp_path / "run.ckpt", settings, blobs())
        torch.manual_seed(2)
        assert_same(SHADE(**settings).fit(blobs(), resume=tmp_path / "run.ckpt"), expected)


def test_a_fit_in_windows_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "WORKING", 0)
    X = np.repeat(blobs(900), 80, axis=1).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    expected = SHADE(**ON_CUDA).fit(tmp_path / "rows.npy", memory="1.2MB")
    fit_until(25, tmp_path / "run.ckpt", ON_CUDA, X, StreamTrainer, memory="1.2MB")
    assert_same(SHADE(**ON_CUDA).fit(X, memory="1.2MB", resume=tmp_path / "run.ckpt"), expected)
    assert np.array_equal(expected.predict(tmp_path / "rows.npy"), expected.labels_)


def test_rows_read_ahead_wait_for_a_device_that_lags_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a stream of the caller's, too: what one batch lets go of must not be filled with the next before its time."""
    monkeypatch.setattr(capacity, "WORKING", 0)
    X = np.repeat(blobs(900), 80, axis=1).astype(np.float32)
    expected = SHADE(**ON_CUDA).fit(X, memory="1.2MB")
    train_step = Trainer.train_step

    def late(self: Trainer, batch: Batch) -> torch.Tensor:
        torch.cuda._sleep(20_000_000)
        return train_step(self, batch)

    monkeypatch.setattr(Trainer, "train_step", late)
    with torch.cuda.stream(torch.cuda.Stream()):
        assert_same(SHADE(**ON_CUDA).fit(X, memory="1.2MB"), expected)


def test_a_checkpoint_of_the_device_goes_on_on_the_cpu(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    fit_until(2, path, ON_CUDA, blobs())
    resumed = SHADE(**{**SETTINGS, "device": "cpu"}).fit(blobs(), resume=path)
    expected = SHADE(**ON_CUDA).fit(blobs())
    for found, wanted in zip(resumed.history_, expected.history_, strict=True):
        assert found["loss"] == pytest.approx(wanted["loss"], rel=2e-3)


@pytest.mark.parametrize("network", [(16,), (500, 200)])
def test_a_model_of_the_device_gives_its_labels_on_the_cpu(network: tuple[int, ...], tmp_path: Path) -> None:
    X = blobs(3000)
    model = SHADE(**{**ON_CUDA, "network": network}).fit(X)
    model.save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade", device="cpu")
    assert np.array_equal(loaded.labels_, model.labels_)
    assert np.array_equal(loaded.predict(X), model.labels_)
    np.testing.assert_allclose(loaded.transform(X), model.embedding_, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(not dist.is_nccl_available(), reason="torch has no nccl here")
def test_what_ranks_send_goes_through_nccl_and_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ranks._meet(ranks.ALONE)
    ranks._make_group(ranks.ALONE)
    try:
        assert "nccl" in str(dist.get_backend_config())
        several = ranks.Ranks(0, 2)  # there is one device and so one rank, which sends only if it expects another one
        numbers = [torch.arange(6.0, device="cuda").reshape(2, 3), torch.ones((), device="cuda")]
        several.sum_tensors(numbers)
        assert numbers[0].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        assert numbers[1].item() == 1.0
        buffers = [torch.tensor(3, device="cuda"), torch.tensor([True, False], device="cuda")]
        several.copy_from_first(buffers)
        assert [buffer.tolist() for buffer in buffers] == [3, [True, False]]
        array = np.arange(5)
        several.reduce_max(array, np.arange(5.0))
        assert array.tolist() == [0, 1, 2, 3, 4]
        assert several.from_first(lambda: "from the first") == "from the first"
        dist.barrier()
    finally:
        ranks._leave_group()


def test_two_ranks_share_a_device_and_restart_from_their_checkpoint(tmp_path: Path) -> None:
    alone = train_in_groups(2, "cuda")
    options = ("--standalone", "--nproc-per-node", "2", "--max-restarts", "1")
    done = run("-m", "torch.distributed.run", *options, "-m", "tests.gpu.rank_case", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "exitcode  : 3" in done.stderr or "exitcode: 3" in done.stderr, done.stderr
    first, second = (dict(np.load(tmp_path / f"{rank}.npz")) for rank in range(2))
    for name in first:
        assert np.array_equal(first[name], second[name]), f"ranks have different {name}"
    for name in ("labels", "embedding"):
        assert np.array_equal(first[name], first[f"undisturbed_{name}"]), f"other {name} after the restart"
    np.testing.assert_allclose(first["losses"], alone["losses"], rtol=1e-4)
    assert len(set(first["labels"]) - {-1}) > 1
