"""Tables with categories, dates and empty cells, from the file to the labels of new rows."""

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import shade
import shade.data
from shade.cli.deciding import explain_filled_clusters
from tests.cli.commands import QUICK, run
from tests.cli.test_commands import rows_of

NUMBERS = 120


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of which a column with three values decides the clusters."""
    chance = np.random.default_rng(0)
    frame = pd.DataFrame({"price": [f"{value:,.1f}" for value in chance.uniform(900, 4000, NUMBERS)]})
    kinds = chance.integers(0, 3, NUMBERS)
    frame["weight"] = (chance.normal(size=NUMBERS) + 20 * kinds).round(3)
    frame["kind"] = np.array(["book", "lamp", "sofa"])[kinds]
    frame["day"] = pd.date_range("2024-01-01", periods=NUMBERS).strftime("%d.%m.%Y")
    frame.loc[[4, 40], "weight"] = np.nan
    path = tmp_path_factory.mktemp("orders") / "orders.csv"
    frame.to_csv(path, index_label="n")
    return path


def command_of(folder: Path) -> str:
    settings = [*QUICK, "--epochs", "50", "--network", "64"]
    return shlex.join(
        ["shade", "fit", f"{folder.parent}/orders.csv", "-o", f"{folder}", "--missing", "median", *settings]
    )


@pytest.fixture(scope="module")
def of_orders(orders: Path) -> Path:
    folder = orders.parent / "out"
    result = run(*shlex.split(command_of(folder))[1:])
    assert result.exit_code == 0, result.output
    (folder.parent / "said.txt").write_text(result.output)
    return folder


def test_what_was_done_to_a_table_and_what_decides_is_told(of_orders: Path) -> None:
    said = (of_orders.parent / "said.txt").read_text()
    first = pd.read_csv(of_orders.parent / "orders.csv")["price"][0]
    assert "120 rows of 4 columns, encoded as 6" in said
    for note in (
        "left out column 'n', as it numbers the rows: --keep n clusters by it all the same, --id n names the "
        "rows by it",
        f"in numbers commas separate thousands: {first!r} in 'price' is {float(first.replace(',', ''))}",
        "encoded 1 column of categories: 'kind' (3)",
        "read 1 column of dates as days: 'day'",
        "1 column with few different values may become the clusters: 'kind'. --drop leaves a column out",
        "filled 2 values in 2 of 120 rows with the median of similar rows: 'weight' (2)",
        "the clusters follow the values of 'kind': nearly all rows of a cluster have the same value. To find what else "
        f"there is, fit without: {command_of(of_orders)} --drop kind --overwrite",
    ):  # fmt: skip
        assert f"note: {note}\n" in said
    assert re.search(r"^told apart by   \w+ \(0\.\d\d\), \w+ \(0\.\d\d\), \w+ \(0\.\d\d\)$", said, re.MULTILINE)
    summary = json.loads((of_orders / "summary.json").read_text())
    assert set(list(summary["told_apart_by"])[:2]) == {"kind", "weight"}
    names = ["price", "weight", "kind=book", "kind=lamp", "kind=sofa", "day (days since 1970)"]
    assert shade.load(of_orders).feature_names_in_.tolist() == names
    report = (of_orders / "report.html").read_text()
    assert "kind=book" in report
    assert "<li>the clusters follow the values of" in report


def test_predict_encodes_and_fills_like_the_fit(of_orders: Path, orders: Path, tmp_path: Path) -> None:
    again = run("predict", of_orders, orders, "--id", "n")
    assert again.exit_code == 0, again.output
    known = rows_of((of_orders / "labels.csv").read_text())
    assert [row["label"] for row in rows_of(again.stdout)] == [row["label"] for row in known]
    table = pd.read_csv(orders, dtype=str).iloc[[4]].drop(columns="n")
    table.to_csv(tmp_path / "one.csv", index=False)
    one = run("predict", of_orders, tmp_path / "one.csv", "--thousands", ",")
    assert rows_of(one.stdout)[0]["label"] == known[4]["label"]
    table.assign(kind="door").to_csv(tmp_path / "other.csv", index=False)
    other = run("transform", of_orders, tmp_path / "other.csv")
    assert other.exit_code == 0, other.output
    assert "note: column 'kind' has values that the model was not trained on, such as 'door', in 1 row" in other.stderr
    shown = run("report", of_orders, "--data", orders, "-o", tmp_path / "report.html")
    assert shown.exit_code == 0, shown.output


def test_several_files_are_one_table(of_orders: Path, orders: Path, tmp_path: Path) -> None:
    lines = orders.read_text().splitlines()
    for part, rows in enumerate((lines[1:50], lines[50:])):
        (tmp_path / f"part-{part}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    paths = [tmp_path / "part-0.csv", tmp_path / "part-1.csv"]
    whole = run("predict", of_orders, orders, "--quiet").stdout
    assert run("predict", of_orders, *paths, "--quiet").stdout == whole
    assert run("predict", of_orders, tmp_path / "part-*.csv", "--quiet").stdout == whole


def test_the_table_that_comes_with_the_package_has_the_groups_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--table", "customers.csv").stdout == "customers.csv\n"
    again = run("demo", "--table", "customers.csv")
    assert (again.exit_code, again.stderr) == (
        5, "shade: customers.csv is there already. Choose another name for the table.\n",
    )  # fmt: skip
    quick = [*QUICK, "--selection", "information"]
    fitted = run("fit", "customers.csv", "--id", "customer", "--drop", "city", "-o", "out", *quick)
    assert fitted.exit_code == 0, fitted.output
    assert json.loads(Path("out/summary.json").read_text())["cluster_sizes"] == [150, 130, 80, 40]
    labelled = run("predict", "out", "customers.csv", "--id", "customer")
    assert rows_of(labelled.stdout)[0]["id"] == "Gita Silva"


def test_a_cluster_of_filled_rows_is_told_with_the_command_to_compare(tmp_path: Path) -> None:
    rows = "".join(f"{row},{'' if row < 4 else row % 3}\n" for row in range(30))
    (tmp_path / "a.csv").write_text(f"x,y\n{rows}")
    samples = shade.data.read_samples(tmp_path / "a.csv", keep=["x"])
    model = SimpleNamespace(n_clusters_=2, labels_=np.array([1] * 5 + [-1] + [0] * 24))
    assert explain_filled_clusters(model, samples, "shade fit a.csv --missing mean") == (
        "most rows of cluster 1 (4 of 5) had missing values that were filled, so the cluster may show only that. "
        "To compare, fit without such rows: shade fit a.csv --missing mean --missing drop-rows --overwrite"
    )
    for labels in (np.array([1] * 8 + [0] * 22), np.zeros(30, np.int64)):
        assert explain_filled_clusters(SimpleNamespace(n_clusters_=2, labels_=labels), samples, "") is None
    assert shade.data.read_samples(tmp_path / "a.csv", missing="drop-rows", keep=["x"]).rows.shape == (26, 2)
