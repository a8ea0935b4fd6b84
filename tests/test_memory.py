"""How much memory there is, and how much a fit says that it takes."""

from pathlib import Path

import numpy as np
import pytest
from torch import nn

from shade import SHADE
from shade._base.errors import MemoryBudgetError
from shade._base.memory import available_memory
from shade.training import ConvolutionalAutoencoder

GB = 10**9


def write(root: Path, files: dict[str, object]) -> Path:
    for name, value in {"proc/meminfo": f"MemTotal: 1\nMemAvailable: {8 * GB // 1024} kB\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{value}\n")
    return root


V1 = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
V2 = "memory.max", "memory.current", "inactive_file"
LAYOUTS = [
    ("0::/a/b", "sys/fs/cgroup/a/b", V2),
    ("0::/a/b", "sys/fs/cgroup/a", V2),  # a group around the own one
    ("0::/kubepods/pod1", "sys/fs/cgroup", V2),  # a container sees its own group as the outermost
    ("9:memory:/a/b", "sys/fs/cgroup/memory/a/b", V1),
    ("9:cpu,memory:/a/b", "sys/fs/cgroup/memory/a", V1),
    ("9:memory:/docker/c", "sys/fs/cgroup/memory", V1),
    ("0::/a", "sys/fs/cgroup/unified/a", V2),
]


@pytest.mark.parametrize(("line", "folder", "names"), LAYOUTS)
def test_the_own_control_group_limits_the_memory(
    line: str, folder: str, names: tuple[str, str, str], tmp_path: Path
) -> None:
    most, taken, cached = names
    files = {"proc/self/cgroup": f"12:pids:/x\n{line}", f"{folder}/{most}": 2 * GB, f"{folder}/{taken}": GB}
    assert available_memory(write(tmp_path, files)) == GB
    stat = {f"{folder}/memory.stat": f"anon 1\n{cached} {GB // 2}\nother 3"}  # of files, given back when needed
    assert available_memory(write(tmp_path, stat)) == GB + GB // 2
    assert available_memory(write(tmp_path, {f"{folder}/{taken}": 3 * GB})) == 0
    assert available_memory(write(tmp_path, {f"{folder}/{most}": "max"})) == 8 * GB // 1024 * 1024


def test_without_control_groups_the_system_tells(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None
    assert available_memory(write(tmp_path, {})) == 8 * GB // 1024 * 1024
    assert available_memory(write(tmp_path, {"proc/self/cgroup": "5:memory:/\n0::/gone"})) == 8 * GB // 1024 * 1024


@pytest.mark.parametrize("own", [False, True])
def test_networks_that_take_more_than_the_memory_are_refused(own: bool) -> None:
    X = np.zeros((300, 1, 64, 64), np.float32)
    network: str | nn.Module = ConvolutionalAutoencoder((1, 64, 64), 10) if own else "conv"
    model = SHADE(network=network, n_networks=1, epochs=1)
    with pytest.raises(MemoryBudgetError, match=r"Training networks on batches of 250 rows takes about 1.18 GB, more"):
        model.fit(X, memory="250MB")


def test_networks_that_take_more_than_is_free_need_another_remedy_than_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shade.training.capacity.available_memory", lambda: GB)
    model = SHADE(network="conv", n_networks=1, epochs=1)
    with pytest.raises(MemoryBudgetError, match=r"1.18 GB, and 1 GB are free. Use a smaller 'batch_size', or n_jobs=1"):
        model.fit(np.zeros((300, 1, 64, 64), np.float32))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"network": (10**9,)}, "A network of 26,000,000,012 weights takes about 416 GB"),
        ({"network": (10**12, 10**12)}, "takes about 3.2e\\+16 GB"),
        ({"embedding_size": 10**13}, "weights takes about"),
    ],
)
def test_absurd_networks_are_refused_with_the_bytes_they_take(changed: dict[str, object], told: str) -> None:
    with pytest.raises(MemoryBudgetError, match=told):
        SHADE(**{"n_networks": 1, "embedding_size": 10, **changed}).fit(np.random.default_rng(0).normal(size=(60, 2)))


def test_rows_in_memory_need_room_for_their_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shade.training.capacity.available_memory", lambda: 10**6)
    with pytest.raises(MemoryBudgetError, match=r"and 1 MB are free. Give memory='800kB' to read the rows as they are"):
        SHADE(n_networks=1).fit(np.random.default_rng(0).normal(size=(60, 2)))
