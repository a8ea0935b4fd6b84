"""
Serving with ONNX Runtime
=========================

Neither of the two files that leave your hands can run code: a model file is data, and ONNX is a graph of arithmetic.
"""

# %%
# Train, then write both.

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
# Where it is served, the embedding needs neither shade nor torch. Standardisation is part of the graph: rows go in as
# they are.

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
# Labels need the tree, and so the model file. It holds no training data, and loading it executes nothing.

served = load(folder / "model.shade", device="cpu")
print(served.predict(X[:5]), model.labels_[:5])
