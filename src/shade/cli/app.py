"""The command line: one module per group of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from shade.cli.apply import predict, recluster, transform, update
from shade.cli.data import data
from shade.cli.demo import demo
from shade.cli.exit_codes import EPILOG, guarded
from shade.cli.fit import fit
from shade.cli.info import info
from shade.cli.paper import paper
from shade.cli.process import end_as_by_ctrl_c, mend_streams
from shade.cli.report import report

app = typer.Typer(
    name="shade",
    help="Deep density-based clustering: clusters of any shape, and the noise between them.",
    epilog=EPILOG,
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


for command in (fit, predict, transform, update, recluster, info, report, demo):
    app.command()(guarded(command))
app.add_typer(data, name="data")
app.add_typer(paper, name="paper")


def main() -> None:
    """Run the command line."""
    mend_streams()
    end_as_by_ctrl_c()
    app(prog_name="shade")
