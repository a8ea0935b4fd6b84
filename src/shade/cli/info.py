"""`shade info`: what a model file holds."""

from __future__ import annotations

from typing import Any

import typer

from shade._base.errors import ModelFileError, told_as
from shade._base.text import printable
from shade.cli.arguments import JsonOption, ModelArgument


def info(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Check a model file and tell what it holds."""
    from shade._base.result_folder import model_path
    from shade.cli.output import write_json
    from shade.persistence.description import describe_model
    from shade.persistence.model_file import read_model_file

    path = model_path(model)
    with told_as(ModelFileError, f"{path} cannot be read", OSError):
        described = {**describe_model(read_model_file(path)), "bytes": path.stat().st_size}
    if as_json:
        write_json(described)
        return
    parameters = described.pop("parameters")
    for name, value in described.items():
        typer.echo(f"{name.replace('_', ' '):18s}{_shown(value)}")
    typer.echo("parameters")
    for name, value in parameters.items():
        typer.echo(f"  {name:22s}  {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{printable(name).replace('_', ' ')} {_shown(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value[:12])) + (f", … ({len(value)})" if len(value) > 12 else "")
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else printable(str(value))
