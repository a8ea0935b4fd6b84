"""Conversion between a fitted estimator and the contents of a model file."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import torch

from shade._base.arrays import FloatArray, IntArray, SingleArray, part_of
from shade._base.errors import ModelFileError, told_as
from shade._base.version import __version__
from shade.clustering.clustering import Clustering
from shade.clustering.selection import FlatClustering
from shade.clustering.shown import Shown
from shade.data.encoding import TableEncoding
from shade.data.standardize import Standardizer
from shade.density.dc_tree import DCTree
from shade.persistence.model_checks import (
    ESTIMATORS,
    check_clusters,
    check_contents,
    check_points,
    known_of,
    rule_of,
    strongest_split_of,
)
from shade.persistence.model_file import ModelContents
from shade.training.autoencoders import count_entries, has_decoder, outline_network, shape_for_network
from shade.training.inference import encode_rows

SAME = 2e-7  # relative error: rows are embedded in double precision and rounded to single
WAVES = 16
PROBE_ENTRIES = 1 << 25  # numbers in all layers for all probes: with large images, fewer probes are embedded again
NOT_SAVED = ("callbacks", "device")  # functions cannot be saved, and a model moves between machines


def contents_of(model: Any, *, decoder: bool = True) -> ModelContents:
    """Return everything that prediction and reclustering need. The training data of SHADE is not included."""
    _check_parameters_of_fit(model)
    if not decoder and isinstance(getattr(model, "network", None), torch.nn.Module):
        raise ValueError(
            "decoder=False works only with the networks of shade: in a module of yours, the part that decodes is not "
            "known. Save it without decoder=False."
        )
    clustering = model.clustering_
    parameters = {name: _plain(value) for name, value in model.get_params().items() if name not in NOT_SAVED}
    networks = getattr(model, "networks_", [])
    description = {
        "estimator": _name_of(model),
        "versions": {"shade": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "parameters": parameters,
        "sample_shape": list(getattr(model, "sample_shape_", (model.n_features_in_,))),
        "training_tree": getattr(model, "training_tree_", None),
        "precision": getattr(model, "precision_", None),
        "settled": clustering.settled,
        "of_data": clustering.shown.decides,
        "strongest_split": clustering.shown.strongest_split,
        "seed": getattr(model, "seed_", None),
        "reconstruction_limit": getattr(model, "reconstruction_limit_", None),
        "decoder": decoder and all(map(has_decoder, networks)),
        "history": getattr(model, "history_", []),
        "feature_names": list(getattr(model, "feature_names_in_", [])),
        "rule": {name: _plain(value) for name, value in asdict(clustering.rule).items()},
        "dimension": clustering.dimension,
        "grown": len(clustering.points) <= len(clustering.links) < 2 * (len(clustering.points) - 1),
    }
    if (encoding := getattr(model, "table_encoding_", None)) is not None:
        description["table"] = encoding.to_json()
    tensors = {
        f"{member}.{name}": tensor.clone(memory_format=torch.contiguous_format)  # a network may use a layer twice
        for member, network in enumerate(networks)
        for name, tensor in network.state_dict().items()
        if decoder or name.partition(".")[0] not in network.decoding
    }
    arrays = {
        "embedding": model.points_,
        "groups": clustering.shown.groups,
        "outside": np.flatnonzero(clustering.shown.outside),
        "links": clustering.links,
        **{f"dc_tree.{name}": value for name, value in clustering.dc_tree.to_arrays().items()},
        **{f"clustering.{name}": value for name, value in clustering.flat.to_arrays().items()},
    }
    if (counts := model.weights_) is not None:
        arrays["weights"] = counts
    if clustering.core is not None:
        arrays["core"] = clustering.core
    if clustering.numbers is not None:
        arrays["numbers"] = clustering.numbers
    if clustering.known is not None:
        rows = np.flatnonzero(clustering.known.labels >= 0)
        arrays |= {
            "known.rows": rows,
            "known.labels": clustering.known.labels[rows],
            "known.must_link": clustering.known.must_link,
            "known.cannot_link": clustering.known.cannot_link,
        }
    if networks:
        arrays |= {"standardizer.mean": model.standardizer_.mean, "standardizer.scale": model.standardizer_.scale}
        # An artificial row. With it and rows derived from it, a loaded model is compared with the saved one.
        row = model.standardizer_.undo(np.cos(np.arange(model.n_features_in_)))
        arrays |= {"probe.row": row, "probe.embedding": _embed_probes(model, row, np.arange(2 * WAVES))}
    return ModelContents(description, tensors, arrays)


def _name_of(model: Any) -> str:
    """Return the estimator that a file belongs to. For a subclass of a user, it is the estimator of shade."""
    return next((kind.__name__ for kind in type(model).__mro__ if kind.__name__ in ESTIMATORS), type(model).__name__)


def _check_parameters_of_fit(model: Any) -> None:
    """Raise an error if parameters were changed after fitting: the file would not describe its contents."""
    wanted, rule = vars(model), asdict(model.clustering_.rule)
    same = all(wanted[name] == value for name, value in rule.items() if name in wanted)
    same &= (wanted.get("metric") == "precomputed") == (model.clustering_.points.shape[1] == 0)
    if not same or wanted.get("n_networks") not in (None, getattr(model, "n_networks_", None)):
        raise ValueError(
            f"The parameters of this {type(model).__name__} are not those that it was fitted with: set them back, or "
            "fit again, before saving."
        )


def parameters_of(contents: ModelContents, allowed: set[str], network: torch.nn.Module | None) -> dict[str, Any]:
    """Return the parameters of the saved estimator; others keep their defaults."""
    check_contents(contents)
    saved = contents.description["parameters"]
    unknown = sorted(set(saved) - (allowed - set(NOT_SAVED)))
    if unknown:
        raise ModelFileError(
            f"The model file has parameters that this version of shade does not know: {unknown!s:.200}."
        )
    parameters = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
    if "network" in allowed and parameters.get("network") is None:
        if network is None:
            raise ModelFileError(
                "This model was trained with a torch module of yours. In Python, load it with shade.load(path, "
                "network=...) and a module of the same class."
            )
        parameters["network"] = network
    return parameters


def restore(model: Any, contents: ModelContents) -> None:
    """Set all fitted attributes of an estimator whose saved parameters have been checked."""
    description, arrays = contents.description, contents.arrays
    n = len(arrays["dc_tree.order"])
    if model.min_samples > n:
        raise ModelFileError(f"The model file has fewer rows than min_samples = {model.min_samples}.")
    model.n_features_in_ = math.prod(description["sample_shape"])
    if description["feature_names"]:
        model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    if description.get("table") is not None:
        model.table_encoding_ = TableEncoding.from_json(description["table"])
    if description["estimator"] == "SHADE":
        _restore_embedding(model, contents)
    outside, points = np.zeros(n, np.bool_), arrays["embedding"].astype(np.float64)
    if "weights" in arrays:
        model.set_weights(arrays["weights"], points)
        points = np.repeat(points, arrays["weights"], axis=0)
    outside[arrays["outside"]] = True
    clustering = Clustering(
        points,
        rule_of(description, vars(model)),
        float(description["dimension"]),
        DCTree(**part_of(arrays, "dc_tree.")),
        arrays["links"],
        Shown(arrays["groups"], outside, description["of_data"], strongest_split_of(description)),
        description["settled"],
        known_of(arrays),
        arrays.get("numbers"),
        arrays.get("core"),
    )
    check_points(clustering)
    check_clusters(clustering, FlatClustering.from_arrays(part_of(arrays, "clustering.")))
    model.set_clustering(clustering)


def _restore_embedding(model: Any, contents: ModelContents) -> None:
    """Set the attributes that SHADE has before it builds a tree."""
    description, arrays, tensors = contents.description, contents.arrays, contents.tensors
    model.sample_shape_ = tuple(description["sample_shape"])
    model.standardizer_ = Standardizer(arrays["standardizer.mean"], arrays["standardizer.scale"])
    model.training_tree_ = description["training_tree"]
    model.precision_ = description.get("precision", "float32")  # files of earlier versions do not have it
    model.settled_ = description["settled"]
    model.seed_ = description.get("seed")  # files of earlier versions have none
    model.reconstruction_limit_ = description.get("reconstruction_limit")
    model.history_ = description["history"]
    model.n_iter_ = len(model.history_)
    model.embedding_ = arrays["embedding"]
    members = {name.partition(".")[0] for name in tensors}
    model.n_networks_ = len(members) if model.n_networks is None else model.n_networks
    if not members or members != {str(member) for member in range(min(model.n_networks_, len(tensors) + 1))}:
        raise ModelFileError(f"The model file has no weights of {max(1, model.n_networks_)} networks.")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelFileError(f"The weights {name!r:.80} in the model file have values that are not numbers.")
    decoder = description.get("decoder", True) is not False
    parts = [part_of(tensors, f"{member}.") for member in range(model.n_networks_)]
    model.networks_ = [_restore_network(model, weights, decoder) for weights in parts]
    columns = model.embedding_.shape[1]
    row = torch.zeros(1, *_network_shape(model), dtype=torch.float32, device="cpu")
    entries = model.n_features_in_ + count_entries(model.networks_[0], row, "encode")
    some = max(2, min(len(arrays["probe.embedding"]), PROBE_ENTRIES // entries))
    probes = np.linspace(0, len(arrays["probe.embedding"]) - 1, some).astype(np.int64)
    expected = arrays["probe.embedding"][probes]
    found = _embed_probes(model, arrays["probe.row"], probes)
    if found.shape[1] != columns:
        raise ModelFileError(f"The networks embed into {found.shape[1]} columns, the embedding has {columns}.")
    if not np.allclose(found, expected, rtol=SAME, atol=SAME * float(np.abs(expected).max()), equal_nan=True):
        raise ModelFileError("The networks do not embed as they did when the model was saved: they are not the same.")


def _embed_probes(model: Any, row: FloatArray, probes: IntArray) -> SingleArray:
    """Embed a row, and rows made from it: the standardised row, multiplied by waves of other lengths.

    The second half are the negatives of the first half: a unit of a network that is nearly off for one is on for the
    other.
    """
    waves = np.cos(np.outer(probes % WAVES, np.arange(model.n_features_in_))).astype(np.float32)
    waves[probes >= WAVES] *= -1.0
    samples = torch.from_numpy(model.standardizer_.apply(row[None]) * waves).reshape(-1, *_network_shape(model))
    return np.hstack([encode_rows(network, samples, torch.device("cpu")).numpy() for network in model.networks_])


def _restore_network(model: Any, weights: dict[str, torch.Tensor], decoder: bool) -> torch.nn.Module:
    """Build the network with the saved weights. Sizes of our own networks are checked before memory is used."""
    own = isinstance(model.network, torch.nn.Module)
    if isinstance(model.network, tuple) and len(weights) != (2 + 2 * decoder) * (len(model.network) + 1):
        raise ModelFileError(f"The model file has {len(weights)} weights for {len(model.network)} hidden layers.")
    sizes = (model.embedding_size, *(model.network if isinstance(model.network, tuple) else ()))
    if not own and max(sizes) > sum(tensor.numel() for tensor in weights.values()):
        raise ModelFileError(f"The weights in the model file do not fit the network: a layer of {max(sizes)} has more.")
    what = "The weights in the model file do not fit the network"
    with told_as(ModelFileError, what, RuntimeError, OverflowError, TypeError, ValueError):
        module = outline_network(model.network, _network_shape(model), model.embedding_size)
        for part in () if own or decoder else cast(tuple[str, ...], module.decoding):
            setattr(module, part, None)
        if not own and any(tensor.dtype != torch.float32 for tensor in weights.values()):
            raise ModelFileError("The weights in the model file are not of float32.")
        module.load_state_dict(weights, assign=not own)
    return module.eval()


def _network_shape(model: Any) -> tuple[int, ...]:
    return shape_for_network(model.network, model.sample_shape_)


def _plain(value: Any) -> Any:
    """Convert a parameter for JSON: NumPy numbers become Python numbers; modules and generators become None."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, int | float | str) else None
