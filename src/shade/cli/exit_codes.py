"""Exit codes of the command line, and the errors that cause them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, NoReturn, TypeVar

import typer

from shade._base.errors import CheckpointError, DataError, DeviceError, ModelFileError, OutputError, ShadeError
from shade._base.text import printable

DONE, FAILED, USAGE, DATA, MODEL, OUTPUT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

MEANINGS = {
    DONE: "done",
    FAILED: "failed in another way",
    USAGE: "wrong options",
    DATA: "data cannot be read or used",
    MODEL: "model file cannot be read",
    OUTPUT: "results cannot be written",
    INTERRUPTED: "interrupted",
}
EPILOG = "Exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items()) + "."

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO)

Command = TypeVar("Command", bound=Callable[..., Any])


class UsageError(ShadeError, ValueError):
    """Options that exclude each other, or values that are not allowed."""


CODES: dict[type[ShadeError], int] = {
    UsageError: USAGE, DeviceError: USAGE, DataError: DATA, ModelFileError: MODEL, OutputError: OUTPUT,
    CheckpointError: OUTPUT,
}  # fmt: skip


def guarded(command: Command) -> Command:
    """Turn errors that users can fix into one line and an exit code. Other errors keep their traceback."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            result = command(*arguments, **options)
            sys.stdout.flush()  # errors of writing are raised here, not at the end of the process
            return result
        except KeyboardInterrupt:
            _stop(INTERRUPTED, "interrupted")
        except ShadeError as error:
            _stop(next((code for kind, code in CODES.items() if isinstance(error, kind)), FAILED), error)
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            if error.filename is None:
                _drop_output()
            _stop(OUTPUT, f"{error.filename or 'the answer'} cannot be written: {error.strerror}.")
        except MemoryError as error:
            _stop(FAILED, f"not enough memory: {error or 'try a smaller --batch-size, or fewer rows'}")
        except ImportError as error:
            if "pip install" not in str(error):
                raise
            _stop(FAILED, error)

    return run  # type: ignore[return-value]


def _drop_output() -> None:
    """Discard unwritten standard output, which would otherwise be written again at the end of the process."""
    with suppress(OSError):  # standard output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(code: int, message: object) -> NoReturn:
    text = printable(" ".join(str(message).split()))
    sys.stderr.write(f"shade: {text}\n")
    raise typer.Exit(code)
