"""The output of a clustering: files in a folder, and a few lines."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shade._base.result_folder import MODEL_NAME
from shade._base.text import printable
from shade.cli.messages import Messages
from shade.cli.options import MODEL
from shade.cli.output import EMBEDDING_NAME, LABELS_NAME, REPORT_NAME, SUMMARY_NAME, write_json, write_table

if TYPE_CHECKING:
    from shade._base.arrays import AnyArray
    from shade.data import Samples
    from shade.estimators.shade import SHADE


def labels_table(
    model: Any, ids: AnyArray, data: Samples | None = None, label_name: str | None = None
) -> dict[str, AnyArray]:
    """Return a table with the results of each training row; with `data`, also its columns and its known group."""
    scores = {"probability": model.probabilities_, "outlier_score": model.outlier_scores_}
    table = {"id": ids, "label": model.labels_, **scores}
    if data is None:
        return table
    names = data.feature_names or tuple(f"x{column}" for column in range(data.shape[1]))
    given = dict(zip(names, data.rows.T, strict=True))
    if data.labels is not None:
        given[label_name or "label"] = data.labels
    return table | {f"{name} (data)" if name in table else name: values for name, values in given.items()}


def describe_clusters(model: Any) -> dict[str, Any]:
    """Return the numbers of a clustering, and the seed that repeats its training, for summary.json."""
    import numpy as np

    labels = model.labels_
    return {
        "n_samples": len(labels),
        "n_clusters": model.n_clusters_,
        "n_noise": int(np.count_nonzero(labels < 0)),
        "cluster_sizes": np.bincount(labels[labels >= 0], minlength=model.n_clusters_).tolist(),
        "cluster_persistence": [float(value) for value in np.round(model.cluster_persistence_, 6)],
        "seed": getattr(model, "seed_", None),
    }


def describe_parameters(model: Any) -> dict[str, Any]:
    """Return the settings of a model that are options of the command line, for summary.json."""
    return {name: value for name, value in model.get_params(deep=False).items() if name not in MODEL.left_out}


def describe_samples(samples: Samples, model: SHADE) -> dict[str, Any]:
    """Return what was read, and the agreement of clusters with known groups: without noise, and with noise assigned."""
    described: dict[str, Any] = {
        "source": samples.source, "kind": samples.kind, "shape": list(samples.shape), "notes": list(samples.notes),
    }  # fmt: skip
    if samples.labels is not None:
        from shade.metrics import measure_agreement

        # By name: a group called -1 is a group, not noise.
        found = measure_agreement(samples.labels.astype(str), model.labels_, model.assign_noise())
        figures = {
            "adjusted_rand": found.ari,
            "adjusted_rand_assigned": found.ari_1nn,
            "normalized_mutual_information": found.nmi,
            "normalized_mutual_information_assigned": found.nmi_1nn,
        }
        # If everything is noise, there are no values, and JSON has no NaN.
        described["agreement"] = {name: None if isnan(value) else value for name, value in figures.items()}
    return described


def write_results(
    model: SHADE, folder: Path, labels: dict[str, AnyArray], summary: dict[str, Any], samples: Samples | None,
    messages: Messages, command: str | None = None,
) -> None:  # fmt: skip
    """Fill a folder aside; `samples` and `command` are for the report, which is left out without its packages."""
    import numpy as np

    model.save(folder / MODEL_NAME)
    write_table(labels, folder / LABELS_NAME)
    np.save(folder / EMBEDDING_NAME, model.points_)
    write_json(summary, folder / SUMMARY_NAME)
    from shade.report import write_report

    try:
        write_report(model, folder / REPORT_NAME, samples=samples, command=command)
    except ImportError as error:
        messages.say(f"no {REPORT_NAME}: {error}")


def show_results(summary: dict[str, Any], output: Path | None, *, as_json: bool) -> None:
    """Write the results to standard output."""
    import typer

    if as_json:
        write_json({**summary, **({} if output is None else {"output": str(output)})})
        return
    typer.echo(f"rows            {summary['n_samples']}")
    typer.echo(f"clusters found  {summary['n_clusters']}")
    typer.echo(f"noise           {summary['n_noise'] / summary['n_samples']:.1%}")
    sizes = summary["cluster_sizes"]
    typer.echo(f"sizes           {', '.join(map(str, sizes[:12]))}{', …' if len(sizes) > 12 else ''}")
    if deciding := summary.get("told_apart_by"):
        strengths = (f"{printable(name)} ({strength:.2f})" for name, strength in deciding.items())
        typer.echo(f"told apart by   {', '.join(strengths)}")
    for cluster, words in enumerate(summary.get("keywords", [])[:12]):
        typer.echo(f"cluster {cluster:<8}{printable(', '.join(words))}")
    agreement = summary.get("data", {}).get("agreement")
    if agreement is not None and agreement["adjusted_rand"] is not None:
        without = f"{agreement['adjusted_rand']:.3f} without noise"
        typer.echo(f"ARI with label  {without}, {agreement['adjusted_rand_assigned']:.3f} with noise assigned")
    if (known := summary.get("known_labels")) is not None:
        named = [f"{label}: {printable(name)}" for label, name in enumerate(known["clusters"]) if name]
        typer.echo(f"known labels    {', '.join(named[:12])}{', …' if len(named) > 12 else ''}")
    if "seconds" in summary:
        typer.echo(f"time            {summary['seconds']:.1f} s")
    if output is not None:
        typer.echo(f"results in      {printable(str(output))}/")
        if (output / REPORT_NAME).exists():
            typer.echo(f"to look at      {printable(str(output / REPORT_NAME))}")
