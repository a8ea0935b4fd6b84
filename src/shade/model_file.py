"""The model file: a zip of a manifest, network weights and arrays. Reading one executes nothing."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

from shade._arrays import AnyArray
from shade._errors import ModelFileError
from shade._files import write_whole

FORMAT = 1
NETWORK, ARRAYS, MANIFEST = "network.safetensors", "arrays.npz", "manifest.json"


@dataclass(frozen=True)
class ModelContents:
    """What a model file holds: values for JSON, tensors, and plain arrays."""

    description: dict[str, Any]
    tensors: dict[str, torch.Tensor]
    arrays: dict[str, AnyArray]


def write_model_file(path: str | PathLike[str], contents: ModelContents) -> None:
    """Write the file whole, or leave the one of that name as it was."""
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **contents.arrays)
    members = {NETWORK: safetensors.torch.save(contents.tensors), ARRAYS: packed.getvalue()}
    manifest = {
        "format": FORMAT,
        **contents.description,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
        for name, data in members.items():
            archive.writestr(name, data)
    write_whole(Path(path), packed.getvalue())


def read_model_file(path: str | PathLike[str]) -> ModelContents:
    """Read and check a model file."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _read_manifest(archive)
            network = _read_member(archive, NETWORK, manifest)
            arrays = _read_member(archive, ARRAYS, manifest)
    except zipfile.BadZipFile as error:
        raise ModelFileError(f"{path} is no model file, or a damaged one: {error}.") from None
    loaded = np.load(io.BytesIO(arrays), allow_pickle=False)
    return ModelContents(manifest, safetensors.torch.load(network), {name: loaded[name] for name in loaded.files})


def _read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        manifest = json.loads(archive.read(MANIFEST))
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"The member {MANIFEST} of the model file cannot be read: {error}.") from None
    found = manifest.get("format") if isinstance(manifest, Mapping) else None
    if found != FORMAT:
        raise ModelFileError(f"The model file has format {found!r}, this version of shade reads format {FORMAT}.")
    return dict(manifest)


def _read_member(archive: zipfile.ZipFile, name: str, manifest: Mapping[str, Any]) -> bytes:
    try:
        data = archive.read(name)
    except KeyError:
        raise ModelFileError(f"The model file lacks its member {name}.") from None
    expected, found = manifest.get("sha256", {}).get(name), hashlib.sha256(data).hexdigest()
    if found != expected:
        raise ModelFileError(f"The member {name} of the model file was altered: expected {expected}, found {found}.")
    return data
