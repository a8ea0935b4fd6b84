"""What people read, sentence by sentence: a case, and exactly what it says."""

import copy
import json
import re
import shlex
import subprocess
import sys
import warnings
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from shade import DCTreeClustering, load
from shade._base.errors import ShadeWarning
from shade.estimators.result_warnings import explain_few_clusters, explain_noise
from shade.report import write_report
from tests.cli.commands import QUICK, run

CLOUD = np.random.default_rng(0).normal(size=(400, 4))

USAGE = {
    ("--epochs", "0"): "--epochs must be an int in the range [1, inf). Got 0 instead.",
    ("--min-cluster-size", "1"): "--min-cluster-size must be an int in the range [2, inf). Got 1 instead.",
    ("--n-clusters", "0"): "--n-clusters must be an int in the range [1, inf). Got 0 instead.",
    ("--batch-size", "4"): "--batch-size must be an int in the range [min_samples, inf), here [5, inf). Got 4 instead.",
}

RECLUSTER = {
    (): "Say which clusters you want, with --n-clusters, --cut-distance, --min-samples, --min-cluster-size or "
    "--between-noise.",
    ("--n-clusters", "0"): "--n-clusters must be an int in the range [1, inf). Got 0 instead.",
    ("--min-samples", "1"): "--min-samples must be an int in the range [2, inf). Got 1 instead.",
    ("--n-clusters", "90"): (
        "--n-clusters must be an int in the range [1, 3], the number of separate branches with at least 10 points in "
        "this tree. Got 90 instead."
    ),
    ("--n-clusters", "2", "--cut-distance", "1"): (
        "The --n-clusters and --cut-distance parameters of recluster exclude each other: give one."
    ),
}


def last_line(result: Any) -> str:
    return str(result.stderr.splitlines()[-1])


@pytest.mark.parametrize("given", USAGE)
def test_wrong_options_of_fit(given: tuple[str, ...], table: Path, tmp_path: Path) -> None:
    read = ["--drop-non-numeric", "--missing", "mean", "-o", tmp_path / "out"]
    result = run("fit", table, *read, *given)
    assert result.exit_code == 2
    assert last_line(result) == f"shade: {USAGE[given]}"


@pytest.mark.parametrize("given", RECLUSTER)
def test_wrong_options_of_recluster(given: tuple[str, ...], fitted: Path) -> None:
    result = run("recluster", fitted, *given)
    assert result.exit_code == 2
    assert last_line(result) == f"shade: {RECLUSTER[given]}"


def test_too_few_rows_are_told_in_options_and_columns_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("label,memory\n1,2\n3,4\n")
    few = run("fit", tmp_path / "few.csv", "-o", tmp_path / "out")
    assert last_line(few).endswith("fewer than min_samples = 5. Give more rows or a smaller --min-samples.")
    far = np.column_stack([np.arange(100) % 7, np.arange(100) % 11, [*range(99), 10**9]])
    pd.DataFrame(far, columns=["a", "b", "memory"]).to_csv(tmp_path / "far.csv", index=False)
    warned = run("fit", tmp_path / "far.csv", "-o", tmp_path / "out", *QUICK)
    assert "warning: In column 'memory' the value of row 99 is so far from all others" in warned.stderr


