"""The process that runs a command: its standard streams, and the signals that end it."""

from __future__ import annotations

import io
import os
import signal
import sys


class _Unfailing(io.FileIO):
    """A stream for messages. A message that cannot be written is lost; the work that it tells of goes on."""

    def write(self, data: object, /) -> int:
        """Write what can be written."""
        try:
            return super().write(data) or 0  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]


def mend_streams() -> None:
    """Let no message end a command, whatever standard error is, and give closed streams somewhere to go.

    Otherwise the next file that is opened would take the number of a closed stream, and with it what libraries write.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - for good
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without some letters shows their numbers
        sys.stdout.reconfigure(errors="backslashreplace")
    if isinstance(sys.stderr, io.TextIOWrapper) and os.name == "posix":  # Windows has consoles of another kind
        raw = _Unfailing(sys.stderr.fileno(), "w", closefd=False)
        sys.stderr = io.TextIOWrapper(raw, sys.stderr.encoding, "backslashreplace", write_through=True)


def end_as_by_ctrl_c() -> None:
    """Let a request to end from the system leave a checkpoint and no partial files, as Ctrl-C does.

    Ranks of a fit end at once: they may be waiting for each other, where no request is heard.
    """
    from shade._base.parallel import INTERRUPTING
    from shade._base.ranks import find_ranks

    if find_ranks().count == 1:
        for number in INTERRUPTING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, signal.default_int_handler)
