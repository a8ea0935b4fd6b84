"""Results: whole under their name, or not there."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shade._base.errors import OutputError, told_as
from shade._base.result_folder import MODEL_NAME
from shade._base.text import as_cell, printable

if TYPE_CHECKING:
    from shade._base.arrays import AnyArray

LABELS_NAME, EMBEDDING_NAME, SUMMARY_NAME = "labels.csv", "embedding.npy", "summary.json"
REPORT_NAME = "report.html"
RESULT_NAMES = (MODEL_NAME, LABELS_NAME, EMBEDDING_NAME, SUMMARY_NAME, REPORT_NAME)


@contextmanager
def new_folder(path: Path, *, overwrite: bool, names: Collection[str] = RESULT_NAMES) -> Iterator[Path]:
    """A folder aside, for files of these names, that takes the name when all went well; else nothing is left of it."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 - a link stays a link
    with writing(path):
        _check_free(path, overwrite=overwrite, names=names)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
        aside.mkdir()
    try:
        yield aside
        with writing(path):
            _take_place(aside, path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def writing(path: Path) -> AbstractContextManager[None]:
    """Report in one line what cannot be written and why."""
    return told_as(OutputError, f"{path} cannot be written", OSError)


def write_table(columns: Mapping[str, AnyArray], path: Path | None) -> None:
    """Write columns to a csv, npy or parquet file, whole or not at all; as csv to standard output without a path."""
    if path is None:
        text = _to_csv(columns).decode()
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
        return
    from shade._base.files import write_whole

    with writing(path):
        write_whole(path, TABLES[path.suffix.lower()](columns))


def check_table_name(path: Path | None) -> None:
    """Refuse names that say no format, before any work is done."""
    if path is not None and path.suffix.lower() not in TABLES:
        raise OutputError(f"{path} cannot be written: its name must end in {', '.join(TABLES)}.")
    if path is not None and not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}.")


def write_json(value: object, path: Path | None = None) -> None:
    """Write readable JSON to a file of a folder aside, or to standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if path is None:
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    else:
        path.write_text(text, encoding="utf-8")


def _check_free(path: Path, *, overwrite: bool, names: Collection[str]) -> None:
    """Refuse a name that is taken; only earlier results are ever replaced."""
    if not path.exists():
        return
    if not path.is_dir():
        raise OutputError(f"{path} exists and is no folder. Choose another name with -o.")
    found = sorted(file.name for file in path.iterdir())
    foreign = [name for name in found if name not in names]
    if foreign:
        raise OutputError(f"The folder {path} holds other files, such as {foreign[0]!r}. Choose another with -o.")
    if found and not overwrite:
        raise OutputError(f"The folder {path} holds results. Choose another with -o, or add --overwrite.")


def _take_place(aside: Path, path: Path) -> None:
    """Rename a finished folder; what was there before is removed only when the new one is in its place."""
    before = aside.with_suffix(".before")
    if path.is_dir():
        path.rename(before)
    try:
        aside.rename(path)
    except BaseException:
        if before.exists():
            before.rename(path)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _to_csv(columns: Mapping[str, AnyArray]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(name, values) for name, values in columns.items()), strict=True))
    return text.getvalue().encode()


def _cells(name: str, values: AnyArray) -> list[Any]:
    """Measurements in the digits that single precision has; ids as they are, but none that is a formula."""
    cells: list[Any] = values.tolist()
    if name == "id":
        return [as_cell(value) if isinstance(value, str) else value for value in cells]
    return [f"{value:.7g}" for value in cells] if values.dtype.kind == "f" else cells


def _to_npy(columns: Mapping[str, AnyArray]) -> bytes:
    """All columns but the ids; one column alone as a vector."""
    import numpy as np

    file = io.BytesIO()
    values = [column for name, column in columns.items() if name != "id"]
    np.save(file, values[0] if len(values) == 1 else np.column_stack(values), allow_pickle=False)
    return file.getvalue()


def _to_parquet(columns: Mapping[str, AnyArray]) -> bytes:
    from shade._base.extras import need

    arrow, parquet = need("pyarrow", "io", "Writing parquet"), need("pyarrow.parquet", "io", "Writing parquet")
    file = io.BytesIO()
    parquet.write_table(arrow.table({name: arrow.array(values) for name, values in columns.items()}), file)
    return file.getvalue()


TABLES = {".csv": _to_csv, ".npy": _to_npy, ".parquet": _to_parquet}