def test_columns_that_a_model_needs(fitted: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("height,weight\n1,2\n3,4\n")
    result = run("predict", fitted, tmp_path / "new.csv")
    assert last_line(result) == (
        f"shade: {tmp_path / 'new.csv'} lacks 2 of the 4 columns the model was trained on: 'age', 'income'. Add them "
        "to the data, or fit a model without them."
    )


def one_cluster_of(model: DCTreeClustering) -> str:
    with pytest.warns(ShadeWarning) as found:
        model.fit(CLOUD)
    (warning,) = found
    return str(warning.message)


ONE_CLUSTER = {
    "of chance": (
        {},
        "Only one cluster was found: the strongest split of the density tree is not more than chance (evidence 0.04, "
        "it needs 0.15). To divide it all the same, into 252 and 148 rows: recluster(n_clusters=2)",
    ),
    "too large a size": (
        {"min_cluster_size": 900},
        "Only one cluster was found: the density tree of the 400 rows does not have 2 separate branches with at least "
        "900 rows each. To allow smaller clusters: recluster(min_cluster_size=12)",
    ),
}


def test_the_advice_after_one_cluster_ends() -> None:
    few = DCTreeClustering(min_cluster_size=2, min_samples=2).fit(CLOUD[:3])
    assert explain_few_clusters(few.clustering_).endswith(
        "does not have 2 separate branches with at least 2 rows each. Give more rows."
    )


@pytest.mark.parametrize("case", ONE_CLUSTER)
def test_one_cluster(case: str) -> None:
    parameters, sentence = ONE_CLUSTER[case]
    assert one_cluster_of(DCTreeClustering(**parameters)) == sentence


def follow(model: DCTreeClustering, sentence: str, X: np.ndarray) -> DCTreeClustering:
    """What the step at the end of a warning gives, as it is written."""
    return eval(f"model.{sentence.rpartition(': ')[2]}", {"model": model, "X": X})


def test_the_next_step_after_one_cluster_works_as_it_is_written() -> None:
    for parameters, sentence in ONE_CLUSTER.values():
        model = DCTreeClustering(**parameters)
        assert one_cluster_of(model) == sentence
        other = follow(model, sentence, CLOUD)
        if "n_clusters" in sentence:
            assert np.bincount(other.labels_).tolist() == [252, 148]


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_one_cluster_of_few_or_many_columns_has_the_figures_everywhere(columns: int, tmp_path: Path) -> None:
    X = np.random.default_rng(columns).normal(size=(200, columns))
    pd.DataFrame(X).to_csv(tmp_path / "cloud.csv", index=False, header=list("abcd")[:columns])
    result = run("fit", tmp_path / "cloud.csv", "-o", tmp_path / "out", *QUICK, "--selection", "information")
    assert result.exit_code == 0, result.output
    (warning,) = re.findall(r"^warning: (.*): shade recluster .*$", result.stderr, re.MULTILINE)
    where = "in the data, " if columns <= 3 else ""
    found = re.fullmatch(
        rf"Only one cluster was found: {where}the strongest split of the density tree is not more than chance "
        r"\(evidence ([\d.]+), it needs ([\d.]+)\). To divide it all the same, into (\d+) and (\d+) rows",
        warning,
    )
    assert found is not None, warning
    assert 0 < float(found[1]) < float(found[2])
    model = load(tmp_path / "out")
    with pytest.warns(ShadeWarning) as said:
        model.set_params(callbacks=()).fit(pd.read_csv(tmp_path / "cloud.csv"))
    assert str(said[-1].message) == f"{warning}: recluster(n_clusters=2)"
    assert explain_few_clusters(load(tmp_path / "out").clustering_) == f"{warning}: recluster(n_clusters=2)"
    assert f"{warning}: recluster(n_clusters=2)" in unescape((tmp_path / "out" / "report.html").read_text("utf-8"))
    divided = run("recluster", tmp_path / "out", "--n-clusters", "2", "--json")
    assert json.loads(divided.stdout)["cluster_sizes"] == [int(found[3]), int(found[4])]


def test_fewer_clusters_than_wanted_and_the_next_step_as_it_is_written(tmp_path: Path) -> None:
    with pytest.warns(ShadeWarning) as said:
        model = DCTreeClustering(n_clusters=5, min_cluster_size=100).fit(CLOUD)
    sentence = str(said[-1].message)
    assert sentence == (
        "Only 1 cluster instead of 5 was found: the density tree of the 400 rows does not have 5 separate branches "
        "with at least 100 rows each. To allow smaller clusters: recluster(n_clusters=5, min_cluster_size=3)"
    )
    assert follow(model, sentence, CLOUD).n_clusters_ == 5
    model.save(tmp_path / "model.shade")
    page = unescape(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
    assert sentence in page
    assert "in the folder of model.shade: shade recluster . --n-clusters 5 --min-cluster-size 3" in page
    divided = run("recluster", tmp_path, "--n-clusters", "5", "--min-cluster-size", "3", "--json")
    assert '"n_clusters": 5' in divided.stdout


def test_the_next_command_after_recluster_keeps_its_options(tmp_path: Path) -> None:
    DCTreeClustering(n_clusters=1, min_cluster_size=900).fit(CLOUD).save(tmp_path / "model.shade")
    shown = run("recluster", tmp_path / "model.shade", "--min-cluster-size", "12", "--json")
    command = shown.stderr.rpartition("rows: ")[2].strip()
    assert command == f"shade recluster {tmp_path / 'model.shade'} --min-cluster-size 12 --n-clusters 2"
    assert '"n_clusters": 2' in run(*shlex.split(command)[1:], "--json").stdout
    written = run("recluster", tmp_path / "model.shade", "--min-cluster-size", "12", "-o", tmp_path / "out")
    command = written.stderr.partition("rows: ")[2].splitlines()[0]
    assert command == f"shade recluster {tmp_path / 'out'} --n-clusters 2"
    assert '"n_clusters": 2' in run(*shlex.split(command)[1:], "--json").stdout


def test_one_wanted_cluster_is_no_surprise(recwarn: pytest.WarningsRecorder) -> None:
    DCTreeClustering(n_clusters=1).fit(CLOUD)
    assert not list(recwarn)


def with_background() -> np.ndarray:
    chance = np.random.default_rng(0)
    return np.vstack([*(chance.normal(c, 0.3, (150, 5)) for c in (-6, 0, 6)), chance.uniform(-30, 30, (900, 5))])


BLOBS = make_blobs(2000, 4, centers=5, cluster_std=1.8, random_state=2)[0]
NOISE = {  # parameters, rows, another clustering if the first has little noise, and the end of the sentence
    "background": (
        {}, with_background(), {},
        "67% of the 1,350 rows are noise: 67% lie in a sparse background. In Python, assign_noise() puts all of them "
        "into clusters. To cluster the background as well: set_params(background_noise=False).fit(X)",
    ),
    "between": (
        {"between_noise": True}, BLOBS, {"n_clusters": 7},
        "60% of the 2,000 rows are noise: they lie between clusters. In Python, assign_noise() puts all of them into "
        "clusters. To assign them to the nearest cluster: recluster(n_clusters=7, between_noise=False)",
    ),
    "cut": (
        {}, CLOUD, {"cut_distance": 0.1},
        "100% of the 400 rows are noise: they lie in no group that is connected within the distance 0.1. To connect "
        "more of them: recluster(cut_distance=0.941)",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("case", NOISE)
def test_much_noise_and_the_next_step_as_it_is_written(case: str) -> None:
    parameters, rows, other, sentence = NOISE[case]
    with warnings.catch_warnings(record=True) as found:
        model = DCTreeClustering(**parameters).fit(rows)
        model = model.recluster(**other) if other else model
    assert str(found[-1].message) == sentence
    assert np.mean(model.labels_ < 0) > 0.5
    assert np.mean(follow(model, sentence, rows).labels_ < 0) < 0.5


def test_rows_far_outside_of_all_clusters() -> None:
    model = DCTreeClustering(n_clusters=1).fit(CLOUD)
    other = copy.copy(model.clustering_)
    vars(other)["flat"] = model.clustering_.flat.without(np.arange(400) < 300)
    sentence = explain_noise(other)
    assert sentence == (
        "75% of the 400 rows are noise: they lie far outside of all clusters. In Python, assign_noise() puts all of "
        "them into clusters. To make the density smoother: recluster(min_samples=10)"
    )
    assert follow(model, sentence, CLOUD).min_samples == 10


def test_the_command_after_much_noise_works_when_it_is_pasted(tmp_path: Path) -> None:
    pd.DataFrame(with_background(), columns=list("abcde")).to_csv(tmp_path / "rows.csv", index=False)
    shade = [sys.executable, "-m", "shade"]
    settings = ["fit", "rows.csv", "-o", "a folder", *QUICK, "--selection", "information"]
    said = subprocess.run([*shade, *settings], cwd=tmp_path, capture_output=True, text=True, check=True).stderr
    (warning,) = (line for line in said.splitlines() if line.startswith("warning: "))
    cause, _, command = warning.rpartition(": ")
    assert cause.endswith("clusters. To cluster the background as well")
    assert command == shlex.join(["shade", *settings, "--no-background-noise", "--overwrite"])
    page = (tmp_path / "a folder" / "report.html").read_text(encoding="utf-8")
    assert f"In a terminal: {command}" in unescape(page)
    pasted = [*shade, *shlex.split(command)[1:]]
    again = subprocess.run(pasted, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "are noise" not in again.stderr
    # The words of a clustering that was chosen again name the command for its folder.
    cut = run("recluster", tmp_path / "a folder", "--cut-distance", "1e-9").stderr
    step = next(line for line in cut.splitlines() if line.startswith("warning: ")).rpartition(": ")[2]
    assert step.startswith(f"shade recluster '{tmp_path / 'a folder'}' --cut-distance ")
    assert run(*shlex.split(step)[1:], "--json").exit_code == 0


def test_the_command_after_one_cluster_works_when_it_is_pasted(tmp_path: Path) -> None:
    pd.DataFrame(CLOUD[:150], columns=list("abcd")).to_csv(tmp_path / "cloud.csv", index=False)
    settings = [*QUICK, "--selection", "information", "--with-data"]
    result = run("fit", tmp_path / "cloud.csv", "-o", tmp_path / "a folder", *settings)
    assert result.exit_code == 0, result.output
    (warning,) = (line for line in result.stderr.splitlines() if line.startswith("warning: "))
    command = f"shade recluster '{tmp_path / 'a folder'}' --n-clusters 2"
    assert warning.startswith(
        "warning: Only one cluster was found: the strongest split of the density tree is not more"
    )
    assert warning.endswith(f" rows: {command}")
    again = run("recluster", tmp_path / "a folder", "--n-clusters", "2", "--json")
    assert '"n_clusters": 2' in again.stdout
    page = (tmp_path / "a folder" / "report.html").read_text(encoding="utf-8")
    assert "SHADE found 1 cluster in cloud.csv" in page
    assert "In a terminal, in the folder of model.shade: shade recluster . --n-clusters 2" in page
    assert "The next splits would give 2 clusters of " in page
    labels = pd.read_csv(tmp_path / "a folder" / "labels.csv")
    assert list(labels) == ["id", "label", "probability", "outlier_score", *"abcd"]
    np.testing.assert_allclose(labels[list("abcd")], CLOUD[:150], rtol=1e-6)


def test_with_data_keeps_the_known_groups_and_names_apart(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table).rename(columns={"age": "label"})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    read = ["--id", "customer", "--drop", "city", "--label", "segment", "--missing", "mean", "--with-data"]
    result = run("fit", tmp_path / "rows.csv", *read, "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "out" / "labels.csv")
    assert found["segment"].tolist() == frame["segment"].tolist()
    assert found["label"].tolist() == load(tmp_path / "out").labels_.tolist()
    assert "label (data)" in found
    np.save(tmp_path / "images.npy", np.ones((20, 4, 4)))
    refused = run("fit", tmp_path / "images.npy", "--with-data", "-o", tmp_path / "no")
    assert last_line(refused) == "shade: --with-data is for tables that are read whole. Leave it out for this data."
