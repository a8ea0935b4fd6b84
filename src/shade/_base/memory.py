"""Amounts of memory: parsing, formatting, and how much is available."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from shade._base.errors import MemoryBudgetError

PREFIXES = "KMGT"


def parse_memory(memory: object, owner: str) -> int:
    """Convert "1.5GB", "800 MiB" or a number of bytes into bytes."""
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    text = memory if isinstance(memory, str) else ""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B\s*", text.upper())
    if match is not None:
        base, power = 1024 if match[3] else 1000, PREFIXES.find(match[2]) + 1 if match[2] else 0
        return int(float(match[1]) * base**power)
    raise ValueError(
        f"The 'memory' parameter of {owner} must be a number of bytes, or a text such as '800MB' or '4GiB'. Got "
        f"{memory!r} instead."
    )


def format_memory(size: float) -> str:
    """Return a number of bytes as text with a suitable unit."""
    unit, factor = next(
        ((unit, factor) for unit, factor in (("GB", 1e9), ("MB", 1e6)) if size > 0.9995 * factor), ("kB", 1e3)
    )
    return f"{size / factor:.3g} {unit}"


def check_room(needed: float, memory: int | None, what: str, remedy: str) -> None:
    """Raise an error before work that needs more than `memory` bytes; if `memory` is None, more than is free."""
    room = available_memory() if memory is None else memory
    if room is not None and needed > room:
        limit = f"and {format_memory(room)} are free" if memory is None else f"more than memory='{short_memory(room)}'"
        raise MemoryBudgetError(f"{what} takes about {format_memory(needed)}, {limit}. {remedy}")


def short_memory(size: float) -> str:
    """Return a number of bytes as a value for the 'memory' parameter."""
    return format_memory(size).replace(" ", "")


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may still use, by the system and by its control groups; None if unknown."""
    lines = _read(root / "proc/meminfo").splitlines()
    limits = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "memory") or "memory" in controllers.split(","):
            limits += _room_of_groups(root / "sys/fs/cgroup", controllers != "", PurePosixPath(group))
    return min(limits, default=None)


def _room_of_groups(mount: Path, first_version: bool, group: PurePosixPath) -> Iterator[int]:
    """Yield the free memory of a control group and of those above it, with file caches, which are released on demand.

    In a container, its own group is mounted as the outermost one, and the path may be that of the host.
    """
    names = ("memory.max", "memory.current", "inactive_file")
    mounts = (mount, mount / "unified")
    if first_version:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        mounts = (mount / "memory", mount)
    for folder in (base / part.relative_to("/") for base in mounts for part in (group, *group.parents)):
        most, taken = _read(folder / names[0]).strip(), _read(folder / names[1]).strip()
        if most.isdigit() and taken.isdigit():
            cached = re.search(rf"^{names[2]} (\d+)$", _read(folder / "memory.stat"), re.MULTILINE)
            yield max(0, int(most) - int(taken) + (int(cached[1]) if cached else 0))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
