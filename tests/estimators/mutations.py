"""Damaged and forged model files, each loaded and used: python -m tests.estimators.mutations 2600

So many files of each kind of model are tried, in a process whose memory is bounded. Each must be refused or load to
the same predictions: to the last bit if it was damaged; if it was forged, so that its hashes fit its contents, to
the same labels and five digits of strengths and embedding. What is not noticed of forged files, here or elsewhere:

- a weight that was changed in its last bits, so that sixteen made-up rows embed as before to six digits;
- what no prediction reads: weights of the decoder, history, versions, and of SHADE the links by which noise is put into
  clusters;
- distances of the tree that are too small, and rows that moved, in a model of more than two thousand rows, of which a
  sample is compared with all others;
- a file in which everything was made anew so that it fits, which is another model.
"""

import hashlib
import io
import json
import pickle
import resource
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, pairwise
from pathlib import Path

import numpy as np
import safetensors.torch
import torch

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import ModelFileError
from tests.estimators.grouped import with_groups

MEMBERS = ("manifest.json", "network.safetensors", "arrays.npz")
MARK = "shade-mutation-was-executed"
MODELS = ("feed-forward", "convolutional", "tree", "grouped", "outskirts")
ALL_KINDS = 2600  # files of a model that differ in more than the bits flipped, about
MOST_SECONDS = 60  # for one file, until it counts as hanging
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


def parts_of(whole: bytes) -> list[tuple[int, int]]:
    """Where the members, and the directory at the end, begin and end."""
    places = [whole.index(name.encode()) for name in MEMBERS] + [whole.rindex(b"PK\x01\x02"), len(whole)]
    return list(pairwise([0, *places]))


