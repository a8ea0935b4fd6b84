"""Thousands of damaged and forged model files, each loaded; run as a program, so that memory can be bounded.

A file that was damaged must be refused or load to the same predictions. A forged one, whose hashes fit its changed
contents, may be another valid model: it must be refused, or predict without harm.
"""

import hashlib
import io
import json
import pickle
import resource
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import safetensors.torch
import torch

import shade
from shade._errors import ModelFileError

MEMBERS = ("manifest.json", "network.safetensors", "arrays.npz")
MARK = "shade-mutation-was-executed"
NASTY = [
    None, True, -1, 0, 1, 2, 7, 2**31, 2**63, 10**30, -0.5, 1e308, float("inf"), float("nan"), "", "abc", "conv", [],
    [0], [4, 4], [2**40, 2**40], [1] * 5000, ["a"], {}, {"a": 1}, "branches", "complete", "global",
]  # fmt: skip


class Payload:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path(MARK),)


def pack(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def unpack(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def forge(members: dict[str, bytes], **changes: bytes) -> bytes:
    """A file whose hashes fit; members are named by the part before the dot."""
    changed = {name: changes.get(name.partition(".")[0], data) for name, data in members.items()}
    manifest = json.loads(changed["manifest.json"])
    if isinstance(manifest, dict):
        manifest["sha256"] = {name: hashlib.sha256(changed[name]).hexdigest() for name in MEMBERS[1:]}
    changed["manifest.json"] = json.dumps(manifest).encode()
    return pack(changed)


def npz(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def damaged(whole: bytes, random: np.random.Generator, flips: int) -> Iterator[tuple[str, bytes]]:
    places = [whole.index(name.encode()) for name in MEMBERS] + [whole.rindex(b"PK\x01\x02"), len(whole)]
    for start, stop in zip([0, *places], places, strict=False):
        for _ in range(flips):
            changed = bytearray(whole)
            for _ in range(int(random.integers(1, 4))):
                changed[int(random.integers(start, max(stop, start + 1)))] ^= 1 << int(random.integers(8))
            yield "bits flipped", bytes(changed)
        for cut in {start, start + 1, stop - 1, int(random.integers(start, max(stop, start + 1)))}:
            yield "truncated", whole[:cut]
    for offset in range(len(whole) - 300, len(whole)):  # the directory of the zip, byte by byte
        changed = bytearray(whole)
        changed[offset] = int(random.integers(256))
        yield "directory changed", bytes(changed)
    yield "something before", b"PK\x03\x04" + whole
    yield "something after", whole + b"PK\x05\x06" + bytes(18)


def rearranged(whole: bytes, other: bytes) -> Iterator[tuple[str, bytes]]:
    members, others = unpack(whole), unpack(other)
    manifest, network, arrays = (members[name] for name in MEMBERS)
    yield "swapped", pack(dict(zip(MEMBERS, (manifest, arrays, network), strict=True)))
    yield "swapped", pack(dict(zip(MEMBERS, (network, manifest, arrays), strict=True)))
    for name in MEMBERS:
        yield "of another model", pack({**members, name: others[name]})
        yield "missing", pack({key: data for key, data in members.items() if key != name})
        for named in (f"../{name}", f"/{name}", f"a/../{name}", name.upper(), name + "\x00", "C:\\" + name):
            yield "path", pack({named if key == name else key: data for key, data in members.items()})
            yield "path", pack({**members, named: b"x"})
        bomb = io.BytesIO(pack({key: data for key, data in members.items() if key != name}))
        with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, bytes(1 << 26))
        yield "bomb", bomb.getvalue()
        twice = pack({**members, name[:-1] + "_": members[name]}).replace((name[:-1] + "_").encode(), name.encode())
        yield "twice", twice
    yield "packed", pack(members, zipfile.ZIP_DEFLATED)
    yield "packed", pack(members, zipfile.ZIP_LZMA)
    yield "many members", pack({**members, **{str(number): b"" for number in range(3000)}})
    encrypted = bytearray(whole)
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    yield "encrypted", bytes(encrypted)
    huge = bytearray(whole)  # a size in the directory of 4 GB
    huge[whole.index(b"PK\x01\x02") + 20 : whole.index(b"PK\x01\x02") + 28] = b"\xfe\xff\xff\xff" * 2
    yield "huge member", bytes(huge)


def forged_arrays(members: dict[str, bytes], random: np.random.Generator, each: int) -> Iterator[tuple[str, bytes]]:
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in unpack(members["arrays.npz"]).items()
    }
    for name, array in arrays.items():
        array = array if array.size else np.zeros(1, array.dtype)  # noqa: PLW2901 - nothing in it could be changed
        whole = array.dtype.kind == "i"
        values = [-1, -2, len(array), 2**62, -(2**62), 0] if whole else [np.nan, np.inf, -np.inf, -1.0, 1e300, 0.0]
        for value in values:
            for _ in range(each):
                changed = array.copy()
                with np.errstate(over="ignore"):
                    changed.flat[int(random.integers(array.size))] = value
                yield "array value", forge(members, arrays=npz({**arrays, name: changed}))
        others = [
            array[:-1],
            np.repeat(array, 2, axis=0),
            array[:0],
            array[None],
            array.astype("f2"),
            array.astype("i4"),
        ]
        others += [
            array.astype(">f8"),
            array.astype("c16"),
            array.astype("U3"),
            np.float64(1.0),
            array[::-1],
            array * 0,
        ]
        for other in others:
            yield "array shape", forge(members, arrays=npz({**arrays, name: np.asarray(other)}))
        yield "array missing", forge(members, arrays=npz({key: value for key, value in arrays.items() if key != name}))
        inner = unpack(members["arrays.npz"])
        plain = "'descr': '<f8', 'fortran_order': False"
        for shape in (
            "(99999999999,)",
            "(-5,)",
            "(2, -1)",
            "(9999999999, 9999999999)",
            "()",
            "(1,) * 9999",
            "'a'",
            "[3]",
        ):
            bad = npy(f"{{{plain}, 'shape': {shape}, }}", bytes(64))
            yield "array header", forge(members, arrays=pack({**inner, f"{name}.npy": bad}))
        payload = npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps(np.array([Payload()])))
        yield "pickle", forge(members, arrays=pack({**inner, f"{name}.npy": payload}))
        yield "pickle", forge(members, arrays=pack({**inner, f"{name}.npy": pickle.dumps(Payload())}))
        deep = npy("{'descr': " + "[" * 4000 + "]" * 4000 + "}", b"")
        yield "array header", forge(members, arrays=pack({**inner, f"{name}.npy": deep}))
        yield "array header", forge(members, arrays=pack({**inner, f"{name}.npy": members["manifest.json"]}))
    yield "arrays packed", forge(members, arrays=pack(unpack(members["arrays.npz"]), zipfile.ZIP_DEFLATED))
    yield "many arrays", forge(members, arrays=npz({**arrays, **{f"a{number}": np.zeros(1) for number in range(500)}}))
    yield "pickle", forge(members, arrays=pickle.dumps(Payload()))
    yield "pickle", forge(members, network=pickle.dumps(Payload()))


