"""Fits of random data by one thread and by two: run by test_side_by_side with a number of pairs, and by hand with more.

Prints a digest of each pair's embedding and labels, which another process compares, with other threads of OpenMP.
"""

import hashlib
import sys

import numpy as np
from sklearn.datasets import make_blobs

from shade import SHADE

NETWORKS = ((512, 256, 128), (64, 32), (16,), "conv")


def digest(model: SHADE) -> str:
    return hashlib.sha256(model.embedding_.tobytes() + model.labels_.tobytes()).hexdigest()[:16]


def compare_threads(pairs: int) -> list[str]:
    """A digest of each pair; the columns and centers are those of small networks that came out different once."""
    digests = []
    for pair in range(pairs):
        random = np.random.default_rng(pair)
        network = NETWORKS[1] if pair == 0 else NETWORKS[int(random.integers(len(NETWORKS)))]
        rows, columns = int(random.integers(200, 700)), 5 if pair == 0 else int(random.integers(2, 30))
        X = make_blobs(rows, columns, centers=7, cluster_std=2.2, random_state=pair)[0]
        if network == "conv":
            X = random.normal(size=(rows, 1, 6, 6)).astype(np.float32)
        settings = {"epochs": 4, "n_networks": 2, "network": network, "random_state": pair, "device": "cpu"}
        one, two = (digest(SHADE(**settings, n_jobs=threads).fit(X)) for threads in (1, 2))
        assert one == two, f"pair {pair}: one thread and two give different results"
        digests.append(one)
    return digests


if __name__ == "__main__":
    for found in compare_threads(int(sys.argv[1])):
        sys.stdout.write(f"{found}\n")
