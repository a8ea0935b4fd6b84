"""Slow, plain implementations of the definitions in the design, to compare with, and data sets to compare on.

Nothing here shares code with the package. Trees are Python objects, rules are recursive functions that read like the
text, and distances are summed over the columns in their order, so that equal distances are equal bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

Cluster = frozenset[int]
Partition = frozenset[Cluster]

TIE = 1e-10  # the package decides S(node) ≥ Σ S(children) up to this


# Distances -------------------------------------------------------------------------------------------------------


def squared_distances(X: Any, others: Any = None) -> np.ndarray:
    """All squared Euclidean distances."""
    points = np.asarray(X, np.float64)
    second = points if others is None else np.asarray(others, np.float64)
    total = np.zeros((len(points), len(second)))
    for column in range(points.shape[1]):
        total += (points[:, column, None] - second[:, column]) ** 2
    return total


def distances(X: Any, others: Any = None) -> np.ndarray:
    """All Euclidean distances."""
    return np.sqrt(squared_distances(X, others))


def core_distances(X: Any, min_samples: int) -> np.ndarray:
    """Distance to the min_samples-th nearest point, the point itself included."""
    return np.sort(distances(X), axis=1)[:, min_samples - 1]


def mutual_reachability(X: Any, min_samples: int) -> np.ndarray:
    """max(distance, both core distances), 0 on the diagonal."""
    core = core_distances(X, min_samples)
    matrix = np.maximum(distances(X), np.maximum(core[:, None], core))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def minimax_distances(matrix: np.ndarray) -> np.ndarray:
    """SciPy's single-linkage cophenetic distances."""
    if len(matrix) == 1:
        return np.zeros((1, 1))
    return squareform(cophenet(linkage(squareform(matrix, checks=False), "single")))


def minimax_by_relaxation(matrix: np.ndarray) -> np.ndarray:
    """The smallest largest step of any path, as Floyd and Warshall would."""
    best = matrix.copy()
    for k in range(len(matrix)):
        best = np.minimum(best, np.maximum(best[:, k, None], best[k]))
    return best


def prim_weights(matrix: np.ndarray) -> np.ndarray:
    """Sorted weights of a minimum spanning tree of a dense matrix; zero is a weight like any other."""
    best = matrix[0].copy()
    inside = np.zeros(len(matrix), bool)
    inside[0] = True
    weights = []
    for _ in range(len(matrix) - 1):
        nearest = int(np.argmin(np.where(inside, np.inf, best)))
        weights.append(best[nearest])
        inside[nearest] = True
        best = np.minimum(best, matrix[nearest])
    return np.sort(np.array(weights))


