"""Files that are whole or not there, and which there are."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from shade._base.arrays import SingleArray


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the final name, make sure it is on the disk, then rename: a file under that name is always whole.

    The name aside is always the same, so what a killed process left there is taken over by the next write.
    """
    aside = _name_aside(path)
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _name_aside(path: Path) -> Path:
    """Where a file is written before it has its name; a folder that is not there is told by the name it was given."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    return path.with_name(f".{path.name}.partial")


@contextmanager
def new_array_file(path: Path, shape: tuple[int, ...]) -> Iterator[SingleArray]:
    """A npy file of float32 numbers to be filled; it has its name only once it is whole."""
    aside = _name_aside(path)
    try:
        with aside.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": tuple(map(int, shape))}
            )
            offset = file.tell()
            # Taken now: a disk that fills up later would end the process through the mapped memory.
            size = math.prod(shape) * 4
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, offset + size)
            else:
                file.truncate(offset + size)
        array = np.memmap(aside, np.float32, "r+", offset, shape)
        yield array
        array.flush()
        del array
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where folders can be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and those below, in order, without hidden ones such as systems leave behind."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))
