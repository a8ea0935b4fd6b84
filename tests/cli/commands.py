"""Running commands in this process."""

from typing import Any

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
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="shade", **options)
