"""The public surface: names, import weight, layers, documentation that runs."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shade
from tests.unmeasured import unmeasured

ROOT = Path(__file__).parents[2]


def loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, env=unmeasured(), capture_output=True, check=True, text=True).stdout
    return set(output.split())


@pytest.mark.parametrize("statement", ["import shade", "import shade; shade.PAPER; dir(shade)", "import shade.cli"])
def test_importing_loads_neither_torch_nor_numba(statement: str) -> None:
    assert not {"torch", "numba", "sklearn", "scipy", "matplotlib"} & loaded_after(statement)


def test_experiments_need_neither_the_command_line_nor_any_extra() -> None:
    # scikit-learn itself takes pandas and rich where they are.
    extras = {"typer", "matplotlib", "clustpy", "umap", "densired", "av", "PIL"}
    assert not extras & loaded_after("import shade.experiments")


def test_the_clustering_step_alone_does_not_need_torch() -> None:
    statement = "import shade; shade.DCTreeClustering(device='cpu').fit([[float(i)] for i in range(20)])"
    assert "torch" not in loaded_after(statement)


@pytest.mark.parametrize(
    "room",
    ["", ".clustering", ".data", ".density", ".experiments", ".layout", ".metrics", ".plots", ".report", ".training"],
)
def test_every_promised_name_is_there_and_documented(room: str) -> None:
    module = f"shade{room}"
    found = importlib.import_module(module)
    for name in found.__all__:
        thing = getattr(found, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{module}.{name} has no docstring"


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'shade' has no attribute 'SHADOW'"):
        _ = shade.SHADOW


@pytest.mark.parametrize("estimator", ["SHADE", "DCTreeClustering"])
def test_documented_defaults_are_the_defaults_of_the_code(estimator: str) -> None:
    kind = getattr(shade, estimator)
    documented = re.findall(r"^    (\w[\w, ]*) : .*?default=(.+)$", kind.__doc__, flags=re.MULTILINE)
    parameters = inspect.signature(kind).parameters
    names = set()
    for group, text in documented:
        for name in group.split(", "):
            names.add(name)
            assert parameters[name].default == eval(text), name
    optional = re.findall(r"^    (\w+) : .*optional$", kind.__doc__, flags=re.MULTILINE)
    assert names | set(optional) == set(parameters)
    assert all(parameters[name].default is None for name in optional)


def test_the_code_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)


def test_the_readme_names_every_attribute() -> None:
    text = (ROOT / "README.md").read_text()
    promised = re.findall(r"^    (\w+_) : ", shade.SHADE.__doc__, flags=re.MULTILINE)
    assert len(promised) >= 12
    assert [name for name in promised if f"`{name}`" not in text] == []


def test_errors_are_told_in_words_that_exist() -> None:
    """No print, no assert for users, no recursion limit, in the package."""
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text()
        assert "setrecursionlimit" not in text, path
        assert not re.search(r"^\s*print\(", text, flags=re.MULTILINE), path
        assert not re.search(r"^\s*assert ", text, flags=re.MULTILINE), path


def test_doctests_are_collected() -> None:
    finder = doctest.DocTestFinder()
    assert any(test.examples for test in finder.find(shade.SHADE, "SHADE"))


def test_the_tests_that_the_page_on_security_names_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 5
    for name in named:
        path, _, test = name.partition("::")
        assert (ROOT / path).exists(), name
        assert f"def {test}" in (ROOT / path).read_text(encoding="utf-8"), name
