"""Errors and warnings for users, and the protection of an estimator whose fit fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shade._base.text import printable


class ShadeError(Exception):
    """Base class of the errors that only shade raises."""


class DeviceError(ShadeError, ValueError):
    """The requested device does not exist."""


class TrainingError(ShadeError, RuntimeError):
    """Training cannot continue, for example because the loss is not a number."""


class DataError(ShadeError, ValueError):
    """Data cannot be read as it is; the message gives a remedy."""


class OutputError(ShadeError, OSError):
    """Results cannot be written."""


class ModelFileError(ShadeError, ValueError):
    """A model file cannot be trusted or understood."""


class RankError(ShadeError, RuntimeError):
    """Another process of the same fit has ended, or has other work."""


class MemoryBudgetError(ShadeError, ValueError):
    """The work needs more memory than it may use."""


class CheckpointError(ShadeError, ValueError):
    """A checkpoint cannot be written or read, or does not belong to this data and these parameters."""


class ShadeWarning(UserWarning):
    """Information about a result that is valid, but that a user should know."""


@contextmanager
def told_as(kind: type[ShadeError], what: str, *errors: type[BaseException]) -> Iterator[None]:
    """Raise errors of other libraries as an error of shade, in one line. Errors of shade are not changed."""
    try:
        yield
    except ShadeError:
        raise
    except errors as error:
        raise kind(f"{what}: {one_line(error)}.") from None


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line of at most 400 characters, without a full stop."""
    text = getattr(error, "strerror", None) or str(error)
    if isinstance(error, KeyError):
        text += " is missing"
    return printable(" ".join(text.split()).removesuffix(".")[:400])


@contextmanager
def unchanged_on_error(estimator: object) -> Iterator[None]:
    """Restore the attributes of an estimator if its fit fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
