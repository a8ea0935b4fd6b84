"""One, two and four ranks on benchmark datasets. Run with a folder, a number of epochs and names of datasets.

The same embedding gives the same partition. The same batches give the same losses to rounding, which training makes
larger: how many labels it turned is told.
"""

import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from shade import SHADE, DCTreeClustering, training
from shade._base.errors import ShadeWarning
from shade.training.group_trainer import GroupTrainer
from tests.data_files import FOLDER
from tests.estimators.rank_cases import SETTINGS, blobs, results

MOST_RANKS = 4


def fit(X: np.ndarray, epochs: int) -> dict[str, object]:
    """A fit whose steps take four batches, however many ranks share them."""
    training.Trainer = training.GroupTrainer = partial(GroupTrainer, batches_per_step=MOST_RANKS)
    model = SHADE(epochs=epochs, n_networks=1, random_state=0, device="cpu").fit(X)
    return {
        "labels": model.labels_,
        "embedding": model.embedding_,
        "losses": [record["loss"] for record in model.history_],
    }


def cluster(X: np.ndarray) -> dict[str, object]:
    return {
        selection: DCTreeClustering(selection=selection, device="cpu").fit(X).labels_
        for selection in ("information", "branches")
    }


def compare(folder: Path, name: str, epochs: int) -> None:
    with np.load(FOLDER / f"{name}.npz") as file:
        X = file["X"].reshape(len(file["X"]), -1)
    [alone] = results(folder, 1, partial(fit, X, epochs))
    work = partial(cluster, alone["embedding"])
    [partitions] = results(folder, 1, work)
    for world in (2, MOST_RANKS):
        for found in results(folder, world, work):
            for selection, labels in partitions.items():
                assert np.array_equal(found[selection], labels), f"{name}: other {selection} by {world} ranks"
        shared = results(folder, world, partial(fit, X, epochs))
        for found in shared:
            np.testing.assert_allclose(found["losses"], alone["losses"], rtol=1e-3)
            assert np.array_equal(found["embedding"], shared[0]["embedding"]), f"{name}: ranks differ"
        turned = int(np.sum(shared[0]["labels"] != alone["labels"]))
        apart = np.abs(shared[0]["embedding"] - alone["embedding"]).max() / alone["embedding"].std()
        clusters = len(set(alone["labels"]) - {-1})
        sys.stdout.write(
            f"{name}, {world} ranks: {clusters} clusters; the same partition of the same embedding; fitted with the "
            f"same batches: {turned} of {len(X)} labels differ, embeddings by {apart:.1g} standard deviations\n"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ShadeWarning)  # few epochs leave noise
    SHADE(**{**SETTINGS, "n_jobs": 1}).fit(blobs(100))  # compiles, with no thread left after
    DCTreeClustering(n_jobs=1, selection="branches").fit(blobs(1500, 5))
    for name in sys.argv[3:]:
        compare(Path(sys.argv[1]), name, int(sys.argv[2]))
