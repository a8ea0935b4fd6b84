"""How far chance alone makes branches stand out in embeddings that have settled: SETTLED of clustering/split_test.py.

Whole fits of samples of one cloud, which have no clusters. For each, what chance reaches is compared with the limit for
points that have not settled.
"""

import numpy as np

from benchmarks.chance import KINDS, draw_cloud, reach_of_chance
from benchmarks.measure import RESULTS
from shade import SHADE
from shade.clustering.split_test import GROWTH, OFFSET, SETTLED

COLUMNS = (5, 10, 50)
ROWS = (300, 1000)
QUANTILE = 0.95


def run(samples: int = 3) -> None:
    """Measure, print and store the table."""
    lines = [
        "# What chance reaches in settled embeddings of one cloud",
        "",
        f"`python -m benchmarks settled_chance`: whole fits of `SHADE()` on {samples} samples each of normal, uniform "
        "and Student t3 clouds. What chance reaches, divided by the limit for points that have not settled: median and "
        f"{QUANTILE:.0%} quantile; in brackets the share of fits that find one cluster.",
        "",
        "| columns | " + " | ".join(f"n = {n:,}" for n in ROWS) + " |",
        "|---" * (len(ROWS) + 1) + "|",
    ]
    everything = []
    for columns in COLUMNS:
        cells = []
        for n in ROWS:
            random = np.random.default_rng((columns, n))
            reached, one = [], []
            for kind in KINDS * samples:
                model = SHADE(random_state=0, device="cpu").fit(draw_cloud(kind, n, columns, random))
                reach, _ = reach_of_chance(model.clustering_.points)
                reached.append(reach / (GROWTH * np.log(n) - OFFSET))
                one.append(model.n_clusters_ == 1)
            everything += reached
            cells.append(f"{np.median(reached):.2f}, {np.quantile(reached, QUANTILE):.2f} ({np.mean(one):.0%})")
        lines.append(f"| {columns} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    lines += ["", f"All together: {np.quantile(everything, QUANTILE):.2f}. The constant: {SETTLED}."]
    text = "\n".join(lines) + "\n"
    (RESULTS / "settled_chance.md").write_text(text)
    print(text)
