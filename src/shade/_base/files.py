"""Files that are complete or not there, and the files of a folder."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath

import numpy as np

from shade._base.arrays import SingleArray


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Where to write a file: it gets its name when it is complete, and nothing is left of it if writing fails.

    The name aside is always the same, so what a killed process left there is taken over by the next write.
    """
    if not path.parent.is_dir():  # the message names the folder that was given, not the name aside
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    aside = path.with_name(f".{path.name}.partial")
    try:
        yield aside
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # where folders can be opened, this makes the rename last through a power cut
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is either complete and on the disk, or not there."""
    with written_aside(path) as aside, aside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def new_array_file(path: Path, shape: tuple[int, ...]) -> Iterator[SingleArray]:
    """A npy file of float32 numbers to be filled; it has its name only once it is whole."""
    with written_aside(path) as aside:
        header = {"descr": "<f4", "fortran_order": False, "shape": tuple(map(int, shape))}
        with aside.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
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


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and below it, sorted, without hidden ones."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and not is_hidden(file.relative_to(folder)))


def is_hidden(path: PurePath) -> bool:
    """Whether a file, or a folder that it is in, is hidden or what a system left behind."""
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)
