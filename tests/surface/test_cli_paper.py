"""`shade data` and `shade paper` on the command line."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shade.cli import app
from shade.experiments import Run, RunStore


def call(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHADE_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_datasets_are_listed_and_described(folder: Path) -> None:
    np.savez(folder / "cmu_faces.npz", X=np.zeros((624, 30, 32), np.uint8), y=np.zeros(624, np.int32))
    code, out, _ = call("data", "list")
    here = {line.split()[0]: line.split()[5] for line in out.splitlines()[1:]}
    assert code == 0 and len(here) == 23
    assert [name for name, state in here.items() if state == "yes"] == ["cmu_faces"]
    assert "which differs: sha256" in call("data", "describe", "cmu_faces")[1]
    assert "not comparable with published figures on kmnist" in call("data", "describe", "kmnist_test10k")[1]
    assert call("data", "get", "cmu_faces")[0] == 0
    for command in (("data", "describe", "nist"), ("data", "get", "nist"), ("data", "get", "weizmann_masks")):
        code, _, error = call(*command)
        assert code == 3 and error.startswith("shade: The")


def test_tables_are_printed(folder: Path) -> None:
    code, _, error = call("paper", "table", "experimentResults")
    assert code == 1 and "shade paper run experimentResults" in error
    RunStore(folder / "paper.sqlite").add(Run("experimentResults", "mice", "SHADE", "{}", "", 0, ari_1nn=0.27))
    code, out, _ = call("paper", "table", "experimentResults")
    assert code == 0 and "27.0† (27.7 ± 2.9)" in out and "† run with other code" in out
    assert call("paper", "table", "experimentResults", "--format", "csv")[1].startswith("table,dataset,metric")
    assert call("paper", "table", "experimentResults", "--format", "html")[0] == 1


def test_wrong_names_are_told_in_a_line(folder: Path) -> None:
    for arguments, sentence in (
        (("run", "experimentResults", "--methods", "SHADO"), "There is no method 'SHADO'"),
        (("run", "experimentResults", "--datasets", "nist"), "There is no dataset 'nist'"),
        (("run", "units"), "Name the methods to run"),
        (("figure", "9"), "There is no figure '9'"),
        (("figure", "mu"), "shade paper run ablation_mu"),
    ):
        code, _, error = call("paper", *arguments)
        assert code == (3 if "dataset" in sentence else 1) and sentence in error
    assert not (folder / "paper.sqlite").exists()
