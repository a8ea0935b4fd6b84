"""The paper's tables from stored runs."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

import pytest

from shade._base.errors import ShadeError
from shade.data import DATASETS
from shade.experiments import TABLES, Method, Run, RunStore, compare_with_published, format_table
from shade.experiments.tables import datasets_of, methods_of


def make_run(dataset: str = "mice", seed: int = 0, method: Method | None = None, table: str = "experimentResults",
             **figures: object) -> Run:  # fmt: skip
    method = method or Method("SHADE")
    return Run(table, dataset, method.name, method.as_json, method.key, seed, **figures)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "new" / "runs.sqlite")


def test_every_published_figure_has_its_place_in_a_table() -> None:
    text = files("shade.experiments").joinpath("published.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 665
    for row in rows:
        table = TABLES[row["table"]]
        assert row["dataset"] in table.datasets
        assert row["method"] in [column.title for column in table.columns]
        assert row["metric"] in table.metrics


def test_means_over_seeds_stand_beside_the_published_and_differences_are_marked(store: RunStore) -> None:
    for seed, ari in enumerate((0.25, 0.35)):
        store.add(make_run(seed=seed, ari=ari, ari_1nn=ari + 0.1, nmi=0.562, nmi_1nn=0.1, n_clusters=12,
                           noise_share=0.3))  # fmt: skip
    entries = {(e.method, e.metric): e for e in compare_with_published(store, "experimentResults")}
    assert {e.dataset for e in entries.values()} == {"mice"}
    shade, nearest = entries["SHADE", "ARI"], entries["SHADE_1nn", "ARI"]
    assert (shade.mean, shade.std, shade.runs) == (pytest.approx(30.0), pytest.approx(5.0), 2)
    assert (shade.published_mean, shade.published_std, shade.differs) == (32.5, 3.8, "")
    assert (nearest.mean, nearest.differs) == (pytest.approx(40.0), "↑")
    assert entries["SHADE_1nn", "NMI"].differs == "↓"
    assert entries["SHADE", "k"].mean == 12
    assert entries["DEC", "ARI"].runs == 0 and entries["DEC", "ARI"].published_mean == 22.0


def test_methods_beyond_the_paper_parts_and_failures_are_shown(store: RunStore) -> None:
    other = Method("SHADE", {"tree": "complete"})
    store.add(make_run("har_recomputed", method=other, ari=0.5, ari_1nn=0.4, noise_share=0.1, noise_recall=None))
    store.add(make_run("har_recomputed", seed=1, method=other, failure="MemoryError: too large"))
    store.add(make_run("har_recomputed", method=Method("HDBSCAN"), ari=0.2, ari_1nn=0.2, noise_share=0.0))
    text = format_table(compare_with_published(store, "experimentResults"))
    assert "har_recomputed*" in text and "a part or a variant" in text
    assert "1 + 1 failed" in text
    assert "SHADE(tree=complete)_1nn" in text and "HDBSCAN_1nn" not in text
    assert "noise recall" not in text


def test_the_defaults_have_a_row_for_noise_left_out_over_links_and_in_the_nearest_cluster(store: RunStore) -> None:
    default = Method("default")
    store.add(make_run(method=default, ari=0.5, ari_1nn=0.3, ari_links=0.4, n_clusters=7, noise_share=0.1))
    entries = compare_with_published(store, "experimentResults")
    found = {e.method: e.mean for e in entries if e.metric == "ARI" and e.runs}
    assert found == {"default": 50.0, "default_links": 40.0, "default_1nn": 30.0}
    assert [e.method for e in entries if e.metric == "noise" and e.runs] == ["default"]
    assert "_1nn, _links: noise put into" in format_table(entries)


def test_files_from_before_noise_went_both_ways_are_read_as_they_were_and_take_new_runs(store: RunStore) -> None:
    default = Method("default")
    old = make_run(method=default, ari=0.5, ari_1nn=0.4, nmi_1nn=0.6, n_clusters=7, noise_share=0.1)
    names = [name for name in asdict(old) if not name.endswith("_links") and name != "code"]
    store.path.parent.mkdir()
    with closing(sqlite3.connect(store.path)) as connection, connection:
        columns = ", ".join(f'"{name}"' for name in names)
        connection.execute(f'CREATE TABLE runs ({columns}, PRIMARY KEY ("table", dataset, method, key, seed))')
        marks = ", ".join("?" * len(names))
        connection.execute(f"INSERT INTO runs VALUES ({marks})", [getattr(old, name) for name in names])
    before = store.path.read_bytes()
    found = {
        e.method: e.mean for e in compare_with_published(store, "experimentResults") if e.runs and e.metric == "ARI"
    }
    assert found == {"default": 50.0, "default_links": 40.0}
    assert {e.method for e in compare_with_published(store, "experimentResults") if e.runs} == set(found)
    assert store.path.read_bytes() == before
    store.add(make_run(method=default, seed=1, ari_links=0.2, ari_1nn=0.1, noise_share=0.1))
    first, second = store.runs()
    assert (first.ari_links, first.nmi_links, first.ari_1nn, first.ari_assigned) == (0.4, 0.6, None, 0.4)
    assert (second.ari_links, second.ari_1nn, second.ari_assigned) == (0.2, 0.1, 0.2)
    assert first.code is None
    shown = compare_with_published(store, "experimentResults")
    assert {e.changed for e in shown if e.method == "default_links" and e.runs} == {2}
    assert {e.changed for e in shown if not e.runs} == {0}
    other = RunStore(store.path.with_name("other.sqlite"))
    assert other.merge([store]) == 2
    assert other.runs() == store.runs()


def test_a_table_of_ones_own_shows_what_was_run(store: RunStore) -> None:
    store.add(make_run(table="units", method=Method("SHADE", {"epochs": 5}), ari_1nn=0.5))
    entries = compare_with_published(store, "units")
    assert {(e.method, e.metric, e.mean) for e in entries if e.runs} == {("SHADE(epochs=5)", "ARI", 50.0)}
    with pytest.raises(ShadeError, match="Name the methods to run"):
        methods_of("units")


def test_ablations_read_their_columns_off_parameters(store: RunStore) -> None:
    store.add(make_run("coil20", table="ablation_mu", method=Method("SHADE", {"min_samples": 3}), ari=0.9, ari_1nn=0.1))
    store.add(make_run(table="ablation_loss", method=Method("SHADE", {"density_weight": 0.0}), dcsi=0.5))
    mu = {(e.method, e.metric): e for e in compare_with_published(store, "ablation_mu")}
    assert mu["mu=3", "ARI"].mean == 90.0 and mu["mu=3", "ARI"].published_mean == 83.6
    losses = {(e.method, e.metric): e for e in compare_with_published(store, "ablation_loss")}
    assert losses["L_rec", "DCSI"].mean == 50.0 and losses["L_rec", "DCSI"].published_mean == 25.5


def test_formats(store: RunStore) -> None:
    store.add(make_run(ari_1nn=0.5))
    entries = compare_with_published(store, "experimentResults")
    rows = list(csv.DictReader(io.StringIO(format_table(entries, "csv"))))
    assert len(rows) == len(entries)
    found = next(row for row in rows if (row["method"], row["metric"]) == ("SHADE_1nn", "ARI"))
    assert (found["mean"], found["published_mean"], found["differs"]) == ("50.0", "27.7", "↑")
    lines = format_table(entries, "markdown").splitlines()
    assert (
        lines[0].startswith("| dataset | method | runs | ARI |") and len({line.count("|") for line in lines[:9]}) == 1
    )
    with pytest.raises(ShadeError, match="text, markdown, csv"):
        format_table(entries, "html")


def test_everything_includes_datasets_without_runs(store: RunStore) -> None:
    assert compare_with_published(store, "experimentResults") == []
    entries = compare_with_published(store, "experimentResults", everything=True)
    assert {e.dataset for e in entries} == set(TABLES["experimentResults"].datasets)
    assert len(entries) == 275


def test_datasets_at_hand(folder: Path) -> None:
    assert datasets_of("experimentResults", folder) == ["mice"]
    assert datasets_of("noise_sweep", folder)[:2] == ["densired_noise_0.0", "densired_noise_0.1"]
    (folder / "har_recomputed.npz").touch()
    assert datasets_of("experimentResults", folder) == ["mice", "har_recomputed"]
    assert DATASETS["har_recomputed"].part_of == "har"
