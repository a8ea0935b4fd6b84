"""How far chance alone makes branches stand out: the constants of shade/clustering/split_test.py.

Samples of one cloud have no clusters. For each, the slope is found from which on the test of splits finds none; times
the squared dimension, that is what chance reaches. The 95 % quantile over samples, for the worst of three kinds of
clouds, is compared with the constants, and a line is fitted to it over log n.
"""

import numpy as np

from benchmarks.measure import RESULTS
from shade.clustering.split_test import GROWTH, MOST_DIMENSIONS, OFFSET, SplitTest
from shade.clustering.structure_tree import BranchTree, MergeTree
from shade.density import DCTree
from shade.density.dimension import intrinsic_dimension

KINDS = ("normal", "uniform", "Student t3")
COLUMNS = (1, 2, 3, 5, 10, 50)
ROWS = (300, 1000, 4000, 16000)
MIN_SAMPLES = 5
QUANTILE = 0.95
STEPS = 30  # of bisection


def draw_cloud(kind: str, n: int, columns: int, random: np.random.Generator) -> np.ndarray:
    """A sample of one cloud."""
    if kind == "uniform":
        return random.random((n, columns))
    points = random.standard_normal((n, columns))
    return points if kind == "normal" else points / np.sqrt(random.chisquare(3, (n, 1)) / 3)


def reach_of_chance(points: np.ndarray) -> tuple[float, bool]:
    """What chance reaches in a sample of one cloud, and whether the test as it is leaves it one cluster."""
    tree = DCTree.from_points(points, MIN_SAMPLES)
    merges = MergeTree.from_reachability(tree.reachability)
    dimension = intrinsic_dimension(points)
    test = SplitTest.for_points(len(points), dimension, 2 * MIN_SAMPLES)

    def is_one(slope: float) -> bool:
        return len(BranchTree.from_test(merges, SplitTest(slope, test.level, test.smallest), 1e-300).parent) == 1

    low, high = 0.0, 1e3
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if is_one(middle) else (middle, high)
    return high * min(dimension, MOST_DIMENSIONS) ** 2, is_one(test.slope)


def run(samples: int = 60) -> None:
    """Measure, print and store the table."""
    lines = [
        "# What chance reaches in samples of one cloud",
        "",
        f"`python -m benchmarks chance`: {QUANTILE:.0%} quantile over {samples} samples (a quarter of them for 16,000 "
        "rows) of slope · min(D, 7)², for the worst of normal, uniform and Student t3 clouds; in brackets the share of "
        "all samples that stay one cluster with the test as it is.",
        "",
        "| columns | " + " | ".join(f"n = {n:,}" for n in ROWS) + " |",
        "|---" * (len(ROWS) + 1) + "|",
    ]
    reached = {}
    for columns in COLUMNS:
        cells = []
        for n in ROWS:
            count = samples if n < 10_000 else samples // 4
            random = np.random.default_rng((columns, n))
            found = {
                kind: [reach_of_chance(draw_cloud(kind, n, columns, random)) for _ in range(count)] for kind in KINDS
            }
            worst = max(float(np.quantile([reach for reach, _ in runs], QUANTILE)) for runs in found.values())
            one = np.mean([is_one for runs in found.values() for _, is_one in runs])
            reached[columns, n] = worst
            cells.append(f"{worst:.1f} ({one:.0%})")
        lines.append(f"| {columns} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    several = [(np.log(n), reach) for (columns, n), reach in reached.items() if 2 <= columns <= 5]
    slope, start = np.polyfit(*np.transpose(several), 1)
    constants = " | ".join(f"{GROWTH * np.log(n) - OFFSET:.1f}" for n in ROWS)
    lines += [
        f"| the constants | {constants} |",
        "",
        f"A line through the figures of 2 to 5 columns: {slope:.2f} · log n − {-start:.2f}. "
        f"The constants: {GROWTH} · log n − {OFFSET}.",
    ]
    text = "\n".join(lines) + "\n"
    (RESULTS / "chance.md").write_text(text)
    print(text)
