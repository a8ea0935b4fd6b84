"""A table, and the results of fitting it, made once."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from tests.cli.commands import QUICK, run


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A csv with ids, text, a known group and missing values."""
    X, groups = make_blobs(120, 4, centers=3, center_box=(-12, 12), random_state=0)
    frame = pd.DataFrame(X.round(3), columns=["height", "weight", "age", "income"])
    frame.insert(0, "customer", [f"C{row:03d}" for row in range(120)])
    frame["city"] = np.array(["Oslo", "Rome"])[np.arange(120) % 2]
    frame["segment"] = groups
    frame.loc[[3, 50], "age"] = np.nan
    path = tmp_path_factory.mktemp("data") / "customers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def fitted(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `shade fit` wrote."""
    folder = tmp_path_factory.mktemp("fit") / "out"
    named = ["--id", "customer", "--label", "segment", "--drop", "city", "--missing", "mean"]
    result = run("fit", str(table), "-o", str(folder), *named, *QUICK)
    assert result.exit_code == 0, result.output
    return folder