def forged_tensors(members: dict[str, bytes], random: np.random.Generator, each: int) -> Iterator[tuple[str, bytes]]:
    data = members["network.safetensors"]
    tensors = safetensors.torch.load(data)
    for _ in range(each * 20):
        changed = bytearray(data)
        changed[int(random.integers(len(data)))] ^= 1 << int(random.integers(8))
        yield "tensor bits", forge(members, network=bytes(changed))
    for name, tensor in tensors.items():
        others = [
            tensor[:-1],
            tensor[None],
            tensor.double(),
            tensor.half(),
            tensor.long(),
            tensor * torch.nan,
            tensor * 0,
        ]
        others += [tensor * 1e30, torch.zeros(0), torch.zeros(1000, 1000)]
        for other in others:
            yield "tensor", forge(members, network=safetensors.torch.save({**tensors, name: other.contiguous()}))
        left = {key: value for key, value in tensors.items() if key != name}
        yield "tensor missing", forge(members, network=safetensors.torch.save(left))
        yield "tensor renamed", forge(members, network=safetensors.torch.save({**left, f"7.{name}": tensor}))
    for length in (0, 8, 2**31, 2**63 - 1, 2**64 - 1):
        yield "tensor header", forge(members, network=length.to_bytes(8, "little") + data[8:])
    yield "no tensors", forge(members, network=safetensors.torch.save({}))


