"""Fits by several processes against fits by one: run by test_ranks with a folder and what to do.

Ranks are forked after the imports, which take longer than the fits, with the variables that torchrun sets.
"""

import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import make_blobs

from shade import SHADE, DCTreeClustering
from shade._base import ranks as meeting
from shade._base.ranks import process_group
from shade.data import make_three_clusters
from shade.density import minimum_spanning_tree
from shade.density.targets import targets_of_batches
from shade.estimators import clustered, training_steps
from shade.training import TrainSettings, build_network, capacity
from shade.training.group_trainer import GroupTrainer
from shade.training.stream_trainer import StreamedRows

SETTINGS = {
    "epochs": 3, "network": (24,), "embedding_size": 2, "n_networks": 1,
    "batch_size": 60, "selection": "branches", "random_state": 0, "device": "cpu",
}  # fmt: skip


def blobs(n: int = 600, d: int = 6) -> np.ndarray:
    return make_blobs(n, d, centers=4, center_box=(-12, 12), random_state=0)[0]


def start_ranks(world: int, work: Callable[[int], None]) -> list[int]:
    """Start ranks of a group at a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            os.environ.update(
                RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(port),
            )  # fmt: skip
            code = 1
            try:
                work(rank)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    return children


def wait_for(children: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def results(folder: Path, world: int, work: Callable[[], dict[str, object]]) -> list[dict[str, np.ndarray]]:
    """What each rank makes; also the work of one process runs in a process of its own, for forks dislike threads."""

    def save(rank: int) -> None:
        np.savez(folder / f"{rank}.npz", **work())

    assert wait_for(start_ranks(world, save)) == [0] * world
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(world)]


def compare_trees(folder: Path) -> None:
    """Kd-tree and blocks: the same weights, the same partition."""
    for X in (blobs(3000, 5), blobs(1500, 40), make_three_clusters(2000, random_state=0)[0]):

        def work(X: np.ndarray = X) -> dict[str, object]:
            with process_group() as ranks:
                weights = minimum_spanning_tree(X, 5, ranks=ranks).weights
            return {"weights": np.sort(weights), "labels": DCTreeClustering(selection="branches").fit(X).labels_}

        [expected] = results(folder, 1, work)
        for world in (2, 4):
            for found in results(folder, world, work):
                for name in expected:
                    assert np.array_equal(found[name], expected[name]), f"{world} ranks: other {name}"


def train_in_groups(batches_per_step: int, device: str = "cpu") -> dict[str, object]:
    samples = blobs().astype(np.float32)
    with process_group() as ranks:
        trainer = GroupTrainer(
            build_network((24,), (6,), 2, torch.Generator().manual_seed(0), fresh=False),
            torch.from_numpy(samples).to(device),
            targets_of_batches(samples, 5, mean_edge=False),
            TrainSettings(epochs=3, batch_size=50),
            np.random.default_rng(0),
            batches_per_step=batches_per_step,
            ranks=ranks,
        )
        result = trainer.fit()
    losses = [[record["reconstruction_loss"], record["density_loss"]] for record in result.history]
    weights = torch.cat([parameter.flatten() for parameter in result.network.parameters()])
    return {"losses": losses, "weights": weights.detach().cpu().numpy()}


def compare_losses(folder: Path) -> None:
    """The same batches in each step: the same losses, to rounding, whoever trains on them."""
    for world, batches in ((2, 2), (2, 5), (3, 3)):
        [expected] = results(folder, 1, partial(train_in_groups, batches))
        ranks = results(folder, world, partial(train_in_groups, batches))
        for found in ranks:
            np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-5)
            assert np.array_equal(found["weights"], ranks[0]["weights"]), "ranks have different networks"


def compare_fits(folder: Path) -> None:
    """Every rank has the same result, with and without a seed."""

    def work() -> dict[str, object]:
        X = blobs()
        model = SHADE(**SETTINGS).fit(X)
        assert np.array_equal(model.predict(X[:10]), model.labels_[:10])
        drawn = SHADE(**{**SETTINGS, "random_state": None}).fit(X)
        return {"labels": model.labels_, "embedding": model.embedding_, "drawn": drawn.embedding_}

    first, second = results(folder, 2, work)
    for name in first:
        assert np.array_equal(first[name], second[name]), f"ranks have different {name}"
    assert len(set(first["labels"]) - {-1}) > 1


def one_chooses(folder: Path) -> None:
    """Rank 0 chooses the clusters, all ranks build the trees, and all have the same result, to the last attribute."""
    random = np.random.default_rng(0)
    noise = random.uniform(-30.0, 30.0, size=(120, 3))
    X = np.vstack([blobs(1500, 3), noise])

    def work() -> dict[str, object]:
        found = {}
        built: list[int] = []
        build = clustered.tree_of_rows

        def count(points: np.ndarray, min_samples: int, rows: np.ndarray, **settings: object) -> object:
            built.append(len(rows))
            return build(points, min_samples, rows, **settings)

        def refuse(*arguments: object, **settings: object) -> None:
            raise AssertionError("this rank must not choose")

        clustered.tree_of_rows = count
        if os.environ["RANK"] != "0":
            clustered.cluster = training_steps.read_data = refuse
        models = {
            "tree": DCTreeClustering().fit(X),
            "large": DCTreeClustering(min_cluster_size=400).fit(X),
            "network": SHADE(**{**SETTINGS, "selection": "information", "min_cluster_size": 400}).fit(X),
        }
        for name, model in models.items():
            flat, shown = model.clustering_.flat, model.clustering_.shown
            arrays = {**model.dc_tree_.to_arrays(), "groups": shown.groups, "limit": flat.limit}
            arrays |= {"labels": model.labels_, "strengths": model.probabilities_, "scores": model.outlier_scores_}
            found |= {f"{name} {key}": value for key, value in arrays.items()}
            assert np.array_equal(model.predict(X[:10]), model.labels_[:10])
        return {**found, "built": built}

    [alone] = results(folder, 1, work)
    assert (alone["tree labels"] < 0).sum() > 50
    assert len(alone["built"]) > 4, "the data was meant to need several trees"
    for world in (2, 4):
        ranks = results(folder, world, work)
        for found in ranks:
            for name in found:
                assert np.array_equal(found[name], ranks[0][name]), f"{world} ranks have different {name}"
                if name.split()[0] in ("tree", "large"):
                    assert np.array_equal(found[name], alone[name]), f"{world} ranks: other {name}"


def compare_streams(folder: Path) -> None:
    """Ranks that read windows train on every row once an epoch, and agree, also where a rank has no window."""
    capacity.WORKING = 0
    np.save(folder / "rows.npy", blobs(900, 400).astype(np.float32))

    def work() -> dict[str, object]:
        seen: list[int] = []
        prepare = StreamedRows.prepare

        def watched(self: StreamedRows, values: np.ndarray, positions: np.ndarray, *others: object) -> object:
            seen.append(len(positions))
            return prepare(self, values, positions, *others)

        StreamedRows.prepare = watched
        model = SHADE(**SETTINGS).fit(folder / "rows.npy", memory="1.2MB")
        return {"labels": model.labels_, "embedding": model.embedding_, "rows": sum(seen)}

    for world in (2, 6):  # there are four windows or five
        ranks = results(folder, world, work)
        rows = [int(rank["rows"]) for rank in ranks]
        assert sum(rows) == SETTINGS["epochs"] * 900
        assert (min(rows) > 0) == (world == 2)
        for rank in ranks:
            for name in ("labels", "embedding"):
                assert np.array_equal(rank[name], ranks[0][name]), f"ranks have different {name}"
        assert len(set(ranks[0]["labels"]) - {-1}) > 1


def wait_for_training(folder: Path) -> float:
    """Wait until ranks have begun: before that, they wait for those that have not."""
    while not (folder / "run.ckpt").exists():
        time.sleep(0.01)
    return time.perf_counter()


def kill_ranks(folder: Path, kills: int) -> None:
    """Kill a rank at a random moment: the other ends as well, and both go on from the checkpoint to the same labels."""

    def fit(output: Path, **arguments: object) -> list[int]:
        def work(rank: int) -> None:
            model = SHADE(**SETTINGS).fit(blobs(), checkpoint=output / "run.ckpt", checkpoint_minutes=0, **arguments)
            if rank == 0:
                np.savez(output / "result.npz", labels=model.labels_, embedding=model.embedding_)

        output.mkdir(exist_ok=True)
        return start_ranks(2, work)

    ranks = fit(folder / "undisturbed")
    started = wait_for_training(folder / "undisturbed")
    assert wait_for(ranks) == [0, 0]
    duration = time.perf_counter() - started
    expected = np.load(folder / "undisturbed" / "result.npz")
    random, ended = np.random.default_rng(kills), 0
    for kill in range(kills):
        output = folder / f"kill-{kill}"
        ranks = fit(output)
        wait_for_training(output)
        time.sleep(random.uniform(0.0, duration))
        victim = int(random.integers(2))
        os.kill(ranks[victim], signal.SIGKILL)
        killed = time.perf_counter()
        ended += wait_for(ranks)[victim] == -signal.SIGKILL
        seconds = time.perf_counter() - killed
        assert seconds < 60, f"kill {kill}: the other rank took {seconds:.0f} s to end"
        assert wait_for(fit(output, resume=True)) == [0, 0]
        found = np.load(output / "result.npz")
        for name in ("labels", "embedding"):
            assert np.array_equal(found[name], expected[name]), f"kill {kill}: other {name}"
        assert sorted(file.name for file in output.iterdir()) == ["result.npz", "run.ckpt"]
    sys.stdout.write(f"{kills} kills of a rank, {ended} of them while running\n")


def one_hangs(folder: Path) -> None:
    """A rank that no longer answers is given up, by whoever waits for it; ranks meet at rank 0."""
    for hanging in (0, 1):
        output = folder / f"hang-{hanging}"
        output.mkdir()

        def work(rank: int, output: Path = output) -> None:
            meeting.HEARTBEAT_SECONDS, meeting.PATIENCE_SECONDS = 0.2, 3.0
            SHADE(**{**SETTINGS, "epochs": 100_000}).fit(blobs(), checkpoint=output / "run.ckpt")

        ranks = start_ranks(2, work)
        wait_for_training(output)
        time.sleep(1.0)
        os.kill(ranks[hanging], signal.SIGSTOP)
        assert wait_for([ranks[1 - hanging]]) == [1]
        os.kill(ranks[hanging], signal.SIGKILL)
        wait_for([ranks[hanging]])


def too_many_ranks(folder: Path) -> None:
    """More processes than batches: refused by all, whether rows are in memory or would be streamed."""
    np.save(folder / "rows.npy", blobs())
    settings = {**SETTINGS, "batch_size": 300}
    for X, memory in ((blobs(), None), (folder / "rows.npy", None), (folder / "rows.npy", "100kB")):
        assert wait_for(start_ranks(4, lambda rank: SHADE(**settings).fit(X, memory=memory))) == [1] * 4  # noqa: B023


def one_fails(folder: Path) -> None:
    """A rank whose data is wrong says so, and the others end."""

    def work(rank: int) -> None:
        X = blobs()
        if rank == 1:
            X[3, 2] = np.nan
        SHADE(**SETTINGS).fit(X)

    assert wait_for(start_ranks(2, work)) == [1, 1]


def ranks_differ(folder: Path) -> None:
    """Other data, parameters or versions on one of the ranks: all of them say so, and end."""
    other = blobs()
    other[7, 3] += 1e-9
    differences: list[tuple[np.ndarray, dict[str, object], dict[str, object]]] = [
        (other, {}, {}),
        (blobs(700), {}, {}),
        (blobs(600, 7), {}, {}),
        (blobs(), {"epochs": 4}, {}),
        (blobs(), {"network": (24, 8)}, {}),
        (blobs(), {"random_state": 1}, {}),
        (blobs(), {}, {"checkpoint": folder / "differ.ckpt"}),
    ]
    for X, parameters, arguments in differences:
        for odd in (0, 1):

            def work(rank: int) -> None:
                if rank == odd:  # noqa: B023
                    SHADE(**{**SETTINGS, **parameters}).fit(X, **arguments)  # noqa: B023
                else:
                    SHADE(**SETTINGS, n_jobs=1, callbacks=[print]).fit(blobs())

            assert wait_for(start_ranks(2, work)) == [1, 1]

    def cluster(rank: int) -> None:
        DCTreeClustering(selection="branches").fit(blobs(600 + rank))

    assert wait_for(start_ranks(3, cluster)) == [1, 1, 1]


CASES = (
    compare_trees, compare_losses, compare_fits, one_chooses, compare_streams, too_many_ranks, one_fails, ranks_differ,
    one_hangs,
)  # fmt: skip

if __name__ == "__main__":
    SHADE(**{**SETTINGS, "n_jobs": 1}).fit(blobs(100))  # compiles, with no thread left after
    DCTreeClustering(n_jobs=1, selection="branches").fit(blobs(1500, 5))
    for case in CASES:
        sys.stdout.write(f"{case.__name__}\n")
        sys.stdout.flush()
        case(Path(sys.argv[1]))
    kill_ranks(Path(sys.argv[1]), int(sys.argv[2]))