def spans(edges: np.ndarray, n: int) -> bool:
    """Whether edges join all of n points without a cycle."""
    group = list(range(n))

    def find(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    for a, b in edges.tolist():
        first, second = find(a), find(b)
        if first == second:
            return False
        group[first] = second
    return len(edges) == n - 1


# Merge trees -----------------------------------------------------------------------------------------------------


@dataclass
class Node:
    """A merge; leaves have no children."""

    height: float
    points: Cluster
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def binary_tree(edges: np.ndarray, weights: np.ndarray) -> Node:
    """Two children a merge, lightest edge first."""
    nodes = {i: Node(0.0, frozenset([i])) for i in range(len(weights) + 1)}
    for t in np.argsort(weights, kind="stable"):
        a, b = nodes[int(edges[t, 0])], nodes[int(edges[t, 1])]
        merged = Node(float(weights[t]), a.points | b.points, [a, b])
        for i in merged.points:
            nodes[i] = merged
    return nodes[0]


def multiway_tree(minimax: np.ndarray) -> Node:
    """Merges at one height are one node."""

    def grow(rows: np.ndarray) -> Node:
        if len(rows) == 1:
            return Node(0.0, frozenset(rows.tolist()))
        among = minimax[np.ix_(rows, rows)]
        height = among.max()
        together = (among < height) | np.eye(len(rows), dtype=bool)
        first = together.argmax(axis=1)
        children = [grow(rows[first == i]) for i in np.unique(first)]
        return Node(float(height), frozenset(rows.tolist()), children)

    return grow(np.arange(len(minimax)))


# Candidates ------------------------------------------------------------------------------------------------------


@dataclass
class Candidate:
    """A cluster that may be selected, with its stability."""

    height: float
    points: Cluster
    children: list[Candidate]
    stability: float = 0.0
    birth: float = math.inf
    mass: float = 0.0
    leaving: dict[int, float] = field(default_factory=dict)

    def walk(self) -> Iterator[Candidate]:
        """This candidate and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def authors_structure_tree(root: Node, mu: int) -> Candidate:
    """The paper's tree by the authors' rule for nodes with two children."""

    def condense(v: Node) -> Candidate | None:
        if len(v.points) < mu or not v.children:
            return None
        left, right = v.children
        if len(left.points) >= mu and len(right.points) >= mu:
            first, second = condense(left), condense(right)
            if (first is None) == (second is None):
                return Candidate(v.height, v.points, [c for c in (first, second) if c])
            return first or second
        if len(left.points) >= mu or len(right.points) >= mu:
            only = condense(left if len(left.points) >= mu else right)
            return Candidate(only.height, v.points, only.children) if only else None
        return None

    return _with_structure_stability(condense(root), root)


def structure_tree(root: Node, mu: int) -> Candidate:
    """The paper's tree by the design's rule for nodes with any number of children."""

    def condense(v: Node) -> Candidate | None:
        if len(v.points) < mu:
            return None
        below = [condense(child) for child in v.children if len(child.points) >= mu]
        something = [c for c in below if c is not None]
        if len(below) >= 2:
            if len(something) == 1:
                return something[0]
            return Candidate(v.height, v.points, something)
        if something:
            return Candidate(something[0].height, v.points, something[0].children)
        return None

    return _with_structure_stability(condense(root), root)


def _with_structure_stability(top: Candidate | None, root: Node) -> Candidate:
    if top is None:
        return Candidate(root.height, root.points, [])
    for candidate in top.walk():
        for child in candidate.children:
            inverse = 1.0 / child.height if child.height > 0 else math.inf
            child.stability = (inverse - 1.0 / candidate.height) * len(child.points)
    return top


def branch_tree(root: Node, smallest: int) -> Candidate:
    """HDBSCAN's condensed tree with its excess of mass."""

    def follow(v: Node, birth: float) -> Candidate:
        branch = Candidate(v.height, v.points, [], birth=birth)
        while True:
            big = [child for child in v.children if len(child.points) >= smallest]
            staying = big[0].points if len(big) == 1 else frozenset()
            branch.leaving.update(dict.fromkeys(v.points - staying, v.height))
            if len(big) != 1:
                branch.children = [follow(child, v.height) for child in big]
                return branch
            v = big[0]

    top = follow(root, math.inf)
    floor = floor_of(root, "branches", 0)
    for c in top.walk():
        if c is not top:
            c.mass = math.fsum(1.0 / max(d, floor) - 1.0 / max(c.birth, floor) for d in c.leaving.values())
            c.stability = c.mass
    return top


@dataclass
class Growing:
    """A branch on its way up: the distance at which each row joined it, and the real branches within."""

    joined: dict[int, float]
    parts: list[Candidate]

    def mass_at(self, height: float) -> float:
        """How far all rows together stand out from a height."""
        return math.fsum(math.log(height / d) for d in self.joined.values())


def tested_tree(root: Node, smallest: int, slope: float, level: float, growth: float = 0.0) -> Candidate:
    """The branches that pass the test of their split.

    It is repeated while more are real: for k childless ones the slope falls by growth · log k, but not below 0.
    """
    real, used = 1, slope
    while True:
        top = _tested_once(root, smallest, used, level)
        leaves = sum(not c.children for c in top.walk())
        if leaves <= real or max(slope - growth * math.log(leaves), 0.0) == used:
            return top
        real, used = leaves, max(slope - growth * math.log(leaves), 0.0)


def _tested_once(root: Node, smallest: int, slope: float, level: float) -> Candidate:
    """The branches that pass the test of their split, and how much each tells about its rows."""
    floor = floor_of(root, "information", smallest)
    n = len(root.points)

    def grow(v: Node) -> Growing | None:
        meeting = [branch for branch in map(grow, v.children) if branch is not None]
        height = max(v.height, floor)
        from_here = dict.fromkeys(v.points, height)
        if not meeting:
            return Growing(from_here, []) if len(v.points) >= smallest else None

        def is_real(branch: Growing) -> bool:
            size = len(branch.joined)
            return branch.mass_at(height) / size >= slope / math.sqrt(size) + level

        standing = [branch for branch in meeting if branch.parts or is_real(branch)]
        if len(standing) >= 2:
            parts = []
            for branch in standing:
                parts += [_candidate_of(branch, v.height, height)] if is_real(branch) else branch.parts
            return Growing(from_here, parts)
        kept = standing[0] if standing else _heaviest(meeting, height)
        return Growing({**from_here, **kept.joined}, kept.parts)

    whole = grow(root) or Growing(dict.fromkeys(root.points, max(root.height, floor)), [])
    top = _candidate_of(whole, math.inf, math.inf)
    top.mass, top_height = 0.0, max(root.height, floor)
    for c in top.walk():
        if c is not top:
            size = len(c.points)
            rises = ((top_height / d) ** 0.5 - (top_height / max(c.birth, floor)) ** 0.5 for d in c.leaving.values())
            c.stability = math.log(n / size) * size * (math.fsum(rises) / size) ** 2
    return top


def _candidate_of(branch: Growing, birth: float, height: float) -> Candidate:
    return Candidate(
        0.0, frozenset(branch.joined), branch.parts, birth=birth, mass=branch.mass_at(height), leaving=branch.joined
    )


def _heaviest(meeting: list[Growing], height: float) -> Growing:
    """The one with most mass; of those with as much, the one with most rows."""
    most = max(branch.mass_at(height) for branch in meeting)
    as_heavy = [branch for branch in meeting if branch.mass_at(height) >= most * (1.0 - TIE)]
    return max(as_heavy, key=lambda branch: len(branch.joined))


def floor_of(root: Node, rule: str, smallest: int) -> float:
    """The distance that points which coincide count as."""
    positive = [v.height for v in root.walk() if v.height > 0]
    if not positive:
        return 1.0
    places = [(v.height, len(p.points)) for v in root.walk() for p in v.children if p.height == 0 and len(p.points) > 1]
    if rule == "branches" or len(places) < smallest:
        return min(positive) * 2.0**-10  # ten octaves closer
    if 2 * sum(size for _, size in places) >= len(root.points):
        return float(np.median([height for height, _ in places]))
    return min(positive)


# Choices ---------------------------------------------------------------------------------------------------------


def select(top: Candidate) -> list[Candidate]:
    """The most stable choice; the root has stability 0, so that it is chosen only where nothing is below it."""

    def best(c: Candidate) -> tuple[float, list[Candidate]]:
        below = [best(child) for child in c.children]
        total = math.fsum(value for value, _ in below)
        if c.stability >= total * (1.0 - TIE) and not (c is top and c.children):
            return c.stability, [c]
        return total, [chosen for _, choice in below for chosen in choice]

    return best(top)[1]


def choices(parent: list[int]) -> Iterator[tuple[int, ...]]:
    """Every set of candidates none of which is inside another, by brute force."""
    above: list[set[int]] = []
    for p in parent:
        above.append(set() if p < 0 else above[p] | {p})
    for k in range(1, len(parent) + 1):
        for choice in combinations(range(len(parent)), k):
            if not any(above[c] & set(choice) for c in choice):
                yield choice


def candidates_for(root: Node, selection: str, smallest: int, slope: float, level: float, **growth: float) -> Candidate:
    """The candidates of a rule; all but the smallest size is of the test of splits, which only "information" has."""
    if selection == "information":
        return tested_tree(root, smallest, slope, level, **growth)
    return structure_tree(root, smallest) if selection == "structure" else branch_tree(root, smallest)


def partition_of(labels: Any) -> Partition:
    """The clusters of labels as sets of rows, without noise."""
    labels = np.asarray(labels)
    return frozenset(frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels[labels >= 0]))


