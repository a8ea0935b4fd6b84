"""Fits that are interrupted, killed or fail, and go on from their checkpoint as if nothing had happened."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from sklearn.datasets import make_blobs
from torch import nn

from shade import SHADE
from shade._base import files
from shade._base.errors import CheckpointError, ShadeWarning
from shade.estimators import shade as estimator
from shade.training import Callback, EarlyStopping, Trainer, fitting, precision
from shade.training.checkpoints import read_checkpoint
from tests.unmeasured import unmeasured

SETTINGS = {
    "epochs": 4, "network": (16,), "embedding_size": 2, "n_networks": 1,
    "batch_size": 50, "selection": "branches", "random_state": 0
}  # fmt: skip
KILLS = int(os.environ.get("SHADE_KILLS", "3"))
FORGED = int(os.environ.get("SHADE_FORGED", "60"))


def blobs(n: int = 230, seed: int = 0) -> np.ndarray:
    return make_blobs(n, 5, centers=3, center_box=(-12, 12), random_state=seed)[0]


def losses(model: SHADE) -> list[dict[str, float]]:
    return [{name: value for name, value in record.items() if name != "seconds"} for record in model.history_]


def assert_same(model: SHADE, expected: SHADE) -> None:
    assert losses(model) == losses(expected)  # first, for they tell the epoch in which two fits part
    assert np.array_equal(model.embedding_, expected.embedding_)
    assert np.array_equal(model.labels_, expected.labels_)


class StopError(Exception):
    pass


def stop_at_step(monkeypatch: pytest.MonkeyPatch, last: int, error: type[BaseException] = StopError) -> None:
    """Let training fail in a step."""
    steps, train_step = 0, Trainer.train_step

    def counted(self: Trainer, batch: object) -> torch.Tensor:
        nonlocal steps
        steps += 1
        if steps > last:
            raise error
        return train_step(self, batch)

    monkeypatch.setattr(Trainer, "train_step", counted)


def fit_until(last: int, path: Path, settings: dict[str, object], **arguments: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        stop_at_step(patch, last)
        with pytest.raises(StopError):
            SHADE(**settings).fit(blobs(), checkpoint=path, **{"checkpoint_minutes": 0, **arguments})


@pytest.mark.parametrize("last", [0, 1, 4, 5, 7, 13, 20, 27, 38])
def test_a_fit_that_stopped_anywhere_goes_on_to_the_same_result(last: int, tmp_path: Path) -> None:
    settings = {**SETTINGS, "n_networks": 2}
    expected = SHADE(**settings).fit(blobs())
    fit_until(last, tmp_path / "run.ckpt", settings)
    assert_same(SHADE(**settings).fit(blobs(), resume=tmp_path / "run.ckpt"), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"]


@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_a_fit_that_failed_between_two_epochs_goes_on_to_the_same_result(epoch: int, tmp_path: Path) -> None:
    def fail(record: dict[str, float]) -> None:
        if record["epoch"] == epoch:
            raise StopError

    with pytest.raises(StopError):
        SHADE(**SETTINGS, callbacks=[fail]).fit(blobs(), checkpoint=tmp_path / "run.ckpt", checkpoint_minutes=0)
    model = SHADE(**SETTINGS).fit(blobs(), resume=tmp_path / "run.ckpt")
    assert_same(model, SHADE(**SETTINGS).fit(blobs()))


@pytest.mark.parametrize(
    "options", [{"tree": "complete"}, {"density_weight": 0.0}, {"batch_size": 400, "standardize": False}]
)
def test_every_kind_of_training_can_be_resumed(options: dict[str, object], tmp_path: Path) -> None:
    settings = {**SETTINGS, **options}
    fit_until(2, tmp_path / "run.ckpt", settings)
    assert_same(SHADE(**settings).fit(blobs(), resume=tmp_path / "run.ckpt"), SHADE(**settings).fit(blobs()))


def test_checkpoints_come_after_epochs_or_minutes(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    fit_until(13, path, SETTINGS, checkpoint_minutes=None, checkpoint_epochs=2)
    seen: list[float] = []
    expected = SHADE(**SETTINGS).fit(blobs())
    model = SHADE(**SETTINGS, callbacks=[lambda record: seen.append(record["epoch"])]).fit(blobs(), resume=path)
    assert seen == [3, 4]
    assert_same(model, expected)
    fit_until(13, path, SETTINGS, checkpoint_minutes=1e9)
    seen.clear()
    SHADE(**SETTINGS, callbacks=[lambda record: seen.append(record["epoch"])]).fit(blobs(), resume=path)
    assert seen == [1, 2, 3, 4]


def test_a_finished_fit_resumes_to_the_same_result_and_to_more_epochs(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    expected = SHADE(**SETTINGS).fit(blobs(), checkpoint=path)
    assert_same(SHADE(**SETTINGS).fit(blobs(), resume=path), expected)
    longer = {**SETTINGS, "epochs": 6, "selection": "information"}
    assert_same(SHADE(**longer).fit(blobs(), resume=path), SHADE(**longer).fit(blobs()))


def test_a_fit_without_a_seed_goes_on_with_the_seed_it_drew(tmp_path: Path) -> None:
    settings = {**SETTINGS, "random_state": None, "n_networks": 2}
    path = tmp_path / "run.ckpt"
    fit_until(13, path, settings)
    drawn = read_checkpoint(path).identity["seed"]
    assert_same(SHADE(**settings).fit(blobs(), resume=path), SHADE(**{**settings, "random_state": drawn}).fit(blobs()))


def test_early_stopping_remembers_the_epochs_before(tmp_path: Path) -> None:
    settings = {**SETTINGS, "epochs": 30, "learning_rate": 0.05}
    make = lambda: SHADE(**settings, callbacks=[EarlyStopping(patience=3, min_delta=0.3)])  # noqa: E731
    expected = make().fit(blobs())
    assert expected.n_iter_ < 30
    fit_until((expected.n_iter_ - 2) * 5, tmp_path / "run.ckpt", settings)
    assert_same(make().fit(blobs(), resume=tmp_path / "run.ckpt"), expected)
    assert_same(make().fit(blobs(), resume=tmp_path / "run.ckpt"), expected)


class Dropping(nn.Module):
    """A module of a user's that draws from torch's own generator and keeps buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 2))
        self.up = nn.Linear(2, 5)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        return self.up(z)


