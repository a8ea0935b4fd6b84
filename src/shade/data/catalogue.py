"""The table of benchmark datasets: size, kind, publisher, licence, files, and the normalisation of each."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class SourceFile:
    """A file of a publisher; `sha256` is empty if no hash is known."""

    url: str
    sha256: str = ""

    @property
    def name(self) -> str:
        """The name of the file while it is converted."""
        return self.url.rsplit("/", 1)[-1].replace("%20", "_").replace("+", "_")


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a dataset.

    Attributes
    ----------
    name : str
    n_samples, n_features, n_clusters, n_noise : int
        Features of the flattened sample; clusters without noise.
    kind : str
        "table", "image" or "video".
    publisher, licence : str
    files : tuple of SourceFile
        Empty if the dataset cannot be fetched.
    reader : str
        The function of `shade.data.publishers` that turns the files into arrays.
    sha256 : str
        Hash of the arrays (`hash_arrays`); empty if unknown.
    part_of : str
        For a part or a variant: the original dataset. Results must not be compared with its published figures.
    note : str
        How a part or variant differs from the original.
    """

    name: str
    n_samples: int
    n_features: int
    n_clusters: int
    kind: str
    publisher: str
    licence: str
    files: tuple[SourceFile, ...] = ()
    reader: str = ""
    sha256: str = ""
    n_noise: int = 0
    part_of: str = ""
    note: str = ""

    @property
    def standardize(self) -> str:
        """How the paper z-normalises: tables by feature, images and frames over all values."""
        return "feature" if self.kind == "table" else "global"

    @property
    def comparable(self) -> bool:
        """Whether published figures are for exactly this dataset."""
        return not self.part_of


def _read_info(row: dict[str, str]) -> DatasetInfo:
    """Read a dataset from its row of `catalogue.csv`. Files are URLs, with "#sha256=" if the hash is known."""
    sources = tuple(SourceFile(*file.split("#sha256=")) for file in row.pop("files").split())
    counts = {name: int(row.pop(name)) for name in ("n_samples", "n_features", "n_clusters", "n_noise")}
    return DatasetInfo(**row, **counts, files=sources)  # type: ignore[arg-type]


#: All datasets by name, in the order of the paper's tables, parts and variants last.
DATASETS: dict[str, DatasetInfo] = {
    row["name"]: _read_info(row)
    for row in csv.DictReader((files("shade.data") / "catalogue.csv").read_text(encoding="utf-8").splitlines())
}
