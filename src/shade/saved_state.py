"""Between a fitted SHADE and the contents of a model file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from shade import __version__
from shade._arrays import AnyArray
from shade._errors import ModelFileError
from shade.data.standardize import Standardizer
from shade.density.dc_tree import DCTree
from shade.model_file import ModelContents
from shade.network import build_network
from shade.stability.assignment import TrainingPoints
from shade.stability.selection import FlatClustering
from shade.stability.structure_tree import StructureTree

if TYPE_CHECKING:
    from shade.estimator import SHADE

NOT_SAVED = ("callbacks", "device")  # functions cannot be saved, and a model moves between machines


def contents_of(model: SHADE) -> ModelContents:
    """Everything that prediction and reclustering need; the training data is not among it."""
    parameters = {name: _plain(value) for name, value in model.get_params().items() if name not in NOT_SAVED}
    description = {
        "versions": {"shade": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "parameters": parameters,
        "sample_shape": list(model._sample_shape),
        "history": model.history_,
        "feature_names": list(getattr(model, "feature_names_in_", [])),
    }
    tensors = {
        f"{member}.{name}": tensor.contiguous()
        for member, network in enumerate(model._networks)
        for name, tensor in network.state_dict().items()
    }
    arrays = {
        "embedding": model.embedding_,
        "standardizer.mean": model._standardizer.mean,
        "standardizer.scale": model._standardizer.scale,
        **{f"dc_tree.{name}": value for name, value in model.dc_tree_.to_arrays().items()},
        **{f"clustering.{name}": value for name, value in model._clustering.to_arrays().items()},
    }
    return ModelContents(description, tensors, arrays)


def parameters_of(contents: ModelContents, network: torch.nn.Module | None) -> dict[str, Any]:
    """The parameters of the estimator that was saved."""
    saved = contents.description["parameters"]
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
    if parameters["network"] is None:
        if network is None:
            raise ModelFileError("This model was trained with a module of its own: give one of its kind as 'network'.")
        parameters["network"] = network
    return parameters


def restore(model: SHADE, contents: ModelContents) -> None:
    """Give an estimator with the saved parameters everything that fitting gave it."""
    description, arrays = contents.description, contents.arrays
    model._sample_shape = tuple(description["sample_shape"])
    model.n_features_in_ = math.prod(model._sample_shape)
    if description["feature_names"]:
        model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    model._standardizer = Standardizer(arrays["standardizer.mean"], arrays["standardizer.scale"])
    model.history_ = description["history"]
    model.n_iter_ = len(model.history_)
    model.embedding_ = arrays["embedding"]
    model._networks = [_restore_network(model, contents.tensors, member) for member in range(model.ensemble)]
    model._training = TrainingPoints(model.embedding_.astype(np.float64), model.min_points)
    model.dc_tree_ = DCTree(**_part(arrays, "dc_tree."))
    model.structure_tree_ = StructureTree.from_dc_tree(
        model.dc_tree_, model.selection, model.min_points, model.min_cluster_size
    )
    model._set_clustering(FlatClustering.from_arrays(_part(arrays, "clustering.")))


def describe_model(contents: ModelContents) -> dict[str, Any]:
    """What a model file tells about its model, without building it."""
    description, labels = contents.description, contents.arrays["clustering.labels"]
    history = description["history"]
    return {
        "format": description["format"],
        "versions": description["versions"],
        "rows": len(labels),
        "sample_shape": description["sample_shape"],
        "feature_names": description["feature_names"],
        "embedding_columns": contents.arrays["embedding"].shape[1],
        "weights": sum(tensor.numel() for tensor in contents.tensors.values()),
        "clusters": len(contents.arrays["clustering.limit"]),
        "noise": float(np.mean(labels < 0)),
        "cluster_sizes": np.bincount(labels[labels >= 0]).tolist(),
        "epochs": len(history),
        "losses": {name: value for name, value in history[-1].items() if name.endswith("loss")},
        "parameters": description["parameters"],
    }


def _restore_network(model: SHADE, tensors: dict[str, torch.Tensor], member: int) -> torch.nn.Module:
    generator = torch.Generator().manual_seed(0)  # the weights it draws are replaced
    module = build_network(model.network, model._network_shape(), model.embedding_size, generator, fresh=False)
    try:
        module.load_state_dict(_part(tensors, f"{member}."))
    except RuntimeError as error:
        raise ModelFileError(f"The weights in the model file do not fit the network: {error}") from None
    return module.eval()


def _part(values: dict[str, Any], prefix: str) -> dict[str, AnyArray | Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it: NumPy numbers become Python's, modules and generators are left out."""
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple) else value if isinstance(value, int | float | str | list) else None