def partition_of_candidates(chosen: list[Candidate]) -> Partition:
    """The same for chosen candidates."""
    return frozenset(c.points for c in chosen)


# Data ------------------------------------------------------------------------------------------------------------

KINDS = (
    "normal",
    "groups",
    "duplicates",
    "few distinct",
    "equal",
    "integer grid",
    "tenths grid",
    "constant columns",
    "one column",
    "uneven columns",
    "far from zero",
)


def draw_points(seed: int, smallest: int = 1, largest: int = 45, kind: str | None = None) -> np.ndarray:
    """A small data set of some kind, at some scale, in either precision; all follows from the seed."""
    rng = np.random.default_rng([2024, seed])
    kind = kind or KINDS[seed % len(KINDS)]
    n = int(rng.integers(smallest, largest + 1))
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if kind == "groups":
        X = draw_groups(seed, n, d)
    elif kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 2), n)]
    elif kind == "few distinct":
        X = X[rng.integers(0, min(n, 3), n)]
    elif kind == "equal":
        X[:] = X[0]
    elif kind == "integer grid":
        X = rng.integers(0, 5, (n, min(d, 2))).astype(float)
    elif kind == "tenths grid":
        X = rng.integers(0, 6, (n, min(d, 2))) * 0.1
    elif kind == "constant columns":
        X[:, rng.random(d) < 0.7] = 3.5
    elif kind == "one column":
        X = X[:, :1]
    elif kind == "uneven columns":
        X = X * 10.0 ** rng.integers(-6, 7, d)
    elif kind == "far from zero":
        X = X + 1e6
    return X


