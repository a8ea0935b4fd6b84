"""
Frames of a video
=================

Each frame is a sample. Clusters are scenes, or phases of a movement.
"""

# %%
# A video of three scenes with 40 frames each. In each scene a bright spot moves in a circle at another place.

import tempfile
from pathlib import Path

import av
import numpy as np

from shade import SHADE, plots
from shade.data import read_samples

path = Path(tempfile.mkdtemp()) / "scenes.mp4"
rng = np.random.default_rng(0)
rows, columns = np.mgrid[:48, :64]
with av.open(str(path), "w") as video:
    stream = video.add_stream("mpeg4", rate=20)
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    for frame in range(120):
        scene, angle = frame // 40, 2 * np.pi * frame / 40
        middle = (
            12 + 24 * (scene % 2) + 5 * np.sin(angle),
            12 + 20 * scene + 5 * np.cos(angle),
        )
        spot = 220 * np.exp(
            -((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2) / 40
        )
        picture = np.repeat(
            (spot + rng.uniform(0, 20, spot.shape)).astype(np.uint8)[..., None],
            3,
            axis=2,
        )
        video.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    video.mux(stream.encode())

# %%
# ``every=n`` reads every n-th frame, and ``resize`` makes frames smaller: neighbouring frames and pixels are very similar.

samples = read_samples(path, resize=(32, 24))
print(samples.rows.shape, samples.ids[:2])
model = SHADE(epochs=30, random_state=0).fit(samples.rows)
print(model.labels_)
plots.plot_embedding(model.embedding_, model.labels_)
