"""`shade paper`: the tables and figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shade.cli.exit_codes import guarded

paper = typer.Typer(help="The tables and figures of the paper, and the suite.", no_args_is_help=True)

_Table = Annotated[
    str,
    typer.Argument(
        help="experimentResults, mnist_etc, ablation_mu, ablation_batch_size, ablation_loss, noise_sweep, "
        "dimension_sweep or suite."
    ),
]
_Database = Annotated[Path, typer.Option("--database", help="SQLite file that holds the runs.")]
_DATABASE = Path("paper.sqlite")


@paper.command("run")
@guarded
def run_table(
    table: _Table,
    datasets: Annotated[str, typer.Option(help="Names with commas between; those at hand if not given.")] = "",
    methods: Annotated[str, typer.Option(help="Names with commas between; those of the table if not given.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds, from 0 on.")] = 10,
    epochs: Annotated[int | None, typer.Option(min=1, help="Fewer epochs than the paper, for a trial.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    jobs: Annotated[int, typer.Option(min=0, help="Worker processes; 0 for none.")] = 1,
    database: _Database = _DATABASE,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what failed.")] = False,
    rerun_changed: Annotated[
        bool, typer.Option("--rerun-changed", help="Run shade again where its code has changed since.")
    ] = False,
) -> None:
    """Run the methods of a table; what is stored already is not run again, so stop and go on as you like."""
    from shade.experiments import run_experiments
    from shade.experiments.methods import shorten
    from shade.experiments.tables import methods_of

    chosen = methods_of(table, _split(methods))
    if epochs is not None:
        chosen = [shorten(method, epochs) for method in chosen]
    try:
        run_experiments(
            table, _split(datasets) or None, chosen, seeds, database=database, device=device, jobs=jobs,
            retry_failed=retry_failed, rerun_changed=rerun_changed,
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What ended is in {database}; the same command goes on from there.", err=True)
        raise typer.Exit(130) from None


@paper.command("table")
@guarded
def show_table(
    table: _Table,
    database: _Database = _DATABASE,
    kind: Annotated[str, typer.Option("--format", help="text, markdown or csv.")] = "text",
    everything: Annotated[bool, typer.Option("--all", help="Datasets without any run too.")] = False,
) -> None:
    """Print a table of the paper with our figures beside the published ones."""
    from shade.experiments import RunStore, compare_with_published, format_table

    entries = compare_with_published(RunStore(database), table, everything=everything)
    if not entries:
        typer.echo(f"No runs of {table} are stored in {database}. Make some with: shade paper run {table}", err=True)
        raise typer.Exit(1)
    typer.echo(format_table(entries, kind), nl=False)


@paper.command("choose")
@guarded
def show_choices(
    table: Annotated[str, typer.Argument(help="A table whose runs are looked at; all if not given.")] = "",
    of: Annotated[int, typer.Option(min=2, help="Number of seeds to choose one from.")] = 5,
    database: _Database = _DATABASE,
) -> None:
    """What indices that need no labels are worth for choosing one of several seeds: ARI of the runs they choose."""
    from shade.experiments import RunStore
    from shade.experiments.choosing import compare_choices, format_choices

    choices = compare_choices(RunStore(database), table or None, of)
    if not choices:
        typer.echo(f"No method was run with three seeds or more in {database}.", err=True)
        raise typer.Exit(1)
    typer.echo(format_choices(choices), nl=False)


@paper.command("figure")
@guarded
def draw_figure(
    figure: Annotated[
        str, typer.Argument(help="1, 2, noise, dimensions, mu, batch_size, loss, har or suite.", metavar="FIGURE")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File; figure-FIGURE.png if not given.")] = None,
    database: _Database = _DATABASE,
    device: Annotated[str, typer.Option(help="For figures 1 and 2, which train.")] = "auto",
) -> None:
    """Draw a figure of the paper: 1 and 2 train, the others show the runs of `shade paper run`."""
    path = output or Path(f"figure-{figure}.png")
    from shade.experiments.figures import draw_figure as draw

    draw(figure, database=database, device=device).savefig(path, dpi=130)
    typer.echo(str(path))


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