def draw_scaled_points(seed: int, **bounds: Any) -> np.ndarray:
    """The same, multiplied by up to 1e±20 and in single precision now and then."""
    rng = np.random.default_rng([77, seed])
    X = draw_points(seed, **bounds)
    if seed % 3 == 1:
        X = X * 10.0 ** float(rng.uniform(-20, 20))
    return X.astype(np.float32) if seed % 5 == 2 else X


def draw_groups(seed: int, n: int, d: int) -> np.ndarray:
    """Groups of unequal size and density with some noise between."""
    rng = np.random.default_rng([31, seed])
    k = int(rng.integers(2, 6))
    centres, spread = rng.normal(size=(k, d)) * 6, rng.uniform(0.2, 1.5, k)
    group = rng.integers(0, k, n)
    X = centres[group] + rng.normal(size=(n, d)) * spread[group, None]
    noise = rng.random(n) < 0.1
    X[noise] = rng.uniform(-15, 15, (int(noise.sum()), d))
    return X


def draw_spanning_tree(seed: int, n: int, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Edges and weights of a random tree; merges are even or lopsided, heights distinct unless ties are wanted."""
    rng = np.random.default_rng([5, seed])
    groups: list[list[int]] = [[i] for i in rng.permutation(n).tolist()]
    edges = []
    lopsided = rng.random() * 0.6
    while len(groups) > 1:
        if rng.random() < lopsided:  # a point falls off the largest group
            groups.sort(key=len)
            a, b = groups.pop(), groups.pop(0)
        else:
            a = groups.pop(int(rng.integers(len(groups))))
            b = groups.pop(int(rng.integers(len(groups))))
        edges.append((a[int(rng.integers(len(a)))], b[int(rng.integers(len(b)))]))
        groups.append(a + b)
    steps = rng.exponential(size=n - 1) ** 2 * rng.uniform(0.2, 5) + 1e-3
    weights = np.cumsum(steps) + rng.random() * 5
    if ties:
        weights = np.floor(weights / weights.mean() * rng.integers(2, 12))
    shuffled = rng.permutation(n - 1)
    return np.array(edges)[shuffled], weights[shuffled]


def expand_steps(steps: np.ndarray) -> np.ndarray:
    """dc-distances among points in tree order from the distance of each to the one before it."""
    n = len(steps)
    return np.array([[max(steps[min(i, j) + 1 : max(i, j) + 1], default=0.0) for j in range(n)] for i in range(n)])
