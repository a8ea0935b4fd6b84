"""Two hosts, made of network namespaces with an address each, fit together under torchrun."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from shade import DCTreeClustering
from tests.estimators.rank_cases import blobs, wait_for_training

HOSTS = {"shade-a": "10.213.47.1", "shade-b": "10.213.47.2"}
LINK = "shadelink"


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs network namespaces: ip {' '.join(arguments)}: {done.stderr.strip()}")


@pytest.fixture
def hosts() -> Iterator[None]:
    """Two network namespaces, joined by a pair of virtual devices."""
    if "SHADE_HOSTS" not in os.environ:
        pytest.skip("takes a minute: set SHADE_HOSTS=1")
    if sys.platform != "linux" or shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("needs Linux, root and ip (iproute2) to make network namespaces")
    with ExitStack() as stack:
        for host in HOSTS:
            ip("netns", "add", host)
            stack.callback(subprocess.run, ["ip", "netns", "delete", host], check=False)
        first, second = HOSTS
        ip("link", "add", LINK, "netns", first, "type", "veth", "peer", "name", LINK, "netns", second)
        for host, address in HOSTS.items():
            ip("-n", host, "address", "add", f"{address}/24", "dev", LINK)
            for device in (LINK, "lo"):
                ip("-n", host, "link", "set", device, "up")
        yield


def start_host(host: str, case: str, *arguments: str) -> subprocess.Popen[str]:
    """One agent of torchrun, with one process, in a namespace."""
    options = (
        "--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "1", "--rdzv-backend", "c10d", "--rdzv-id", "hosts",
        "--rdzv-endpoint", f"{HOSTS['shade-a']}:29613", "--local-addr", HOSTS[host],
        "--rdzv-conf", f"is_host={int(host == 'shade-a')}",  # the name of the machine leads to no address here
    )  # fmt: skip
    return start_python(host, "-m", "torch.distributed.run", *options, "-m", case, *arguments)


def start_python(host: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["ip", "netns", "exec", host, sys.executable, *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": LINK, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.usefixtures("hosts")
def test_two_hosts_give_the_partition_of_one_and_restart_from_the_checkpoint_of_the_first(tmp_path: Path) -> None:
    folders = {host: tmp_path / host for host in HOSTS}  # nothing but the network is shared
    for folder in folders.values():
        folder.mkdir()
    running = [start_host(host, "tests.estimators.torchrun_case", str(folder)) for host, folder in folders.items()]
    try:
        texts = [process.communicate(timeout=240)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0], texts
    assert any("exitcode  : 3" in text or "exitcode: 3" in text for text in texts), texts
    labels = {path: np.load(path) for path in tmp_path.rglob("labels-*.npy")}
    assert sorted(path.name for path in labels) == ["labels-0.npy", "labels-1.npy"]
    assert len({path.parent for path in labels}) == 2
    first, second = labels.values()
    assert np.array_equal(first, second)
    trees = [np.load(path) for path in tmp_path.rglob("tree-*.npy")]
    expected = DCTreeClustering(selection="branches").fit(blobs(3000, 5)).labels_
    assert len(trees) == 2
    for found in trees:
        assert np.array_equal(found, expected)


@pytest.mark.usefixtures("hosts")
def test_a_host_that_vanishes_ends_the_fit_on_both_within_a_minute(tmp_path: Path) -> None:
    endless = (
        "import sys; from shade import SHADE; from tests.estimators.rank_cases import SETTINGS, blobs; "
        "SHADE(**{**SETTINGS, 'epochs': 10**7}).fit(blobs(), checkpoint=sys.argv[1])"
    )
    checkpoint = tmp_path / "run.ckpt"
    variables = {"WORLD_SIZE": "2", "MASTER_ADDR": HOSTS["shade-a"], "MASTER_PORT": "29614"}
    running = [
        start_python(host, "-c", endless, str(checkpoint), RANK=str(rank), LOCAL_RANK="0", **variables)
        for rank, host in enumerate(HOSTS)
    ]
    try:
        wait_for_training(tmp_path)
        ip("-n", "shade-b", "link", "set", LINK, "down")
        texts = [process.communicate(timeout=60)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [1, 1], texts
    assert "Rank 1 has not been heard of for 40 s: rank 0 of 2 ends as well." in texts[0]
    assert "The process that ranks meet at cannot be reached any more: rank 1 of 2 ends as well." in texts[1]
