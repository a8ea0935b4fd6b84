"""The command line put together: one module a group of commands, each command one thin door."""

from __future__ import annotations

from typing import Annotated

import typer

from shade.cli.demo import demo
from shade.cli.report import report

app = typer.Typer(
    name="shade",
    help="Deep density-based clustering: clusters of any shape, and the noise between them.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from shade import __version__

        typer.echo(f"shade {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


app.command()(demo)
app.command()(report)


def main() -> None:
    """Run the command line."""
    app()
