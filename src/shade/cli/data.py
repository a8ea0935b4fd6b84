"""`shade data`: the benchmark datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shade.cli.exit_codes import guarded

data = typer.Typer(help="The benchmark datasets of the paper: what they are, and where.", no_args_is_help=True)

_Folder = Annotated[
    Path | None, typer.Option("--folder", help="Folder of the datasets; SHADE_DATA or your cache if not given.")
]
_Names = Annotated[list[str], typer.Argument(help="Names as `shade data list` shows them.")]


@data.command("list")
@guarded
def list_datasets(folder: _Folder = None) -> None:
    """List all datasets, and which of them are here."""
    from shade.data import DATASETS, data_folder

    where = folder or data_folder()
    typer.echo(f"{'name':<18}{'samples':>8}{'features':>9}{'clusters':>9}  {'kind':<6}{'here':<5}licence")
    for info in DATASETS.values():
        here = "yes" if (where / f"{info.name}.npz").exists() else "no"
        part = f"  (part or variant of {info.part_of})" if info.part_of else ""
        typer.echo(
            f"{info.name:<18}{info.n_samples:>8}{info.n_features:>9}{info.n_clusters:>9}  {info.kind:<6}{here:<5}"
            f"{info.licence}{part}"
        )
    typer.echo(f"folder: {where}", err=True)


@data.command("get")
@guarded
def get_datasets(names: _Names, folder: _Folder = None) -> None:
    """Fetch datasets from their publishers."""
    from shade.data import data_folder, load_dataset

    for name in names:
        dataset = load_dataset(name, folder=folder)
        typer.echo(f"{name}: {len(dataset.X)} samples in {(folder or data_folder()) / f'{name}.npz'}")


@data.command("describe")
@guarded
def describe_dataset(name: Annotated[str, typer.Argument(help="Name of a dataset.")], folder: _Folder = None) -> None:
    """Tell all that is known about a dataset, and check the file that is here."""
    from shade.data import data_folder, load_dataset
    from shade.data.datasets import find_dataset, hash_arrays

    info = find_dataset(name)
    path = (folder or data_folder()) / f"{name}.npz"
    state = "not here"
    if path.exists():
        dataset = load_dataset(name, folder=folder)
        found = hash_arrays(dataset.X, dataset.y)
        state = str(path) if found == info.sha256 or not info.sha256 else f"{path}, which differs: sha256 {found}"
    facts = {
        "name": info.name,
        "samples": f"{info.n_samples}, of which {info.n_noise} are noise" if info.n_noise else str(info.n_samples),
        "features": str(info.n_features),
        "clusters": str(info.n_clusters),
        "kind": info.kind,
        "normalised by": "feature" if info.standardize == "feature" else "one mean and one deviation",
        "publisher": info.publisher,
        "licence": info.licence,
        "differs": f"{info.note}; not comparable with published figures on {info.part_of}" if info.part_of else "",
        "files": "\n               ".join(file.url for file in info.files),
        "sha256": info.sha256 or "not known",
        "file": state,
    }
    for label, value in facts.items():
        if value:
            typer.echo(f"{label:<15}{value}")
