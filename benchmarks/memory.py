"""What `shade fit --memory` takes, measured from outside: python -m benchmarks memory

Each fit runs in a process that has fitted something small before, so that torch is loaded and the kernels are compiled:
the budget is for what comes on top of them. This process resets the peak of that one before the fit, and reads it
afterwards. A fit may be refused, but whatever happens, at most a tenth more than the budget may be taken.

`python -m benchmarks.memory --cgroup FOLDER` fits without `--memory` in a child of a control group (version 1 or 2)
that is limited to the budget: none may be killed. It needs the right to make such a group.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import Table, store

ALLOWED = 1.1
SMALL = ("--epochs", "1", "--n-networks", "2", "--device", "cpu", "--random-state", "0", "--quiet")
CLUSTERS = 5


@dataclass(frozen=True)
class Case:
    """A budget, how the file is written, and options of the fit."""

    megabytes: int
    write: Callable[[Path, tuple[int, ...]], Path]
    shape: tuple[int, ...]
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        kind = self.write.__name__.removeprefix("write_")
        return f"{self.megabytes} MB, {kind} of {' x '.join(map(str, self.shape))} {' '.join(self.options)}".strip()


def rows_of(count: int, columns: int) -> np.ndarray:
    """Rows around a few centres."""
    random = np.random.default_rng(0)
    centres = 4 * random.normal(size=(CLUSTERS, columns)).astype(np.float32)
    rows = random.standard_normal((count, columns), np.float32)
    rows += centres[random.integers(CLUSTERS, size=count)]
    return rows


def write_npy(folder: Path, shape: tuple[int, ...]) -> Path:
    path = folder / "rows.npy"
    np.save(path, rows_of(shape[0], int(np.prod(shape[1:]))).reshape(shape))
    return path


def write_doubles(folder: Path, shape: tuple[int, ...]) -> Path:
    path = folder / "rows.npy"
    np.save(path, rows_of(*shape).astype(np.float64))
    return path


def write_csv(folder: Path, shape: tuple[int, ...]) -> Path:
    path = folder / "rows.csv"
    names = ",".join(f"c{column}" for column in range(shape[1]))
    np.savetxt(path, rows_of(*shape), "%.5g", ",", header=names, comments="")
    return path


def write_csv_gz(folder: Path, shape: tuple[int, ...]) -> Path:
    path = write_csv(folder, shape)
    packed = folder / "rows.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    path.unlink()
    return packed


def write_zeros_gz(folder: Path, shape: tuple[int, ...]) -> Path:
    """Equal lines, which take little space when they are packed."""
    path = folder / "rows.csv.gz"
    with gzip.open(path, "wt", 1) as file:
        file.write(",".join(f"c{column}" for column in range(shape[1])) + "\n")
        line = ",".join(["0"] * shape[1]) + "\n"
        for _ in range(shape[0]):
            file.write(line)
    return path


def write_parquet(folder: Path, shape: tuple[int, ...]) -> Path:
    import pyarrow
    from pyarrow import parquet

    path = folder / "rows.parquet"
    names = [f"c{column}" for column in range(shape[1])]
    parquet.write_table(pyarrow.table(list(rows_of(*shape).T), names=names), path, row_group_size=4000)
    return path


def write_images(folder: Path, shape: tuple[int, ...]) -> Path:
    from PIL import Image

    path = folder / "images"
    path.mkdir()
    pixels = rows_of(shape[0], int(np.prod(shape[1:])))
    pixels = np.clip(128 + 10 * pixels, 0, 255).astype(np.uint8).reshape(shape)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(path / f"{number:05}.png", compress_level=1)
    return path


CONV = ("--network", "conv")
CASES = [
    Case(200, write_npy, (30_000, 1000), ("--network", "64", "--n-jobs", "1")),
    Case(250, write_npy, (600, 1, 64, 64), CONV),
    Case(300, write_npy, (60_000, 2000), ("--network", "64", "--n-jobs", "1")),
    Case(400, write_csv_gz, (20_000, 200)),
    Case(500, write_zeros_gz, (400_000, 200)),
    Case(600, write_parquet, (60_000, 400)),
    Case(750, write_images, (600, 48, 48), (*CONV, "--batch-size", "100")),
    Case(1000, write_doubles, (40_000, 2500)),
    Case(1250, write_images, (600, 64, 64), (*CONV, "--batch-size", "100")),
    Case(1500, write_csv, (15_000, 300)),
    Case(1750, write_npy, (600, 1, 64, 64), (*CONV, "--batch-size", "150")),
    Case(2000, write_parquet, (60_000, 800), ("--tree", "batch")),
]
GROUPS = [
    Case(1200, write_zeros_gz, (400_000, 200)),
    Case(1200, write_npy, (60_000, 2500)),
    Case(1200, write_images, (600, 64, 64), CONV),
    Case(1200, write_npy, (600, 1, 48, 48), (*CONV, "--batch-size", "100")),
    Case(1200, write_parquet, (60_000, 1500)),
    Case(1200, write_npy, (20_000, 1000), ("--tree", "batch")),
]


def shade(*arguments: object) -> int:
    """Run a command in this process."""
    from shade.cli import main

    sys.argv = ["shade", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def serve(data: str, folder: str, *options: str) -> None:
    """In a process of its own: fit something small of the same kind, wait, and fit the data."""
    place = Path(folder)
    small = place / "small"
    small.mkdir()
    kind = {".npy": write_npy, ".parquet": write_parquet, "": write_images}.get(Path(data).suffix, write_csv)
    shape = (1, 16, 16) if kind is write_npy and "conv" in options else (16, 16) if kind is write_images else (20,)
    rows = kind(small, (300, *shape))
    others = [
        option for place, option in enumerate(options) if "--memory" not in options[max(0, place - 1) : place + 1]
    ]
    for extra in (("--tree", "complete"), ("--tree", "batch", "--memory", "1GB")):  # they need different kernels
        if shade("fit", rows, "-o", small / "out", *SMALL, *others, *extra, "--overwrite"):
            raise SystemExit("The small fit failed.")
    say("ready")
    sys.stdin.readline()
    say(f"ended {shade('fit', data, '-o', place / 'out', *SMALL, *options)}")
    sys.stdin.readline()


def say(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


def memory_of(process: int, name: str) -> int:
    return int(Path(f"/proc/{process}/status").read_text().split(f"{name}:")[1].split()[0]) * 1024


def wait_for(process: subprocess.Popen[str], word: str) -> str:
    """The rest of the line that a process writes."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(word):
            return line.removeprefix(word).strip()
    return f"killed, {process.wait()}"