def test_a_network_with_dropout_and_buffers_goes_on_with_torchs_generator(tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        settings = {**SETTINGS, "network": Dropping()}
        torch.manual_seed(1)
        expected = SHADE(**settings).fit(blobs())
        torch.manual_seed(1)
        fit_until(7, tmp_path / "run.ckpt", settings)
        torch.manual_seed(2)
        assert_same(SHADE(**settings).fit(blobs(), resume=tmp_path / "run.ckpt"), expected)


def test_without_such_layers_torchs_generator_is_left_alone(tmp_path: Path) -> None:
    fit_until(7, tmp_path / "run.ckpt", SETTINGS)
    before = torch.random.get_rng_state()
    SHADE(**SETTINGS).fit(blobs(), resume=tmp_path / "run.ckpt")
    assert torch.equal(torch.random.get_rng_state(), before)


class Interrupt(Callback):
    """Presses Ctrl-C after the third epoch, or raises what it raises."""

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end

    def on_epoch_end(self, record: object) -> None:
        if record["epoch"] == 3:
            if self.at_end:
                raise KeyboardInterrupt
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("at_end", [False, True])
def test_ctrl_c_leaves_a_checkpoint(at_end: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            SHADE(**SETTINGS, callbacks=[Interrupt(at_end)]).fit(blobs(), checkpoint=path)
    finally:
        signal.signal(signal.SIGINT, before)
    seen: list[float] = []
    model = SHADE(**SETTINGS, callbacks=[lambda record: seen.append(record["epoch"])]).fit(blobs(), resume=path)
    assert seen == [4]
    assert_same(model, SHADE(**SETTINGS).fit(blobs()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
def test_a_killed_fit_goes_on_to_the_same_labels_and_leaves_no_other_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.estimators.kill_cases", str(tmp_path), str(KILLS)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=unmeasured(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_leaves_the_checkpoint_before_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.ckpt"
    writes, fsync = 0, os.fsync

    def full(handle: int) -> None:
        nonlocal writes
        writes += 1
        if writes > 8:
            raise OSError(28, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(files.os, "fsync", full)
    message = r"The checkpoint .*run.ckpt could not be written: No space left on device. Training goes on"
    with pytest.warns(ShadeWarning, match=message):
        expected = SHADE(**SETTINGS).fit(blobs(), checkpoint=path, checkpoint_minutes=0)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"]
    assert_same(SHADE(**SETTINGS).fit(blobs(), resume=path), expected)


def test_a_checkpoint_that_can_never_be_written_stops_the_fit_before_training(tmp_path: Path) -> None:
    for target in (Path(os.devnull), tmp_path):
        (tmp_path / "run.ckpt").symlink_to(target)
        with pytest.raises(CheckpointError, match=r"run.ckpt cannot be written: a folder or a device has"):
            SHADE(**SETTINGS).fit(blobs(), checkpoint=tmp_path / "run.ckpt")
        (tmp_path / "run.ckpt").unlink()
    with pytest.raises(CheckpointError, match="there is no such folder"):
        SHADE(**SETTINGS).fit(blobs(), checkpoint=tmp_path / "nowhere" / "run.ckpt")


def test_other_data_and_other_parameters_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    SHADE(**SETTINGS).fit(blobs(), checkpoint=path)
    with pytest.raises(CheckpointError, match=r"is of data of shape \(230, 5\), not \(231, 5\)\. Give the same, or"):
        SHADE(**SETTINGS).fit(blobs(231), resume=path)
    with pytest.raises(CheckpointError, match=r"is of other data: the shape \(230, 5\) is the same, the values"):
        SHADE(**SETTINGS).fit(blobs(seed=1), resume=path)
    with pytest.raises(CheckpointError, match=r"is of a fit with batch_size=50, not 60; network=\[16\], not \[17\]\."):
        SHADE(**{**SETTINGS, "batch_size": 60, "network": (17,)}).fit(blobs(), resume=path)
    with pytest.raises(CheckpointError, match=r"is of a fit with random_state=0, not 1\."):
        SHADE(**{**SETTINGS, "random_state": 1}).fit(blobs(), resume=path)
    with pytest.raises(CheckpointError, match=r"has trained for 4 epochs already, more than epochs=3\."):
        SHADE(**{**SETTINGS, "epochs": 3}).fit(blobs(), resume=path)


def test_files_that_are_no_checkpoints_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    with pytest.raises(CheckpointError, match=r"There is no checkpoint .*run.ckpt to resume from"):
        SHADE(**SETTINGS).fit(blobs(), resume=path)
    SHADE(**SETTINGS).fit(blobs(), checkpoint=path)
    whole = path.read_bytes()
    for damaged in (b"", b"nonsense", whole[:100], whole[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"run.ckpt is no checkpoint of shade, or a damaged one"):
            SHADE(**SETTINGS).fit(blobs(), resume=path)
    path.write_bytes(whole.replace(b'format\\": 2', b'format\\": 9', 1))
    with pytest.raises(CheckpointError, match=r"has format 9, this version of shade reads 2. Start anew"):
        SHADE(**SETTINGS).fit(blobs(), resume=path)


def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    SHADE(**SETTINGS).fit(blobs(), checkpoint=path)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(200):
        damaged = bytearray(whole)
        start, length = int(random.integers(len(whole))), int(random.choice([1, 4, 4096]))
        changed = (byte ^ int(random.integers(1, 256)) for byte in damaged[start : start + length])
        damaged[start : start + length] = bytes(changed)
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"run\.ckpt.*[.]$"):
            SHADE(**SETTINGS).fit(blobs(), resume=path)


def seal(tensors: dict[str, torch.Tensor], description: object) -> bytes:
    """A checkpoint with a right digest, whatever is in it."""
    header = {"shade_checkpoint": json.dumps(description), "sha256": "0" * 64}
    data = safetensors.torch.save(tensors, header)
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)


def places_in(value: object, place: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Where something can be changed in a description."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place, *(inner for key in keys for inner in places_in(value[key], (*place, key)))]


def forge(description: dict[str, object], tensors: dict[str, torch.Tensor], random: np.random.Generator) -> None:
    """Change, remove or replace one thing."""
    if random.random() < 0.4:
        name = str(random.choice(sorted(tensors)))
        tensor = tensors.pop(name)
        if random.random() < 0.6:
            tensors[name] = [tensor[..., None].clone(), tensor.double(), torch.zeros(3)][int(random.integers(3))]
        return
    *path, last = (places := places_in(description)[1:])[int(random.integers(len(places)))]
    inner: Any = description
    for key in path:
        inner = inner[key]
    if random.random() < 0.4:
        del inner[last]
    else:
        inner[last] = [None, -1, 10**30, "text", [], {}, float("nan"), True, [[]]][int(random.integers(9))]


def test_a_forged_checkpoint_is_refused_by_one_sentence_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    settings = {**SETTINGS, "n_networks": 2, "network": (4,), "epochs": 3}
    X = blobs(60)
    with pytest.MonkeyPatch.context() as patch:
        stop_at_step(patch, 3)
        with pytest.raises(StopError):
            SHADE(**settings).fit(X, checkpoint=path, checkpoint_minutes=0)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    known = json.loads(whole[8 : 8 + length])["__metadata__"]["shade_checkpoint"]
    refused = 0
    for case in range(FORGED):
        random = np.random.default_rng(case)
        description, tensors = json.loads(known), safetensors.torch.load(whole)
        forge(description, tensors, random)
        path.write_bytes(seal(tensors, description))
        try:
            SHADE(**settings).fit(X, resume=path)
        except CheckpointError as error:
            refused += 1
            assert str(error).startswith(("The checkpoint", str(path))), f"case {case}: {error}"
            assert "\n" not in str(error)
        except Exception as error:
            pytest.fail(f"case {case}: {error!r}")
    assert refused > FORGED // 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"checkpoint_minutes": -1}, r"The 'checkpoint_minutes' parameter of fit must be a float in the range \[0"),
        ({"checkpoint_epochs": 0}, r"The 'checkpoint_epochs' parameter of fit must be an int in the range \[1, inf\)"),
        ({"checkpoint": None, "resume": True}, r"resume=True goes on from the file that the 'checkpoint' argument"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        SHADE(**SETTINGS).fit(blobs(), **{"checkpoint": tmp_path / "run.ckpt", **arguments})


@pytest.mark.parametrize("before", ["float32", "bfloat16"])
def test_training_goes_on_in_the_number_format_of_its_checkpoint(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a processor of another kind, the format that it would choose itself is another one."""
    path = tmp_path / "run.ckpt"
    monkeypatch.setattr(precision, "has_bfloat16", lambda: before == "bfloat16")
    expected = SHADE(**SETTINGS).fit(blobs())
    fit_until(7, path, SETTINGS)
    monkeypatch.setattr(precision, "has_bfloat16", lambda: before != "bfloat16")
    resumed = SHADE(**SETTINGS).fit(blobs(), resume=path)
    assert resumed.precision_ == expected.precision_ == before
    assert_same(resumed, expected)


def test_a_gpu_does_not_go_on_with_a_training_in_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.ckpt"
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    fit_until(7, path, SETTINGS)
    monkeypatch.setattr(estimator, "resolve_device", lambda device: torch.device("cuda"))
    monkeypatch.setattr(fitting, "tree_is_bearable", lambda *_: True)
    with pytest.raises(CheckpointError, match='Resume with device="cpu"'):
        SHADE(**SETTINGS).fit(blobs(), resume=path)
