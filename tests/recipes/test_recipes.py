"""The recipes of the documentation run, and come out as they say."""

import runpy
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from shade import DCTreeClustering

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a recipe, all of whose files go to a folder of the test; what it defined comes back."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def run_recipe(name: str, folder: Path = RECIPES) -> dict[str, Any]:
        return runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")

    return run_recipe


def test_the_first_steps(run: Any) -> None:
    pytest.importorskip("bokeh", reason="needs bokeh (the report extra)")
    pytest.importorskip("matplotlib", reason="needs matplotlib (the plots extra)")
    scope = run("first_steps", RECIPES.parent / "examples")
    assert scope["ten"].n_clusters_ == 10
    assert Path("report.html").exists()


def test_a_table_with_pandas(run: Any) -> None:
    pytest.importorskip("pandas", reason="needs pandas (the io extra)")
    scope = run("table_pandas")
    assert adjusted_rand_score(scope["kind"], scope["model"].labels_) > 0.9
    assert list(scope["found"].columns) == ["label", "probability", "outlier_score", "city"]
    assert scope["found"].index[0] == "C0000"


def test_distances_and_graphs(run: Any) -> None:
    scope = run("distances_graphs")
    right = np.repeat([0, 1, 2], 40)
    assert adjusted_rand_score(right, scope["model"].labels_) == 1.0
    assert (scope["model"].predict(scope["distances"]) == scope["model"].labels_).all()


def test_a_model_is_shared(run: Any) -> None:
    scope = run("share_model")
    assert (scope["loaded"].labels_ == scope["model"].labels_).all()


def test_cells_with_anndata(run: Any) -> None:
    pytest.importorskip("anndata", reason="needs anndata (the h5ad extra)")
    scope = run("cells_anndata")
    adata = scope["adata"]
    assert adata.obsm["X_shade"].shape == (450, 40)
    assert adjusted_rand_score(scope["cell_type"], adata.obs["shade"]) > 0.9


def test_scanpy_goes_on_from_there(run: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what scanpy itself imports and calls
        scanpy = pytest.importorskip("scanpy", reason="needs scanpy: pip install scanpy")
        adata = run("cells_anndata")["adata"]
        scanpy.pp.neighbors(adata, use_rep="X_shade")
        scanpy.tl.rank_genes_groups(adata, "shade")
        scanpy.pl.embedding(adata, "X_shade", color="shade", show=False)
    assert adata.obsp["connectivities"].shape == (450, 450)
    assert len(adata.uns["shade_colors"]) == 3


def test_a_folder_of_images(run: Any) -> None:
    pytest.importorskip("bokeh", reason="needs bokeh (the report extra)")
    pytest.importorskip("matplotlib", reason="needs matplotlib (the plots extra)")
    scope = run("folder_of_images")
    assert scope["agreement"] > 0.7
    assert scope["report"].read_text(encoding="utf-8").startswith("<!")


def test_frames_of_a_video(run: Any) -> None:
    pytest.importorskip("av", reason="needs PyAV (the video extra)")
    scope = run("frames_of_a_video")
    assert adjusted_rand_score(np.repeat([0, 1, 2], 40), scope["model"].labels_) > 0.9


def test_a_pipeline(run: Any) -> None:
    scope = run("pipeline")
    assert adjusted_rand_score(scope["cultivar"], scope["labels"]) > 0.5
    assert list(scope["embedding"].fit_transform(scope["wine"]).columns[:2]) == ["shade0", "shade1"]


def test_some_labels_are_known(run: Any) -> None:
    scope = run("known_labels")
    rows, model = scope["rows"], scope["model"]
    assert np.array_equal(model.known_labels_[model.labels_[rows]], scope["y"][rows])
    assert scope["pairs"].labels_[0] == scope["pairs"].labels_[10] != scope["pairs"].labels_[1]


def test_rows_are_added_to_a_model(run: Any) -> None:
    scope = run("growing_data")
    assert scope["kept"] > 0.9
    assert scope["new"].mean() > 0.9
    assert scope["found"].mean() > 0.6


def test_serving_with_onnx_runtime(run: Any) -> None:
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason="needs onnx, onnxscript (the onnx extra) and onnxruntime")
    scope = run("serving_onnx")
    np.testing.assert_allclose(scope["embedded"], scope["model"].transform(scope["X"][:5]), atol=1e-5)
    assert np.array_equal(scope["served"].predict(scope["X"]), scope["model"].labels_)


def test_a_network_of_your_own(run: Any) -> None:
    scope = run("own_network")
    assert scope["model"].n_clusters_ == 2
    loaded = scope["load"](scope["path"], network=scope["Forgetful"](20))
    assert np.array_equal(loaded.predict(scope["X"]), scope["model"].labels_)


def test_a_picture_by_umap(run: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what umap itself imports
        pytest.importorskip("umap", reason="needs umap-learn (the paper extra)")
        scope = run("picture_umap")
    assert scope["picture"].shape == (len(scope["X"]), 2)


def test_topics_with_bertopic(run: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what bertopic itself imports
        pytest.importorskip("bertopic", reason="needs bertopic: pip install --no-deps bertopic plotly tqdm hdbscan")
        scope = run("topics_bertopic")
    assert sorted(scope["topics"].get_topic_info()["Topic"]) == [0, 1, 2]
    assert scope["clustering"].n_clusters_ == 3


def test_what_bertopic_asks_of_a_clusterer() -> None:
    """It gives y to fit, reads labels_ of any integers with −1 for outliers, and calls predict for new texts."""
    vectors = np.random.default_rng(0).normal(np.repeat([[0.0], [9.0]], 50, axis=0), 0.5, (100, 4))
    clustering = DCTreeClustering().fit(vectors, y=None)
    assert clustering.labels_.dtype.kind == "i"
    assert set(clustering.labels_) <= {-1, 0, 1}
    assert np.array_equal(clustering.predict(vectors), clustering.labels_)


def test_every_recipe_is_tested() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    assert [path.stem for path in RECIPES.glob("*.py") if f'run("{path.stem}")' not in tests] == []
