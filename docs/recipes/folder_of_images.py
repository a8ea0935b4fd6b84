"""
A folder of images
==================

From pictures on disk to a report.
"""

# %%
# Any folder works. This one is filled with handwritten digits, in a subfolder per digit. The names of the subfolders are
# read as known labels, for comparison only.

import tempfile
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from shade import SHADE, plots
from shade.data import read_samples
from shade.report import write_report

folder = Path(tempfile.mkdtemp())
digits = load_digits(n_class=4)
for row, (image, digit) in enumerate(zip(digits.images, digits.target, strict=True)):
    (folder / "images" / str(digit)).mkdir(parents=True, exist_ok=True)
    Image.fromarray((image * 15).astype("uint8")).save(
        folder / "images" / str(digit) / f"{row}.png"
    )

samples = read_samples(folder / "images", label="folder")
print(samples.rows.shape, samples.rows.dtype, samples.ids[:2])

# %%
# Samples with a height and a width are images, so all pixels are standardised together. For larger pictures,
# ``network="conv"`` uses convolutions, and ``read_samples(..., resize=(64, 64))`` makes them smaller.

model = SHADE(epochs=30, random_state=0).fit(samples.rows)
agreement = adjusted_rand_score(samples.labels, model.labels_)
print(f"{model.n_clusters_} clusters, adjusted Rand index {agreement:.2f}")
plots.plot_embedding(model.embedding_, model.labels_)

# %%
# The report shows the pictures of each cluster, and you can choose another number of clusters. It is one file that works
# offline.

report = write_report(
    model, folder / "report.html", samples=samples, title="Four digits"
)
print(report.name, f"{report.stat().st_size / 1e6:.1f} MB")
