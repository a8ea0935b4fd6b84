"""Every figure is drawn, from stored runs or from embeddings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shade._base.errors import ShadeError
from shade.experiments import TABLES, BenchmarkSamples, Method, Outcome, RunStore, figures
from shade.experiments.store import Run, pack_labels


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.sqlite")


def fill(store: RunStore, table: str) -> None:
    rng = np.random.default_rng(0)
    for dataset in TABLES[table].datasets[:3]:
        for column in TABLES[table].columns[:3]:
            share = float(rng.uniform())
            figures_of = dict.fromkeys(("ari", "nmi", "ari_1nn", "nmi_1nn", "noise_share", "noise_recall",
                                        "noise_precision", "dcsi"), share)  # fmt: skip
            method = column.method
            store.add(Run(table, dataset, method.name, method.as_json, method.key, 0, n_clusters=3, **figures_of))


@pytest.mark.parametrize(
    ("name", "table", "axes"),
    [
        ("noise", "noise_sweep", 2),
        ("dimensions", "dimension_sweep", 2),
        ("mu", "ablation_mu", 4),
        ("batch_size", "ablation_batch_size", 4),
        ("loss", "ablation_loss", 3),
    ],
)
def test_figures_of_runs(store: RunStore, tmp_path: Path, name: str, table: str, axes: int) -> None:
    with pytest.raises(ShadeError, match=f"shade paper run {table}"):
        figures.draw_figure(name, database=store.path)
    fill(store, table)
    figure = figures.draw_figure(name, database=store.path)
    assert len(figure.axes) == axes
    assert all(ax.lines or ax.patches for ax in figure.axes)
    assert figure.get_supxlabel() == "One seed."
    figure.savefig(tmp_path / "figure.png")


@pytest.mark.parametrize("name", ["1", "2"])
def test_figures_of_the_three_clusters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    def project(method: object, samples: BenchmarkSamples, seed: int = 0, device: str = "auto") -> Outcome:
        return Outcome(samples.y, samples.y, samples.X[:, :2])

    monkeypatch.setattr(figures, "run_method", project)
    monkeypatch.setattr(figures, "load_clustpy", lambda: None)
    figure = figures.draw_figure(name)
    assert len(figure.axes) == 4
    assert "1.00" in figure.axes[1].get_title() if name == "1" else "DCSI" in figure.axes[0].get_title()
    figure.savefig(tmp_path / "figure.png")


def test_the_confusion_matrix_of_har(store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShadeError, match="no runs of SHADE on har"):
        figures.draw_figure("har", database=store.path)
    y = np.arange(60) % 6
    monkeypatch.setattr(
        figures, "load_samples", lambda name: BenchmarkSamples(name, np.zeros((60, 2)), y, 6, "feature")
    )
    store.add(Run("t", "har_recomputed", "SHADE", "{}", "", 0, ari_1nn=0.5, labels=pack_labels(y // 3)))
    figure = figures.draw_figure("har", database=store.path)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list(figures.HAR_NAMES)


def test_har_has_a_panel_for_each_setting(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.arange(60) % 6
    monkeypatch.setattr(
        figures, "load_samples", lambda name: BenchmarkSamples(name, np.zeros((60, 2)), y, 6, "feature")
    )
    for method, ari in (("default", 0.75), ("SHADE", 0.5)):
        store.add(Run("t", "har_recomputed", method, "{}", "", 0, ari_1nn=ari, labels=pack_labels(y // 3)))
    titles = [ax.get_title() for ax in figures.draw_figure("har", database=store.path).axes if ax.get_title()]
    assert ["(paper)" in title and "50.0" in title for title in titles] == [True, False]
    assert "(defaults)" in titles[1] and "75.0" in titles[1]


def test_a_sweep_has_one_line_a_method_and_counts_seeds(store: RunStore) -> None:
    fill(store, "noise_sweep")
    method = TABLES["noise_sweep"].columns[0].method
    dataset = TABLES["noise_sweep"].datasets[0]
    store.add(Run("noise_sweep", dataset, method.name, method.as_json, method.key, 1, ari_1nn=0.5, noise_share=0.1))
    figure = figures.draw_figure("noise", database=store.path)
    left, right = (ax.get_legend_handles_labels()[1] for ax in figure.axes)
    assert left == ["SHADE (paper)", "DDC"]
    assert right == ["SHADE (paper), recall", "SHADE (paper), precision"]
    assert figure.get_supxlabel() == "Mean and deviation over 1 to 2 seeds."


def test_a_sweep_shows_the_defaults_with_noise_as_they_assign_it(store: RunStore) -> None:
    dataset = TABLES["noise_sweep"].datasets[0]
    store.add(Run("noise_sweep", dataset, "default", "{}", "", 0, ari_1nn=0.5, ari_links=0.75, noise_share=0.1))
    [[line, *_]], labels = figures.draw_figure("noise", database=store.path).axes[0].get_legend_handles_labels()
    assert labels == ["SHADE (defaults)"]
    assert line.get_ydata().tolist() == [75.0]


def test_ablations_leave_out_runs_with_other_settings(store: RunStore) -> None:
    fill(store, "ablation_mu")
    other = Method("SHADE", {"epochs": 3})
    store.add(Run("ablation_mu", "coil20", "SHADE", other.as_json, other.key, 0, ari=0.5, noise_share=0.1))
    assert len(figures.draw_figure("mu", database=store.path).axes) == 4


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(ShadeError, match=r"no figure '7'\. Known are: 1, 2, noise"):
        figures.draw_figure("7")
