"""The process of a command: its standard streams, and the signals that end it."""

from __future__ import annotations

import io
import os
import signal
import sys


class _Unfailing(io.FileIO):
    """A stream for messages. If a message cannot be written, it is lost, and the work continues."""

    def write(self, data: object, /) -> int:
        """Write what can be written."""
        try:
            return super().write(data) or 0  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]


def mend_streams() -> None:
    """Make standard error safe, so that no message ends a command, and replace closed streams.

    Otherwise the next opened file would get the number of a closed stream, and with it the output of libraries.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for good
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without some characters shows their codes
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, io.TextIOWrapper) and os.name == "posix":  # Windows has other consoles
        raw = _Unfailing(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(raw, sys.stderr.encoding, "backslashreplace", write_through=True)


def end_as_by_ctrl_c() -> None:
    """Handle requests of the system to end like Ctrl-C: they leave a checkpoint and no partial files.

    Ranks of a fit end at once. They may be waiting for each other, where no signal is handled.
    """
    from shade._base.parallel import INTERRUPTING
    from shade._base.ranks import find_ranks

    if find_ranks().count == 1:
        for number in INTERRUPTING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
