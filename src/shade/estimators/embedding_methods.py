"""What can be done with trained networks: embed rows, decode them, add rows, export the encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from shade._base import validation
from shade._base.arrays import FloatArray, SingleArray
from shade._base.files import new_array_file
from shade._base.parallel import resolve_device
from shade.data.standardize import Standardizer
from shade.estimators.row_checks import check_samples
from shade.estimators.tree_estimator import TreeClusteringMixin
from shade.training.autoencoders import has_decoder, shape_for_network
from shade.training.embedder import Embedder


class EmbeddingMixin(TreeClusteringMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Methods of SHADE that use its networks.

    It is a TransformerMixin itself, since scikit-learn's `set_output` wraps `transform` in the class that defines it.
    """

    network: Sequence[int] | str | nn.Module
    sample_shape_: tuple[int, ...]
    standardizer_: Standardizer
    networks_: list[nn.Module]
    embedding_: SingleArray
    reconstruction_limit_: float | None  # files of earlier versions have none

    def transform(self, X: object, *, out: str | PathLike[str] | None = None) -> SingleArray:
        """Embed rows. The embedding of a row does not depend on the other rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or images or data to be read as in `fit`
        out : str or path, optional
            A npy file to which the embedding is written block by block; the result is then a memmap of it.

        Returns
        -------
        ndarray of shape (n_samples, networks * embedding_size)
        """
        check_is_fitted(self)
        rows = check_samples(self, X, reset=False)
        if out is None:
            return self._embedder().embed(rows)
        with new_array_file(Path(out), (len(rows), self.embedding_.shape[1])) as embedding:
            self._embedder().embed(rows, embedding)
        return cast(SingleArray, np.load(out, mmap_mode="r"))

    def inverse_transform(self, Z: object) -> FloatArray:
        """Decode embedded rows to the unit and shape of the data. The results of several networks are averaged.

        Parameters
        ----------
        Z : array-like of shape (n_samples, networks * embedding_size)

        Returns
        -------
        ndarray of shape (n_samples, n_features), or images as in `fit`
        """
        check_is_fitted(self)
        if not all(map(has_decoder, self.networks_)):
            raise ValueError(
                "This SHADE was saved without its decoder, so it cannot turn the embedding back into rows."
            )
        points = validation.check_points(Z).astype(np.float32)
        if points.shape[1] != self.embedding_.shape[1]:
            columns = self.embedding_.shape[1]
            raise ValueError(f"Z has {points.shape[1]} columns, but the embedding of this SHADE has {columns}.")
        return self._embedder().decode(points).reshape(len(points), *self.sample_shape_)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the encoder with its standardisation as an ONNX file, which does `transform` without shade or torch.

        Parameters
        ----------
        path : str or path
            Usually ends in ".onnx". The input is "X", any number of samples in float32; the output is "embedding".
        """
        check_is_fitted(self)
        from shade.persistence.onnx_export import write_onnx

        write_onnx(path, self.standardizer_, self.networks_, self.sample_shape_, self._network_shape())

    def _embedder(self) -> Embedder:
        return Embedder(self.standardizer_, self.networks_, self._network_shape(), resolve_device(self.device))

    def _network_shape(self) -> tuple[int, ...]:
        return shape_for_network(self.network, self.sample_shape_)

    def _space_of(self, X: object) -> FloatArray:
        return self.standardizer_.apply(check_samples(self, X, reset=False)).astype(np.float64)

    def _points_of(self, X: object) -> Iterator[FloatArray]:
        return self._embedder().points(check_samples(self, X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
