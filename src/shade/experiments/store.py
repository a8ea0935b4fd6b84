"""Finished runs in one SQLite file, one row per run, written when it ends."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from shade._base.arrays import IntArray


@dataclass(frozen=True)
class Run:
    """One run of one method on one dataset with one seed.

    Attributes
    ----------
    table, dataset, method, parameters, key, seed
        What was run. `key` is a hash of `parameters`, which are JSON. All of these except `parameters` identify a run.
    failure : str
        Empty, or the error.
    seconds, peak_megabytes, device_megabytes : float
        Time of the method itself, and its peak memory on the host and on the device.
    device, versions, finished : str
        The device, the versions of packages, and the time of the end.
    code : str or None
        For methods of shade, the fingerprint of the code that determines labels; None if it was not recorded.
    ari … noise_precision
        See :class:`shade.metrics.Agreement`. For names that end in "_1nn", noise is assigned to the nearest cluster.
    ari_links, nmi_links : float
        The same with noise assigned to clusters over links, if the method does so.
    dcsi, disco : float
        Separability of the true clusters in the embedding, as measured in the paper, and DISCO of the found clustering,
        which needs no truth.
    labels, assigned : bytes
        Labels for `unpack_labels`. In `assigned`, noise is assigned to clusters in the way of the method.
    """

    table: str
    dataset: str
    method: str
    parameters: str
    key: str
    seed: int
    failure: str = ""
    seconds: float | None = None
    peak_megabytes: float | None = None
    device_megabytes: float | None = None
    device: str = ""
    versions: str = ""
    finished: str = ""
    code: str | None = None
    ari: float | None = None
    nmi: float | None = None
    ari_1nn: float | None = None
    nmi_1nn: float | None = None
    ari_links: float | None = None
    nmi_links: float | None = None
    n_clusters: int | None = None
    noise_share: float | None = None
    noise_recall: float | None = None
    noise_precision: float | None = None
    dcsi: float | None = None
    disco: float | None = None
    labels: bytes | None = None
    assigned: bytes | None = None

    @property
    def identity(self) -> tuple[str, str, str, str, int]:
        """The key of the row: unique for each run."""
        return self.table, self.dataset, self.method, self.key, self.seed

    @property
    def ari_assigned(self) -> float | None:
        """ARI with noise assigned to clusters in the way of the method."""
        return self.ari_1nn if self.ari_links is None else self.ari_links


_KIND = {"str": "TEXT", "int": "INTEGER", "float": "REAL", "bytes": "BLOB"}
_COLUMNS = {field.name: f'"{field.name}" {_KIND[str(field.type).removesuffix(" | None")]}' for field in fields(Run)}
_SCHEMA = f"""CREATE TABLE IF NOT EXISTS runs (
  {", ".join(_COLUMNS.values())},
  PRIMARY KEY ("table", dataset, method, key, seed)
)"""


class RunStore:
    """Runs in a file. Each call opens and closes the file, so nothing is locked or lost between calls."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=60.0)
        connection.execute(_SCHEMA)
        return connection

    def add(self, run: Run) -> None:
        """Write a run in place of an earlier one with the same identity. It is on the disk when this returns."""
        values = [getattr(run, name) for name in _COLUMNS]  # SQLite stores NaN as missing
        marks = ", ".join("?" * len(values))
        with closing(self._connect()) as connection, connection:
            for name in _COLUMNS.keys() - set(_columns_in(connection)):
                connection.execute(f"ALTER TABLE runs ADD COLUMN {_COLUMNS[name]}")
            connection.execute(f"INSERT OR REPLACE INTO runs ({_quote(_COLUMNS)}) VALUES ({marks})", values)

    def runs(self, table: str | None = None, dataset: str | None = None, method: str | None = None) -> list[Run]:
        """Return all runs, or those of a table, a dataset, a method."""
        if not self.path.exists():
            return []
        wanted = {"table": table, "dataset": dataset, "method": method}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f'"{name}" = ?' for name in given) or "1"
        order = '"table", dataset, method, key, seed'
        with closing(self._connect()) as connection:
            names = [name for name in _columns_in(connection) if name in _COLUMNS]
            query = f"SELECT {_quote(names)} FROM runs WHERE {where} ORDER BY {order}"
            rows = connection.execute(query, list(given.values()))
            return [_read_run(dict(zip(names, row, strict=True))) for row in rows]

    def merge(self, others: Iterable[RunStore]) -> int:
        """Add the runs of other files, for example from other machines; return their number."""
        runs = [run for other in others for run in other.runs()]
        for run in runs:
            self.add(run)
        return len(runs)


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _columns_in(connection: sqlite3.Connection) -> list[str]:
    """Return the columns of a file. A file of an earlier version has fewer."""
    return [row[1] for row in connection.execute("PRAGMA table_info(runs)")]


def _read_run(row: dict[str, Any]) -> Run:
    """Build a run from its row. Early runs of "default" have results over links under the names of the nearest."""
    run = Run(**row)
    if run.method == "default" and run.ari_links is None:
        return replace(run, ari_links=run.ari_1nn, nmi_links=run.nmi_1nn, ari_1nn=None, nmi_1nn=None)
    return run


def pack_labels(labels: IntArray) -> bytes:
    """Return labels as compressed 32-bit numbers."""
    return zlib.compress(np.asarray(labels).astype("<i4").tobytes())


def unpack_labels(packed: bytes) -> IntArray:
    """Return the labels from their compressed form."""
    return np.frombuffer(zlib.decompress(packed), "<i4").astype(np.int64)
