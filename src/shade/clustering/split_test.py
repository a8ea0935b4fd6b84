"""How much denser a branch of a density tree must be than chance alone makes it.

Samples of a single cloud have denser and sparser places, too. `python -m benchmarks chance` measures how much denser
they are; the constants below come from it (benchmarks/results/chance.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The evidence that the densest places of one cloud reach in at most 95 % of the samples grows with the logarithm of the
# number of rows and falls with the square of the dimension: (GROWTH · log n − OFFSET) / D².
GROWTH, OFFSET = 1.95, 4.8
# Embeddings of one cloud fill many dimensions, but not evenly: more dimensions than this do not lower the limit.
MOST_DIMENSIONS = 7.0
# In a settled embedding, chance alone reaches this multiple of the evidence.
SETTLED = 1.5
# On a line, no path goes around a gap. So chance alone makes deep gaps between branches of any size.
VALLEY_ON_A_LINE = 0.4


@dataclass(frozen=True)
class SplitTest:
    """A branch of s rows is real if its mean log(h / d) is at least slope / sqrt(s) + level, and s at least smallest.

    h is the distance at which it meets another branch, d the distance at which a row joined it. Among k real branches,
    the slope is lower by growth · log k: it is that of a sample of n / k rows. This follows the procedure of Benjamini
    and Hochberg (1995), with the aim that one in twenty of the branches found is chance. That fraction is derived, not
    measured. One cloud still stays one cluster in 95 % of the samples.
    """

    slope: float
    level: float
    smallest: int
    growth: float = 0.0

    @classmethod
    def for_points(cls, n_points: int, dimension: float, smallest: int, *, settled: bool = False) -> SplitTest:
        """Build the test for `n_points` points that fill `dimension` dimensions."""
        factor = SETTLED if settled else 1.0
        reached = factor * max(GROWTH * math.log(n_points) - OFFSET, 0.0)
        level = VALLEY_ON_A_LINE if round(dimension) <= 1 else 0.0
        square = min(dimension, MOST_DIMENSIONS) ** 2
        return cls(reached / square, level, smallest, factor * GROWTH / square)

    def slope_among(self, n_real: int) -> float:
        """Return the slope if `n_real` branches are real."""
        return max(self.slope - self.growth * math.log(n_real), 0.0)

    def limit(self, size: int, n_real: int = 1) -> float:
        """Return the evidence that a branch of `size` rows needs if `n_real` branches are real."""
        return self.slope_among(n_real) / math.sqrt(size) + self.level

    def times(self, factor: float) -> SplitTest:
        """Return the test with all limits multiplied by a factor."""
        return SplitTest(factor * self.slope, factor * self.level, self.smallest, factor * self.growth)

    @classmethod
    def none(cls, smallest: int) -> SplitTest:
        """Return a test by size only: every split into branches of at least `smallest` rows is real."""
        return cls(0.0, 0.0, smallest)
