"""The place of the model in a folder that `shade fit` wrote."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from shade._base.errors import ModelFileError

MODEL_NAME = "model.shade"


def model_path(path: str | PathLike[str]) -> Path:
    """Return the path of a model file: the given file, or the one in a folder of results."""
    found = Path(path)
    if not found.is_dir():
        return found
    if not (found / MODEL_NAME).exists():
        raise ModelFileError(f"The folder {path} holds no {MODEL_NAME}. Give a folder that shade fit wrote.")
    return found / MODEL_NAME
