"""Files that are complete or not there, and the files of a folder."""

from __future__ import annotations

import errno
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path, PurePath

import numpy as np

from shade._base.arrays import SingleArray

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can be neither renamed nor removed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def written_aside(path: Path) -> Iterator[BufferedRandom]:
    """A new file to write to: it gets its name when it is complete, and nothing is left of it if writing fails.

    Until then its name is one that nobody else uses, so no other process writes to it, and no link can stand there. A
    link at the final name is followed, as `open` does.
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():  # the message names the folder that was given, not the name aside
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "something that is not a file has this name", str(path))
    _remove_leftovers(path.parent)
    aside, file = _open_aside(path.parent)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                aside.replace(path)  # still locked: nobody takes it for a leftover
        if fcntl is None:
            aside.replace(path)  # Windows renames no open file
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
    with written_aside(path) as file:
        file.write(data)


@contextmanager
def new_array_file(path: Path, shape: tuple[int, ...]) -> Iterator[SingleArray]:
    """A npy file of float32 numbers to be filled; it has its name only once it is whole."""
    with written_aside(path) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": tuple(map(int, shape))}
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        # Taken now: a disk that fills up later would end the process through the mapped memory.
        size = math.prod(shape) * 4
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, offset + size)
        else:
            file.truncate(offset + size)
        array = np.memmap(file, np.float32, "r+", offset, shape)
        yield array
        array.flush()
        del array


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from taking the same name while a block runs; raises BlockingIOError if one has it.

    A lock ends with its process, so a file that a killed process left locks nothing.
    """
    lock = path.with_name(f".{path.name}.lock")
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _lock(handle)
            with suppress(FileNotFoundError):  # the one that had it may have removed it since it was opened here
                if os.path.samestat(lock.stat(), os.fstat(handle)):
                    break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    try:
        yield
    finally:
        if fcntl is not None:
            lock.unlink(missing_ok=True)
        os.close(handle)
        if fcntl is None:
            lock.unlink(missing_ok=True)


def _lock(handle: int) -> None:
    """Lock an open file until it is closed; raises BlockingIOError if it is locked already."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks
            return


def _open_aside(folder: Path) -> tuple[Path, BufferedRandom]:
    """A new, locked file in a folder."""
    while True:
        aside = folder / f".shade-{secrets.token_hex(8)}.partial"
        file = aside.open("x+b")
        with suppress(BlockingIOError):
            _lock(file.fileno())
            if os.fstat(file.fileno()).st_nlink:
                return aside, file
        file.close()  # another process took it for a leftover before it was locked


def _remove_leftovers(folder: Path) -> None:
    """Remove the files aside that no process has locked: those that wrote them were killed."""
    for left in folder.glob(".shade-*.partial") if fcntl is not None else ():
        with suppress(OSError):
            handle = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(handle)


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and below it, sorted, without hidden ones."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and not is_hidden(file.relative_to(folder)))


def is_hidden(path: PurePath) -> bool:
    """Whether a file, or a folder that it is in, is hidden or what a system left behind."""
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)
