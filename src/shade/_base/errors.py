"""Errors and warnings that users see, and what becomes of an estimator that meets one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shade._base.text import printable


class ShadeError(Exception):
    """Base of the errors that are raised by shade alone."""


class DeviceError(ShadeError, ValueError):
    """The device asked for is not there."""


class TrainingError(ShadeError, RuntimeError):
    """Training could not go on, for example because the loss is no longer a number."""


class DataError(ShadeError, ValueError):
    """Data cannot be read as it is; the message says what would help."""


class OutputError(ShadeError, OSError):
    """Results cannot be written."""


class ModelFileError(ShadeError, ValueError):
    """A model file cannot be trusted or understood."""


class RankError(ShadeError, RuntimeError):
    """Another process of the same fit has ended, or works on something else."""


class MemoryBudgetError(ShadeError, ValueError):
    """The work does not fit the memory it may take."""


class CheckpointError(ShadeError, ValueError):
    """A checkpoint cannot be written, read, or gone on from with this data and these parameters."""


class ShadeWarning(UserWarning):
    """Something a user should know about a result that is valid all the same."""


@contextmanager
def told_as(kind: type[ShadeError], what: str, *errors: type[BaseException]) -> Iterator[None]:
    """Raise errors of other libraries as one of ours, in one line. Errors of shade pass as they are."""
    try:
        yield
    except ShadeError:
        raise
    except errors as error:
        raise kind(f"{what}: {one_line(error)}.") from None


def one_line(error: BaseException) -> str:
    """What an error says, in one line of at most 400 characters without a full stop."""
    text = getattr(error, "strerror", None) or str(error)
    if isinstance(error, KeyError):
        text += " is missing"
    return printable(" ".join(text.split()).removesuffix(".")[:400])


@contextmanager
def unchanged_on_error(estimator: object) -> Iterator[None]:
    """Put an estimator back as it was if its fit fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
