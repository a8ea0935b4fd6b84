"""The model file: a zip of a manifest, network weights and arrays. Reading it executes nothing.

Members are stored without compression, so nothing can become larger in memory than the file itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, deserialize

from shade._base.arrays import AnyArray
from shade._base.errors import ModelFileError, told_as
from shade._base.files import write_whole

if TYPE_CHECKING:
    import torch

FORMAT = 1  # is increased whenever older versions would misread a new file
NETWORK, ARRAYS, MANIFEST = "network.safetensors", "arrays.npz", "manifest.json"
MEMBERS = (MANIFEST, NETWORK, ARRAYS)
UNREADABLE = f"The member {NETWORK} of the model file cannot be read"
DTYPES = tuple(map(np.dtype, (np.float32, np.float64, np.int32, np.int64)))
MOST_ARRAYS = 64
MOST_MANIFEST = 1 << 23  # bytes: the values of JSON take up to 30 times as much memory as its text
# Errors of zipfile for damaged archives.
ZIP_ERRORS = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, LookupError, OverflowError,
    struct.error,
)  # fmt: skip


class StoredTensors(Mapping[str, "torch.Tensor"]):
    """The tensors of a file. They are built at the first use, since that loads torch."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        with told_as(ModelFileError, UNREADABLE, SafetensorError, *ZIP_ERRORS):
            self.shapes: dict[str, list[int]] = {name: found["shape"] for name, found in deserialize(data)}  # type: ignore[no-untyped-call]

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    @cached_property
    def _loaded(self) -> dict[str, torch.Tensor]:
        import safetensors.torch

        with told_as(ModelFileError, UNREADABLE, SafetensorError, *ZIP_ERRORS):
            return safetensors.torch.load(self._data)


@dataclass(frozen=True)
class ModelContents:
    """Contents of a model file: values for JSON, tensors, and plain arrays."""

    description: dict[str, Any]
    tensors: Mapping[str, torch.Tensor]
    arrays: dict[str, AnyArray]

    @property
    def n_weights(self) -> int:
        """Number of values in all tensors."""
        if isinstance(self.tensors, StoredTensors):
            return sum(map(math.prod, self.tensors.shapes.values()))
        return sum(tensor.numel() for tensor in self.tensors.values())


def write_model_file(path: str | PathLike[str], contents: ModelContents) -> None:
    """Write the whole file. If that fails, an existing file is not changed."""
    import safetensors.torch

    arrays = io.BytesIO()
    np.savez(arrays, allow_pickle=False, **contents.arrays)
    members = {NETWORK: safetensors.torch.save(dict(contents.tensors)), ARRAYS: arrays.getvalue()}
    manifest = {
        "format": FORMAT,
        **contents.description,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text, packed = json.dumps(manifest, indent=1), io.BytesIO()
    if len(text.encode()) > MOST_MANIFEST:
        raise ValueError(
            f"The names of the features are too long to be saved: with all else they take {len(text)} bytes."
        )
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(MANIFEST, text)
        for name, data in members.items():
            archive.writestr(name, data)
    write_whole(Path(path), packed.getvalue())


def read_model_file(path: str | PathLike[str]) -> ModelContents:
    """Read a model file. The hash of a member is checked before the member is parsed."""
    with Path(path).open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise ModelFileError(
                f"{path} is not a model file of shade: its first bytes are different. Give a file that `save` wrote "
                "or a folder that `shade fit` wrote."
            )
        file.seek(0)
        whole = file.read()
    try:
        members = _unpack(whole, "the model file", MEMBERS)
        manifest = _parse_manifest(members[MANIFEST])
        for name in (NETWORK, ARRAYS):
            _check_hash(name, members[name], manifest)
        return ModelContents(manifest, StoredTensors(members[NETWORK]), _parse_arrays(members[ARRAYS]))
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _unpack(data: bytes, what: str, expected: tuple[str, ...] | None = None) -> dict[str, bytes]:
    """Return the members of a zip. Each must be uncompressed and occur once, and no others are allowed."""
    damaged = f"{what[0].upper()}{what[1:]} is damaged or none"
    with told_as(ModelFileError, damaged, *ZIP_ERRORS), zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = archive.infolist()
        names = [member.filename for member in found]
        for member in found:
            if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                raise ModelFileError(f"The member {member.filename!r:.80} of {what} must not be compressed.")
        if len(set(names)) < len(names) or sum(member.file_size for member in found) > len(data):
            raise ModelFileError(f"The members of {what} overlap.")
        if expected is not None:
            _check_members(names, expected)
        elif len(names) > MOST_ARRAYS:
            raise ModelFileError(f"There are {len(names)} members in {what}, more than {MOST_ARRAYS}.")
        return {name: archive.read(name) for name in names}


def _check_members(names: list[str], expected: tuple[str, ...]) -> None:
    for name in expected:
        if name not in names:
            raise ModelFileError(f"The model file is damaged: it lacks its member {name}.")
    for name in names:
        if name not in expected:
            raise ModelFileError(f"The model file has a member {name!r:.80} that does not belong there.")


def _parse_manifest(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_MANIFEST:
        raise ModelFileError(
            f"The member {MANIFEST} of the model file has {len(data)} bytes, more than {MOST_MANIFEST}."
        )
    with told_as(ModelFileError, f"The member {MANIFEST} of the model file cannot be read", ValueError, RecursionError):
        manifest = json.loads(data)
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if type(found) is int and found > FORMAT:
        raise ModelFileError(
            f"The model file has format {found}, this version of shade reads formats up to {FORMAT}: update shade."
        )
    if type(found) is not int or found < 1:
        raise ModelFileError(f"The model file has an unknown format: {found!r:.80}.")
    return dict(manifest)


def _check_hash(name: str, data: bytes, manifest: Mapping[str, Any]) -> None:
    hashes = manifest.get("sha256")
    expected = hashes.get(name) if isinstance(hashes, dict) else None
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise ModelFileError(
            f"The member {name} of the model file was altered: expected {expected!s:.64}, found {found}."
        )


def _parse_arrays(data: bytes) -> dict[str, AnyArray]:
    """Return the arrays of an npz file. Each must have a plain type and exactly the length of its header."""
    members = _unpack(data, f"the member {ARRAYS} of the model file")
    return {name.removesuffix(".npy"): _parse_array(name, member) for name, member in members.items()}


def _parse_array(name: str, data: bytes) -> AnyArray:
    file = io.BytesIO(data)
    errors = (*ZIP_ERRORS, SyntaxError, TypeError, RecursionError, MemoryError)
    with told_as(ModelFileError, f"The array {name!r:.80} cannot be read", *errors):
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ModelFileError(f"The array {name!r:.80} has version {version} of its format, not 1.0.")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype not in DTYPES or fortran or len(shape) not in (1, 2):
        raise ModelFileError(
            f"The array {name!r:.80} is of {dtype!s:.80} in {len(shape)} dimensions, which is not allowed."
        )
    count, start = math.prod(shape), file.tell()
    if min(shape) < 0 or count * dtype.itemsize != len(data) - start:
        found = len(data) - start
        raise ModelFileError(f"The array {name!r:.80} says it has shape {shape!s:.80}, but holds {found} bytes.")
    return np.frombuffer(data, dtype, count, start).reshape(shape).copy()
