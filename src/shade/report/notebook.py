"""The report inside a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from shade._base.validation import Whole, check_parameter
from shade.report.page import render_report

if TYPE_CHECKING:
    from shade.estimators.tree_estimator import TreeClusteringMixin


@dataclass(frozen=True)
class Explorer:
    """A report that a notebook shows. `page` is its HTML."""

    page: str = field(repr=False)
    height: int

    def _repr_html_(self) -> str:
        # In the sandbox, the page can run its program and write files, but reads nothing of the notebook.
        return (
            '<iframe title="Report of the clusters" sandbox="allow-scripts allow-downloads" style="border:0" '
            f'width="100%" height="{self.height}" srcdoc="{escape(self.page)}"></iframe>'
        )


def explore(model: TreeClusteringMixin, samples: Any = None, *, height: int = 900) -> Explorer:
    """Return the report of a model for a notebook, as `write_report` writes it to a file.

    Parameters
    ----------
    model : SHADE or DCTreeClustering
        A fitted model.
    samples : optional
        As in `write_report`.
    height : int, default=900
        Height in pixels.

    Returns
    -------
    Explorer
        As the last line of a cell, it shows the report.
    """
    check_parameter("height", height, Whole(1), "explore")
    return Explorer(render_report(model, samples=samples), height)
