"""A model card: what a saved model is, as a page in Markdown that model hubs show."""

from __future__ import annotations

from typing import Any

from shade._base.result_folder import MODEL_NAME
from shade._base.text import printable
from shade.persistence.description import describe_model
from shade.persistence.model_file import ModelContents

MOST_LISTED = 20  # clusters and columns; more would not be read

PAGE = """---
library_name: shade
tags:
- clustering
- density-based-clustering
---

# {title}

{what} It was fitted on {rows:,} rows of {shape}.

{clusters}

| cluster | rows |
|---|---|
{sizes}

## How to use it

```python
import shade

model = shade.load("path of this folder")
labels = model.predict(rows)  # rows with the same columns; −1 is noise
```

Loading runs no code of the file. {columns}

## What the file reveals

{reveals}

## How it was fitted

| setting | value |
|---|---|
{settings}

shade {version}{seed}
"""


def write_card(contents: ModelContents, title: str) -> str:
    """Return a page about the contents of a model file."""
    told = describe_model(contents)
    deep, sizes, names = told["estimator"] == "SHADE", told["cluster_sizes"], told["feature_names"]
    listed = [f"| {cluster} | {size:,} |" for cluster, size in enumerate(sizes[:MOST_LISTED])]
    if len(sizes) > MOST_LISTED:
        listed.append(f"| {len(sizes) - MOST_LISTED} more | {sum(sizes[MOST_LISTED:]):,} |")
    shown = ", ".join(f"`{_cell(name)}`" for name in names[:MOST_LISTED])
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    shape = " x ".join(map(str, told["sample_shape"]))
    return PAGE.format(
        title=_cell(title),
        what="A SHADE model: networks embed rows, and clusters are read off the density of the embedding."
        if deep
        else "A DCTreeClustering model: clusters are read off the density of the rows.",
        rows=told["rows"],
        shape=f"{shape} columns" if len(told["sample_shape"]) == 1 else f"shape {shape}",
        clusters=f"It has {told['clusters']} clusters; {told['noise']:.1%} of the rows are noise.",
        sizes="\n".join(listed),
        columns=f"The columns are {shown}{more}." if names else "The columns have no names.",
        reveals=_what_it_reveals(contents, deep),
        settings="\n".join(f"| {name} | {_cell(value)} |" for name, value in sorted(told["parameters"].items())),
        version=_cell(told["versions"]["shade"]),
        seed="" if told["seed"] is None else f", seed {told['seed']}",
    )


def _what_it_reveals(contents: ModelContents, deep: bool) -> str:
    if not deep:
        return f"`{MODEL_NAME}` holds the rows of the fit, or core distances if distances were clustered."
    if contents.description.get("decoder", True) is False:
        return f"`{MODEL_NAME}` holds the embedding of the rows of the fit. It was saved without the decoder."
    return (
        f"`{MODEL_NAME}` holds the embedding of the rows of the fit, and the decoder turns it back into approximate "
        "rows. Share it as carefully as the data."
    )


def _cell(value: Any) -> str:
    """Return a value as text for one cell of a table."""
    return printable(str(value)).replace("|", "\\|").replace("`", "'").replace("\n", " ")
