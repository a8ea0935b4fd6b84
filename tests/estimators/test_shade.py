"""SHADE from the outside: what it finds, what it promises, what it refuses."""

import ast
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from torch import nn

import shade
from shade import SHADE, DCTreeClustering
from shade._base.errors import DeviceError, ShadeWarning
from shade.data import make_three_clusters
from shade.training import EarlyStopping
from shade.training.fitting import count_epochs, count_networks
from tests.data_files import load_or_skip
from tests.unmeasured import unmeasured

QUICK = {"epochs": 3, "network": (32, 16), "embedding_size": 3, "n_networks": 1, "random_state": 0}


def blobs(n: int = 400, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, d, centers=4, cluster_std=1.0, center_box=(-12, 12), random_state=seed)
    return X, y


@pytest.fixture(scope="module")
def fitted() -> tuple[SHADE, np.ndarray, np.ndarray]:
    X, y = blobs()
    return SHADE(**QUICK, selection="information").fit(X), X, y


# What it finds


def test_blobs_are_found_with_any_rule_but_the_papers() -> None:
    X, y = blobs()
    for selection in ("branches", "information"):
        model = SHADE(**{**QUICK, "epochs": 20}, selection=selection).fit(X)
        assert model.n_clusters_ == 4
        assert adjusted_rand_score(y, model.assign_noise()) > 0.95


@pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"tree": "complete"},
        {"embedding_distance": "euclidean"},
        {"settle": False, "tree": "complete"},
        {"density_unit": "mean_edge"},
        {"density_unit": "mean_edge", "tree": "complete"},
        {"reconstruction": "sum"},
        {"standardize": "global"},
        {"standardize": False},
        {"density_weight": 0.0},
        {"reconstruction_weight": 0.0},
        {"n_networks": 2},
        {"selection": "structure"},
        {"min_cluster_size": 20},
    ],
)
def test_every_choice_of_the_loss_and_the_rule_works(options: dict[str, object]) -> None:
    X, _ = blobs(200)
    base = {**shade.PAPER, **QUICK, "selection": "branches"}
    model = SHADE(**{**base, **options}).fit(X)
    other = SHADE(**base).fit(X)
    assert model.labels_.shape == (200,)
    assert np.array_equal(model.predict(X), model.labels_)
    if "min_cluster_size" not in options and options != {"selection": "structure"}:
        assert not np.array_equal(model.embedding_, other.embedding_), "the option changed nothing"


