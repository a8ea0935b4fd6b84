"""The command line: one thin door a command. Results go to files or standard output, messages to standard error."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("shade-demo"),
    samples: Annotated[int, typer.Option(min=30, help="Number of points.")] = 3000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the network.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Cluster two linked rings and an S, and draw what came out."""
    from rich.console import Console

    messages = Console(stderr=True, quiet=quiet, highlight=False)
    messages.print(f"Making {samples} points: two linked rings and an S in three dimensions.")
    messages.print("Loading torch and compiling kernels; the first run takes a little longer.")
    from shade.demo import run_demo, write_demo

    result = run_demo(n_samples=samples, epochs=epochs, seed=seed, verbose=0 if quiet else 1)
    files = write_demo(result, output)
    typer.echo(f"clusters found  {result.model.n_clusters_}")
    typer.echo(f"noise           {result.noise_share:.1%}")
    typer.echo(f"ARI with truth  {result.agreement:.3f}")
    typer.echo(f"time            {result.seconds:.1f} s")
    typer.echo(f"results in      {output}{'/' if output.is_dir() else ''}")
    for file in files:
        messages.print(f"  {file.name}", highlight=False)


def main() -> None:
    """Run the command line."""
    app()