def fit(case: Case, options: tuple[str, ...], join: Callable[[int], None] = lambda _: None) -> dict[str, float | str]:
    """Fit a case in another process, which first joins a control group."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = case.write(folder, case.shape)
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory", "--serve", str(data), name, *options]
        log = (folder / "log").open("w+")
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdin is not None
        wait_for(process, "ready")
        join(process.pid)
        base = memory_of(process.pid, "VmRSS")
        Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # the peak counts from here
        started = time.perf_counter()
        process.stdin.write("go\n")
        process.stdin.flush()
        code = wait_for(process, "ended")
        seconds = time.perf_counter() - started
        taken = memory_of(process.pid, "VmHWM") - base if process.poll() is None else 0
        process.communicate("end\n")
        log.seek(0)
        told = log.read().strip().splitlines()
    return {
        "megabytes": taken / 1e6,
        "base_megabytes": base / 1e6,
        "seconds": seconds,
        "code": code,
        "told": told[-1] if told else "",
    }


def show(case: Case, figures: dict[str, float | str]) -> bool:
    """Print what was measured, and return whether it is as it should be."""
    print(f"{case.name}\n    took {figures['megabytes']:.0f} MB in {figures['seconds']:.0f} s, exit {figures['code']}")
    print(f"    {figures['told']}", flush=True)
    refused = figures["code"] == "1" and "takes about" in str(figures["told"])
    return (figures["code"] == "0" or refused) and float(figures["megabytes"]) <= ALLOWED * case.megabytes


def measure(cases: list[Case]) -> Table:
    """Fit with budgets. Ends with an error if one is exceeded."""
    found = {case: fit(case, (*case.options, "--memory", f"{case.megabytes}MB")) for case in cases}
    wrong = [case.name for case, figures in found.items() if not show(case, figures)]
    if wrong:
        raise SystemExit("More than the budget, or no answer:\n" + "\n".join(wrong))
    rows = {case.name: figures for case, figures in found.items()}
    return {"title": "memory that fits take beyond interpreter and torch, by budget", "rows": rows}


def run() -> None:
    store("memory", [measure(CASES)])


def run_in_groups(parent: Path) -> None:
    """Fit in control groups, without telling the budget."""
    group = parent / f"shade-{os.getpid()}"
    limit = "memory.max" if (parent / "memory.max").exists() else "memory.limit_in_bytes"

    def join(process: int) -> None:
        (group / "cgroup.procs").write_text(str(process))

    wrong = []
    for case in GROUPS:
        group.mkdir()
        try:
            (group / limit).write_text(str(case.megabytes * 10**6))
            if not show(case, fit(case, case.options, join)):
                wrong.append(case.name)
        finally:
            group.rmdir()
    if wrong:
        raise SystemExit("More than the budget, or killed:\n" + "\n".join(wrong))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        sys.exit()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--cgroup", type=Path, help="a control group, in which a child is made for each fit")
    parser.add_argument("--cases", default="", help="only those with this in their name")
    arguments = parser.parse_args()
    if arguments.cgroup is not None:
        run_in_groups(arguments.cgroup)
    else:
        measure([case for case in CASES if arguments.cases in case.name])
