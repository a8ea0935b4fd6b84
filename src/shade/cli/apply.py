"""Commands that use an existing model: `predict`, `transform`, `update`, `recluster`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shade._base.errors import DataError, ModelFileError, ShadeError, told_as
from shade._base.text import from_cell
from shade.cli.arguments import DataArgument, JsonOption, ModelArgument, OverwriteOption, QuietOption, TableOption
from shade.cli.exit_codes import UsageError
from shade.cli.fit import read_and_tell
from shade.cli.messages import Messages
from shade.cli.options import DATA, in_commands, in_options, with_options
from shade.cli.output import LABELS_NAME, check_table_name, new_folder, write_table, writing

if TYPE_CHECKING:
    from shade._base.arrays import AnyArray
    from shade.data import Samples


@with_options(DATA)
def predict(
    *, model: ModelArgument, data: DataArgument, output: TableOption = None, quiet: QuietOption = False, **options: Any
) -> None:
    """Label new rows by a model: id, label, probability and outlier score of each."""
    messages = Messages(quiet=quiet)
    with _model_and_rows(model, data, output, options, messages) as (found, samples):
        features = samples.to_features()
        labels, probabilities = found.predict(features, return_probabilities=True)
        scores = -found.score_samples(features)
        columns = {"id": samples.ids, "label": labels, "probability": probabilities, "outlier_score": scores}
        write_table(columns, output)
        from shade.data.samples import counted

        used, noise = len(set(labels.tolist()) - {-1}), float((labels < 0).mean())
        of_all = f"{used} of {counted(found.n_clusters_, 'cluster')}"
        messages.say(f"labelled {counted(len(labels), 'row')}: {of_all}, {noise:.1%} noise")


@with_options(DATA)
def transform(
    *, model: ModelArgument, data: DataArgument, output: TableOption = None, quiet: QuietOption = False, **options: Any
) -> None:
    """Embed rows by a model: id and one column a dimension of the embedding."""
    with _model_and_rows(model, data, output, options, Messages(quiet=quiet), "transform") as (found, samples):
        embedded = found.transform(samples.to_features())
        columns = {f"embedding_{index}": column for index, column in enumerate(embedded.T)}
        write_table({"id": samples.ids, **columns}, output)


@contextmanager
def _model_and_rows(
    model: Path,
    data: list[str],
    output: Path | None,
    options: dict[str, Any],
    messages: Messages,
    able: str = "predict",
) -> Iterator[tuple[Any, Samples]]:
    """Yield a model with a given method, and the rows for it. First it is checked that the result can be written."""
    check_table_name(output, data)
    with messages.warnings_as_lines():
        found = load_model(model)
        if not hasattr(found, able):
            raise UsageError(
                f"{model} holds a {type(found).__name__}, which clusters points but does not embed them. Give a model "
                "of shade fit."
            )
        samples = read_for(found, data, DATA.take(options), messages)
        with told_as(DataError, samples.source, ValueError):
            yield found, samples


@with_options(DATA)
def update(
    *,
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the results, another one than that of the model.")
    ],
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    **options: Any,
) -> None:
    """Add new rows to a model without training, and write the new model and the labels of all rows into a folder."""
    import numpy as np

    messages = Messages(quiet=quiet)
    if output.resolve() in (model.resolve(), model.parent.resolve()):
        raise UsageError(f"{output} is the folder of the model. Give another one with -o, so that nothing is lost.")
    with new_folder(output, overwrite=overwrite) as folder, messages.warnings_as_lines():
        found = load_model(model)
        samples = read_for(found, data, DATA.take(options), messages)
        ids = np.append(_ids_beside(model, len(found.labels_)).astype(str), samples.ids.astype(str))
        before = found.n_clusters_
        with told_as(DataError, samples.source, ValueError):
            found.update(samples.to_features())
        from shade.cli.results import describe_clusters, describe_parameters, labels_table, show_results, write_results

        added = {"new_rows": len(samples), "clusters_before": before}
        summary = {**describe_clusters(found), **added, "parameters": describe_parameters(found)}
        with writing(output):
            write_results(found, folder, labels_table(found, ids), summary, None, messages)
    show_results(summary, output, as_json=as_json)


def recluster(
    model: ModelArgument,
    n_clusters: Annotated[int | None, typer.Option(help="Number of clusters.")] = None,
    cut_distance: Annotated[float | None, typer.Option(help="Cut the tree at a distance, as DBSCAN* does.")] = None,
    min_samples: Annotated[
        int | None, typer.Option(help="Estimate the density anew, with another number of neighbours.")
    ] = None,
    min_cluster_size: Annotated[int | None, typer.Option(help="Minimum number of rows of a branch.")] = None,
    between_noise: Annotated[
        bool | None, typer.Option(help="Whether rows between clusters are noise or belong to the nearest cluster.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for the results. If left out, the labels go to standard output, or a summary to a terminal.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Choose other clusters from the tree of a model, without training again."""
    from shade.data.samples import counted

    asked = {
        "n_clusters": n_clusters, "cut_distance": cut_distance, "min_samples": min_samples,
        "min_cluster_size": min_cluster_size, "between_noise": between_noise,
    }  # fmt: skip
    if all(value is None for value in asked.values()):
        raise UsageError(
            "Say which clusters you want, with --n-clusters, --cut-distance, --min-samples, --min-cluster-size or "
            "--between-noise."
        )
    messages = Messages(quiet=quiet)
    place = nullcontext(None) if output is None else new_folder(output, overwrite=overwrite)
    # The next command starts from what this one writes, or else from the same model and with the same options.
    reword = partial(in_commands, folder=output or model, asked=asked if output is None else None)
    with place as folder, messages.warnings_as_lines(reword):
        found = load_model(model)
        try:
            other = found.recluster(**asked)
        except ValueError as error:
            raise error if isinstance(error, ShadeError) else UsageError(in_options(str(error))) from None
        from shade.cli.results import describe_clusters, describe_parameters, labels_table, show_results, write_results

        ids = _ids_beside(model, len(other.labels_))
        summary = {**describe_clusters(other), "parameters": describe_parameters(other)}
        summary["chosen_by"] = asked
        if folder is not None and output is not None:
            with writing(output):
                write_results(other, folder, labels_table(other, ids), summary, None, messages)
            messages.say(
                f"note: the report shows no features. To add them: shade report {output} --data FILE -o FILE.html"
            )
    if output is None and not as_json and not sys.stdout.isatty():
        write_table(labels_table(other, ids), None)
        messages.say(f"{counted(other.n_clusters_, 'cluster')}, {summary['n_noise'] / len(ids):.1%} noise")
    else:
        show_results(summary, output, as_json=as_json)
        if output is None and not as_json:
            messages.say("note: nothing was written; add -o FOLDER for the model, labels and report of these clusters")


