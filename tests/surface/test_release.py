"""What is released: the wheel works without the checkout, and all places name the same version and requirements."""

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import shade

ROOT = Path(__file__).parents[2]
PROGRAM = """
import shade, sys
from pathlib import Path
from shade.data import make_blobs
assert Path(shade.__file__).is_relative_to(sys.prefix), shade.__file__
X, y = make_blobs(200, n_clusters=3, random_state=0)
model = shade.SHADE(network=(16,), epochs=2, n_networks=1, embedding_size=2, random_state=0).fit(X)
model.save("model.shade")
assert (shade.load("model.shade").predict(X) == model.labels_).all()
from shade.report import write_report
assert "Skip to the clusters" in write_report(model, "report.html", samples=X).read_text()
"""


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command: object, folder: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and the sdist, built as they are for a release."""
    pytest.importorskip("build", reason="needs build (the dev extra)")
    pytest.importorskip("hatchling", reason="needs hatchling (the dev extra)")
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("needs the checkout")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return folder


def test_twine_finds_nothing(built: Path) -> None:
    pytest.importorskip("twine", reason="needs twine (the dev extra)")
    files = sorted(built.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    run(sys.executable, "-m", "twine", "check", "--strict", *files, folder=built)


def test_the_wheel_holds_the_package_and_no_more(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}
    package = ROOT / "src"
    expected = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert found == {name for name in expected if "__pycache__" not in name and "egg-info" not in name}


def test_the_wheel_fits_and_reports_without_the_checkout(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "empty", with_pip=False)
    program = tmp_path / "empty" / "bin" / "python"
    (site,) = (tmp_path / "empty" / "lib").glob("*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # The requirements are those of this environment: to install them again would take minutes.
    folders = [path for path in sys.path if path.endswith("site-packages")]
    (site / "requirements.pth").write_text("\n".join(folders), encoding="utf-8")
    run(program, "-I", "-c", PROGRAM, folder=tmp_path)
    assert shade.__version__ in run(program, "-I", "-m", "shade", "--version", folder=tmp_path)


def test_the_conda_recipe_has_the_version_of_the_package() -> None:
    found = re.search(r'set version = "(.+)"', (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8"))
    assert found is not None and found[1] == shade.__version__


def test_the_conda_recipe_has_the_requirements_of_the_package() -> None:
    recipe = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
    found = re.findall(r"^    - (\S+) >=(\S+)$", recipe.split("  run:\n")[1].split("\ntest:")[0], re.MULTILINE)
    wanted = [tuple(requirement.replace("torch>", "pytorch>").split(">=")) for requirement in project()["dependencies"]]
    assert found == [("python", project()["requires-python"].removeprefix(">=")), *wanted]
