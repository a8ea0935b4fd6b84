"""Options come from the documentation of SHADE and read_samples, all of them, with their defaults."""

import inspect
import os
import subprocess
import sys

import pytest

from shade import SHADE
from shade.cli.exit_codes import EPILOG, MEANINGS
from shade.cli.options import DATA, FITTING, MODEL, Source, in_options
from shade.data import read_samples
from tests.cli.commands import run


@pytest.mark.parametrize(("source", "called"), [(MODEL, SHADE), (FITTING, SHADE().fit), (DATA, read_samples)])
def test_every_parameter_is_an_option_with_its_default(source: Source, called: object) -> None:
    signature = inspect.signature(called)  # type: ignore[arg-type]
    defaults = {name: found.default for name, found in signature.parameters.items() if name not in source.left_out}
    assert set(source.left_out) < set(signature.parameters)
    assert {found.name: found.default for found in source.parameters} == defaults
    assert all(found.help for found in source.parameters)
    text = run("fit", "--help", env={"COLUMNS": "300"}).stdout
    assert [name for name in defaults if f"--{name.replace('_', '-')} " not in text] == []


def test_values_reach_the_model_in_its_own_types() -> None:
    from shade.cli.options import _make_option

    options = {found.name: _make_option(found, "").default for found in MODEL.parameters}
    defaults = SHADE().get_params()
    assert MODEL.take(options) == {name: defaults[name] for name in options}
    kinds = {found.name: inspect.signature(SHADE).parameters[found.name] for found in MODEL.parameters}
    assert set(kinds) == set(options)
    standardize = type(options["standardize"])
    taken = MODEL.take({**options, "network": "64,32", "standardize": standardize("false")})
    assert taken["network"] == (64, 32)
    assert taken["standardize"] is False
    assert MODEL.take({**options, "network": "conv"})["network"] == "conv"
    fitting = {found.name: found.default for found in FITTING.parameters}
    taken = [FITTING.take({**fitting, "memory": value})["memory"] for value in (None, "4GB", "4000")]
    assert taken == [None, "4GB", 4000]


def test_errors_name_options_where_they_name_parameters() -> None:
    said = "more than memory='1.5GB', tree='complete' and batch_size=50: a smaller 'batch_size', or no 'resume'."
    told = "more than --memory 1.5GB, --tree complete and --batch-size 50: a smaller --batch-size, or no --resume."
    assert in_options(said) == told
    assert in_options('use standardize="feature" if') == "use --standardize feature if"
    assert in_options("Set background_noise=False to") == "Set --no-background-noise to"
    assert in_options("Set between_noise=True to") == "Set --between-noise to"
    assert in_options("no column 'x', and window_rows=7") == "no column 'x', and window_rows=7"


def test_help_lists_commands_and_exit_codes() -> None:
    text = " ".join(run("--help", env={"COLUMNS": "200"}).stdout.split())
    for command in ("fit", "predict", "transform", "recluster", "info", "demo"):
        assert command in text
    assert EPILOG in text
    assert sorted(MEANINGS) == [0, 1, 2, 3, 4, 5, 130]


def test_help_of_fit_loads_no_torch() -> None:
    code = (
        "import sys; from shade.cli import app\n"
        "try: app(['fit', '--help'])\n"
        "except SystemExit: sys.stderr.write(' '.join(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stderr.split()
    assert "shade.cli.fit" in loaded
    assert not {"torch", "numba", "sklearn", "numpy"} & set(loaded)


def test_the_shell_completes_options() -> None:
    environment = {**os.environ, "_SHADE_COMPLETE": "complete_bash", "COMP_WORDS": "shade fit --sel", "COMP_CWORD": "2"}
    code = "import sys; from shade.cli import main; sys.argv = ['shade']; main()"
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["--selection"]