def test_the_first_figure_of_the_paper() -> None:
    from shade.experiments.demo import SETTINGS

    X, y = make_three_clusters(3000, random_state=0)
    model = SHADE(**SETTINGS, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.shared_data
def test_synth_low_with_the_settings_of_the_paper() -> None:
    X, y = load_or_skip("synth_low")
    model = SHADE(**shade.PAPER, random_state=0).fit(X)
    assert adjusted_rand_score(y[y >= 0], model.assign_noise()[y >= 0]) > 0.96


# What the attributes say


def test_attributes_have_the_shapes_they_promise(fitted: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, X, _ = fitted
    n = len(X)
    assert model.embedding_.shape == (n, 3)
    assert model.embedding_.dtype == np.float32
    assert model.labels_.shape == model.probabilities_.shape == model.outlier_scores_.shape == (n,)
    assert set(model.labels_) - {-1} == set(range(model.n_clusters_))
    assert len(model.cluster_persistence_) == len(model.exemplar_indices_) == model.n_clusters_
    for label, rows in enumerate(model.exemplar_indices_):
        assert len(rows) > 0
        assert set(model.labels_[rows]) == {label}
    assert len(model.history_) == model.n_iter_ == 3
    assert model.n_features_in_ == 8
    assert model.dc_tree_.n_points == n
    assert list(model.get_feature_names_out()) == ["shade0", "shade1", "shade2"]


def test_strengths_and_labels_never_contradict(fitted: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, _, _ = fitted
    assert np.array_equal(model.probabilities_ > 0, model.labels_ >= 0)
    assert np.isfinite(model.probabilities_).all()


def test_documented_defaults_are_those_of_the_code_and_the_papers_settings_are_parameters() -> None:
    defaults = SHADE().get_params()
    assert set(shade.PAPER) <= set(defaults)
    documented = re.findall(r"^    ([a-z_, ]+) : .*default=(.+)$", SHADE.__doc__, flags=re.MULTILINE)
    assert len(documented) >= 18
    for names, text in documented:
        for name in names.split(", "):
            assert defaults[name] == ast.literal_eval(text), name


@pytest.mark.parametrize(("n_rows", "networks"), [(10, 4), (10_000, 4), (10_001, 2), (10**7, 2)])
def test_large_data_has_fewer_networks(n_rows: int, networks: int) -> None:
    assert count_networks(None, n_rows) == networks
    assert count_networks(3, n_rows) == 3


@pytest.mark.parametrize(
    ("n_rows", "networks", "epochs"),
    [(100, 4, 50), (5_000, 4, 50), (10_000, 4, 25), (10_000, 2, 50), (70_000, 2, 7), (10**6, 2, 1), (10**8, 2, 1)],
)
def test_large_data_has_fewer_epochs(n_rows: int, networks: int, epochs: int) -> None:
    assert count_epochs(None, n_rows, 250, networks) == epochs
    assert count_epochs(3, n_rows, 250, networks) == 3


def test_epochs_that_were_chosen_are_in_the_history() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = SHADE(network=(8,), embedding_size=2, n_networks=1, random_state=0).fit(X)
    assert model.epochs is None
    assert model.n_iter_ == len(model.history_) == 50


def test_how_many_networks_there_are_is_kept(tmp_path: Path) -> None:
    model = SHADE(epochs=1, network=(8,), embedding_size=2, random_state=0)
    assert model.n_networks is None
    X = np.random.default_rng(0).normal(size=(60, 4))
    model.fit(X).save(tmp_path / "model.shade")
    loaded = shade.load(tmp_path / "model.shade")
    assert model.n_networks_ == loaded.n_networks_ == 4
    assert loaded.n_networks is None
    assert loaded.transform(X).shape == (60, 8)
    assert np.array_equal(loaded.predict(X), model.labels_)


# What it promises


def test_predict_of_the_training_rows_is_labels_and_of_one_row_is_its_entry(
    fitted: tuple[SHADE, np.ndarray, np.ndarray],
) -> None:
    model, X, _ = fitted
    assert np.array_equal(model.predict(X), model.labels_)
    assert all(model.predict(X[i : i + 1])[0] == model.labels_[i] for i in range(0, len(X), 40))
    new = X + np.random.default_rng(0).normal(size=X.shape)
    whole = model.predict(new)
    assert all(model.predict(new[i : i + 1])[0] == whole[i] for i in range(0, len(X), 40))
    np.testing.assert_allclose(model.score_samples(X), -model.outlier_scores_)
    labels, probabilities = model.predict(X, return_probabilities=True)
    assert np.array_equal(labels, model.labels_)
    np.testing.assert_allclose(probabilities, model.probabilities_)


def test_new_rows_get_the_cluster_of_their_kind() -> None:
    X, y = blobs(800)
    model = SHADE(**{**QUICK, "epochs": 20}, selection="information").fit(X[:400])
    labels = model.predict(X[400:])
    kept = labels >= 0
    assert kept.mean() > 0.8
    assert adjusted_rand_score(y[400:][kept], labels[kept]) > 0.95
    assert model.score_samples(X[400:] * 100).max() < model.score_samples(X[400:]).mean()


def test_transform_of_the_training_rows_is_the_embedding(fitted: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, X, _ = fitted
    assert np.array_equal(model.transform(X), model.embedding_)
    assert np.array_equal(clone(model).fit_transform(X), model.embedding_)


def test_inverse_transform_brings_rows_back_to_the_unit_of_the_data() -> None:
    X, _ = blobs()
    model = SHADE(epochs=60, embedding_size=8, density_weight=0.0, random_state=0, n_networks=2, selection="branches")
    model.fit(X * 1000 + 5)
    back = model.inverse_transform(model.embedding_)
    assert back.shape == X.shape
    error = np.square(back - (X * 1000 + 5)).mean() / (X * 1000).var()
    assert error < 0.1


def test_the_same_seed_gives_the_same_labels_with_any_number_of_threads_and_in_another_process() -> None:
    X, _ = blobs(137, 100)
    expected = SHADE(**{**QUICK, "network": (64, 32)}, selection="branches", n_jobs=1).fit(X)
    threads = torch.get_num_threads()
    for count in (1, 2, 3):
        torch.set_num_threads(count)
        try:
            model = SHADE(**{**QUICK, "network": (64, 32)}, selection="branches", n_jobs=count).fit(X)
        finally:
            torch.set_num_threads(threads)
        assert np.array_equal(model.embedding_, expected.embedding_)
        assert np.array_equal(model.labels_, expected.labels_)
    script = (
        "import numpy as np, sys; from shade import SHADE; from tests.estimators.test_shade import QUICK, blobs;"
        "m = SHADE(**{**QUICK, 'network': (64, 32)}, selection='branches').fit(blobs(137, 100)[0]);"
        "sys.stdout.buffer.write(m.embedding_.tobytes())"
    )
    root = Path(__file__).parents[2]
    environment = unmeasured(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", MKL_NUM_THREADS="2")
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=root).stdout
    assert output == expected.embedding_.tobytes()


def test_global_random_states_are_untouched_and_without_seed_results_differ() -> None:
    X, _ = blobs(100)
    numpy_state, torch_state = np.random.get_state(), torch.random.get_rng_state()
    first, second = (SHADE(**{**QUICK, "random_state": None}, selection="branches").fit(X) for _ in range(2))
    after = np.random.get_state()
    assert after[0] == numpy_state[0]
    assert np.array_equal(after[1], numpy_state[1])
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert not np.array_equal(first.embedding_, second.embedding_)


@pytest.mark.parametrize("seed", [np.int64(3), np.random.RandomState(3), np.random.default_rng(3)])
def test_every_kind_of_random_state_is_taken(seed: object) -> None:
    X, _ = blobs(60)
    assert SHADE(**{**QUICK, "random_state": seed}, selection="branches").fit(X).n_iter_ == 3


def test_a_second_fit_starts_afresh() -> None:
    X, _ = blobs(100)
    model = SHADE(**QUICK, selection="branches").fit(X)
    before = model.embedding_
    assert np.array_equal(model.fit(X).embedding_, before)
    model.fit(X[:50, :4])
    assert model.embedding_.shape == (50, 3)
    assert model.n_features_in_ == 4


def test_fit_changes_no_parameter() -> None:
    X, _ = blobs(100)
    model = SHADE(**QUICK, selection="branches", n_jobs=None, min_cluster_size=None)
    before = dict(model.get_params())
    model.fit(X)
    assert model.get_params() == before


def test_clone_and_pickle(fitted: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, X, _ = fitted
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.labels_)


def test_data_frames_carry_names_in_and_out() -> None:
    X, _ = blobs(100, 4)
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(100) + 7)
    model = SHADE(**QUICK, selection="branches").set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    embedded = model.transform(frame)
    assert list(embedded.columns) == ["shade0", "shade1", "shade2"]
    assert list(embedded.index) == list(frame.index)
    assert np.array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_a_read_only_memmap_a_tensor_and_a_list_give_the_result_of_the_array(tmp_path: Path) -> None:
    X, _ = blobs(100)
    np.save(tmp_path / "X.npy", X)
    expected = SHADE(**QUICK, selection="branches").fit(X).embedding_
    for other in (np.load(tmp_path / "X.npy", mmap_mode="r"), torch.from_numpy(X), X.tolist()):
        assert np.array_equal(SHADE(**QUICK, selection="branches").fit(other).embedding_, expected)


def test_whole_numbers_and_booleans_are_data_too() -> None:
    X = blobs(100)[0] > 0
    assert SHADE(**QUICK, selection="branches").fit(X).labels_.shape == (100,)
    assert SHADE(**QUICK, selection="branches").fit(X.astype(np.uint8)).labels_.shape == (100,)


@pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning")
def test_images_keep_their_shape_for_the_convolutional_network() -> None:
    random = np.random.default_rng(0)
    for shape in ((60, 1, 9, 8), (60, 9, 8), (60, 3, 9, 8)):
        X = random.normal(size=shape)
        model = SHADE(epochs=2, network="conv", embedding_size=2, standardize="global", selection="branches")
        model.fit(X)
        assert np.array_equal(model.predict(X), model.labels_)
        assert model.inverse_transform(model.embedding_).shape == X.shape
    with pytest.raises(ValueError, match=r"X has samples of shape \(9, 8\), but SHADE is expecting \(3, 9, 8\)"):
        model.predict(X[:, 0])
    flat = SHADE(epochs=2, embedding_size=2, selection="branches").fit(X)
    assert flat.n_features_in_ == 3 * 9 * 8


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(8, 2), nn.Linear(2, 8)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        return self.up(z)


def test_a_module_of_the_users_is_trained_as_a_copy() -> None:
    X, _ = blobs(100)
    module = Own()
    before = module.down.weight.clone()
    model = SHADE(network=module, epochs=2, n_networks=2, selection="branches", random_state=0).fit(X)
    assert model.embedding_.shape == (100, 4)
    assert torch.equal(module.down.weight, before)
    assert np.array_equal(model.predict(X), model.labels_)


def test_callbacks_and_early_stopping() -> None:
    X, _ = blobs(100)
    seen: list[float] = []
    stopping = EarlyStopping(patience=1, min_delta=1.0)
    model = SHADE(
        **{**QUICK, "epochs": 50}, selection="branches", callbacks=[stopping, lambda r: seen.append(r["loss"])]
    )
    model.fit(X)
    assert model.n_iter_ == len(seen) == 2
    with pytest.raises(ValueError, match="The 'callbacks' parameter"):
        SHADE(**QUICK, callbacks=[1]).fit(X)


# One fit, many answers


def test_recluster_gives_another_clustering_and_leaves_this_one(fitted: tuple[SHADE, np.ndarray, np.ndarray]) -> None:
    model, X, _ = fitted
    before = model.labels_.copy()
    for k in (1, 2, 3):
        other = model.recluster(n_clusters=k)
        assert other.n_clusters_ == k
        assert np.array_equal(other.predict(X), other.labels_)
    cut = model.recluster(cut_distance=float(np.median(model.dc_tree_.height)))
    assert np.array_equal(cut.predict(X), cut.labels_)
    dense = model.recluster(min_samples=12)
    assert dense.min_samples == 12
    assert dense.dc_tree_.height.sum() > model.dc_tree_.height.sum()
    assert np.array_equal(dense.predict(X), dense.labels_)
    assert np.array_equal(model.recluster().labels_, before)
    assert np.array_equal(model.labels_, before)
    assert model.min_samples == 5


@pytest.mark.parametrize("selection", ["information", "branches"])
@pytest.mark.parametrize("settings", [None, QUICK])
def test_recluster_by_size_is_the_fit_with_that_size(tmp_path: Path, selection: str, settings: dict | None) -> None:
    X, _ = blobs(400)
    far = np.random.default_rng(1).normal(size=(20, X.shape[1])) + 25.0  # few enough to lie between groups of the data
    X = np.vstack([X, far])
    maker = DCTreeClustering(selection=selection) if settings is None else SHADE(**settings, selection=selection)
    small = clone(maker).set_params(min_cluster_size=15).fit(X)
    large = clone(maker).set_params(min_cluster_size=60).fit(X)
    found = small.recluster(min_cluster_size=60)
    if settings is None:
        assert small.n_clusters_ > found.n_clusters_
    assert np.array_equal(found.labels_, large.labels_)
    assert np.array_equal(found.predict(X), found.labels_)
    assert (found.min_cluster_size, small.min_cluster_size) == (60, 15)
    found.save(tmp_path / "large.shade")
    assert np.array_equal(shade.load(tmp_path / "large.shade").labels_, large.labels_)
    assert small.recluster(min_cluster_size=1000).n_clusters_ <= 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_clusters": 0}, r"The 'n_clusters' parameter of recluster must be an int in the range \[1, inf\) or None"),
        ({"n_clusters": 10_000}, r"The 'n_clusters' parameter must be an int in the range \[1, \d+\], the number of"),
        (
            {"cut_distance": -1.0},
            r"The 'cut_distance' parameter of recluster must be a float in the range \[0.0, inf\)",
        ),
        (
            {"min_samples": 1},
            r"The 'min_samples' parameter of recluster must be an int in the range \[2, inf\) or None",
        ),
        ({"min_samples": 10_000}, r"n_samples = 400, fewer than min_samples = 10000"),
        ({"n_clusters": 2, "cut_distance": 1.0}, r"exclude each other"),
    ],
)
def test_recluster_says_what_it_wants(
    fitted: tuple[SHADE, np.ndarray, np.ndarray], arguments: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        fitted[0].recluster(**arguments)


def test_a_missing_value_is_named_by_its_column() -> None:
    frame = pd.DataFrame(blobs(60)[0]).add_prefix("column ")
    frame.iloc[3, 2] = np.nan
    for model in (SHADE(**QUICK), DCTreeClustering()):
        with pytest.raises(ValueError, match=r"contains NaN in row 3, column 'column 2'\. Drop"):
            model.fit(frame)
        with pytest.raises(ValueError, match=r"contains NaN in row 3, column 2\. Drop"):
            model.fit(frame.to_numpy())


def test_assign_noise_leaves_no_noise_and_labels_as_they_are() -> None:
    X, _ = blobs(300)
    X = np.vstack([X, np.random.default_rng(0).uniform(-40, 40, size=(40, 8))])
    model = SHADE(**{**QUICK, "epochs": 20}, selection="branches").fit(X)
    noise = model.labels_ < 0
    assert noise.any()
    for strategy in ("nearest", "tree"):
        labels = model.assign_noise(strategy)
        assert labels.min() == 0
        assert np.array_equal(labels[~noise], model.labels_[~noise])
    assert np.array_equal(model.labels_ < 0, noise)
    with pytest.raises(ValueError, match=r"The 'strategy' parameter of assign_noise must be 'tree' or 'nearest'"):
        model.assign_noise("guess")
    in_data = model.assign_noise("nearest", X)
    assert in_data.min() == 0 and np.array_equal(in_data[~noise], model.labels_[~noise])
    with pytest.raises(ValueError, match=r"goes with strategy='nearest' only"):
        model.assign_noise("tree", X)
    with pytest.raises(ValueError, match=r"X has 9 rows, but 340 were clustered"):
        model.assign_noise("nearest", X[:9])


def test_much_noise_is_told_with_a_remedy() -> None:
    random = np.random.default_rng(3)
    X = np.repeat(20 * random.normal(size=(10, 10)), 300, axis=0) + random.normal(size=(3000, 10))
    between = r"^\d\d% of the 3,000 rows are noise: they lie between clusters. .*: recluster\(between_noise=False\)$"
    with pytest.warns(ShadeWarning, match=between):
        DCTreeClustering(selection="structure", between_noise=True).fit(X)
    X[:1600] = random.uniform(-60.0, 60.0, size=(1600, 10))
    background = (
        r"^53% of the [\d,]+ rows are noise: 53% lie in a sparse background. .*background_noise=False\).fit\(X\)$"
    )
    with pytest.warns(ShadeWarning, match=background):
        DCTreeClustering().fit(X)


# What it refuses


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"min_samples": 1},
            "The 'min_samples' parameter of SHADE must be an int in the range [2, inf). Got 1 instead.",
        ),
        ({"min_samples": 2.0}, "The 'min_samples' parameter of SHADE must be an int in the range [2, inf). Got 2.0"),
        ({"selection": "best"}, "must be 'structure', 'branches' or 'information'. Got 'best' instead."),
        ({"min_cluster_size": 1}, "must be an int in the range [2, inf) or None. Got 1 instead."),
        ({"n_networks": 0}, "The 'n_networks' parameter of SHADE"),
        ({"embedding_size": 0}, "The 'embedding_size' parameter of SHADE"),
        ({"tree": "oak"}, "The 'tree' parameter of SHADE must be 'auto', 'batch' or 'complete'. Got 'oak' instead."),
        ({"embedding_distance": "cosine"}, "The 'embedding_distance' parameter of SHADE must be 'sqeuclidean' or"),
        ({"density_unit": 1}, "The 'density_unit' parameter of SHADE"),
        ({"reconstruction": "max"}, "The 'reconstruction' parameter of SHADE"),
        ({"standardize": True}, "must be 'auto', 'feature', 'global' or False. Got True instead."),
        (
            {"settle": "here"},
            "The 'settle' parameter of SHADE must be True or False. Got 'here' instead.",
        ),
        ({"background_noise": "data"}, "The 'background_noise' parameter of SHADE must be True or False."),
        ({"between_noise": None}, "The 'between_noise' parameter of SHADE must be True or False. Got None instead."),
        ({"epochs": 0}, "The 'epochs' parameter of SHADE"),
        ({"batch_size": 4}, "The 'batch_size' parameter of SHADE must be an int in the range [min_samples, inf)"),
        ({"learning_rate": 0}, "The 'learning_rate' parameter of SHADE must be a float in the range (0.0, inf)."),
        ({"learning_rate": float("nan")}, "The 'learning_rate' parameter of SHADE"),
        ({"density_weight": -1}, "The 'density_weight' parameter of SHADE must be a float in the range [0.0, inf)."),
        ({"verbose": -1}, "The 'verbose' parameter of SHADE"),
        ({"n_jobs": 0}, "The 'n_jobs' parameter of SHADE must be an int other than 0 or None. Got 0 instead."),
        ({"network": (10, 0)}, "The 'network' parameter of SHADE must be a sequence of ints"),
        ({"network": "transformer"}, "Got 'transformer' instead."),
        ({"network": nn.Linear(2, 2)}, "Got a Linear without 'encode' and 'decode' instead."),
        ({"network": "conv"}, 'network="conv" needs images of shape'),
        ({"device": "cuda:99"}, "The 'device' parameter asks for 'cuda:99', which is not available here."),
        ({"device": "abacus"}, "The 'device' parameter must be 'auto', 'cpu', 'cuda', 'cuda:N' or 'mps'."),
        ({"device": "meta"}, "The 'device' parameter must be 'auto', 'cpu', 'cuda', 'cuda:N' or 'mps'."),
    ],
)
def test_bad_parameters_get_one_clear_sentence(change: dict[str, object], sentence: str) -> None:
    model = SHADE(**{**QUICK, **change})
    with pytest.raises(ValueError) as caught:
        model.fit(blobs(60)[0])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def spoil(value: float) -> np.ndarray:
    X = blobs(60)[0]
    X[7, 3] = value
    return X


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (spoil(np.nan), "Input X contains NaN in row 7, column 3"),
        (spoil(np.inf), "Input X contains infinity in row 7, column 3"),
        (np.empty((0, 3)), "0 sample(s)"),
        (np.empty((10, 0)), "0 feature(s)"),
        (np.ones((4, 3)), "n_samples = 4, fewer than min_samples = 5"),
        (np.ones((20, 3)) * 1j, "Complex data not supported"),
        (np.array([["a", "b"]] * 20), "Only numbers can be clustered"),
        (np.ones(20), "Expected 2D array"),
        (np.full((20, 2), 9e306) * np.arange(20)[:, None], "too large to be standardised"),
    ],
)
def test_bad_data_gets_one_clear_sentence_and_changes_nothing(X: np.ndarray, sentence: str) -> None:
    good = blobs(60)[0]
    model = SHADE(**QUICK, selection="branches").fit(good)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)) as caught:
        model.fit(X)
    assert sentence in str(caught.value)
    assert vars(model) == before
    fresh = SHADE(**QUICK)
    with pytest.raises((ValueError, TypeError)):
        fresh.fit(X)
    assert not [name for name in vars(fresh) if name.endswith("_")]


