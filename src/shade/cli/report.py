"""`shade report`: a page to look at, explore and share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MODEL, REPORT = "model.shade", "report.html"


def report(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Folder that holds model.shade, or a model file.")],
    to: Annotated[Path | None, typer.Option(help="File to write; report.html beside the model by default.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
) -> None:
    """Write one HTML file that shows what was found, to be explored in a browser without any network."""
    model_file = output / MODEL if output.is_dir() else output
    if not model_file.is_file():
        raise typer.BadParameter(f"There is no model at {model_file}: give a folder written by 'shade fit'.")
    import shade
    from shade.report import write_report

    try:
        model = shade.load(model_file, device="cpu")
        written = write_report(model, to or model_file.parent / REPORT, title=title)
    except (ImportError, OSError, ValueError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(written)
