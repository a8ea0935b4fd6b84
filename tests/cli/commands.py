"""Running commands in this process."""

import sys
from typing import Any
from unittest import mock

from typer.testing import CliRunner

from shade.cli import app

QUICK = (
    "--epochs",
    "3",
    "--network",
    "16",
    "--embedding-size",
    "3",
    "--selection",
    "branches",
    "--n-networks",
    "1",
    "--random-state",
    "0",
)


def run(*arguments: object, **options: Any) -> Any:
    """What a command answered; `stdout`, `stderr` and `exit_code` of it."""
    words = [str(argument) for argument in arguments]
    with mock.patch.object(sys, "argv", ["shade", *words]):  # messages name the command to try next
        return CliRunner().invoke(app, words, prog_name="shade", **options)
