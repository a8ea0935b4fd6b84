"""The suite: a folder of datasets, shade and its peers."""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import shade
from shade._base.errors import ShadeError
from shade.clustering.assignment import assign_nearest
from shade.data import DATASETS, make_blobs, make_moons
from shade.data.datasets import data_folder
from shade.data.standardize import Standardizer
from shade.experiments import (
    TABLES,
    Method,
    Run,
    RunStore,
    compare_with_published,
    figures,
    format_table,
    load_samples,
    run_experiments,
)
from shade.experiments.methods import run_method
from shade.experiments.samples import SUITE, kind_of, suite_datasets
from shade.experiments.store import pack_labels, unpack_labels
from shade.experiments.tables import LARGE, methods_of, summarize_suite

PEERS = {"EVoC": "evoc", "PLSCAN": "fast_plscan", "Leiden": "leidenalg", "UMAP+HDBSCAN": "umap", "k-means": "sklearn"}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Blobs, pixels, and a shape with noise and a second labeling, as files of a suite."""
    folder = tmp_path / "suite"
    (folder / "shapes").mkdir(parents=True)
    X, y = make_blobs(150, n_clusters=3, n_features=6, random_state=0)
    np.savez(folder / "seeds.npz", X=X.astype(np.float32), y=y.astype(np.int16))
    rng = np.random.default_rng(0)
    np.savez(folder / "umist.npz", X=rng.integers(0, 256, (60, 70)).astype(np.uint8), y=np.arange(60) % 3)
    X, y = make_moons(200, random_state=0)
    halves = 1 + (X[:, 0] > np.median(X[:, 0]))
    np.savez(
        folder / "shapes" / "moons.npz", X=X.astype(np.float32), y=halves, y1=np.where(np.arange(200) < 5, 0, y + 1)
    )
    return tmp_path


def run_suite(folder: Path, methods: list[str | Method], **options: object) -> list[str]:
    lines: list[str] = []
    run_experiments("suite", ["shapes/moons"], methods, 2, database=folder / "runs.sqlite", device="cpu", jobs=0,
                    folder=folder, report=lines.append, **options)  # type: ignore[arg-type]  # fmt: skip
    return lines


def add(store: RunStore, dataset: str, title: str, *scores: float, rows: int = 10, code: str | None = None) -> None:
    [method] = methods_of("suite", [title])
    for seed, score in enumerate(scores):
        store.add(Run("suite", dataset, method.name, method.as_json, method.key, seed, ari_1nn=score / 100.0,
                      labels=pack_labels(np.zeros(rows, np.int64)), code=code))  # fmt: skip


def test_files_are_found_by_kind_and_other_datasets_keep_their_names(suite: Path) -> None:
    (suite / "suite" / "new.npz").touch()
    assert suite_datasets(suite) == ["umist", "seeds", "new", "shapes/moons"]
    assert [kind_of(name) for name in suite_datasets(suite)] == ["images", "tables", "other", "shapes"]
    assert suite_datasets(suite / "nowhere") == []
    assert not {name for names in SUITE.values() for name in names} & DATASETS.keys()


def test_noise_of_shapes_is_left_out_and_other_labels_are_kept(suite: Path) -> None:
    moons, seeds = load_samples("shapes/moons", suite), load_samples("seeds", suite)
    assert (moons.y.min(), moons.n_clusters, len(moons.alternatives)) == (0, 2, 1)
    assert moons.alternatives[0][:5].tolist() == [-1] * 5 and moons.alternatives[0].max() == 1
    assert (seeds.y.min(), seeds.n_clusters, seeds.alternatives) == (0, 3, ())


def test_pixels_have_one_mean_and_deviation(suite: Path) -> None:
    pixels, table = load_samples("umist", suite), load_samples("seeds", suite)
    assert (pixels.standardize, table.standardize) == ("global", "feature")
    np.testing.assert_array_equal(pixels.standardized(), Standardizer.fit(pixels.X, "global").apply(pixels.X))
    assert pixels.standardized().mean() == pytest.approx(0.0, abs=1e-6)
    assert np.abs(pixels.standardized().mean(axis=0)).max() > 0.05


def test_the_best_labeling_is_scored_with_noise_in_the_nearest_cluster_of_the_data(suite: Path) -> None:
    run_suite(suite, ["HDBSCAN"])
    [run] = RunStore(suite / "runs.sqlite").runs()
    samples, labels = load_samples("shapes/moons", suite), unpack_labels(run.labels or b"")
    assigned = assign_nearest(labels, samples.standardized().astype(np.float64))
    halves, moons = samples.y, samples.alternatives[0]
    assert run.ari_1nn == adjusted_rand_score(moons[moons >= 0], assigned[moons >= 0])
    assert run.ari_1nn > 0.9 and adjusted_rand_score(halves, assigned) < 0.5


def test_columns_name_their_methods(suite: Path) -> None:
    titles = [column.title for column in TABLES["suite"].columns]
    assert titles == ["default", "SHADE", "DCTreeClustering", "HDBSCAN", "UMAP+HDBSCAN", "EVoC", "PLSCAN", "Leiden",
                      "k-means"]  # fmt: skip
    assert methods_of("suite", ["HDBSCAN", "EVoC"]) == [Method("suite HDBSCAN"), Method("EVoC")]
    assert methods_of("experimentResults", ["HDBSCAN", "SHADE_1nn"]) == [Method("HDBSCAN"), Method("SHADE")]
    with pytest.raises(ShadeError, match="no method 'SHADO'"):
        methods_of("suite", ["SHADO"])


def test_hdbscan_wants_half_a_percent_of_the_rows() -> None:
    X, y = make_blobs(3000, n_clusters=2, n_features=2, random_state=0)
    X[:12] = 100.0 + 0.1 * np.random.default_rng(0).normal(size=(12, 2))  # more than 10 rows, fewer than 15
    samples = shade.experiments.BenchmarkSamples("blobs", X, y, 2, "feature")
    found = {name: run_method(Method(name), samples, 0, "cpu").labels for name in ("HDBSCAN", "suite HDBSCAN")}
    assert found["HDBSCAN"][:12].min() >= 0
    assert found["suite HDBSCAN"][:12].max() == -1


def test_the_tree_clusters_standardised_rows(suite: Path) -> None:
    samples = load_samples("shapes/moons", suite)
    outcome = run_method(Method("DCTreeClustering"), samples, 0, "cpu")
    expected = shade.DCTreeClustering(device="cpu").fit(samples.standardized()).labels_
    np.testing.assert_array_equal(outcome.labels, expected)


@pytest.mark.parametrize("title", PEERS)
def test_peers_find_clear_blobs(suite: Path, title: str) -> None:
    [method] = methods_of("suite", [title])
    samples = load_samples("seeds", suite)
    if importlib.util.find_spec(PEERS[title]) is None:
        with pytest.raises(ImportError, match="pip install"):
            run_method(method, samples, 0, "cpu")
        pytest.skip(f"needs {PEERS[title]}")
    outcome = run_method(method, samples, 0, "cpu")
    assert outcome.labels.shape == (150,)
    # EVoC and Leiden divide blobs, but no cluster has rows of two.
    assert all(len(np.unique(samples.y[outcome.assigned == label])) == 1 for label in np.unique(outcome.assigned))


@pytest.mark.parametrize(
    ("title", "package", "install"),
    [
        ("EVoC", "evoc", r"'shade-clustering\[suite\]'"),
        ("PLSCAN", "fast_plscan", r"'shade-clustering\[suite\]'"),
        ("UMAP+HDBSCAN", "umap", r"'shade-clustering\[suite\]'"),
        ("Leiden", "leidenalg", "leidenalg"),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(
    suite: Path, monkeypatch: pytest.MonkeyPatch, title: str, package: str, install: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    [method] = methods_of("suite", [title])
    with pytest.raises(ImportError, match=f"needs {package}: install it with pip install {install}"):
        run_method(method, load_samples("seeds", suite), 0, "cpu")


def test_packages_under_the_gpl_are_no_requirements() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert "leiden" not in text and "igraph" not in text


def test_stored_runs_are_not_repeated_unless_the_code_changed(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    methods: list[str | Method] = ["DCTreeClustering", "k-means"]
    assert run_suite(suite, methods)[0].startswith("suite: 3 runs, 0 of them stored already")
    store = RunStore(suite / "runs.sqlite")
    assert {run.method: run.code is None for run in store.runs()} == {"DCTreeClustering": False, "k-means": True}
    assert "†" not in format_table(compare_with_published(store, "suite"))
    monkeypatch.setattr("shade.experiments.methods.fingerprint_code", lambda: "other")
    [line] = (line for line in format_table(compare_with_published(store, "suite")).splitlines() if "moons" in line)
    assert line.count("†") == 1
    assert "3 of them stored already" in run_suite(suite, methods)[0]
    assert "2 of them stored already" in run_suite(suite, methods, rerun_changed=True)[0]
    assert {run.code for run in store.runs(method="DCTreeClustering")} == {"other"}
    assert "†" not in format_table(compare_with_published(store, "suite"))


def test_the_table_has_a_row_per_dataset_then_means_and_counts(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    for dataset, own, peer, told in (("seeds", (60.0, 70.0), 65.5, 90.0), ("waveform", (10.0,), 50.0, 20.0),
                                     ("jaffe", (80.0,), 70.0, 10.0), ("shapes/a", (40.0,), 41.5, 0.0)):  # fmt: skip
        add(store, dataset, "k-means", told)
        add(store, dataset, "HDBSCAN", peer)
        add(store, dataset, "SHADE", *own, code="other")
    add(store, "seeds", "Leiden", 20.0)
    add(store, "shapes/b", "HDBSCAN", 100.0, rows=LARGE)
    entries = compare_with_published(store, "suite")
    means = {(e.dataset, e.method): e.mean for e in summarize_suite(entries)}
    assert means["tables, mean of 2", "SHADE"] == pytest.approx(37.5)
    assert means["images, mean of 1", "HDBSCAN"] == pytest.approx(70.0)
    assert means["all but shapes, mean of 3", "SHADE"] == pytest.approx((65.0 + 10.0 + 80.0) / 3)
    assert means["shapes, mean of 1", "HDBSCAN"] == pytest.approx(41.5)  # without the large one
    assert ("tables, mean of 2", "Leiden") not in means
    near = "all but shapes, near the best of 3"
    assert {method: means[near, method] for method in ("SHADE", "HDBSCAN", "k-means", "Leiden")} == {
        "SHADE": 2, "HDBSCAN": 2, "k-means": 1, "Leiden": 0}  # fmt: skip
    assert (means["shapes, near the best of 1", "SHADE"], means["shapes, near the best of 1", "HDBSCAN"]) == (0, 1)
    text = format_table(entries)
    lines = [line.split("  ")[0] for line in text.splitlines()[2:]]
    assert lines[:5] == ["jaffe", "seeds", "waveform", "shapes/a", "shapes/b*"]
    assert text.splitlines()[0].split() == ["dataset", "SHADE", "HDBSCAN", "Leiden", "k-means"]
    assert "65.0 ± 5.0†" in text and "51.7†" in text and "\n† run with other code" in text
    assert format_table(entries, "markdown").startswith("| dataset | SHADE | HDBSCAN | Leiden | k-means |")
    rows = list(csv.DictReader(io.StringIO(format_table(entries, "csv"))))
    assert {(row["dataset"], row["method"]): row["mean"] for row in rows}[near, "SHADE"] in ("2", "2.0")


def test_a_method_that_failed_is_told(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    add(store, "seeds", "PLSCAN", 50.0)
    store.add(Run("suite", "seeds", "EVoC", "{}", "", 0, failure="ValueError: too few columns"))
    assert format_table(compare_with_published(store, "suite")).splitlines()[2].split() == ["seeds", "failed", "50.0"]


def test_the_figure_has_a_dot_per_dataset_and_method(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    with pytest.raises(ShadeError, match="shade paper run suite"):
        figures.draw_figure("suite", database=store.path)
    for dataset in ("seeds", "jaffe", "shapes/a"):
        add(store, dataset, "HDBSCAN", 50.0, 60.0)
        add(store, dataset, "SHADE", 50.0)
    figure = figures.draw_figure("suite", database=store.path)
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["jaffe", "seeds"]
    assert [label.get_text() for label in right.get_yticklabels()] == ["a"]
    dots = {dots.get_label(): dots.get_offsets().data for dots in left.collections if len(dots.get_offsets())}
    assert dots.keys() == {"HDBSCAN", "SHADE"} and set(dots["HDBSCAN"][:, 0]) == {55.0}
    assert figure.get_supxlabel() == "Mean over 1 to 2 seeds."
    figure.savefig(tmp_path / "figure.png")


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("dataset", "method", "score"),
    [("seeds", "HDBSCAN", 68.4), ("seeds", "k-means", 49.6), ("shapes/fcps-target", "HDBSCAN", 100.0)],
)
def test_peers_meet_their_known_figures(tmp_path: Path, dataset: str, method: str, score: float) -> None:
    folder = Path(os.environ.get("SHADE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not (folder / "suite" / f"{dataset}.npz").exists():
        pytest.skip(f"needs suite/{dataset}.npz in the data folder (SHADE_DATA, here {data_folder()})")
    store = run_experiments("suite", [dataset], [method], 1, database=tmp_path / "runs.sqlite", device="cpu", jobs=0,
                            folder=folder, report=str)  # fmt: skip
    assert [round(100.0 * (run.ari_1nn or 0.0), 1) for run in store.runs()] == [score]


def test_shade_is_not_counted_as_the_best_of_itself(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    add(store, "seeds", "SHADE", 60.0, code="other")
    entries = summarize_suite(compare_with_published(store, "suite"))
    assert entries
    assert not any("near the best" in entry.dataset for entry in entries)
