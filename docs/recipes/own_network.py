"""
Your own network
================

SHADE trains any torch module that has ``encode`` and ``decode``.
"""

# %%
# This one drops a tenth of its inputs during training.

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

from shade import SHADE, load, plots
from shade.data import make_moons
from shade.training import EarlyStopping


class Forgetful(nn.Module):
    """An autoencoder with dropout."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Dropout(0.1), nn.Linear(n_features, 64), nn.SiLU(), nn.Linear(64, 5)
        )
        self.decoder = nn.Sequential(
            nn.Linear(5, 64), nn.SiLU(), nn.Linear(64, n_features)
        )

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        return self.decoder(z)


plane, _ = make_moons(600, random_state=0)
X = plane @ np.random.default_rng(0).normal(
    size=(2, 20)
)  # two moons, rotated into 20 dimensions
model = SHADE(
    network=Forgetful(20),
    epochs=60,
    callbacks=(EarlyStopping(patience=10),),
    random_state=0,
).fit(X)
print(
    model.n_clusters_,
    "clusters after",
    model.n_iter_,
    "epochs of",
    model.n_networks_,
    "networks",
)
plots.plot_losses(model.history_)

# %%
# A model file holds weights, never code. To load it, pass a module of the same class.

path = Path(tempfile.mkdtemp()) / "moons.shade"
model.save(path)
print((load(path, network=Forgetful(20)).predict(X) == model.labels_).all())
