"""Small changes of the code, one at a time, and whether the tests notice: python -m tests.code_changes 200 -o FILE

Draws comparisons, operators and numbers at random from the code of five rooms (the same ones for the same seed) and
changes each in a copy of the source tree. For each change, the tests of its room are run, then those of the
estimators. What was found is added to FILE, and the same command goes on where an earlier one stopped. What no test
noticed is printed at the end; `tests/survivors.txt` holds the reasons where no test can.
"""

import argparse
import ast
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # processes that are forked have none of the threads that OpenMP counts on

import numba  # noqa: E402, F401 - these are loaded once, for all processes that are forked
import pytest  # noqa: E402
import sklearn.datasets  # noqa: E402, F401
import torch  # noqa: E402, F401

ROOT = Path(__file__).parents[1]
ROOMS = ("clustering", "data", "density", "metrics", "training")
REASONS = ROOT / "tests" / "survivors.txt"
MOST_BYTES = 8 * 10**9  # of a run of the tests
SLOW = ("test_ranks.py", "test_hosts.py", "test_mutations.py")  # processes of their own
MOST_SECONDS = 600  # for the tests of a room; what takes longer hangs, which is noticed
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
OPERATORS = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A change of one expression. Its name does not depend on the lines above it."""

    file: str
    function: str
    start: int  # offsets into the bytes of the file
    stop: int
    before: str
    after: str
    number: int  # of those in the function that read alike

    @property
    def room(self) -> str:
        return Path(self.file).parts[2]

    @property
    def name(self) -> str:
        which = f" (number {self.number})" if self.number > 1 else ""
        return f"{self.file} {self.function}: {self.before} -> {self.after}{which}"

    def apply(self, text: bytes) -> bytes:
        return text[: self.start] + self.after.encode() + text[self.stop :]


def changes_of(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions that could stand in place of one."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                ops = [other() if number == place else kept for number, kept in enumerate(node.ops)]
                yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp):
        for other in OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(OPERATORS[type(node.op)][0](), node.values)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
        yield ast.Constant(node.value / 2 if isinstance(node.value, float) and node.value else node.value - 1)


def visit(node: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Expressions that are computed, with the function that they are in: no annotations, no text of messages."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        inside = f"{inside}.{node.name}".lstrip(".")
    elif isinstance(node, ast.expr):
        yield inside, node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from visit(child, inside)


def all_changes(file: Path) -> Iterator[Change]:
    """All changes of a file."""
    text = file.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    alike: Counter[tuple[str, str, str]] = Counter()
    for function, node in visit(ast.parse(text)):
        for other in changes_of(node):
            start, stop = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            # In parentheses, since what takes the place may bind less than what stood there.
            before, after = ast.unparse(node), f"({ast.unparse(other)})"
            alike[function, before, after] += 1
            number = alike[function, before, after]
            yield Change(str(file.relative_to(ROOT)), function or "module", start, stop, before, after, number)


def draw(count: int, seed: int) -> list[Change]:
    """Draw by a hash of the names: an edit of the code replaces few of them."""
    files = sorted(path for room in ROOMS for path in (ROOT / "src" / "shade" / room).glob("*.py"))
    changes = (change for file in files for change in all_changes(file))
    return sorted(changes, key=lambda change: hashlib.sha256(f"{seed} {change.name}".encode()).digest())[:count]


def run_tests(tree: Path, paths: list[str]) -> str:
    """Run tests until one fails, in a process of its own, and tell which failed: nothing if all pass."""
    log = tree / "pytest.log"
    child = os.fork()
    if child == 0:
        _be_pytest(tree, log, paths)
    ends = time.monotonic() + MOST_SECONDS
    while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < ends:
        time.sleep(0.2)
    with suppress(ProcessLookupError):  # what the tests started as well
        os.killpg(child, signal.SIGKILL)
    if done == (0, 0):
        os.waitpid(child, 0)
        return "took too long"
    if done[1] == 0:
        return ""
    told = [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return told[0].split(" - ")[0] if told else f"ended with {os.waitstatus_to_exitcode(done[1])}"


def _be_pytest(tree: Path, log: Path, paths: list[str]) -> NoReturn:
    os.setsid()
    os.chdir(tree)
    handle = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(handle, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    sys.path[:] = [str(tree / "src"), str(tree), *(path for path in sys.path if Path(path).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "shade")]:
        del sys.modules[name]
    os.environ.update(PYTHONPATH=str(tree / "src"), NUMBA_CACHE_DIR=str(tree / ".numba_cache"))
    code = 70
    try:
        code = int(pytest.main(["-x", "-q", "-n", "0", "--tb=no", "-p", "no:cacheprovider", *paths]))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def tests_of(change: Change, stage: str) -> list[str]:
    """The tests to run, those that are about the file first."""
    if stage == "estimators":
        return ["tests/estimators", *(f"--ignore=tests/estimators/{name}" for name in SLOW)]
    own = f"tests/{change.room}/test_{Path(change.file).name}"
    return [*([own] if (ROOT / own).exists() else []), f"tests/{change.room}", change.file]


def judge(tree: Path, change: Change, stages: list[str]) -> dict[str, str]:
    """Make a change in the copy, and return what each stage of tests told, up to the first that noticed it."""
    file = tree / change.file
    whole = file.read_bytes()
    told = {}
    try:
        file.write_bytes(change.apply(whole))
        for stage in stages:
            told[stage] = run_tests(tree, tests_of(change, stage))
            if told[stage]:
                break
    finally:
        file.write_bytes(whole)
    return told


def copy_tree(folder: Path) -> Path:
    """A copy that passes its tests, so that a failure is due to a change; its kernels are compiled."""
    for name in ("src", "tests", "benchmarks", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for name in ("pyproject.toml", "README.md", "SECURITY.md", "CHANGELOG.md", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    failed = run_tests(folder, [f"tests/{room}" for room in ROOMS])
    if failed:
        log = (folder / "pytest.log").read_text(errors="replace")
        raise SystemExit(f"The tests fail without a change: {failed}\n{log[-2000:]}")
    return folder


def read_reasons() -> dict[str, str]:
    """Why some changes are not noticed, by their names."""
    blocks = REASONS.read_text().split("\n\n") if REASONS.exists() else []
    pairs = (block.strip().split("\n", 1) for block in blocks if " -> " in block)
    return dict(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.code_changes", description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("-o", "--output", type=Path, required=True, help="what was found, a line of JSON a change")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms-only", action="store_true", help="leave the tests of the estimators for later")
    parser.add_argument("--again", action="store_true", help="try what was not noticed anew, after tests were added")
    arguments = parser.parse_args()
    stages = ["room"] if arguments.rooms_only else ["room", "estimators"]
    lines = arguments.output.read_text().splitlines() if arguments.output.exists() else []
    found: dict[str, dict[str, str]] = {(record := json.loads(line))["name"]: record["told"] for line in lines}
    changes = draw(arguments.count, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        tree = None
        for number, change in enumerate(changes):
            told = found.get(change.name, {})
            if arguments.again and not any(told.values()):
                told = {}
            left = [] if any(told.values()) else [stage for stage in stages if stage not in told]
            if left:
                tree = tree or copy_tree(Path(folder))
                told = found[change.name] = {**told, **judge(tree, change, left)}
                with arguments.output.open("a") as file:
                    file.write(json.dumps({"name": change.name, "told": told}) + "\n")
                say(f"{number:4} {change.name}\n     {next(filter(None, told.values()), 'NOT NOTICED')}")
    report([change.name for change in changes], found)


def report(names: list[str], found: dict[str, dict[str, str]]) -> None:
    """Tell the share that was noticed, and what was not."""
    reasons = read_reasons()
    missed = [name for name in names if not any(found[name].values())]
    say(f"{len(names) - len(missed)} of {len(names)} changes were noticed. Not noticed:")
    for name in missed:
        say(f"{name}\n     {reasons.get(name, 'NO REASON YET')}")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
