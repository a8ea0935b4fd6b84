"""Tables of stored runs, read while the pages are built, so that no figure is typed.

`.. stored-runs:: experimentResults, mnist_etc` compares the methods on the datasets that all of them have. `.. stored-means::
FILE` shows the last row of a table that a benchmark wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from stored_tables import compare_methods, last_row

from shade.experiments.store import RunStore

ROOT = Path(__file__).parents[2]


def _as_list_table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in (heading, *rows):
        lines += [
            f"   {'* -' if place == 0 else '  -'} {cell}"
            for place, cell in enumerate(row)
        ]
    return "\n".join(lines)


class StoredRuns(SphinxDirective):
    """Compare methods by the adjusted Rand index."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        store = RunStore(ROOT / "results" / "runs.sqlite")
        runs = [
            run for name in self.arguments[0].split(", ") for run in store.runs(name)
        ]
        datasets, rows = compare_methods(runs)
        return self.parse_text_to_nodes(
            _as_list_table(["method", "mean", *datasets], rows)
        )


class StoredMeans(SphinxDirective):
    """Show the last row of a table."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (_, what), *found = last_row((ROOT / self.arguments[0]).read_text("utf-8"))
        rows = sorted((list(pair) for pair in found), key=lambda pair: -float(pair[1]))
        return self.parse_text_to_nodes(_as_list_table(["method", what], rows))


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("stored-runs", StoredRuns)
    app.add_directive("stored-means", StoredMeans)
    return {"parallel_read_safe": True}
