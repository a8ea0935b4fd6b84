"""
Serving with ONNX Runtime
=========================

Two files are needed, and neither can run code: a model file is data, and ONNX is a graph of arithmetic.
"""

# %%
# Train, then write both files.

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from shade import SHADE, load
from shade.data import make_blobs

folder = Path(tempfile.mkdtemp())
X, _ = make_blobs(600, n_clusters=4, n_features=12, random_state=0)
X = X.astype(np.float32)
model = SHADE(epochs=15, random_state=0).fit(X)
model.save(folder / "model.shade")
model.to_onnx(folder / "encoder.onnx")

# %%
# To compute the embedding, the server needs neither shade nor torch. Standardisation is part of the graph, so rows are
# passed as they are.

session = onnxruntime.InferenceSession(
    folder / "encoder.onnx", providers=["CPUExecutionProvider"]
)
(embedded,) = session.run(["embedding"], {"X": X[:5]})
print(
    embedded.shape,
    "differs from transform by at most",
    f"{np.abs(embedded - model.transform(X[:5])).max():.0e}",
)

# %%
# Labels need the density tree, which is in the model file. The file holds no training data, and loading it executes no
# code.

served = load(folder / "model.shade", device="cpu")
print(served.predict(X[:5]), model.labels_[:5])
