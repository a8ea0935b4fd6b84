"""`shade report`: a page to look at, explore and share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shade._base.errors import DataError, OutputError, told_as
from shade._base.result_folder import model_path
from shade._base.text import printable
from shade.cli.apply import load_model, read_for
from shade.cli.arguments import ModelArgument, QuietOption
from shade.cli.messages import Messages
from shade.cli.options import DATA, with_options
from shade.cli.output import REPORT_NAME, writing


@with_options(DATA)
def report(
    *,
    model: ModelArgument,
    data: Annotated[
        str | None, typer.Option("--data", help="The data of training, to show pictures and what sets clusters apart.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", "--to", help="File to write; report.html beside the model if left out."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    quiet: QuietOption = False,
    **options: Any,
) -> None:
    """Write one HTML file that shows what was found, to be explored in a browser without any network."""
    messages = Messages(quiet=quiet)
    with messages.warnings_as_lines():
        found = load_model(model)
        path = output or model_path(model).parent / REPORT_NAME
        if path.suffix.lower() not in (".html", ".htm"):
            raise OutputError(f"{path} cannot be written: its name must end in .html.")
        if data is None:
            if output is None and path.exists():
                raise OutputError(f"{path} exists, and a report without --data shows less. Give --data, or -o FILE.")
            messages.say("note: without --data the report shows no features, pictures or names of rows")
        samples = None if data is None else read_for(found, [data], DATA.take(options), messages)

        from shade.report import write_report

        with told_as(DataError, data or str(path), ValueError), writing(path):
            written = write_report(found, path, samples=samples, title=title)
    typer.echo(printable(str(written)))
