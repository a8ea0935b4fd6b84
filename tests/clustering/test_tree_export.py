"""The structure tree as a table, a graph and a line in Newick format says what its arrays say."""

import re
import sys

import networkx
import numpy as np
import pytest

from shade.clustering import SplitTest, StructureTree
from shade.clustering.structure_tree import SELECTIONS
from shade.density import DCTree, SpanningTree
from tests.clustering.trees import read_tree
from tests.oracles import draw_groups


def trees() -> list[StructureTree]:
    return [
        read_tree(DCTree.from_points(draw_groups(seed, 200, 2), n_jobs=1), selection)
        for seed in range(4)
        for selection in SELECTIONS
    ]


def read_newick(text: str) -> tuple[dict[int, int], dict[int, float]]:
    """The parent and the branch length of each node, by name."""
    parents: dict[int, int] = {}
    lengths: dict[int, float] = {}
    waiting: list[list[int]] = [[]]  # nodes whose parent is not yet named
    below: list[int] = []
    for token in re.findall(r"[(),;]|[^(),;]+", text):
        if token == "(":
            waiting.append([])
        elif token == ")":
            below = waiting.pop()
        elif token not in (",", ";"):
            name, _, length = token.partition(":")
            parents.update(dict.fromkeys(below, int(name)))
            waiting[-1].append(int(name))
            below = []
            if length:
                lengths[int(name)] = float(length)
    assert len(waiting) == 1
    assert len(waiting[0]) == 1
    return parents, lengths


def test_all_three_forms_hold_the_parents_and_the_figures_of_every_candidate() -> None:
    for tree in trees():
        frame, graph = tree.to_frame(), tree.to_networkx()
        parents, lengths = read_newick(tree.to_newick())
        assert frame.index.tolist() == sorted(graph.nodes) == list(range(tree.n_candidates))
        assert networkx.is_arborescence(graph)
        for name in ("parent", "size", "birth", "death", "stability"):
            np.testing.assert_array_equal(frame[name], getattr(tree, name))
        for c in range(tree.n_candidates):
            assert graph.nodes[c] == frame.loc[c].drop("parent").to_dict()
        assert parents == dict(enumerate(tree.parent[1:].tolist(), start=1))
        assert set(graph.edges) == {(above, c) for c, above in parents.items()}
        assert lengths == dict(enumerate((tree.birth - tree.death)[1:].tolist(), start=1))
        assert min(lengths.values(), default=0.0) >= 0.0


def test_a_tree_of_one_candidate_is_one_node() -> None:
    tree = read_tree(DCTree.from_points(np.arange(12.0)[:, None], n_jobs=1), "branches")
    assert (tree.to_newick(), len(tree.to_frame()), list(tree.to_networkx())) == ("0;", 1, [0])


def test_a_tree_deeper_than_python_calls_is_written() -> None:
    depth = 2 * sys.getrecursionlimit()
    edges = np.column_stack([np.arange(2 * depth - 1), np.arange(1, 2 * depth)])  # a pair after the other, farther out
    weights = np.where(edges[:, 0] % 2 == 0, 1.0, 2.0 + edges[:, 0])
    tree = StructureTree.from_dc_tree(
        DCTree.from_spanning_tree(SpanningTree(edges, weights)), "branches", SplitTest.none(2)
    )
    assert tree.n_candidates == 2 * depth - 1
    assert len(read_newick(tree.to_newick())[0]) == tree.n_candidates - 1


def test_networkx_is_only_needed_for_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="to_networkx needs networkx: install it with pip install networkx"):
        trees()[0].to_networkx()
