"""Between a fitted estimator and the contents of a model file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from shade import __version__
from shade._arrays import FloatArray, SingleArray
from shade._errors import ModelFileError
from shade.data.standardize import Standardizer
from shade.density.dc_tree import DCTree
from shade.model_checks import ESTIMATORS, check_clusters, check_contents, check_points
from shade.model_file import ModelContents
from shade.network.autoencoders import outline_network
from shade.network.inference import encode_rows
from shade.stability.assignment import TrainingPoints
from shade.stability.links import links_of
from shade.stability.selection import FlatClustering

if TYPE_CHECKING:
    from shade.estimator import SHADE

SAME = 1e-6  # relative: rows are embedded in double precision and rounded to single
WAVES = 16  # files of the first versions have one, or these without their opposites
NOT_SAVED = ("callbacks", "device")  # functions cannot be saved, and a model moves between machines


def contents_of(model: Any) -> ModelContents:
    """Everything that prediction and reclustering need; the training data of SHADE is not among it."""
    _check_parameters_of_fit(model)
    parameters = {name: _plain(value) for name, value in model.get_params().items() if name not in NOT_SAVED}
    networks = getattr(model, "_networks", [])
    description = {
        "estimator": _name_of(model),
        "versions": {"shade": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "parameters": parameters,
        "sample_shape": list(getattr(model, "_sample_shape", (model.n_features_in_,))),
        "training_tree": getattr(model, "training_tree_", None),
        "history": getattr(model, "history_", []),
        "feature_names": list(getattr(model, "feature_names_in_", [])),
    }
    tensors = {
        f"{member}.{name}": tensor.clone(memory_format=torch.contiguous_format)  # a network may use a layer twice
        for member, network in enumerate(networks)
        for name, tensor in network.state_dict().items()
    }
    arrays = {
        "embedding": model._points_as_told,
        "background": np.flatnonzero(model._background),
        **({"groups": model._groups} if model._groups.max() > 0 else {}),
        "links": model._links,
        **{f"dc_tree.{name}": value for name, value in model.dc_tree_.to_arrays().items()},
        **{f"clustering.{name}": value for name, value in model._clustering.to_arrays().items()},
    }
    if networks:
        arrays |= {"standardizer.mean": model._standardizer.mean, "standardizer.scale": model._standardizer.scale}
        # A made-up row, by which and by others made of it a loaded model shows that it embeds as the saved one did.
        row = model._standardizer.undo(np.cos(np.arange(model.n_features_in_)))
        arrays |= {"probe.row": row, "probe.embedding": _embed_probes(model, row, 2 * WAVES)}
    return ModelContents(description, tensors, arrays)


def _name_of(model: Any) -> str:
    """What a file says it is of: for a class of the user's own, the estimator that it is made of."""
    return next((kind.__name__ for kind in type(model).__mro__ if kind.__name__ in ESTIMATORS), type(model).__name__)


def _check_parameters_of_fit(model: Any) -> None:
    """Refuse parameters that were set after fitting, for no file with them would be read again."""
    try:
        check_points(model._training.points, model.dc_tree_, model._groups, model.min_points)
        check_clusters(model._structure_of(model.dc_tree_), model._clustering, model._groups, model._finish)
        same = getattr(model, "ensemble", None) in (None, getattr(model, "n_networks_", None))
    except ModelFileError:
        same = False
    if not same:
        raise ValueError(
            f"The parameters of this {type(model).__name__} are not those that it was fitted with: set them back, or "
            "fit again, before saving."
        )


def parameters_of(contents: ModelContents, allowed: set[str], network: torch.nn.Module | None) -> dict[str, Any]:
    """The parameters of the estimator that was saved; those that it did not have yet keep their defaults."""
    check_contents(contents)
    saved = contents.description["parameters"]
    if "noise" in allowed:
        saved = {"noise": "embedding", **saved}  # the first versions knew no other
    unknown = sorted(set(saved) - (allowed - set(NOT_SAVED)))
    if unknown:
        raise ModelFileError(
            f"The model file has parameters that this version of shade does not know: {unknown!s:.200}."
        )
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
    if "network" in allowed and parameters.get("network") is None:
        if network is None:
            raise ModelFileError("This model was trained with a module of its own: give one of its kind as 'network'.")
        parameters["network"] = network
    return parameters


def restore(model: Any, contents: ModelContents) -> None:
    """Give an estimator with the saved and checked parameters everything that fitting gave it."""
    description, arrays = contents.description, contents.arrays
    if model.min_points > len(arrays["embedding"]):
        raise ModelFileError(f"The model file has fewer rows than min_points = {model.min_points}.")
    model.n_features_in_ = math.prod(description["sample_shape"])
    if description["feature_names"]:
        model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    if description["estimator"] == "SHADE":
        _restore_embedding(model, contents)
    model._training = TrainingPoints(arrays["embedding"].astype(np.float64), model.min_points)
    model.dc_tree_ = DCTree(**_part(arrays, "dc_tree."))
    model._groups = arrays.get("groups", np.zeros(len(arrays["embedding"]), np.int64)).copy()
    model._groups[arrays["background"]] = -1
    model.structure_tree_ = model._structure_of(model.dc_tree_)
    check_points(model._training.points, model.dc_tree_, model._groups, model.min_points)
    if "links" in arrays:
        model._links = arrays["links"]
    else:  # a file of the first versions
        model._links = links_of(model._spanning_tree_of(model._training.points))
    clustering = FlatClustering.from_arrays(_part(arrays, "clustering."))
    check_clusters(model.structure_tree_, clustering, model._groups, model._finish)
    model._set_clustering(clustering)


