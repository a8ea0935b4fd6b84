"""Two ranks on one CUDA device, started by torchrun with a folder: the first dies once, and both go on."""

import faulthandler
import os
import sys
from pathlib import Path

import numpy as np

from shade import SHADE
from tests.estimators.rank_cases import SETTINGS, blobs, train_in_groups
from tests.estimators.torchrun_case import die


def main(folder: Path) -> None:
    faulthandler.dump_traceback_later(300, exit=True)  # a rank that waits for ever says where
    first_life = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    disturbed = SHADE(**{**SETTINGS, "device": "cuda"}, callbacks=[die] if first_life else []).fit(
        blobs(2500), checkpoint=folder / "run.ckpt", checkpoint_epochs=1, resume=True
    )
    undisturbed = SHADE(**{**SETTINGS, "device": "cuda"}).fit(blobs(2500))
    np.savez(
        folder / f"{os.environ['RANK']}.npz",
        labels=disturbed.labels_,
        embedding=disturbed.embedding_,
        undisturbed_labels=undisturbed.labels_,
        undisturbed_embedding=undisturbed.embedding_,
        **train_in_groups(2, "cuda"),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
