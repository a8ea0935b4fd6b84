"""From a file to clusters and on, as a user types it."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import shade
from shade import DCTreeClustering
from shade._base.errors import ModelFileError
from tests.cli.commands import QUICK, run


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_fit_writes_model_labels_embedding_and_summary(fitted: Path, table: Path) -> None:
    names = {path.name for path in fitted.iterdir()}
    assert names - {"report.html"} == {"model.shade", "labels.csv", "embedding.npy", "summary.json"}
    model = shade.load(fitted / "model.shade")
    rows = rows_of((fitted / "labels.csv").read_text())
    assert list(rows[0]) == ["id", "label", "probability", "outlier_score"]
    assert [row["id"] for row in rows[:2]] == ["C000", "C001"]
    assert [int(row["label"]) for row in rows] == model.labels_.tolist()
    assert np.allclose([float(row["probability"]) for row in rows], model.probabilities_)
    assert np.array_equal(np.load(fitted / "embedding.npy"), model.embedding_)
    assert list(model.feature_names_in_) == ["height", "weight", "age", "income"]
    summary = json.loads((fitted / "summary.json").read_text())
    assert summary["n_samples"] == 120
    assert summary["n_clusters"] == model.n_clusters_
    assert summary["n_noise"] + sum(summary["cluster_sizes"]) == 120
    assert summary["parameters"]["network"] == [16]
    assert summary["parameters"]["random_state"] == 0
    assert summary["data"]["notes"] == ["filled 2 values in 2 of 120 rows with the mean of similar rows: 'age' (2)"]
    groups, clustered = pd.read_csv(table)["segment"], model.labels_ >= 0
    agreement = summary["data"]["agreement"]
    assert agreement["adjusted_rand"] == adjusted_rand_score(groups[clustered], model.labels_[clustered])
    assert agreement["adjusted_rand_assigned"] == adjusted_rand_score(groups, model.assign_noise())
    assert [path for path in fitted.parent.iterdir() if path != fitted] == []


def test_a_group_that_is_called_minus_one_is_a_group(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(120, 3)), columns=["a", "b", "c"])
    frame["group"] = random.choice([-1, 1], size=120)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    named = ["--label", "group", *QUICK, "--selection", "information"]
    result = run("fit", tmp_path / "rows.csv", "-o", tmp_path / "out", *named)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["data"]["agreement"]["adjusted_rand"] < 0.5
    assert "clusters found  1" in result.stdout
    assert f" rows: shade recluster {tmp_path / 'out'} --n-clusters 2\n" in result.stderr
    told = run("predict", tmp_path / "out", tmp_path / "rows.csv", "--drop", "group").stderr
    assert "labelled 120 rows: 1 of 1 cluster, " in told


def test_fit_keeps_results_and_messages_apart(table: Path, tmp_path: Path) -> None:
    read = ["--drop-non-numeric", "--missing", "drop-rows", "--memory", "4GB"]
    result = run("fit", table, *read, "-o", tmp_path / "out", "--json", *QUICK)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["output"] == str(tmp_path / "out")
    assert answer["n_samples"] == 118
    lines = result.stderr.splitlines()
    assert f"reading {table}" in lines
    assert "note: left out 2 columns not of numbers: 'customer', 'city'" in lines
    assert "note: left out 2 rows with missing values" in lines
    assert "note: Fitting 118 rows of 5 columns in memory: about 160 MB of 4 GB." in lines
    assert any(line.startswith("training: epoch 3/3, reconstruction ") and "density" in line for line in lines)
    assert "clustering" in lines
    assert "\x1b" not in result.stderr


def test_shards_are_fitted_in_windows_like_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shade.training.capacity.WORKING", 0)
    X, groups = make_blobs(900, 400, centers=3, center_box=(-12, 12), random_state=0)
    (tmp_path / "shards").mkdir()
    for shard, rows in enumerate(np.array_split(np.arange(900), 3)):
        table = pd.DataFrame(X[rows].astype(np.float32), columns=[f"c{column}" for column in range(400)])
        table.insert(7, "name", [f"row {row}" for row in rows])
        table["group"] = groups[rows]
        table.to_parquet(tmp_path / "shards" / f"part-{shard}.parquet", row_group_size=50)
    read = ["--id", "name", "--label", "group", "--memory", "1.5MB", "--batch-size", "50"]
    result = run("fit", tmp_path / "shards", "-o", tmp_path / "out", *read, *QUICK, "--checkpoint-minutes", "0")
    assert result.exit_code == 0, result.output
    assert "note: Fitting 900 rows of 400 columns in windows of 309 rows: about 1.5 MB of 1.5 MB; in" in result.stderr
    assert "note: the report shows no features: the rows take 1.44 MB, more than half of --memory" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "shards"]
    rows = rows_of((tmp_path / "out" / "labels.csv").read_text())
    assert [row["id"] for row in rows[::300]] == ["row 0", "row 300", "row 600"]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["data"]["agreement"]["adjusted_rand"] > 0.9
    settings = {"epochs": 3, "network": (16,), "embedding_size": 3, "selection": "branches", "n_networks": 1}
    for shard in (tmp_path / "shards").iterdir():
        pd.read_parquet(shard).drop(columns=["name", "group"]).to_parquet(shard, row_group_size=50)
    model = shade.SHADE(**settings, batch_size=50, random_state=0).fit(tmp_path / "shards", memory="1.5MB")
    assert [int(row["label"]) for row in rows] == model.labels_.tolist()


def test_quiet_is_silent_and_answers_all_the_same(table: Path, tmp_path: Path) -> None:
    options = ["--drop-non-numeric", "--missing", "mean", "--quiet"]
    result = run("fit", table, *options, "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "clusters found" in result.stdout


def test_only_results_are_overwritten_and_only_when_asked(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "labels.csv").write_text("old")
    options = ["--drop-non-numeric", "--missing", "mean", "-o", folder, *QUICK]
    result = run("fit", table, *options)
    assert result.exit_code == 5
    assert "holds results. Choose another with -o, or add --overwrite." in result.stderr
    assert (folder / "labels.csv").read_text() == "old"
    assert run("fit", table, *options, "--overwrite").exit_code == 0
    assert (folder / "labels.csv").read_text() != "old"
    (folder / "precious.txt").write_text("mine")
    result = run("fit", table, *options, "--overwrite")
    assert result.exit_code == 5
    assert "holds other files, such as 'precious.txt'" in result.stderr
    assert (folder / "precious.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_predict_labels_the_rows_it_was_trained_on_alike(fitted: Path, table: Path) -> None:
    result = run("predict", fitted, table, "--id", "customer", "--missing", "mean")
    assert result.exit_code == 0, result.output
    found, known = rows_of(result.stdout), rows_of((fitted / "labels.csv").read_text())
    assert [(row["id"], row["label"]) for row in found] == [(row["id"], row["label"]) for row in known]
    assert list(found[0]) == list(known[0])
    for column in ("probability", "outlier_score"):
        assert np.allclose(*([float(row[column]) for row in rows] for rows in (found, known)), atol=1e-5)
    assert "left out 2 columns the model was not trained on: 'city', 'segment'" in result.stderr


def test_data_comes_from_standard_input_too(fitted: Path, table: Path) -> None:
    options = ["--id", "customer", "--missing", "drop-rows", "--quiet"]
    piped = run("predict", fitted / "model.shade", "-", *options, input=table.read_text())
    assert piped.exit_code == 0, piped.output
    assert piped.stdout == run("predict", fitted, table, *options).stdout


def test_columns_without_names_are_taken_in_order(fitted: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "new.npy", np.ones((3, 4)))
    result = run("predict", fitted, tmp_path / "new.npy")
    assert result.exit_code == 0, result.output
    assert len(rows_of(result.stdout)) == 3
    assert "note: columns without names are taken in the order" in result.stderr


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_transform_writes_the_embedding(fitted: Path, table: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"embedding{suffix}"
    result = run("transform", fitted, table, "--missing", "mean", "--id", "customer", "-o", path)
    assert result.exit_code == 0, result.output
    expected = np.load(fitted / "embedding.npy")
    read = {".csv": pd.read_csv, ".npy": np.load, ".parquet": pd.read_parquet}[suffix](path)
    if suffix != ".npy":
        assert list(read.columns) == ["id", "embedding_0", "embedding_1", "embedding_2"]
        assert read["id"][0] == "C000"
        read = read.drop(columns="id").to_numpy()
    assert np.allclose(read, expected, rtol=1e-6)


def test_recluster_chooses_other_clusters_from_the_same_tree(fitted: Path, tmp_path: Path) -> None:
    printed = run("recluster", fitted, "--n-clusters", 2)
    assert printed.exit_code == 0, printed.output
    rows = rows_of(printed.stdout)
    assert {row["label"] for row in rows} - {"-1"} == {"0", "1"}
    assert rows[5]["id"] == "C005"
    written = run("recluster", fitted, "--n-clusters", 2, "-o", tmp_path / "two", "--json")
    assert json.loads(written.stdout)["n_clusters"] == 2
    assert (tmp_path / "two" / "labels.csv").read_text() == printed.stdout
    assert shade.load(tmp_path / "two" / "model.shade").n_clusters_ == 2
    assert shade.load(tmp_path / "two").n_clusters_ == 2
    with pytest.raises(ModelFileError, match=r"The folder .* holds no model.shade"):
        shade.load(tmp_path)
    by_file = rows_of(run("recluster", fitted / "model.shade", "--min-samples", 8).stdout)
    assert by_file[5]["id"] == "5"
    assert "2 clusters, " in printed.stderr
    large = json.loads(run("recluster", fitted, "--min-cluster-size", 50, "--json").stdout)
    assert large["parameters"]["min_cluster_size"] == large["chosen_by"]["min_cluster_size"] == 50
    assert large["parameters"]["epochs"] == 3
    assert min(large["cluster_sizes"]) >= 50
    assert run("recluster", fitted, "--cut-distance", 0.5).exit_code == 0


def test_recluster_of_the_clustering_step_alone_has_results_too(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(60, 2)) + 20.0 * (np.arange(60) % 3)[:, None]
    DCTreeClustering().fit(points).save(tmp_path / "points.shade")
    result = run("recluster", tmp_path / "points.shade", "--n-clusters", 2, "-o", tmp_path / "two")
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(np.load(tmp_path / "two" / "embedding.npy"), points)


def test_fit_takes_both_rules_of_noise(table: Path, tmp_path: Path) -> None:
    for given, kept in (([], (True, False)), (["--no-background-noise", "--between-noise"], (False, True))):
        result = run(
            "fit", table, "-o", tmp_path / f"out{len(given)}", "--drop-non-numeric", "--missing", "mean", *QUICK, *given
        )
        assert result.exit_code == 0, result.output
        model = shade.load(tmp_path / f"out{len(given)}")
        assert (model.background_noise, model.between_noise) == kept


def test_recluster_takes_another_rule_of_noise(fitted: Path) -> None:
    result = run("recluster", fitted, "--between-noise", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["parameters"]["between_noise"] is True
    result = run("recluster", fitted, "--no-between-noise", "--json")
    assert json.loads(result.stdout)["parameters"]["between_noise"] is False


def test_info_tells_what_a_file_holds(fitted: Path, tmp_path: Path) -> None:
    described = json.loads(run("info", fitted, "--json").stdout)
    assert described["format"] == 1
    assert described["rows"] == 120
    assert described["feature_names"] == ["height", "weight", "age", "income"]
    assert described["parameters"]["epochs"] == 3
    assert (described["networks"], described["epochs"]) == (1, 3)
    model = shade.load(fitted)
    assert described["clusters_found_in"] == ("data" if model.clustering_.shown.decides else "embedding")
    assert described["settled"] is model.settled_
    assert described["bytes"] == (fitted / "model.shade").stat().st_size
    text = run("info", fitted / "model.shade").stdout
    assert "clusters" in text
    assert "min_samples" in text
    shade.DCTreeClustering(selection="branches").fit(np.load(fitted / "embedding.npy")).save(tmp_path / "tree.shade")
    assert json.loads(run("info", tmp_path / "tree.shade", "--json").stdout)["estimator"] == "DCTreeClustering"
    refused = run("transform", tmp_path / "tree.shade", fitted / "embedding.npy")
    assert refused.exit_code == 2
    assert "does not embed" in refused.stderr
    assert run("predict", tmp_path / "tree.shade", fitted / "embedding.npy").exit_code == 0


def test_without_a_seed_one_is_drawn_and_repeats_the_fit(table: Path, tmp_path: Path) -> None:
    read = ["--drop-non-numeric", "--missing", "mean"]
    quick = [*QUICK[: QUICK.index("--random-state")], *QUICK[QUICK.index("--random-state") + 2 :]]
    seeds = []
    for name in ("first", "second"):
        result = run("fit", table, *read, *quick, "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
        seeds.append(json.loads((tmp_path / name / "summary.json").read_text())["seed"])
    assert seeds[0] != seeds[1]
    assert run("fit", table, *read, *quick, "--random-state", seeds[0], "-o", tmp_path / "again").exit_code == 0
    first, second, again = (np.load(tmp_path / name / "embedding.npy") for name in ("first", "second", "again"))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert shade.load(tmp_path / "first").seed_ == seeds[0]
    assert json.loads(run("info", tmp_path / "first", "--json").stdout)["seed"] == seeds[0]
    assert f"<dt>Seed</dt><dd>{seeds[0]}</dd>" in (tmp_path / "first" / "report.html").read_text(encoding="utf-8")
    two = run("recluster", tmp_path / "first", "--n-clusters", 2, "-o", tmp_path / "two")
    assert two.exit_code == 0, two.output
    assert json.loads((tmp_path / "two" / "summary.json").read_text())["seed"] == seeds[0]
    assert "report.html" in {path.name for path in (tmp_path / "two").iterdir()}


def test_known_labels_name_clusters_and_empty_cells_are_unknown(table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table).drop(columns=["city", "age"])
    truth = frame["segment"].map({0: "old", 1: "old", 2: "new"})
    frame["segment"] = truth.where(np.arange(120) % 8 == 0)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    named = ["--id", "customer", "--label", "segment", *QUICK]
    result = run("fit", tmp_path / "rows.csv", "-o", tmp_path / "out", "--known-labels", *named)
    assert result.exit_code == 0, result.output
    rows = rows_of((tmp_path / "out" / "labels.csv").read_text())
    assert all(row["known_label"] == truth[number] for number, row in enumerate(rows) if number % 8 == 0)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["known_labels"]["rows"] == 15
    assert set(summary["known_labels"]["clusters"]) - {""} == {"old", "new"}
    assert "agreement" not in summary["data"]
    assert "known labels    0: " in result.stdout


def test_known_labels_need_rows_with_and_without_a_label(table: Path, tmp_path: Path) -> None:
    read = ["--drop-non-numeric", "--missing", "mean", "-o", tmp_path / "out", "--known-labels", *QUICK]
    nowhere = run("fit", table, *read)
    assert nowhere.exit_code == 2
    assert "--known-labels needs the column that holds the labels. Add --label COLUMN." in nowhere.stderr
    whole = run("fit", table, *read, "--label", "segment")
    assert whole.exit_code == 2
    assert (
        "Every row has a label, and --known-labels needs rows with a label and rows with an empty cell" in whole.stderr
    )
    assert not (tmp_path / "out").exists()


def test_update_adds_rows_and_leaves_the_model_as_it_was(fitted: Path, table: Path, tmp_path: Path) -> None:
    before, old = (fitted / "model.shade").read_bytes(), rows_of((fitted / "labels.csv").read_text())
    frame = pd.read_csv(table).head(30)
    frame["customer"] = [f"N{row:02d}" for row in range(30)]
    frame.to_csv(tmp_path / "new.csv", index=False)
    read = ["--id", "customer", "--missing", "mean"]
    result = run("update", fitted, tmp_path / "new.csv", *read, "-o", tmp_path / "grown", "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["n_samples"], answer["new_rows"]) == (150, 30)
    rows = rows_of((tmp_path / "grown" / "labels.csv").read_text())
    assert [row["id"] for row in rows[118:122]] == ["C118", "C119", "N00", "N01"]
    assert np.mean([one["label"] == other["label"] for one, other in zip(rows, old, strict=False)]) > 0.9
    assert shade.load(tmp_path / "grown").labels_.tolist() == [int(row["label"]) for row in rows]
    assert (fitted / "model.shade").read_bytes() == before
    refused = run("update", fitted, tmp_path / "new.csv", *read, "-o", fitted, "--overwrite")
    assert refused.exit_code == 2
    assert "is the folder of the model" in refused.stderr
