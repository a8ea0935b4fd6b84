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

from shade._base import ranks
from shade._base.errors import RankError
from shade._base.ranks import ALONE, Ranks, find_ranks, process_group
from tests.estimators.rank_cases import blobs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
KILLS = os.environ.get("SHADE_RANK_KILLS", "2")


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    root, environment = Path(__file__).parents[2], {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, *command], cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_ranks_agree_with_one_process_and_never_wait_for_the_dead(tmp_path: Path) -> None:
    done = run("-m", "tests.estimators.rank_cases", str(tmp_path), KILLS)
    assert done.returncode == 0, done.stderr
    refusal = "There are 4 processes for 600 rows, which make 2 batches of 300: start 2 at most, or use a smaller"
    # Three cases of four ranks; one that still joins when another has ended already is told of that one instead.
    assert 3 <= done.stderr.count(refusal) <= 3 * 4
    for what, count in {"data": 3 * 2 * 2 + 3, "parameters": 4 * 2 * 2}.items():
        assert done.stderr.count(f"The processes of this fit do not have the same {what}: rank 1 has ") == count
    assert "rank 1 has epochs=4, not 3 as rank 0. Start all of them with the same data" in done.stderr
    assert "rank 1 has checkpoint=False, not True as rank 0." in done.stderr
    assert "Input X contains NaN in row 3, column 2" in done.stderr
    assert "Another process of this fit ended or failed: its last messages say why." in done.stderr
    assert "Rank 1 has not been heard of for 3 s: rank 0 of 2 ends as well." in done.stderr
    assert "The process that ranks meet at cannot be reached any more: rank 1 of 2 ends as well." in done.stderr


def test_torchrun_restarts_a_fit_from_its_checkpoint(tmp_path: Path) -> None:
    options = ("--standalone", "--nproc-per-node", "2", "--max-restarts", "1")
    done = run("-m", "torch.distributed.run", *options, "-m", "tests.estimators.torchrun_case", str(tmp_path))
    assert done.returncode == 0, done.stderr
    first, second = (np.load(tmp_path / f"labels-{rank}.npy") for rank in range(2))
    assert np.array_equal(first, second)
    assert "exitcode  : 3" in done.stderr or "exitcode: 3" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("launcher", "variables"),
    [
        (("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"), {}),
        ((), {"RANK": "1"}),
        ((), {"RANK": "1", "WORLD_SIZE": "1"}),
    ],
)
def test_the_command_line_writes_once(launcher: tuple[str, ...], variables: dict[str, str], tmp_path: Path) -> None:
    np.savetxt(tmp_path / "rows.csv", blobs(), delimiter=",", header="a,b,c,d,e,f", comments="")
    command = ("-m", "shade", "fit", str(tmp_path / "rows.csv"), "-o", str(tmp_path / "out"))
    quick = ("--epochs", "2", "--network", "16", "--batch-size", "60", "--random-state", "0")
    done = run(*launcher, *command, *quick, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("clusters found") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.csv"]
    assert (tmp_path / "out" / "model.shade").exists()


def test_a_single_process_is_rank_0_of_1() -> None:
    with process_group() as found:
        assert found is ALONE
    assert (ALONE.rank, ALONE.count, ALONE.first) == (0, 1, True)
    assert ALONE.share_of(10) == slice(0, 10)
    assert ALONE.from_first(lambda: "mine") == "mine"
    assert ALONE.lead(lambda task: task(2) + task(3), lambda item: 10 * item) == 50
    array = np.arange(3.0)
    ALONE.reduce_max(array)
    ALONE.gather_shares(array)
    assert array.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ALONE),
        ({"RANK": "1"}, ALONE),
        ({"RANK": "1", "WORLD_SIZE": "1"}, ALONE),
        ({"WORLD_SIZE": "2"}, ALONE),
        ({"RANK": "1", "WORLD_SIZE": "2"}, Ranks(1, 2)),
    ],
)
def test_processes_share_a_fit_if_several_were_started(
    variables: dict[str, str], expected: Ranks, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert find_ranks() == expected


def test_ranks_alone_load_no_torch() -> None:
    use = "with process_group() as ranks: ranks.lead(lambda task: task(1), abs)"
    check = "import sys; assert 'torch' not in sys.modules"
    done = run("-c", f"from shade._base.ranks import process_group\n{use}\n{check}", RANK="1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("late", [0, 1, 2])
def test_the_ranks_of_an_attempt_agree_on_a_name_whatever_an_earlier_one_left(late: int) -> None:
    store = dist.HashStore()
    names = []
    for _ in range(3):  # the second and third find what the one before left

        def meet(rank: int) -> str:
            time.sleep(0.2 * (rank == late))
            return ranks._agree_on_attempt(store, Ranks(rank, 3))

        with ThreadPoolExecutor(3) as pool:
            found = set(pool.map(meet, range(3)))
        assert len(found) == 1
        names += found
    assert len(set(names)) == 3


def test_a_rank_without_the_others_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "PATIENCE_AT_START_SECONDS", 0.2)
    for rank in (0, 1):
        with pytest.raises(RankError, match="Not all of the 2 processes of this fit were there after 0 s"):
            ranks._agree_on_attempt(dist.HashStore(), Ranks(rank, 2))
