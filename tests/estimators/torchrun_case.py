"""A fit under torchrun: rank 0 dies in its first life, and both ranks go on after the restart."""

import os
import sys
from pathlib import Path

import numpy as np

from shade import SHADE, DCTreeClustering
from tests.estimators.rank_cases import SETTINGS, blobs


def die(record: dict[str, float]) -> None:
    if record["epoch"] == 2:
        os._exit(3)


def main(folder: Path) -> None:
    first_life = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    callbacks = [die] if first_life else []  # callbacks are called on rank 0
    model = SHADE(**SETTINGS, callbacks=callbacks).fit(
        blobs(), checkpoint=folder / "run.ckpt", checkpoint_epochs=1, resume=True
    )
    np.save(folder / f"labels-{os.environ['RANK']}.npy", model.labels_)
    np.save(
        folder / f"tree-{os.environ['RANK']}.npy", DCTreeClustering(selection="branches").fit(blobs(3000, 5)).labels_
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
