"""Amounts of memory: as people write them, and as much as there is."""

from __future__ import annotations

import re
from pathlib import Path

from shade._base.errors import MemoryBudgetError

PREFIXES = "KMGT"


def parse_memory(memory: object, owner: str) -> int:
    """Turn "1.5GB", "800 MiB" or a number of bytes into bytes."""
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
    """Bytes in the unit that people would use."""
    unit, factor = next(
        ((unit, factor) for unit, factor in (("GB", 1e9), ("MB", 1e6)) if size > 0.9995 * factor), ("kB", 1e3)
    )
    return f"{size / factor:.3g} {unit}"


def check_room(needed: float, memory: int | None, what: str, remedy: str) -> None:
    """Refuse work before it starts that takes more than `memory`, or than is free if it is None."""
    room = available_memory() if memory is None else memory
    if room is not None and needed > room:
        limit = f"and {format_memory(room)} are free" if memory is None else f"more than memory='{short_memory(room)}'"
        raise MemoryBudgetError(f"{what} takes about {format_memory(needed)}, {limit}. {remedy}")


def short_memory(size: float) -> str:
    """Bytes as they are given."""
    return format_memory(size).replace(" ", "")


def available_memory() -> int | None:
    """Bytes that this process may still take, by the system and by its control group; None if not known."""
    lines = _read("/proc/meminfo").splitlines()
    limits = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        most, taken = _read(limit).strip(), _read(used).strip()
        if most.isdigit() and taken.isdigit():
            limits.append(max(0, int(most) - int(taken)))
    return min(limits, default=None)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
