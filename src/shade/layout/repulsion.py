"""The repulsion between all points of a map. Time is linear in the number of points and in the area of the map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft

from shade._base.arrays import FloatArray, SingleArray
from shade._base.parallel import count_threads, run_chunks
from shade._kernels import layout

# Distance of grid lines. The potential of a point, 1 / (1 + d²), is one unit wide. At half a unit, errors of forces are
# some hundredths of the largest force (tests/layout); at one unit they are a fifth.
STEP = 0.5
# Numbers of grid lines for which a Fourier transform is fast. With few sizes, the kernel is seldom transformed again.
SIZES = (32, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024)
RIM = 4  # grid lines around the points, for splines
FEW_ROWS = 256  # up to here pairs are compared: as fast, and exact if a few points are far from each other
WORTH_THREADS = 256  # grid lines from which several threads are faster
CHUNK = 8192  # rows: for fewer, starting a thread takes longer than it saves


class Repulsion:
    """The repulsion of all points: a sum over pairs if there are few points, else a potential on a grid.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self.step = STEP
        self.corner = np.zeros(2)
        self._grid: SingleArray = np.empty((0, 0), np.float32)
        self._response: Any = None

    def find(self, places: FloatArray, felt: FloatArray, push: FloatArray) -> None:
        """Write for each point the sum of 1 / (1 + d²) over all points, itself included, and the force on it."""
        kernel: Callable[..., None] = layout.repel_by_pairs
        arguments: tuple[Any, ...] = (places, felt, push)
        if len(places) > FEW_ROWS:
            potential = self.potential(places)
            kernel, arguments = layout.repel_by_grid, (places, *self.corner, self.step, potential, felt, push)
        run_chunks(kernel, *arguments, count=len(places), n_jobs=self.n_jobs, chunk=CHUNK, few=CHUNK)

    def potential(self, places: FloatArray) -> SingleArray:
        """Put the grid around the points and return the potential on it; `corner` and `step` give its place."""
        lowest, highest = places.min(axis=0), places.max(axis=0)
        self._fit_grid(float((highest - lowest).max()))
        lines = len(self._grid)
        self.corner = (lowest + highest) / 2 - self.step * (lines - 1) / 2
        layout.spread_points(places, *self.corner, self.step, self._grid)
        shape = (2 * lines, 2 * lines)  # room for the wrap-around of the convolution
        with fft.set_workers(count_threads(self.n_jobs) if lines >= WORTH_THREADS else 1):
            spectrum = fft.rfft2(self._grid, shape)
            spectrum *= self._response
            potential: SingleArray = fft.irfft2(spectrum, shape)
        return potential

    def _fit_grid(self, span: float) -> None:
        """Choose the grid for points of this extent. A very large map gets a coarser grid."""
        wanted = span / STEP + 2 * RIM
        lines = next((size for size in SIZES if size >= wanted), SIZES[-1])
        step = max(STEP, span / (lines - 2 * RIM))
        if (lines, step) != (len(self._grid), self.step):
            self.step, self._grid = step, np.zeros((lines, lines), np.float32)
            self._response = _response(2 * lines, step)


def _response(lines: int, step: float) -> Any:
    """Return the Fourier transform of 1 / (1 + d²), corrected for the splines.

    Spreading and reading with splines blur a function. Division by the transform of that blur makes the result exact
    for points on grid lines.
    """
    along = np.minimum(np.arange(lines), lines - np.arange(lines)) * step
    kernel = 1.0 / (1.0 + along[:, None] ** 2 + along**2)
    blur = (2.0 + np.cos(2.0 * np.pi * np.arange(lines) / lines)) / 3.0
    spectrum = fft.rfft2(kernel) / (blur[:, None] * blur[: lines // 2 + 1]) ** 2
    return spectrum.astype(np.complex64)
