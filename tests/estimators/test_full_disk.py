"""A disk that really is full: a small file system in memory, filled while a fit goes on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shade import SHADE, load
from shade._base.errors import CheckpointError, ShadeWarning
from shade.report import write_report
from shade.training.checkpoints import read_checkpoint
from tests.estimators.test_resume import SETTINGS, assert_same, blobs


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs Linux and root to mount a file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs to mount a file system: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, *, room: int = 0) -> None:
    """Leave so many bytes."""
    handle = os.open(folder / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(handle, bytes(4096))
    except OSError:
        os.truncate(handle, os.fstat(handle).st_size - room)
    finally:
        os.close(handle)


def test_the_checkpoint_before_still_loads_and_the_message_says_what_happened(small_disk: Path) -> None:
    path = small_disk / "run.ckpt"
    expected = SHADE(**SETTINGS).fit(blobs())

    def fill_after_two(record: dict[str, float]) -> None:
        if record["epoch"] == 2:
            fill(small_disk)

    with pytest.warns(ShadeWarning, match=r"run.ckpt could not be written: No space left on device. Training goes on"):
        model = SHADE(**SETTINGS, callbacks=[fill_after_two]).fit(
            blobs(), checkpoint=path, checkpoint_minutes=None, checkpoint_epochs=1
        )
    assert_same(model, expected)
    assert sorted(file.name for file in small_disk.iterdir()) == ["filler", "run.ckpt"]
    assert len(read_checkpoint(path).states[0].progress.history) == 1
    (small_disk / "filler").unlink()
    assert_same(SHADE(**SETTINGS).fit(blobs(), resume=path), expected)


def test_results_that_do_not_fit_leave_those_before_and_no_part(small_disk: Path) -> None:
    X = blobs()
    model = SHADE(**SETTINGS).fit(X)
    model.save(small_disk / "model.shade")
    fill(small_disk, room=4096)
    before = sorted(file.name for file in small_disk.iterdir())
    for write in (
        lambda: model.save(small_disk / "model.shade"),
        lambda: model.transform(np.repeat(X, 20, axis=0), out=small_disk / "embedding.npy"),
        lambda: write_report(model, small_disk / "report.html"),
    ):
        with pytest.raises(OSError, match="No space left on device"):
            write()
    fill(small_disk)
    with pytest.raises(CheckpointError, match=r"cannot be written: No space left on device. Give another 'checkpoint'"):
        SHADE(**SETTINGS).fit(X, checkpoint=small_disk / "run.ckpt")
    assert sorted(file.name for file in small_disk.iterdir()) == before
    assert np.array_equal(load(small_disk / "model.shade").labels_, model.labels_)
