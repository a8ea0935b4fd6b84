"""Load models from files."""

from __future__ import annotations

import inspect
from os import PathLike
from typing import Any

from torch import nn

from shade._base.errors import DeviceError, ModelFileError
from shade._base.result_folder import model_path
from shade.estimators.dc_tree_clustering import DCTreeClustering
from shade.estimators.shade import SHADE
from shade.persistence.model_file import read_model_file
from shade.persistence.saved_state import parameters_of, restore


def load(path: str | PathLike[str], *, network: nn.Module | None = None, device: str = "auto") -> Any:
    """Load a model that `save` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : str or path
        A file, or the folder that `shade fit` wrote.
    network : torch module, optional
        Needed if the model was trained with a module of your own: a module of the same kind, whose weights are
        replaced.
    device : str, default="auto"
        Where the loaded model runs.

    Returns
    -------
    SHADE or DCTreeClustering
    """
    contents = read_model_file(model_path(path))
    try:
        deep = contents.description.get("estimator") == "SHADE"
        kind: Any = SHADE if deep else DCTreeClustering
        allowed = set(inspect.signature(kind).parameters)
        model = kind(**parameters_of(contents, allowed, network), device=device)
        model.check_parameters(to_fit=False)
        restore(model, contents)
    except DeviceError:
        raise
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    return model
