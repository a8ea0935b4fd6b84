"""Writing files that are either complete or missing, and listing the files of a folder."""

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
except ImportError:  # on Windows, an open file can be neither renamed nor removed
    fcntl = None  # type: ignore[assignment]


@contextmanager
def written_aside(path: Path) -> Iterator[BufferedRandom]:
    """Open a new file for writing. It gets its name when it is complete. If writing fails, it is removed.

    Until then it has a name that nobody else uses, so no other process writes to it, and there can be no link with this
    name. A link at the final name is followed, as with `open`.
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():  # the message should name the given folder, not the temporary file
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "a folder or a device has this name", str(path))
    _remove_leftovers(path.parent)
    aside, file = _open_aside(path.parent)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                aside.replace(path)  # it is still locked, so no other process removes it as a leftover
        if fcntl is None:
            aside.replace(path)  # Windows cannot rename an open file
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # if folders can be opened, this makes the rename survive a power failure
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is either complete and on the disk, or missing."""
    with written_aside(path) as file:
        file.write(data)


@contextmanager
def new_array_file(path: Path, shape: tuple[int, ...]) -> Iterator[SingleArray]:
    """Create a npy file of float32 numbers to fill. It gets its name only when it is complete."""
    with written_aside(path) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": tuple(map(int, shape))}
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        # Space is reserved now: if the disk became full later, writing to mapped memory would end the process.
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
    """Lock a name against other processes while a block runs; raise BlockingIOError if another process has it.

    A lock ends with its process, so the lock file of a killed process locks nothing.
    """
    lock = path.with_name(f".{path.name}.lock")
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _lock(handle)
            with suppress(FileNotFoundError):  # its last owner may have removed the file since it was opened here
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
    """Lock an open file until it is closed; raise BlockingIOError if it is already locked."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks
            return


def _open_aside(folder: Path) -> tuple[Path, BufferedRandom]:
    """Create a new, locked file in a folder."""
    while True:
        aside = folder / f".shade-{secrets.token_hex(8)}.partial"
        file = aside.open("x+b")
        with suppress(BlockingIOError):
            _lock(file.fileno())
            if os.fstat(file.fileno()).st_nlink:
                return aside, file
        file.close()  # another process removed it as a leftover before it was locked


def _remove_leftovers(folder: Path) -> None:
    """Remove temporary files that no process has locked: the processes that wrote them were killed."""
    for left in folder.glob(".shade-*.partial") if fcntl is not None else ():
        with suppress(OSError):
            handle = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(handle)


def files_in(folder: Path) -> list[Path]:
    """Return the files in a folder and its subfolders, sorted, without hidden ones."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and not is_hidden(file.relative_to(folder)))


def is_hidden(path: PurePath) -> bool:
    """Return whether a file, or a folder above it, is hidden or made by an operating system."""
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)
