"""Building and writing the page."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade._base.files import write_whole
from shade.data.samples import counted
from shade.report.samples import check_samples

if TYPE_CHECKING:
    from shade.estimators.tree_estimator import TreeClusteringMixin

# The script of the page, in the order in which its parts depend on each other.
PROGRAM = ("points.js", "names.js", "columns.js", "scatter.js", "pictures.js", "details.js", "explorer.js")


def write_report(
    model: TreeClusteringMixin, path: str | PathLike[str], *, samples: Any = None, title: str | None = None,
    command: str | None = None,
) -> Path:  # fmt: skip
    """Write one HTML file that shows what a model found, to be explored in a browser without any network.

    Parameters
    ----------
    model : SHADE or DCTreeClustering
        A fitted model.
    path : str or path
        Usually "report.html". The file is written under another name and then renamed, so it is always complete.
    samples : optional
        The rows of the fit, as a DataFrame or an array. With them, the report describes clusters by their features or
        by images. Or an object with `rows` (a table, or images of shape N × H × W, N × C × H × W or N × H × W × 3),
        `feature_names`, `ids`, `labels` and `kind` ("table", "images" or "frames"). If it has a `source` and `notes` on
        what was done to the rows, like the result of `shade.data.read_samples`, they are in the page too.
    title : str, optional
    command : str, optional
        The command line that fitted the model. If the page advises another fit, it shows this command with the option
        to add.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shade import DCTreeClustering
    >>> from shade.report import write_report
    >>> X = [[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]
    >>> model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_report(model, Path(folder) / "report.html", title="Six points")
    ...     "Six points" in file.read_text(encoding="utf-8")
    True
    """
    page = render_report(model, samples=samples, title=title, command=command)
    write_whole(Path(path), page.encode(errors="backslashreplace"))  # file names may contain bytes that are no text
    return Path(path)


def render_report(
    model: TreeClusteringMixin, *, samples: Any = None, title: str | None = None, command: str | None = None
) -> str:
    """Return the HTML of a report; parameters as in `write_report`."""
    check_is_fitted(model)
    known = check_samples(samples, len(model.labels_))
    try:
        from shade.report import contents
        from shade.report.pictures import describe_pictures, drawing_library
        from shade.report.views import views_of
    except ImportError as error:
        raise ImportError("Reports need bokeh: pip install 'shade-clustering[report]'") from error
    views = views_of(model)
    data = contents.gather_contents(model, known, views)
    run = contents.describe_run(model, known, command)
    data["pictures"] = describe_pictures(model, views[0], data)
    scripts = [drawing_library(), "\n".join(["(function () {", '"use strict";', *map(_asset, PROGRAM), "})();"])]
    where = f" in {run['source']}" if run["source"] else ""
    heading = title or f"{run['facts']['Estimator']} found {counted(model.n_clusters_, 'cluster')}{where}"
    return _render(
        title=heading, style=_asset("page.css"), scripts=scripts, script_hashes=" ".join(map(_hash, scripts)),
        views=views, trained="losses" in data["pictures"], losses_text=_describe_losses(model),
        columns=bool(data["columns"]), left_out=data["leftOut"], data=_as_json(data),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), **run,
    )  # fmt: skip


def _render(**values: Any) -> str:
    """Fill the template. All text from data is escaped; only our own markup is not."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    for name in ("style", "data", "script_hashes"):
        values[name] = Markup(values[name])
    values["scripts"] = [Markup(script) for script in values["scripts"]]
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False)
    return environment.from_string(_asset("page.html")).render(**values)


def _as_json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end its script element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _asset(name: str) -> str:
    return (files("shade.report") / name).read_text(encoding="utf-8")


def _describe_losses(model: Any) -> str:
    history = getattr(model, "history_", None) or []
    if not history or "loss" not in history[-1]:
        return ""
    losses = np.array([record["loss"] for record in history])
    return f"Line chart: the loss went from {losses[0]:.4g} in the first epoch to {losses[-1]:.4g} after {len(losses)}."
