"""Several processes on one fit: the partition of one process, and no one waits for the dead."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch.distributed as dist

from shade import SHADE
from shade._base import ranks
from shade._base.errors import RankError
from shade._base.ranks import bytes_from_first, rank_and_world, share_of
from tests.estimators.rank_cases import SETTINGS, blobs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
KILLS = os.environ.get("SHADE_RANK_KILLS", "2")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, *command], cwd=root, capture_output=True, text=True, timeout=600, check=False
    )


def test_ranks_agree_with_one_process_and_never_wait_for_the_dead(tmp_path: Path) -> None:
    done = run("-m", "tests.estimators.rank_cases", str(tmp_path), KILLS)
    assert done.returncode == 0, done.stderr
    refusal = "There are 4 processes for 600 rows, which make 2 batches of 300: start 2 at most, or use a smaller"
    # Three cases of four ranks; one that still joins when another has ended already is told of that one instead.
    assert 3 <= done.stderr.count(refusal) <= 3 * 4
    assert "Input X contains NaN in row 3, column 2" in done.stderr
    assert "This process lost another one of the same fit, which ended or failed: see what that one" in done.stderr
    assert "Rank 1 has not been heard of for 3 s: rank 0 of 2 ends as well." in done.stderr
    assert "The process that ranks meet at cannot be reached any more: rank 1 of 2 ends as well." in done.stderr


def test_torchrun_restarts_a_fit_from_its_checkpoint(tmp_path: Path) -> None:
    options = ("--standalone", "--nproc-per-node", "2", "--max-restarts", "1")
    done = run("-m", "torch.distributed.run", *options, "-m", "tests.estimators.torchrun_case", str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second = (np.load(tmp_path / f"labels-{rank}.npy") for rank in range(2))
    assert np.array_equal(first, second)
    assert "exitcode  : 3" in done.stderr or "exitcode: 3" in done.stderr, done.stderr


def test_the_command_line_under_torchrun_writes_once(tmp_path: Path) -> None:
    np.savetxt(
        tmp_path / "rows.csv", blobs(), delimiter=",", header="a,b,c,d,e,f"[: 2 * blobs().shape[1] - 1], comments=""
    )
    command = ("-m", "shade", "fit", str(tmp_path / "rows.csv"), "-o", str(tmp_path / "out"))
    quick = ("--epochs", "2", "--network", "16", "--batch-size", "60", "--random-state", "0")
    done = run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *command, *quick)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("clusters found") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.csv"]
    assert (tmp_path / "out" / "model.shade").exists()


def test_a_single_process_is_rank_0_of_1_whatever_torch_knows() -> None:
    assert rank_and_world() == (0, 1)
    assert share_of(10) == slice(0, 10)
    assert bytes_from_first(b"mine") == b"mine"
    assert len(SHADE(**SETTINGS).fit(blobs(100)).labels_) == 100


@pytest.mark.parametrize("late", [0, 1, 2])
def test_the_ranks_of_an_attempt_agree_on_a_name_whatever_an_earlier_one_left(late: int) -> None:
    store = dist.HashStore()
    names = []
    for _ in range(3):  # the second and third find what the one before left

        def meet(rank: int) -> str:
            time.sleep(0.2 * (rank == late))
            return ranks._agree_on_attempt(store, rank, 3)

        with ThreadPoolExecutor(3) as pool:
            found = set(pool.map(meet, range(3)))
        assert len(found) == 1
        names += found
    assert len(set(names)) == 3


def test_a_rank_without_the_others_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "PATIENCE_AT_START_SECONDS", 0.2)
    for rank in (0, 1):
        with pytest.raises(RankError, match="Not all of the 2 processes of this fit have come together within 0 s"):
            ranks._agree_on_attempt(dist.HashStore(), rank, 2)
