"""The structure tree in the formats of other packages."""

from __future__ import annotations

from typing import Any

from shade._base.arrays import FloatArray, IntArray
from shade._base.extras import need

COLUMNS = ("parent", "size", "birth", "death", "stability")


class TreeExport:
    """Exports of a tree of candidates: as a table, as a graph, and as text for programs for phylogenetic trees."""

    parent: IntArray
    size: IntArray
    birth: FloatArray
    death: FloatArray
    stability: FloatArray

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per candidate: parent, size, birth, death and stability."""
        frame = need("pandas", "io", "to_frame").DataFrame({name: getattr(self, name) for name in COLUMNS})
        frame.index.name = "candidate"
        return frame

    def to_networkx(self) -> Any:
        """Return a networkx DiGraph with an edge from each candidate to those inside it.

        Nodes are the numbers of the candidates. Attributes are size, birth, death and stability.
        """
        graph = need("networkx", "", "to_networkx", install="networkx").DiGraph()
        values = zip(*(getattr(self, name).tolist() for name in COLUMNS[1:]), strict=True)
        graph.add_nodes_from((node, dict(zip(COLUMNS[1:], row, strict=True))) for node, row in enumerate(values))
        graph.add_edges_from(zip(self.parent[1:].tolist(), range(1, len(self.parent)), strict=True))
        return graph

    def to_newick(self) -> str:
        """Return the tree as one line in Newick format.

        Nodes are the numbers of the candidates. The length of a branch is birth − death; the root has none.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> model = DCTreeClustering(min_samples=2, min_cluster_size=3, selection="branches")
        >>> model.fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]).structure_tree_.to_newick()
        '(1:7.0,2:7.0)0;'
        """
        inside: list[list[str]] = [[] for _ in self.parent]
        for candidate in range(len(self.parent) - 1, 0, -1):  # children first; a loop, since trees can be deep
            text = _with_children(candidate, inside.pop())
            length = float(self.birth[candidate] - self.death[candidate])
            inside[self.parent[candidate]].append(f"{text}:{length!r}")
        return _with_children(0, inside.pop()) + ";"


def _with_children(candidate: int, children: list[str]) -> str:
    """Return a node in Newick format; its last child was written first."""
    return f"({','.join(children[::-1])}){candidate}" if children else str(candidate)
