"""What the command line answers with, and the errors that lead there."""

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
    """Options that do not go together, or values that are not allowed."""


CODES: dict[type[ShadeError], int] = {
    UsageError: USAGE, DeviceError: USAGE, DataError: DATA, ModelFileError: MODEL, OutputError: OUTPUT,
    CheckpointError: OUTPUT,
}  # fmt: skip


def guarded(command: Command) -> Command:
    """Turn the errors that users can do something about into one line and an exit code; others keep their trace."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            result = command(*arguments, **options)
            sys.stdout.flush()  # what has no room is told now, not as the process ends
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
    """Let what standard output could not take go nowhere, or it would be tried again as the process ends."""
    with suppress(OSError):  # where standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(code: int, message: object) -> NoReturn:
    text = printable(" ".join(str(message).split()))
    sys.stderr.write(f"shade: {text}\n")
    raise typer.Exit(code)
