"""How far a branch of a density tree must stand out before it is more than chance.

Samples of a single cloud have denser and sparser places, too. `python -m benchmarks chance` measures how far those
stand out; the figures below are made there (benchmarks/results/chance.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# What the densest places of one cloud reach in 95 % of the samples grows with the logarithm of the number of rows and
# falls with the square of the dimension: (GROWTH · log n − OFFSET) / D².
GROWTH, OFFSET = 1.95, 4.8
# Embeddings of one cloud fill many dimensions, but not evenly: beyond so many, more dimensions prove no more.
MOST_DIMENSIONS = 7.0
# Where an embedding has settled on means over neighbours, chance reaches so many times as far.
SETTLED = 1.5
# On a line there is no way around a gap, so that chance alone makes deep valleys between branches of any size.
VALLEY_ON_A_LINE = 0.4


@dataclass(frozen=True)
class SplitTest:
    """A branch of s rows is real if its mean log(h / d) is at least slope / sqrt(s) + level, and s at least smallest.

    h is the distance at which it meets another branch, d the distance at which a row joined it. Among k
    real branches the slope is lower by growth · log k: it is that of a sample of n / k rows. This follows the
    procedure of Benjamini and Hochberg (1995), meant to let one in twenty of the branches found be chance; that share
    is derived, not measured. One cloud still stays one cluster in 95 % of the samples.
    """

    slope: float
    level: float
    smallest: int
    growth: float = 0.0

    @classmethod
    def for_points(cls, n_points: int, dimension: float, smallest: int, *, settled: bool = False) -> SplitTest:
        """The test for so many points that fill so many dimensions."""
        factor = SETTLED if settled else 1.0
        reached = factor * max(GROWTH * math.log(n_points) - OFFSET, 0.0)
        level = VALLEY_ON_A_LINE if round(dimension) <= 1 else 0.0
        square = min(dimension, MOST_DIMENSIONS) ** 2
        return cls(reached / square, level, smallest, factor * GROWTH / square)

    def slope_among(self, n_real: int) -> float:
        """The slope where so many branches are real."""
        return max(self.slope - self.growth * math.log(n_real), 0.0)

    def limit(self, size: int, n_real: int = 1) -> float:
        """The evidence that a branch of so many rows needs where so many branches are real."""
        return self.slope_among(n_real) / math.sqrt(size) + self.level

    def times(self, factor: float) -> SplitTest:
        """The test with limits so many times as high."""
        return SplitTest(factor * self.slope, factor * self.level, self.smallest, factor * self.growth)

    @classmethod
    def none(cls, smallest: int) -> SplitTest:
        """Every split into branches of at least so many rows is real."""
        return cls(0.0, 0.0, smallest)
