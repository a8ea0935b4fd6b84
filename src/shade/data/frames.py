"""Videos: each frame is a sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shade._base.arrays import AnyArray
from shade._base.errors import DataError, told_as
from shade._base.files import files_in
from shade.data.images import channels_first, check_no_columns, folder_labels
from shade.data.samples import ReadOptions, Samples, counted

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mov", ".mkv", ".webm", ".mpg", ".mpeg", ".m4v", ".wmv", ".ogv"})


def read_frames(path: Path, options: ReadOptions) -> Samples:
    """Read the frames of a video, or of all videos below a folder, as n × 3 × height × width."""
    check_no_columns(path, options)
    files, base = [path], path.parent
    if path.is_dir():
        files, base = [file for file in files_in(path) if file.suffix.lower() in VIDEO_SUFFIXES], path
    frames: list[AnyArray] = []
    ids: list[str] = []
    names: list[str] = []
    for file in files:
        name = file.relative_to(base).as_posix()
        for number, frame in _decode(file, options.resize, options.every):
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
    if options.every > 1:
        notes.append(f"read one of every {options.every} frames")
    labels = np.array(names) if options.label == "file" else folder_labels(names, options.label, path)
    rows = channels_first(np.stack(frames))
    return Samples(rows, "frames", str(path), np.array(ids), labels=labels, notes=tuple(notes))


def _decode(file: Path, resize: tuple[int, int] | None, every: int) -> list[tuple[int, AnyArray]]:
    """Return every n-th frame of a video with its number."""
    import av

    width, height = resize or (None, None)
    with told_as(DataError, f"The video {file} cannot be read", av.FFmpegError, IndexError), av.open(file) as container:
        frames = [
            (number, frame.to_ndarray(format="rgb24", width=width, height=height))
            for number, frame in enumerate(container.decode(video=0))
            if number % every == 0
        ]
    if not frames:
        raise DataError(f"The video {file} has no frames.")
    return frames
