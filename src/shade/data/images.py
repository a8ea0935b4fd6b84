"""Images: a folder or a zip of image files."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade._base.files import files_in, is_hidden
from shade._base.memory import check_room
from shade.data.row_sources import RowSource, Stamps
from shade.data.samples import ReadOptions, Samples, counted, enumerate_names

IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm", ".pnm"}
)
DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L")  # grey with more than eight bits

Opener = Callable[[str], IO[bytes]]


def read_images(path: Path, options: ReadOptions) -> Samples:
    """Read images of one size: grey as n × height × width, colour as n × 3 × height × width."""
    check_no_columns(path, options)
    source = ImageFiles(path, options.resize)
    rows: Any = source
    if options.memory is None or options.resize is not None:
        what = f"Reading {counted(len(source), 'image')}"
        check_room(2 * source.nbytes, options.memory, what, "Give more, or a smaller --resize.")
        rows = source[:].reshape(len(source), *source.sample_shape)
    labels = folder_labels(source.file_names, options.label, path)
    return Samples(rows, "images", str(path), np.array(source.file_names), labels=labels, notes=tuple(source.notes))


class ImageFiles(RowSource):
    """The images in a folder or a zip, sorted by name. They have one size or are resized to one."""

    def __init__(self, path: Path, resize: tuple[int, int] | None = None) -> None:
        self._path, self._resize, self._stamps = path, resize, Stamps()
        modes: Counter[str] = Counter()
        sizes: Counter[tuple[int, int]] = Counter()
        with self._open_files() as (names, open_file):
            self.file_names = [name for name in names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES]
            for name in self.file_names:  # only headers are read
                with self._open_image(name, open_file) as image:
                    modes[image.mode] += 1
                    sizes[image.size] += 1
        if not self.file_names:
            raise DataError(f"{path} holds no images ({', '.join(sorted(IMAGE_SUFFIXES))}).")
        (width, height), _ = sizes.most_common(1)[0]
        if resize is None and len(sizes) > 1:
            shown = ", ".join(f"{count} of {w}x{h}" for (w, h), count in sizes.most_common(4))
            raise DataError(
                f"The images in {path} have {len(sizes)} sizes ({shown}{', …' if len(sizes) > 4 else ''}). "
                f"Bring them to one with --resize {width}x{height}."
            )
        self._mode = _common_mode(modes)
        self.notes = _notes_of(sorted(set(names) - set(self.file_names)), modes, self._mode, resize)
        width, height = resize or (width, height)
        channels = (3,) if self._mode == "RGB" else ()
        kind = np.dtype(np.float32 if self._mode == "F" else np.uint8)
        self._pixel_shape = (height, width, *channels)
        self._set_shape((len(self.file_names), *channels, height, width), kind, str(path))

    def read(self, start: int, stop: int) -> AnyArray:
        """Open and decode files."""
        pixels = np.empty((stop - start, *self._pixel_shape), self.dtype)
        with self._open_files() as (_, open_file):
            for place, name in enumerate(self.file_names[start:stop]):
                with self._open_image(name, open_file) as image:
                    found = image if image.mode == self._mode else image.convert(self._mode)
                    pixels[place] = found if self._resize in (None, found.size) else found.resize(self._resize)
        return channels_first(pixels).reshape(stop - start, -1)

    def place(self, row: int) -> str:
        """Return row number and file name."""
        return f"row {row} ({self.file_names[row]})"

    @contextmanager
    def _open_files(self) -> Iterator[tuple[list[str], Opener]]:
        """Yield the names of all files that are not hidden, sorted, and a function that opens one."""
        path = self._path
        if path.is_dir():
            names = [file.relative_to(path).as_posix() for file in files_in(path)]
            yield sorted(names), lambda name: (path / name).open("rb")
            return
        errors = (zipfile.BadZipFile, NotImplementedError, RuntimeError)
        with told_as(DataError, f"{path} cannot be read as a zip of images", *errors), zipfile.ZipFile(path) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            yield sorted(name for name in names if not is_hidden(PurePosixPath(name))), archive.open

    @contextmanager
    def _open_image(self, name: str, open_file: Opener) -> Iterator[Any]:
        from PIL import Image

        errors = (OSError, ValueError, SyntaxError, zipfile.BadZipFile, Image.DecompressionBombError)
        what = f"The image {name} in {self._path} cannot be read"
        place = self._path / name if self._path.is_dir() else self._path
        self._stamps.check(place)
        with told_as(DataError, what, *errors), open_file(name) as file, Image.open(file) as image:
            yield image
        self._stamps.check(place)


def channels_first(pixels: AnyArray) -> AnyArray:
    """Turn n × height × width × channels into n × channels × height × width. Grey images are not changed."""
    return np.ascontiguousarray(np.moveaxis(pixels, 3, 1)) if pixels.ndim == 4 else pixels


def check_no_columns(path: Path, options: ReadOptions) -> None:
    """Raise an error for options that name columns, since images and videos have none."""
    if options.id is not None or options.drop:
        raise DataError(
            f"{path} holds images, which have no columns. Leave out --id and --drop: each row is named by its file."
        )


def folder_labels(names: Sequence[str], label: str | None, source: Path) -> AnyArray | None:
    """Return the folder of each file, if the option requires it."""
    if label is None:
        return None
    if label != "folder":
        raise DataError(
            f"The files in {source} have no column {label!r}: use --label folder for the folder they are in."
        )
    return np.array([PurePosixPath(name).parent.name for name in names])


def _common_mode(modes: Counter[str]) -> str:
    """Return the mode that can represent all of these."""
    if all(mode in ("1", "L") for mode in modes):
        return "L"
    return "F" if all(mode in ("1", "L", *DEEP_MODES) for mode in modes) else "RGB"


def _notes_of(others: list[str], modes: Counter[str], mode: str, resize: tuple[int, int] | None) -> list[str]:
    """Describe what happens to the images and to other files, one sentence each."""
    notes = []
    if others:
        notes.append(f"left out {counted(len(others), 'file')} of another kind: {enumerate_names(others)}")
    if len(modes) > 1:
        shown = ", ".join(f"{count} {name}" for name, count in modes.most_common())
        notes.append(f"read images of several kinds ({shown}) as {'colour' if mode == 'RGB' else 'grey'}")
    if any(name.endswith("A") for name in modes):
        notes.append("left out the transparency of images")
    if resize is not None:
        notes.append(f"resized the images to {resize[0]}x{resize[1]}")
    return notes
