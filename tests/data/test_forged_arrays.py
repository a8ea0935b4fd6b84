"""Arrays whose headers lie, and files that are none: one sentence, whatever the header says."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shade import SHADE, DCTreeClustering
from shade._base.errors import DataError, MemoryBudgetError
from shade.data import read_samples
from shade.report import write_report

PIECES = ["0", "1", "-1", "3", "64", "2305843009213693952", "9223372036854775807", "1" + "0" * 30, "True", "3.0", "'a'"]
KINDS = ["<f8", ">f4", "|O", "<U3", "<i8", "<c16", "V7", "nothing", "<f8" * 3000]


def forge(random: np.random.Generator) -> bytes:
    """A npy file with any shape, type, version, length of its header, and number of bytes."""
    shape = "".join(f"{piece}, " for piece in random.choice(PIECES, random.integers(0, 5)))
    kind = KINDS[int(random.integers(len(KINDS)))] if random.random() < 0.4 else "<f8"
    order = random.choice(["False", "True", "7"], p=[0.8, 0.1, 0.1])
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({shape}), }}"
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    length = len(text) if random.random() < 0.9 else int(random.integers(2**16))
    version = bytes([int(random.choice([1, 1, 1, 2, 3, 9])), 0])
    return (
        b"\x93NUMPY" + version + min(length, 2**16 - 1).to_bytes(2, "little") + text + bytes(int(random.integers(600)))
    )


def test_npy_files_of_any_header_are_read_or_refused_in_one_sentence(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    refused = 0
    for number in range(int(os.environ.get("SHADE_FORGED", "300"))):
        path = tmp_path / "rows.npy"
        path.write_bytes(forge(random))
        with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
            archive.write(path, "X.npy")
        for door in (read_samples, SHADE(n_networks=1, epochs=1, network=(2,), min_samples=2).fit):
            for name in ("rows.npy", "rows.npz"):
                try:
                    door(tmp_path / name, memory=10**9)
                except (DataError, MemoryBudgetError) as error:
                    refused += 1
                    assert "\n" not in str(error) and len(str(error)) < 1000, number
                except ValueError as error:  # too few rows, or too few columns, in the words of other data
                    assert "n_samples = " in str(error) or "minimum" in str(error), (number, str(error))
    assert refused > 0


@pytest.mark.parametrize(
    "shape", ["(0, 4611686018427387904)", "(4611686018427387904, 0)", f"(1{'0' * 28}, 2)", "(-5, 3)"]
)
def test_absurd_shapes_are_told_by_the_name_of_the_file(shape: str, tmp_path: Path) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    (tmp_path / "rows.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64))
    for door in (read_samples, SHADE().fit):
        with pytest.raises(DataError, match=r"rows\.npy"):
            door(tmp_path / "rows.npy")


def test_a_file_that_was_cut_short_is_told_by_name(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.ones((50, 4)))
    whole = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "rows.npy").write_bytes(whole[:-9])
    for door in (read_samples, SHADE().fit):
        with pytest.raises(DataError, match=r"rows\.npy ends in row 49 of 50: it was cut short"):
            door(tmp_path / "rows.npy")


@pytest.mark.parametrize("shape", [(60, 5, 0), (60, 0, 5), (60, 1, 5, 0), (60, 0)])
def test_images_without_pixels_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    model = DCTreeClustering().fit(np.random.default_rng(0).normal(size=(60, 2)))
    with pytest.raises(ValueError, match="no length of it may be 0"):
        write_report(model, tmp_path / "report.html", samples=np.zeros(shape))
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        SHADE(n_networks=1).fit(np.zeros(shape))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        SHADE(n_networks=1).fit(np.zeros((0, 5, 5)))


@pytest.mark.parametrize("callbacks", [None, 3, print])
def test_callbacks_that_are_no_sequence_are_told(callbacks: object) -> None:
    with pytest.raises(ValueError, match="The 'callbacks' parameter of SHADE must be a sequence"):
        SHADE(callbacks=callbacks).fit(np.random.default_rng(0).normal(size=(60, 2)))


def test_pipes_are_not_empty_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    for path in (tmp_path / "rows.csv", Path("/dev/null")):
        with pytest.raises(DataError, match="is a pipe or a device, not a file"):
            read_samples(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_of_wide_characters_is_told_with_its_encoding(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes("a,b\n1,2\n3,4\n".encode(encoding))
    with pytest.raises(DataError, match=rf"another encoding: add --encoding {encoding}\.$"):
        read_samples(tmp_path / "rows.csv")
    assert read_samples(tmp_path / "rows.csv", encoding=encoding).shape == (2, 2)


def test_text_far_down_is_told_with_its_row_and_value(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f"1,{row % 50}\n" for row in range(200_001)) + "3,oops\n")
    with pytest.raises(DataError, match=r"'b' \(such as 'oops' in row 200001\)"):
        read_samples(tmp_path / "rows.csv")