def forged_manifest(members: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    manifest = json.loads(members["manifest.json"])
    for name in manifest:
        for value in NASTY:
            yield "manifest", forge(members, manifest=json.dumps({**manifest, name: value}).encode())
        left = {key: value for key, value in manifest.items() if key != name}
        yield "manifest", forge(members, manifest=json.dumps(left).encode())
    for name in [*manifest["parameters"], "unknown", "callbacks", "device"]:
        for value in NASTY:
            parameters = {**manifest["parameters"], name: value}
            yield "parameter", forge(members, manifest=json.dumps({**manifest, "parameters": parameters}).encode())
    for text in (
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[]",
        b"1",
        b"",
        b"\xff\xfe",
        b'{"format": 1' + b" " * 10**6 + b"}",
    ):
        yield "manifest text", pack({**members, "manifest.json": text})


def mutations(whole: bytes, other: bytes, seed: int, each: int) -> Iterator[tuple[str, bool, bytes]]:
    """Kind, whether the hashes were forged to fit, and the file."""
    random = np.random.default_rng(seed)
    members = unpack(whole)
    for kind, data in damaged(whole, random, 60 * each):
        yield kind, False, data
    for kind, data in rearranged(whole, other):
        yield kind, False, data
    for kind, data in forged_arrays(members, random, each):
        yield kind, True, data
    for kind, data in forged_tensors(members, random, each):
        yield kind, True, data
    for kind, data in forged_manifest(members):
        yield kind, True, data


def use(path: Path, X: np.ndarray) -> np.ndarray:
    """Load a model and do what can be done with one."""
    model = shade.load(path, device="cpu")
    labels = model.predict(X)
    if not np.all((labels >= -1) & (labels < model.n_clusters_)):
        raise RuntimeError("labels out of range")
    model.score_samples(X)
    model.assign_noise("tree")
    model.recluster(n_clusters=1)
    model.dc_tree_.dc_distances()
    return np.column_stack([labels, model.transform(X)])


def main(folder: str, seed: str, each: str) -> None:
    whole, other = (Path(folder, name).read_bytes() for name in ("model.shade", "other.shade"))
    X = np.load(Path(folder, "X.npy"))
    path = Path(folder, "mutated.shade")
    path.write_bytes(whole)
    expected = use(path, X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (pages + 2**30, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")  # of making the files
    counts: Counter[str] = Counter()
    failures = []
    for number, (kind, forged, data) in enumerate(mutations(whole, other, int(seed), int(each))):
        path.write_bytes(data)
        counts["files"] += 1
        try:
            found = use(path, X)
        except ModelFileError as error:
            counts["refused"] += 1
            if "\n" in str(error):
                failures.append(f"{number} {kind}: several lines {error}")
            if "alloc" in str(error) or "memory" in str(error).lower():  # refused by the limit here, not by the reader
                failures.append(f"{number} {kind}: asked for memory {error}")
        except ValueError as error:  # forged numbers may be too large for the data, which is told when they meet
            counts["refused data"] += 1
            if not forged or "too large for single precision" not in str(error):
                failures.append(f"{number} {kind}: {error}")
        except BaseException as error:
            failures.append(f"{number} {kind}: {type(error).__name__} {str(error)[:300]}")
        else:
            same = np.array_equal(found, expected)
            counts["same" if same else "another model"] += 1
            if not same and not forged:
                failures.append(f"{number} {kind}: other predictions")
    if Path(MARK).exists():
        failures.append("a pickle was executed")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    sys.stdout.write(json.dumps({"counts": counts, "failures": failures[:40], "grown": grown}))


if __name__ == "__main__":
    main(*sys.argv[1:])
