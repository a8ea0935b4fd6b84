"""What the command line answers with, and the errors that lead there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

import typer

from shade._errors import CheckpointError, DataError, DeviceError, ModelFileError, OutputError, ShadeError

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

Command = TypeVar("Command", bound=Callable[..., Any])


class UsageError(ShadeError, ValueError):
    """Options that do not go together, or values that are not allowed."""


def guarded(command: Command) -> Command:
    """Turn the errors that users can do something about into one line and an exit code; others keep their trace."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            _stop(INTERRUPTED, "interrupted")
        except (UsageError, DeviceError) as error:
            _stop(USAGE, error)
        except DataError as error:
            _stop(DATA, error)
        except ModelFileError as error:
            _stop(MODEL, error)
        except (OutputError, CheckpointError) as error:
            _stop(OUTPUT, error)
        except ShadeError as error:
            _stop(FAILED, error)
        except MemoryError as error:
            _stop(FAILED, f"not enough memory: {error or 'try a smaller --batch-size, or fewer rows'}")
        except ImportError as error:
            if "pip install" not in str(error):
                raise
            _stop(FAILED, error)

    return run  # type: ignore[return-value]


def _stop(code: int, message: object) -> NoReturn:
    text = " ".join(str(message).split())
    sys.stderr.write(f"shade: {text}\n")
    raise typer.Exit(code)