def flipped(whole: bytes, random: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    """A few bits in each part in turn, without an end."""
    for start, stop in cycle(parts_of(whole)):
        changed = bytearray(whole)
        for _ in range(int(random.integers(1, 4))):
            changed[int(random.integers(start, stop))] ^= 1 << int(random.integers(8))
        yield "bits flipped", bytes(changed)


def damaged(whole: bytes, random: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    for start, stop in parts_of(whole):
        for cut in {start, start + 1, stop - 1, int(random.integers(start, stop))}:
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


def forged_arrays(members: dict[str, bytes], random: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(data)) for name, data in unpack(members["arrays.npz"]).items()
    }
    for name, array in arrays.items():
        array = array if array.size else np.zeros(1, array.dtype)  # noqa: PLW2901 - nothing in it could be changed
        limits = np.iinfo(array.dtype) if array.dtype.kind == "i" else None
        numbers = [np.nan, np.inf, -np.inf, -1.0, 1e300, 0.0]
        values = [-1, -2, len(array), limits.max, limits.min, 0] if limits else numbers
        for value in values:
            changed = array.copy()
            with np.errstate(over="ignore"):
                changed.flat[int(random.integers(array.size))] = value
            yield "array value", forge(members, arrays=npz({**arrays, name: changed}))
        for _ in range(6):  # the same values, but of other rows, nodes or clusters
            changed = array.copy()
            one, other = random.integers(len(array), size=2)
            changed[[one, other]] = changed[[other, one]]
            yield "array swapped", forge(members, arrays=npz({**arrays, name: changed}))
            yield "array rolled", forge(members, arrays=npz({**arrays, name: np.roll(array, int(one), axis=0)}))
            changed = array.copy()
            changed.flat[int(random.integers(array.size))] += 1
            yield "array step", forge(members, arrays=npz({**arrays, name: changed}))
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


def forged_tensors(members: dict[str, bytes], random: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    data = members["network.safetensors"]
    tensors = safetensors.torch.load(data)
    for _ in range(20):
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
    for name in [*manifest["rule"], "unknown"]:
        for value in NASTY:
            rule = {**manifest["rule"], name: value}
            yield "rule", forge(members, manifest=json.dumps({**manifest, "rule": rule}).encode())
            if name in manifest["parameters"]:  # told alike in both places
                both = {"rule": rule, "parameters": {**manifest["parameters"], name: value}}
                yield "rule", forge(members, manifest=json.dumps({**manifest, **both}).encode())
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


def mutations(whole: bytes, other: bytes, files: int) -> Iterator[tuple[str, bool, bytes]]:
    """Kind, whether the hashes were forged to fit, and the file: a share of each kind, then bits flipped to make up."""
    random = np.random.default_rng(0)
    members = unpack(whole)
    sources = [
        (False, damaged(whole, random)), (False, rearranged(whole, other)), (True, forged_arrays(members, random)),
        (True, forged_tensors(members, random)), (True, forged_manifest(members)),
    ]  # fmt: skip
    share = min(1.0, files / ALL_KINDS)
    made: Counter[str] = Counter()
    taken = 0
    for forged, source in sources:
        for kind, data in source:
            before, made[kind] = made[kind], made[kind] + 1
            if before == 0 or int(made[kind] * share) > int(before * share):
                taken += 1
                yield kind, forged, data
    for _, (kind, data) in zip(range(max(files - taken, files // 8)), flipped(whole, random), strict=False):
        yield kind, False, data


def make_models(kind: str) -> tuple[np.ndarray, bytes, bytes]:
    """Rows, and the files of two models of them."""
    shape = (8, 8) if kind == "convolutional" else (3,)
    n, apart, seed = (80, 2, 2) if kind == "outskirts" else (24, 8, 0)
    X = np.random.default_rng(0).normal(size=(n, *shape)) + apart * (np.arange(n) % 2).reshape(-1, *[1] * len(shape))
    quick = {"embedding_size": 2, "n_networks": 1, "epochs": 1, "random_state": seed}
    files = []
    for size in (2, 3):  # two models of a kind that differ in more than their weights
        rule = "information" if kind == "grouped" else "branches"
        common = {"min_samples": 3, "selection": rule, "min_cluster_size": 3 * size}
        network = "conv" if kind == "convolutional" else (2 * size,)
        alone = kind in ("tree", "grouped")
        model = (DCTreeClustering(**common) if alone else SHADE(network=network, **common, **quick)).fit(X)
        if kind == "grouped":  # as SHADE does where the data shows groups before a background
            model = with_groups(model, np.where(np.arange(24) < 3, -1, np.arange(24) % 2))
        assert model.clustering_.flat.outskirts.any() == (kind == "outskirts")
        with tempfile.NamedTemporaryFile() as file:
            model.save(file.name)
            files.append(Path(file.name).read_bytes())
    return X, files[0], files[1]


def use(path: Path, X: np.ndarray) -> np.ndarray:
    """Load a model and do what can be done with one."""
    model = shade.load(path, device="cpu")
    labels = model.predict(X)
    if not np.all((labels >= -1) & (labels < model.n_clusters_)):
        raise RuntimeError("labels out of range")
    scores = model.score_samples(X)
    model.assign_noise("tree")
    model.recluster()
    model.recluster(n_clusters=1)
    model.dc_tree_.dc_distances()
    embedded = model.transform(X) if isinstance(model, SHADE) else X
    return np.column_stack([labels, scores, embedded])


class Trial:
    """Files of one model, tried one after the other."""

    def __init__(self, kind: str, path: Path) -> None:
        self.X, self.whole, self.other = make_models(kind)
        self.path = path
        self.expected = self.try_file(self.whole)
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0

    def try_file(self, data: bytes) -> np.ndarray:
        self.path.write_bytes(data)
        signal.alarm(MOST_SECONDS)
        try:
            return use(self.path, self.X)
        finally:
            signal.alarm(0)

    def run(self, files: int) -> None:
        for number, (kind, forged, data) in enumerate(mutations(self.whole, self.other, files)):
            started = time.monotonic()
            outcome, problem = self.judge(data, forged)
            self.slowest = max(self.slowest, time.monotonic() - started)
            self.counts["forged" if forged else "damaged"] += 1
            self.counts[outcome] += 1
            if problem:
                self.failures.append(f"{number} {kind}: {problem[:300]}")

    def judge(self, data: bytes, forged: bool) -> tuple[str, str]:
        """What became of a file, and what is wrong with that."""
        try:
            found = self.try_file(data)
        except ModelFileError as error:
            # Memory refused by the limit here was asked for by the reader.
            wrong = "\n" in str(error) or "alloc" in str(error) or "memory" in str(error).lower()
            return "refused", str(error) if wrong else ""
        except ValueError as error:  # forged numbers may be too large for the data, which is told when they meet
            known = forged and "too large for single precision" in str(error)
            return "refused with the data", "" if known else str(error)
        except BaseException as error:
            return "failed", f"{type(error).__name__} {error}"
        if np.array_equal(found, self.expected):
            return "the same", ""
        rounding = forged and np.array_equal(found[:, 0], self.expected[:, 0])
        if rounding and np.allclose(found, self.expected, rtol=1e-5, atol=1e-6):
            return "the same but for rounding", ""
        return "another model", "other predictions"


def main(files: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trials = {kind: Trial(kind, Path(folder, "mutated.shade")) for kind in MODELS}
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (pages + 2**30, resource.RLIM_INFINITY))
        warnings.simplefilter("ignore")  # of making the files
        for trial in trials.values():
            trial.run(int(files))
    failures = [f"{kind} {text}" for kind, trial in trials.items() for text in trial.failures]
    if Path(MARK).exists():
        failures.append("a pickle was executed")
    result = {
        "counts": {kind: trial.counts for kind, trial in trials.items()},
        "slowest_seconds": round(max(trial.slowest for trial in trials.values()), 2),
        "grown_bytes": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
        "failures": failures[:40],
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
