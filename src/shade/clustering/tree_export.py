"""The structure tree in the forms that other packages read."""

from __future__ import annotations

from typing import Any

from shade._base.arrays import FloatArray, IntArray
from shade._base.extras import need

COLUMNS = ("parent", "size", "birth", "death", "stability")


class TreeExport:
    """What a tree of candidates gains: a table, a graph, and a text that programs for phylogenetic trees read."""

    parent: IntArray
    size: IntArray
    birth: FloatArray
    death: FloatArray
    stability: FloatArray

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each candidate: parent, size, birth, death and stability.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> model = DCTreeClustering(min_samples=2, min_cluster_size=3, selection="branches")
        >>> tree = model.fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]).structure_tree_
        >>> tree.to_frame()["parent"].tolist()
        [-1, 0, 0]
        """
        frame = need("pandas", "io", "to_frame").DataFrame({name: getattr(self, name) for name in COLUMNS})
        frame.index.name = "candidate"
        return frame

    def to_networkx(self) -> Any:
        """A networkx DiGraph with an edge from each candidate to those inside it.

        Its nodes are the numbers of the candidates, with size, birth, death and stability as attributes.
        """
        graph = need("networkx", "", "to_networkx", install="networkx").DiGraph()
        for candidate, values in enumerate(zip(*(getattr(self, name).tolist() for name in COLUMNS), strict=True)):
            graph.add_node(candidate, **dict(zip(COLUMNS[1:], values[1:], strict=True)))
            if candidate:
                graph.add_edge(values[0], candidate)
        return graph

    def to_newick(self) -> str:
        """The tree as one line in Newick format.

        Nodes are the numbers of the candidates. The length of a branch is birth − death; the root has none.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> model = DCTreeClustering(min_samples=2, min_cluster_size=3, selection="branches")
        >>> model.fit([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]).structure_tree_.to_newick()
        '(1:7.0,2:7.0)0;'
        """
        children: list[list[int]] = [[] for _ in self.parent]
        for candidate, above in enumerate(self.parent[1:].tolist(), start=1):
            children[above].append(candidate)
        lengths = ["", *(f":{length!r}" for length in (self.birth - self.death)[1:].tolist())]
        pieces: list[str] = []
        pending: list[int | str] = [";", 0]
        while pending:  # a loop, as trees can be deeper than Python calls
            item = pending.pop()
            if isinstance(item, str):
                pieces.append(item)
                continue
            pending.append(f"{item}{lengths[item]}")
            if children[item]:
                inside = [part for child in children[item] for part in (child, ",")][:-1]
                pending += [")", *inside[::-1], "("]
        return "".join(pieces)
