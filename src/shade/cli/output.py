"""Writing results: complete under their name, or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

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
    """Yield a temporary folder for files with these names. It gets its name if all succeeds, else it is removed.

    The name is locked from the beginning, so that no other process uses it. A link to a folder stays a link.
    """
    from shade._base.files import locked

    with ExitStack() as stack:
        with writing(path):
            path = Path(os.path.realpath(path))
            _check_free(path, overwrite=overwrite, names=names)
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(locked(path))
            except BlockingIOError:
                raise OutputError(
                    f"Another process is making results for {path}. Wait until it ends, or choose another with -o."
                ) from None
            aside, before = (path.with_name(f".{path.name}.{what}") for what in ("partial", "before"))
            _clear_up(aside, before, path)
            _check_free(path, overwrite=overwrite, names=names)  # checked again: no other process can change it now
            aside.mkdir()
        try:
            yield aside
            with writing(path):
                _take_place(aside, before, path)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise


def writing(path: Path) -> AbstractContextManager[None]:
    """Report in one line what cannot be written and why."""
    return told_as(OutputError, f"{path} cannot be written", OSError)


def write_table(columns: Mapping[str, AnyArray], path: Path | None) -> None:
    """Write columns to a csv, npy or parquet file, completely or not at all; without a path, csv to standard output."""
    if path is None:
        text = _to_csv(columns)
        # As bytes, since a terminal may not support all characters.
        typer.echo(printable(text.decode()).encode() if sys.stdout.isatty() else text, nl=False)
        return
    from shade._base.files import write_whole

    with writing(path):
        write_whole(path, TABLES[path.suffix.lower()](columns))


def check_table_name(path: Path | None, data: list[str]) -> None:
    """Raise an error for names without a known format, and for files that must not be replaced, before any work."""
    if path is not None and path.suffix.lower() not in TABLES:
        raise OutputError(f"{path} cannot be written: its name must end in {', '.join(TABLES)}.")
    if path is not None and not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}.")
    if path is not None and path.exists():
        of_a_fit = path.name in RESULT_NAMES and (path.parent / MODEL_NAME).exists()
        if of_a_fit or any(os.path.exists(name) and path.samefile(name) for name in data):  # noqa: PTH110 - names, or "-"
            what = "part of the results of a fit" if of_a_fit else "the data itself"
            raise OutputError(f"{path} is {what}, which would be lost. Choose another name with -o.")


def write_json(value: object, path: Path | None = None) -> None:
    """Write readable JSON to a file in a temporary folder, or to standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if path is None:
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    else:
        path.write_bytes(text.encode(errors="backslashreplace"))  # file names may contain bytes that are no text


def _check_free(path: Path, *, overwrite: bool, names: Collection[str]) -> None:
    """Raise an error if a name is taken. Only earlier results can be replaced."""
    if not path.name or (path.is_dir() and path.samefile(os.curdir)):
        raise OutputError(f"{path} is the folder that you work in, which cannot be replaced. Choose another with -o.")
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


def _clear_up(aside: Path, before: Path, path: Path) -> None:
    """Remove what a killed process left. First, results that it was about to replace get their name back."""
    if before.is_dir() and not path.exists():
        before.rename(path)
    for left in (aside, before):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def _take_place(aside: Path, before: Path, path: Path) -> None:
    """Rename a finished folder. The earlier one is removed only when the new one is in place."""
    try:
        if path.is_dir():
            path.rename(before)
        aside.rename(path)
        shutil.rmtree(before, ignore_errors=True)
    except BaseException:  # a signal may come at any of these steps
        if before.exists() and not path.exists():
            before.rename(path)
        shutil.rmtree(before, ignore_errors=True)
        raise


def _to_csv(columns: Mapping[str, AnyArray]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(as_cell, columns))
    writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    return text.getvalue().encode(errors="backslashreplace")  # file names may contain bytes that are no text


def _cells(values: AnyArray) -> list[Any]:
    """Return measurements with the digits of single precision, and text unchanged unless it is a formula."""
    if values.dtype.kind == "f":
        return [f"{value:.7g}" for value in values.tolist()]
    return [as_cell(value) if isinstance(value, str) else value for value in values.tolist()]


def _to_npy(columns: Mapping[str, AnyArray]) -> bytes:
    """Return all columns except the ids; a single column is a vector."""
    import numpy as np

    file = io.BytesIO()
    values = [column for name, column in columns.items() if name != "id"]
    np.save(file, values[0] if len(values) == 1 else np.column_stack(values), allow_pickle=False)
    return file.getvalue()


def _to_parquet(columns: Mapping[str, AnyArray]) -> bytes:
    from shade._base.extras import need

    arrow, parquet = need("pyarrow", "io", "Writing parquet"), need("pyarrow.parquet", "io", "Writing parquet")
    file = io.BytesIO()
    plain = {name: _readable(values) if values.dtype.kind in "OU" else values for name, values in columns.items()}
    parquet.write_table(arrow.table({name: arrow.array(values) for name, values in plain.items()}), file)
    return file.getvalue()


def _readable(values: AnyArray) -> list[Any]:
    """Replace bytes that are no text, which file names may contain; other values are not changed."""
    return [
        value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
        for value in values.tolist()
    ]


TABLES = {".csv": _to_csv, ".npy": _to_npy, ".parquet": _to_parquet}
