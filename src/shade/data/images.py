"""Pictures: a folder or a zip of image files."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError
from shade._base.extras import need
from shade._base.memory import check_room
from shade.data.samples import Samples, counted, enumerate_names

IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm", ".pnm"}
)
DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L")  # grey with more than eight bits


@dataclass(frozen=True)
class ImageFiles:
    """Named files, in a folder or a zip."""

    names: list[str]
    open: Callable[[str], IO[bytes]]


@contextmanager
def files_of(path: Path) -> Iterator[ImageFiles]:
    """The files below a folder or in a zip, sorted by name; hidden ones are left out."""
    if path.is_dir():
        names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
        yield ImageFiles(_visible(names), lambda name: (path / name).open("rb"))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(info.filename for info in archive.infolist() if not info.is_dir())
            yield ImageFiles(_visible(names), archive.open)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path} cannot be read as a zip of images: {error}.") from None


def read_images(
    path: Path,
    *,
    label: str | None,
    resize: tuple[int, int] | None,
    memory: int | None = None,
    later: Callable[[Path], Any] | None = None,
) -> Samples:
    """Read pictures of one size: grey ones as n × height × width, coloured ones as n × 3 × height × width.

    `later` makes rows that are read when they are used.
    """
    notes = []
    with files_of(path) as files:
        names = [name for name in files.names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES]
        if not names:
            raise DataError(f"{path} holds no images ({', '.join(sorted(IMAGE_SUFFIXES))}).")
        others = sorted(set(files.names) - set(names))
        if others:
            notes.append(f"left out {counted(len(others), 'file')} not of images: {enumerate_names(others)}")
        modes, sizes = survey(path, files, names)
        if resize is None and len(sizes) > 1:
            shown = ", ".join(f"{count} of {w}x{h}" for (w, h), count in sizes.most_common(4))
            w, h = sizes.most_common(1)[0][0]
            raise DataError(
                f"The images in {path} have {len(sizes)} sizes ({shown}{', …' if len(sizes) > 4 else ''}). "
                f"Bring them to one with --resize {w}x{h}."
            )
        mode = common_mode(modes)
        if len(modes) > 1:
            shown = ", ".join(f"{count} {name}" for name, count in modes.most_common())
            notes.append(f"read images of several kinds ({shown}) as {'colour' if mode == 'RGB' else 'grey'}")
        if any(name.endswith("A") for name in modes):
            notes.append("left out the transparency of images")
        width, height = resize or sizes.most_common(1)[0][0]
        size = len(names) * width * height * {"L": 1, "RGB": 3}.get(mode, 4)
        if later is None:
            check_room(2 * size, memory, f"Reading {counted(len(names), 'image')}", "Give more, or a smaller --resize.")
            pixels = np.stack([read_pixels(path, files, name, mode, resize) for name in names])
    if resize is not None:
        notes.append(f"resized the images to {resize[0]}x{resize[1]}")
    return Samples(
        rows=channels_first(pixels) if later is None else later(path),
        kind="images",
        source=str(path),
        ids=np.array(names),
        labels=folder_labels(names, label, path),
        notes=tuple(notes),
    )


def channels_first(pixels: AnyArray) -> AnyArray:
    """From n × height × width × channels to n × channels × height × width; grey images stay as they are."""
    return np.ascontiguousarray(np.moveaxis(pixels, 3, 1)) if pixels.ndim == 4 else pixels


def folder_labels(names: Sequence[str], label: str | None, source: Path) -> AnyArray | None:
    """The folder that each file lies in, when asked for."""
    if label is None:
        return None
    if label != "folder":
        raise DataError(
            f"The files in {source} have no column {label!r}: use --label folder for the folder they are in."
        )
    return np.array([PurePosixPath(name).parent.name for name in names])


def _visible(names: list[str]) -> list[str]:
    return [name for name in names if not any(part.startswith((".", "__MACOSX")) for part in name.split("/"))]


def survey(path: Path, files: ImageFiles, names: list[str]) -> tuple[Counter[str], Counter[tuple[int, int]]]:
    """How many images there are of each mode and size, from their headers alone."""
    modes: Counter[str] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for name in names:
        with _image(path, files, name) as image:
            modes[image.mode] += 1
            sizes[image.size] += 1
    return modes, sizes


def common_mode(modes: Counter[str]) -> str:
    """The mode that holds all of these."""
    if all(mode in ("1", "L") for mode in modes):
        return "L"
    return "F" if all(mode in ("1", "L", *DEEP_MODES) for mode in modes) else "RGB"


def read_pixels(path: Path, files: ImageFiles, name: str, mode: str, resize: tuple[int, int] | None) -> AnyArray:
    """One picture in a mode and size."""
    with _image(path, files, name) as image:
        found = image if image.mode == mode else image.convert(mode)
        if resize is not None and found.size != resize:
            found = found.resize(resize)
        return np.asarray(found)


@contextmanager
def _image(path: Path, files: ImageFiles, name: str) -> Iterator[Any]:
    """An open image; what is wrong with it is told with its name."""
    pillow = need("PIL.Image", "io", "Reading images")
    try:
        with files.open(name) as file, pillow.open(file) as image:
            yield image
    except (OSError, ValueError, SyntaxError, zipfile.BadZipFile, pillow.DecompressionBombError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"The image {name} in {path} cannot be read: {text}.") from None
