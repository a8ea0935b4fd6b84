"""`shade demo`: the first clusters."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from shade._base.errors import OutputError
from shade.cli.arguments import FolderOption, QuietOption
from shade.cli.messages import Messages
from shade.cli.output import new_folder, writing


def demo(
    output: FolderOption = Path("shade-demo"),
    samples: Annotated[int, typer.Option(min=30, help="Number of points.")] = 3000,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the network.")] = 0,
    table: Annotated[
        Path | None,
        typer.Option(help="Only write a table of 400 made-up customers to this csv file, for trying other commands."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Cluster two linked rings and an S, and draw what came out."""
    if table is not None:
        if table.exists():
            raise OutputError(f"{table} is there already. Choose another name for the table.")
        from shade._base.files import write_whole

        with writing(table):
            write_whole(table, files("shade.data").joinpath("customers.csv").read_bytes())
        typer.echo(table)
        return
    messages = Messages(quiet=quiet)
    messages.say(f"Making {samples} points: two linked rings and an S in three dimensions.")
    messages.say("Loading torch and compiling kernels; the first run takes a little longer.")
    from shade.experiments.demo import FILES, run_demo, write_demo

    with new_folder(output, overwrite=True, names=FILES) as folder:
        result = run_demo(n_samples=samples, epochs=epochs, seed=seed, verbose=0 if quiet else 1)
        with writing(output):
            written = write_demo(result, folder)
    typer.echo(f"clusters found  {result.model.n_clusters_}")
    typer.echo(f"noise           {result.noise_share:.1%}")
    typer.echo(f"ARI with truth  {result.agreement:.3f}")
    typer.echo(f"time            {result.seconds:.1f} s")
    typer.echo(f"results in      {output}/")
    for file in written:
        messages.say(f"  {file.name}")