def load_model(path: Path) -> Any:
    """Load a model file, or the one in a folder of results."""
    from shade.estimators.loading import load

    with told_as(ModelFileError, f"{path} cannot be read", OSError):
        return load(path)


def read_for(model: Any, data: list[str], options: dict[str, Any], messages: Messages) -> Samples:
    """Read rows like those of training: the same columns, encoded and filled in the same way."""
    from shade.data.encoding import TableEncoding
    from shade.data.filler import Filler
    from shade.data.samples import FILLS, counted

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        options["columns"] = [str(name) for name in names]
    if options["missing"] == "drop-columns":
        raise UsageError("--missing drop-columns is for shade fit: a model needs all its columns.")
    encoding = options["table"] = getattr(model, "table_encoding_", TableEncoding())
    if options["missing"] in (None, *FILLS) and encoding.filler is None:
        means: Any = getattr(getattr(model, "standardizer_", None), "mean", None)
        by_feature = means is not None and len(means) == model.n_features_in_ and model.standardize is not False
        if by_feature and options["missing"] in (None, "mean"):
            filler = Filler("mean", [means.tolist()], model.standardizer_.scale.tolist(), [])
            options["table"] = replace(encoding, filler=filler)
        elif options["missing"] is not None:
            raise UsageError(
                f"--missing {options['missing']} needs a model that was fitted with it. Use --missing drop-rows."
            )
    samples = read_and_tell(data, options, messages)
    if names is None or samples.feature_names is not None or samples.rows.ndim != 2:
        return samples
    if samples.rows.shape[1] != len(names):
        found = counted(samples.rows.shape[1], "column")
        raise DataError(f"{samples.source} has {found} without names. Give the {len(names)} of the training data.")
    messages.say("note: columns without names are taken in the order of those the model was trained on")
    return replace(samples, feature_names=tuple(names))


def _ids_beside(path: Path, n: int) -> AnyArray:
    """Return the ids in the folder of results, if there are any; else the row numbers."""
    import csv

    import numpy as np

    beside = path / LABELS_NAME
    if path.is_dir() and beside.exists():
        with beside.open(newline="", encoding="utf-8") as file:
            ids = [from_cell(row["id"]) for row in csv.DictReader(file)]
        if len(ids) == n:
            return np.array(ids)
    return np.arange(n)