def test_predict_refuses_another_number_of_columns_and_unfitted_models() -> None:
    X = blobs(60)[0]
    model = SHADE(**QUICK, selection="branches")
    for method in (model.predict, model.transform, model.score_samples, model.inverse_transform):
        with pytest.raises(NotFittedError):
            method(X)
    for action in (model.assign_noise, model.recluster, lambda: model.save("x.shade")):
        with pytest.raises(NotFittedError):
            action()
    model.fit(X)
    with pytest.raises(ValueError, match="X has 5 features, but SHADE is expecting 8 features"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="Z has 8 columns, but the embedding of this SHADE has 3"):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match="NaN in row 7, column 3"):
        model.predict(spoil(np.nan))


def test_values_too_large_for_single_precision_are_refused_where_they_are_not_standardised() -> None:
    with pytest.raises(ValueError, match="too large for single precision"):
        SHADE(**QUICK, standardize=False, density_unit="data").fit(blobs(60)[0] * 1e40)
    assert SHADE(**QUICK, selection="branches").fit(blobs(60)[0] * 1e40).n_iter_ == 3


def test_device_errors_are_value_errors() -> None:
    assert issubclass(DeviceError, ValueError)


# What is odd but fine


@pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning")
@pytest.mark.parametrize("selection", ["structure", "branches", "information"])
@pytest.mark.parametrize(
    "X",
    [
        np.ones((40, 3)),
        np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 20, axis=0),
        np.random.default_rng(0).normal(size=(30, 1)),
        np.random.default_rng(0).normal(size=(5, 3)),
        np.hstack([np.random.default_rng(0).normal(size=(50, 2)), np.full((50, 1), 1e9)]),
    ],
    ids=["constant", "duplicates", "one column", "as many rows as min_samples", "a constant column"],
)
def test_odd_data_gets_a_sensible_answer(X: np.ndarray, selection: str) -> None:
    model = SHADE(**QUICK, selection=selection).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert model.n_clusters_ >= 1
    assert np.isfinite(model.cluster_persistence_).all()
    assert np.array_equal(model.predict(X), model.labels_)


