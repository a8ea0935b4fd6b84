"""Choosing one of several seeds without labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shade.cli.paper import paper
from shade.experiments import RunStore
from shade.experiments.choosing import _subsets, agreement_of, compare_choices
from shade.experiments.store import Run, pack_labels

GOOD, BAD = np.repeat([0, 1, 2], 10), np.arange(30) % 3


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Three seeds: two agree and are good; the third has the higher index and the least noise, and is bad."""
    store = RunStore(tmp_path / "runs.sqlite")
    for seed, (labels, ari, disco, noise) in enumerate(
        [(GOOD, 0.9, 0.1, 0.2), (GOOD, 0.8, 0.2, 0.3), (BAD, 0.1, 0.6, 0)]
    ):
        packed = pack_labels(labels)
        store.add(
            Run("t", "mice", "SHADE", "{}", "", seed, ari_1nn=ari, disco=disco, noise_share=noise, assigned=packed)
        )
    return store


def test_agreement_is_that_of_every_pair() -> None:
    np.testing.assert_allclose(agreement_of([GOOD, GOOD[::-1], BAD])[0, :2], 1.0)
    assert abs(agreement_of([GOOD, BAD])[0, 1]) < 0.2


def test_what_each_index_chooses_is_told(store: RunStore) -> None:
    (choice,) = compare_choices(store, of=3)
    assert (choice.method, choice.dataset, choice.runs, choice.of) == ("SHADE", "mice", 3, 3)
    assert choice.mean == pytest.approx(60.0)
    assert choice.best == pytest.approx(90.0)
    assert choice.chosen == pytest.approx({"agreement": 90.0, "DISCO": 10.0, "least noise": 10.0})


def test_choices_are_averaged_over_all_ways_to_have_so_many_runs(store: RunStore) -> None:
    (choice,) = compare_choices(store, of=2)
    assert choice.chosen["DISCO"] == pytest.approx((80.0 + 10.0 + 10.0) / 3)
    assert choice.best == pytest.approx((90.0 + 90.0 + 80.0) / 3)


def test_failures_and_methods_with_few_seeds_do_not_count(store: RunStore) -> None:
    store.add(Run("t", "mice", "SHADE", "{}", "", 2, failure="it broke"))
    assert compare_choices(store) == []


def test_many_runs_are_sampled() -> None:
    subsets = _subsets(30, 15)
    assert len(subsets) == 1_000
    assert all(len(set(rows)) == 15 for rows in subsets)


def test_the_command_prints_a_mean_a_method(store: RunStore, tmp_path: Path) -> None:
    shown = CliRunner().invoke(paper, ["choose", "--of", "3", "--database", str(store.path)])
    assert shown.exit_code == 0
    assert shown.output.splitlines()[-1].split() == ["SHADE", "mean", "60.0", "90.0", "10.0", "10.0", "90.0"]
    nothing = CliRunner().invoke(paper, ["choose", "--database", str(tmp_path / "none.sqlite")])
    assert nothing.exit_code == 1
