"""Files that several processes write, that are links, or that a killed process left behind."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shade._base.files import locked, new_array_file, write_whole, written_aside
from tests.unmeasured import unmeasured

needs_locks = pytest.mark.skipif(os.name != "posix", reason="needs locks on files")


def test_many_who_write_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model.shade"
    contents = [bytes([number]) * (1 + 50_000 * (number % 3)) for number in range(120)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda data: write_whole(path, data), contents))
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_processes_that_write_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "model.shade"
    program = (
        "import sys; from pathlib import Path; from shade._base.files import write_whole\n"
        "for _ in range(60): write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 40_000)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, path, letter], env=unmeasured(), stderr=subprocess.PIPE)
        for letter in "abc"
    ]
    for writer in writers:
        assert writer.communicate()[1] == b""
    assert path.read_bytes() in [letter * 40_000 for letter in (b"a", b"b", b"c")]
    assert list(tmp_path.iterdir()) == [path]


def test_the_name_aside_is_new_and_opened_by_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_bytes(b"treasure")
    tokens = iter(["00", "11"])
    monkeypatch.setattr("shade._base.files.secrets.token_hex", lambda size: next(tokens))
    (tmp_path / ".shade-00.partial").symlink_to(treasure)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "file", b"new")
    for planted in (".file.partial", f".file.{os.getpid()}.partial"):
        (tmp_path / planted).symlink_to(treasure)
    write_whole(tmp_path / "file", b"new")
    assert (treasure.read_bytes(), (tmp_path / "file").read_bytes()) == (b"treasure", b"new")


def test_a_link_at_the_final_name_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere" / "file")
    for data in (b"one", b"two"):
        write_whole(link, data)
        assert link.is_symlink()
        assert (tmp_path / "elsewhere" / "file").read_bytes() == data
    assert [file.name for file in (tmp_path / "elsewhere").iterdir()] == ["file"]


def test_a_device_or_a_folder_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(os.devnull)
    for name in ("fifo", "folder", "link"):
        with pytest.raises(FileExistsError, match="a folder or a device has this name"):
            write_whole(tmp_path / name, b"")
    assert Path(os.devnull).is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "folder", "link"]


def test_a_failure_leaves_the_file_before_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    for error in (OSError, KeyboardInterrupt):
        with pytest.raises(error), written_aside(path) as file:
            file.write(b"part")
            raise error
        with pytest.raises(error), new_array_file(path, (3, 2)):
            raise error
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@needs_locks
def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from shade._base.files import locked, written_aside\n"
        "with locked(Path(sys.argv[1])), written_aside(Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "file"], env=unmeasured(), check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with written_aside(tmp_path / "slow") as file:
        file.write(b"slow")
        with locked(tmp_path / "file"):
            write_whole(tmp_path / "file", b"new")
        assert len(list(tmp_path.iterdir())) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "slow"]


@needs_locks
def test_one_at_a_time_holds_a_name(tmp_path: Path) -> None:
    path, inside, refused = tmp_path / "out", [], []

    def take() -> None:
        for _ in range(200):
            try:
                with locked(path):
                    inside.append(1)
                    assert len(inside) == 1
                    inside.pop()
            except BlockingIOError:
                refused.append(1)

    threads = [threading.Thread(target=take) for _ in range(4)]
    with locked(path), pytest.raises(BlockingIOError), locked(path):
        pass
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not inside
    assert list(tmp_path.iterdir()) == []


@needs_locks
def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / ".out.lock").symlink_to(tmp_path / "treasure")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "out"):
        pass
    assert not (tmp_path / "treasure").exists()