def test_constant_data_is_one_cluster_and_separate_duplicates_are_their_own() -> None:
    constant = SHADE(**QUICK, selection="branches").fit(np.ones((40, 3)))
    assert set(constant.labels_) == {0}
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), 20, axis=0)
    for selection in ("branches", "information"):
        model = SHADE(**QUICK, selection=selection).fit(X)
        assert adjusted_rand_score(np.repeat(np.arange(3), 20), model.labels_) == 1.0


@pytest.mark.filterwarnings("ignore::shade._base.errors.ShadeWarning")
def test_a_single_blob_is_not_torn_into_many() -> None:
    X = np.random.default_rng(0).normal(size=(300, 5))
    model = SHADE(**QUICK, selection="information").fit(X)
    assert 1 <= model.n_clusters_ <= 4


def test_a_row_that_has_a_column_for_itself_is_told_of() -> None:
    X, _ = blobs(200)
    settings = {**QUICK, "epochs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SHADE(**settings).fit(X)
    X[7, 2] = 1e6
    with pytest.warns(ShadeWarning, match="In column 'x2' the value of row 7 is so far"):
        SHADE(**settings).fit(X)
    X[9, 4] = -1e6
    with pytest.warns(ShadeWarning, match="In 2 of 8 columns, such as 'c', the value of row 7 is"):
        SHADE(**settings).fit(pd.DataFrame(X, columns=list("abcdefgh")))
    with warnings.catch_warnings():  # two of forty columns hide nothing
        warnings.simplefilter("error")
        SHADE(**settings).fit(np.hstack([X, *(blobs(200)[0] for _ in range(4))]))
