"""`.. paper-settings::` is a table of the parameters in which the paper and the defaults differ."""

from __future__ import annotations

import inspect
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import shade


class PaperSettings(SphinxDirective):
    """Read from the code, so that it cannot be out of date."""

    def run(self) -> list[nodes.Node]:
        lines = [
            ".. list-table::",
            "   :header-rows: 1",
            "",
            "   * - parameter",
            "     - default",
            "     - paper",
        ]
        defaults = inspect.signature(shade.SHADE).parameters
        for name, value in shade.PAPER.items():
            if value != defaults[name].default:
                lines += [
                    f"   * - ``{name}``",
                    f"     - ``{defaults[name].default!r}``",
                    f"     - ``{value!r}``",
                ]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("paper-settings", PaperSettings)
    return {"parallel_read_safe": True}
