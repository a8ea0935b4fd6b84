"""`shade fit` in processes of its own: with odd standard streams, names and folders, and under random signals.

Run by test_processes with a folder and a number of signals, and by hand with more. Every command runs in a process that
is forked after the imports, which take longer than the fits.
"""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import make_blobs

from shade.cli import main
from shade.cli.output import RESULT_NAMES

QUICK = (
    "--epochs", "3", "--network", "16", "--embedding-size", "2", "--selection", "branches", "--n-networks", "2",
    "--random-state", "0", "--device", "cpu", "--batch-size", "50", "--checkpoint-minutes", "0",
)  # fmt: skip
STREAMS = ("stdin", "stdout", "stderr")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def nothing() -> None:
    pass


def start(arguments: list[object], prepare: Callable[[], None] = nothing) -> int:
    """Start a command; `prepare` changes its process before."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 0
    try:
        for number in SIGNALS[:3]:  # a shell ignores them in the background
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        sys.argv = ["shade", *map(str, arguments)]
        prepare()
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    except KeyboardInterrupt:  # before the command began, or after it ended
        code = 130
    except BaseException:
        traceback.print_exc()
        code = 99
    finally:
        os._exit(code)


def finish(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def replace_stream(stream: int, handle: int, encoding: str | None = None) -> None:
    """Make a standard stream as Python would, had the process begun with it."""
    os.dup2(handle, stream)
    setattr(sys, STREAMS[stream], open(stream, "r" if stream == 0 else "w", encoding=encoding, closefd=False))  # noqa: SIM115


def to_full(stream: int) -> Callable[[], None]:
    return lambda: replace_stream(stream, os.open("/dev/full", os.O_WRONLY))


def to_nobody(stream: int) -> Callable[[], None]:
    """A pipe that is no longer read, as after `| head`."""

    def prepare() -> None:
        read, write = os.pipe()
        os.close(read)
        replace_stream(stream, write)

    return prepare


def closed(*streams: int) -> Callable[[], None]:
    def prepare() -> None:
        for stream in streams:
            setattr(sys, STREAMS[stream], None)
            os.close(stream)

    return prepare


def ascii_letters() -> None:
    for stream in (1, 2):
        replace_stream(stream, os.dup(stream), "ascii")


def deleted_folder() -> None:
    folder = Path("deleted").resolve()
    folder.mkdir()
    os.chdir(folder)
    folder.rmdir()


def both(*prepare: Callable[[], None]) -> Callable[[], None]:
    return lambda: [one() for one in prepare] and None


def check_whole(folder: Path) -> None:
    assert sorted(file.name for file in folder.iterdir()) == sorted(RESULT_NAMES), sorted(folder.iterdir())
    assert len(np.load(folder / "embedding.npy")) == len((folder / "labels.csv").read_text().splitlines()) - 1
    json.loads((folder / "summary.json").read_text())


def odd_streams(folder: Path) -> None:
    data = folder / "rows.csv"
    everything = {
        "stdout and stderr are full": (both(to_full(1), to_full(2)), 5),
        "stdout is not read": (to_nobody(1), 1),
        "stderr is not read, stdin is closed": (both(to_nobody(2), closed(0)), 0),
        "all are closed": (closed(0, 1, 2), 0),
        "letters are ASCII, the folder is deleted": (both(ascii_letters, deleted_folder), 0),
    }
    for what, (prepare, expected) in everything.items():
        output = folder / "out — Größe"
        code = finish(start(["fit", data, "-o", output, *QUICK], prepare))
        assert code == expected, f"{what}: exit code {code}"
        check_whole(output)
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["out — Größe", "rows.csv"], f"{what}: {names}"
        for file in output.iterdir():
            file.unlink()
        output.rmdir()
    assert finish(start(["fit", data, "-o", "out", *QUICK], deleted_folder)) == 5
    os.chdir(folder)
    assert finish(start(["fit", data, "-o", ".", *QUICK])) == 5
    assert sorted(path.name for path in folder.iterdir()) == ["rows.csv"]


def odd_names(folder: Path) -> None:
    from PIL import Image

    odd = os.fsdecode(b"\xff\xfe")
    output = folder / f"out{odd}"
    table = folder / f"rows{odd}.npy"
    np.save(table, np.loadtxt(folder / "rows.csv", delimiter=",", skiprows=1))
    images = folder / f"images{odd}"
    images.mkdir()
    pixels = np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(images / f"{number}{odd}.png")
    for data in (table, images):
        assert finish(start(["fit", data, "-o", output, *QUICK, "--overwrite"])) == 0
        check_whole(output)
    assert finish(start(["predict", output, images, "-o", folder / "labels.parquet"])) == 0
    assert (folder / "labels.parquet").stat().st_size > 0


def random_signals(folder: Path, number: int) -> None:
    """Whatever ends a fit: the folder is whole, nothing else is left, and the same command with --resume ends it."""
    data, output = folder / "rows.csv", folder / "out"
    command = ["fit", data, "-o", output, "--overwrite", "--resume", *QUICK]
    started = time.perf_counter()
    assert finish(start(command)) == 0
    duration = time.perf_counter() - started
    read = lambda: {name: (output / name).read_bytes() for name in ("labels.csv", "embedding.npy")}  # noqa: E731
    expected = read()
    random = np.random.default_rng(number)
    codes = []
    for case in range(number):
        sent = SIGNALS[int(random.integers(len(SIGNALS)))]
        child = start(command)
        time.sleep(random.uniform(0.0, 1.2 * duration))
        os.kill(child, sent)
        codes.append(finish(child))
        assert codes[-1] in (0, 130, -sent), f"signal {case}, {sent!r}: exit code {codes[-1]}"
        names = {path.name for path in folder.iterdir()}
        assert names <= {"rows.csv", "out", "out.checkpoint"} or sent == signal.SIGKILL, f"signal {case}: {names}"
        if output.exists():
            check_whole(output)
            assert read() == expected, f"signal {case}, {sent!r}: other results"
        assert finish(start(command)) == 0
        assert read() == expected, f"signal {case}, {sent!r}: a resumed fit gives other results"
        check_whole(output)
        names = {path.name for path in folder.iterdir()}
        assert names == {"rows.csv", "out"}, f"signal {case}, {sent!r}: {names}"
    counts = {code: codes.count(code) for code in sorted(set(codes))}
    sys.stdout.write(f"{number} signals, exit codes {counts}\n")


if __name__ == "__main__":
    where = Path(sys.argv[1])
    torch.set_num_threads(1)  # a process that is forked has none of the threads that OpenMP counts on
    X, _ = make_blobs(300, 5, centers=3, center_box=(-12, 12), random_state=0)
    np.savetxt(where / "rows.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    from tests.cli.commands import run

    warm = run("fit", where / "rows.csv", "-o", where / "warm", *QUICK, "--n-jobs", "1")  # imports and compiles
    assert warm.exit_code == 0, warm.output
    for file in (where / "warm").iterdir():
        file.unlink()
    (where / "warm").rmdir()
    random_signals(where, int(sys.argv[2]))
    for file in (where / "out").iterdir():
        file.unlink()
    (where / "out").rmdir()
    odd_streams(where)
    odd_names(where)