def describe_model(contents: ModelContents) -> dict[str, Any]:
    """What a model file tells about its model, without building it."""
    check_contents(contents)
    description, labels = contents.description, contents.arrays["clustering.labels"]
    history = description["history"]
    last = history[-1] if history else {}
    return {
        "format": description["format"],
        "estimator": description["estimator"],
        "versions": description["versions"],
        "rows": len(labels),
        "sample_shape": description["sample_shape"],
        "feature_names": description["feature_names"],
        "embedding_columns": contents.arrays["embedding"].shape[1],
        "weights": sum(tensor.numel() for tensor in contents.tensors.values()),
        "clusters": len(contents.arrays["clustering.limit"]),
        "noise": float(np.mean(labels < 0)),
        "cluster_sizes": np.bincount(labels[labels >= 0]).tolist(),
        "networks": len({record.get("network", 0) for record in history}),
        "epochs": max((record.get("epoch", 0) for record in history), default=0),
        "losses": {name: value for name, value in last.items() if name.endswith("loss")},
        "parameters": description["parameters"],
    }


def _restore_embedding(model: SHADE, contents: ModelContents) -> None:
    """What SHADE has before there is a tree."""
    description, arrays, tensors = contents.description, contents.arrays, contents.tensors
    model._sample_shape = tuple(description["sample_shape"])
    model._standardizer = Standardizer(arrays["standardizer.mean"], arrays["standardizer.scale"])
    model.training_tree_ = description["training_tree"]
    model.history_ = description["history"]
    model.n_iter_ = len(model.history_)
    model.embedding_ = arrays["embedding"]
    members = {name.partition(".")[0] for name in tensors}
    model.n_networks_ = len(members) if model.ensemble is None else model.ensemble
    if not members or members != {str(member) for member in range(min(model.n_networks_, len(tensors) + 1))}:
        raise ModelFileError(f"The model file has no weights of {max(1, model.n_networks_)} networks.")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelFileError(f"The weights {name!r:.80} in the model file have values that are no numbers.")
    model._networks = [_restore_network(model, _part(tensors, f"{member}.")) for member in range(model.n_networks_)]
    row = arrays.get("probe.row", np.resize(model._standardizer.mean, model.n_features_in_))
    expected = np.atleast_2d(arrays.get("probe.embedding", np.empty((0, model._n_features_out), np.float32)))
    found, columns = _embed_probes(model, row, max(1, len(expected))), model._n_features_out
    if found.shape[1] != columns:
        raise ModelFileError(f"The networks embed into {found.shape[1]} columns, the embedding has {columns}.")
    expected = expected if len(expected) else found
    if not np.allclose(found, expected, rtol=SAME, atol=SAME * float(np.abs(expected).max()), equal_nan=True):
        raise ModelFileError("The networks do not embed as they did when the model was saved: they are not the same.")


def _embed_probes(model: SHADE, row: FloatArray, number: int) -> SingleArray:
    """A row in the embedding, and others that are that row, once it is standardised, times waves of other lengths.

    The second half are the opposites of the first: a unit of a network that is as good as off for one is on for the
    other.
    """
    waves = np.cos(np.outer(np.arange(number) % WAVES, np.arange(model.n_features_in_))).astype(np.float32)
    waves[WAVES:] *= -1.0
    samples = torch.from_numpy(model._standardizer.apply(row[None]) * waves).reshape(number, *model._network_shape())
    return np.hstack([encode_rows(network, samples, torch.device("cpu")).numpy() for network in model._networks])


def _restore_network(model: SHADE, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    """The network with the saved weights; one of ours is laid out without memory, so its sizes are checked first."""
    own = isinstance(model.network, torch.nn.Module)
    if isinstance(model.network, tuple) and len(weights) != 4 * (len(model.network) + 1):
        raise ModelFileError(f"The model file has {len(weights)} weights for {len(model.network)} hidden layers.")
    sizes = (model.embedding_size, *(model.network if isinstance(model.network, tuple) else ()))
    if not own and max(sizes) > sum(tensor.numel() for tensor in weights.values()):
        raise ModelFileError(f"The weights in the model file do not fit the network: a layer of {max(sizes)} has more.")
    try:
        module = outline_network(model.network, model._network_shape(), model.embedding_size)
        if not own and any(tensor.dtype != torch.float32 for tensor in weights.values()):
            raise ModelFileError("The weights in the model file are not of float32.")
        module.load_state_dict(weights, assign=not own)
    except (RuntimeError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        text = " ".join(str(error).split())
        raise ModelFileError(f"The weights in the model file do not fit the network: {text:.400}") from None
    return module.eval()


def _part(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it: NumPy numbers become Python's, modules and generators are left out."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, int | float | str) else None
