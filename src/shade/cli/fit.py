"""`shade fit`: from a file to clusters."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shade._base.errors import (
    CheckpointError,
    DataError,
    DeviceError,
    MemoryBudgetError,
    OutputError,
    ShadeError,
    told_as,
)
from shade._base.memory import format_memory, parse_memory
from shade.cli.arguments import DataArgument, FolderOption, JsonOption, OverwriteOption, QuietOption
from shade.cli.exit_codes import UsageError
from shade.cli.known import names_of_clusters, read_known
from shade.cli.messages import Messages
from shade.cli.options import DATA, FITTING, MODEL, in_commands, in_options, with_options
from shade.cli.output import new_folder, writing

if TYPE_CHECKING:
    from shade.data import Samples
    from shade.estimators.shade import SHADE


@with_options(DATA, MODEL, FITTING)
def fit(
    *,
    data: DataArgument,
    output: FolderOption = Path("shade-result"),
    overwrite: OverwriteOption = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint that an interrupted fit of the same data left.")
    ] = False,
    known_labels: Annotated[
        bool,
        typer.Option(
            "--known-labels",
            help="Let the clusters agree with the labels in the --label column. Rows with an empty cell have no known "
            "label.",
        ),
    ] = False,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Add the columns of the data, and its labels, to labels.csv.")
    ] = False,
    into_h5ad: Annotated[
        bool,
        typer.Option(
            "--into-h5ad", help="Also write labels and embedding into the h5ad file that the data is read from."
        ),
    ] = False,
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Leave values, pictures, ids and labels of rows out of the report.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **options: Any,
) -> None:
    """Train on data, cluster it, and write the model, labels, embedding, summary and report into a folder."""
    from shade._base.ranks import find_ranks

    if into_h5ad and (len(data) != 1 or not data[0].lower().endswith(".h5ad")):
        raise UsageError(f"--into-h5ad needs one h5ad file as data. Got {', '.join(data)}.")
    first = find_ranks().first  # of the processes of torchrun, only one prints messages and writes results
    messages = Messages(quiet=quiet or not first)
    checkpoint = _checkpoint_of(output)
    place = new_folder(output, overwrite=overwrite) if first else nullcontext(None)
    again = shlex.join(["shade", *(word for word in sys.argv[1:] if word != "--overwrite")])
    lines = messages.warnings_as_lines(partial(in_commands, folder=output, fitted_by=again))
    with _telling_of(checkpoint, messages, resume=resume), place as folder, lines:
        fitting = {**FITTING.take(options), "checkpoint": checkpoint, "resume": resume or None}
        memory = _bytes_of(fitting["memory"])
        samples = read_and_tell(data, {**DATA.take(options), "memory": memory}, messages)
        if with_data and not (samples.in_memory and len(samples.shape) == 2):
            raise UsageError("--with-data is for tables that are read whole. Leave it out for this data.")
        samples = samples.load() if with_data else samples
        known, names = read_known(samples) if known_labels else (None, [])
        started = time.perf_counter()
        model = _train(samples, MODEL.take(options), {**fitting, "y": known}, messages)
        seconds = round(time.perf_counter() - started, 3)
        if samples.encoding is not None:
            model.table_encoding_ = samples.encoding
        if folder is None:
            return
        from shade.cli.deciding import explain_filled_clusters, explain_followed_columns

        found = (explain_followed_columns(model, samples, again), explain_filled_clusters(model, samples, again))
        noted = [note for note in found if note is not None]
        samples = replace(samples, notes=(*samples.notes, *noted))
        summary = _summarise(model, samples if known is None else replace(samples, labels=None), seconds)
        if known is not None:
            summary["known_labels"] = {"rows": int((known >= 0).sum()), "clusters": names_of_clusters(model, names)}

        import numpy as np

        from shade.cli.results import labels_table, show_results, write_results

        with writing(output):
            labels = labels_table(model, samples.ids, samples if with_data else None, options["label"])
            if known is not None:
                labels |= {"known_label": np.array([*summary["known_labels"]["clusters"], ""])[model.labels_]}
            shown = None if no_data else _for_report(samples, memory, messages)
            write_results(model, folder, labels, summary, shown, messages, None if no_data else again)
            if into_h5ad:
                model.to_anndata(data[0])
    checkpoint.unlink(missing_ok=True)
    show_results(summary, output, as_json=as_json)
    if not no_data:
        what = "values" if samples.kind == "table" else "names and small pictures"
        messages.say(f"note: report.html shows the {what} of the rows to whoever has it; --no-data leaves them out")
    for note in noted:
        messages.say(f"note: {note}")


def read_and_tell(data: list[str], options: dict[str, Any], messages: Messages) -> Samples:
    """Read samples, and report their size and what was done to them."""
    from shade.data import read_samples
    from shade.data.samples import counted

    named = "standard input" if data == ["-"] else ", ".join(data)
    messages.say(f"reading {named}")
    try:
        with told_as(DataError, f"{named} cannot be read", OSError):
            samples = read_samples(data, **options)
    except MemoryBudgetError as error:
        raise MemoryBudgetError(in_options(str(error))) from None
    except ValueError as error:
        raise error if isinstance(error, ShadeError) else UsageError(in_options(str(error))) from None
    shape = " x ".join(map(str, samples.shape[1:]))
    columns = () if samples.encoding is None else samples.encoding.columns
    what = {"table": "row", "images": "image", "frames": "frame"}[samples.kind]
    of = counted(samples.shape[1], "column") if samples.kind == "table" and len(samples.shape) == 2 else shape
    if 0 < len(columns) < samples.shape[1]:
        of = f"{counted(len(columns), 'column')}, encoded as {shape}"
    messages.say(f"{counted(len(samples), what)} of {of}")
    for note in samples.notes:
        messages.say(f"note: {note}")
    return samples


def _bytes_of(memory: str | int | None) -> int | None:
    try:
        return None if memory is None else parse_memory(memory, "fit")
    except ValueError as error:
        raise UsageError(str(error)) from None


def _for_report(samples: Samples, memory: int | None, messages: Messages) -> Samples:
    """Return samples with all rows, or with none if they need more than half of the memory or changed meanwhile."""
    if memory is not None and not samples.in_memory and 2 * samples.rows.nbytes > memory:
        reason = f"the rows take {format_memory(samples.rows.nbytes)}, more than half of --memory"
    else:
        try:
            return samples.load()
        except DataError as error:
            reason = str(error)
    messages.say(f"note: the report shows no features: {reason}")
    return replace(samples, rows=None)


def _checkpoint_of(output: Path) -> Path:
    """Return the path of the checkpoint, beside the results."""
    return output.parent / f"{output.name}.checkpoint"


def _written(checkpoint: Path) -> int:
    return checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0


@contextmanager
def _telling_of(checkpoint: Path, messages: Messages, *, resume: bool) -> Iterator[None]:
    """If the command fails, explain how to resume from the checkpoint, if it belongs to this training."""
    before = _written(checkpoint)
    try:
        yield
    except BaseException as error:
        now = _written(checkpoint)
        if now != before or (now and resume and isinstance(error, KeyboardInterrupt | OutputError)):
            messages.say(f"training is saved in {checkpoint}: the same command with --resume continues from there")
        raise


def _train(samples: Samples, parameters: dict[str, Any], fitting: dict[str, Any], messages: Messages) -> SHADE:
    """Fit with progress. Errors in parameters and errors in the data are distinguished."""
    messages.say("loading torch")
    from shade.cli.progress import TrainingProgress
    from shade.estimators.shade import SHADE
    from shade.training.resume import check_intervals

    checkpoint, resume = fitting["checkpoint"], fitting["resume"]
    try:
        progress = None if messages.quiet else TrainingProgress(messages)
        model = SHADE(**parameters, callbacks=() if progress is None else (progress,))
        model.check_parameters()
        check_intervals(fitting["checkpoint_minutes"], fitting["checkpoint_epochs"])
    except ValueError as error:
        raise error if isinstance(error, DeviceError) else UsageError(in_options(str(error))) from None
    if resume and not checkpoint.exists():
        messages.say(f"note: there is no {checkpoint} to go on from, so training starts anew")
    try:
        return model.fit(samples.to_features(), **fitting)
    except DataError:
        raise
    except ShadeError as error:
        text = in_options(str(error))
        if not resume or not isinstance(error, CheckpointError):
            raise type(error)(text) from None
        raise UsageError(text if "--resume" in text else f"{text} Leave --resume out to start anew.") from None
    except ValueError as error:
        raise DataError(in_options(str(error))) from None
    finally:
        if progress is not None:
            progress.close()


def _summarise(model: SHADE, samples: Samples, seconds: float) -> dict[str, Any]:
    from shade import __version__
    from shade.cli.deciding import find_deciding_columns, find_keywords
    from shade.cli.results import describe_clusters, describe_parameters, describe_samples

    losses = {name: value for name, value in model.history_[-1].items() if name.endswith("loss")}
    return {
        "shade": __version__,
        **describe_clusters(model),
        "told_apart_by": find_deciding_columns(model, samples),
        **({} if (words := find_keywords(model, samples)) is None else {"keywords": words}),
        "seconds": seconds,
        "networks": model.n_networks_,
        "epochs": max(record["epoch"] for record in model.history_),
        "losses": losses,
        "parameters": describe_parameters(model),
        "data": describe_samples(samples, model),
    }
