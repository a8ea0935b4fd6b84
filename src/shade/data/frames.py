"""Videos: each frame is a sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError
from shade._base.extras import need
from shade.data.images import channels_first, folder_labels
from shade.data.samples import Samples, counted

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mov", ".mkv", ".webm", ".mpg", ".mpeg", ".m4v", ".wmv", ".ogv"})


def read_frames(path: Path, *, label: str | None, resize: tuple[int, int] | None, every: int) -> Samples:
    """Read the frames of a video, or of all videos below a folder, as n × 3 × height × width."""
    files = sorted(file for file in path.rglob("*") if _is_video(file)) if path.is_dir() else [path]
    base = path if path.is_dir() else path.parent
    frames: list[AnyArray] = []
    ids: list[str] = []
    names: list[str] = []
    for file in files:
        name = file.relative_to(base).as_posix()
        for number, frame in _decode(file, resize, every):
            if frames and frame.shape != frames[0].shape:
                height, width = frames[0].shape[:2]
                raise DataError(
                    f"The frames of {file} are {frame.shape[1]}x{frame.shape[0]}, those before {width}x{height}. "
                    f"Bring them to one size with --resize {width}x{height}."
                )
            frames.append(frame)
            ids.append(f"{name}#{number}")
            names.append(name)
    notes = [f"read {counted(len(frames), 'frame')} of {counted(len(files), 'video')}"]
    if every > 1:
        notes.append(f"took one frame in {every}")
    labels = np.array(names) if label == "file" else folder_labels(names, label, path)
    return Samples(
        rows=channels_first(np.stack(frames)),
        kind="frames",
        source=str(path),
        ids=np.array(ids),
        labels=labels,
        notes=tuple(notes),
    )


def _is_video(file: Path) -> bool:
    return file.suffix.lower() in VIDEO_SUFFIXES and not file.name.startswith(".")


def _decode(file: Path, resize: tuple[int, int] | None, every: int) -> list[tuple[int, AnyArray]]:
    """Every so-maniest frame of a video with its number."""
    av = need("av", "video", "Reading videos")
    width, height = resize or (None, None)
    frames = []
    try:
        with av.open(str(file)) as container:
            for number, frame in enumerate(container.decode(video=0)):
                if number % every == 0:
                    frames.append((number, frame.to_ndarray(format="rgb24", width=width, height=height)))
    except (av.FFmpegError, IndexError) as error:
        raise DataError(f"The video {file} cannot be read: {' '.join(str(error).split())}.") from None
    if not frames:
        raise DataError(f"The video {file} has no frames.")
    return frames
