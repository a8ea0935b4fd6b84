"""Arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from shade.cli.options import DATA

DataArgument = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA.describe("path"))]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, or the folder that shade fit wrote.")
]
FolderOption = Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")]
TableOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="A csv, npy or parquet file; standard output if left out.")
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace a folder that is not empty.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor notes.")]
