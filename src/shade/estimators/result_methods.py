"""What can be done with a result: explain it, draw a map of it, turn it into a table, save it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shade._base.arrays import FloatArray
from shade._base.extras import need
from shade._base.files import write_whole
from shade._base.result_folder import MODEL_NAME
from shade.estimators import cells
from shade.estimators.clustered import Clustered
from shade.layout import PointMap, map_points
from shade.metrics.explanation import Explanation, explain_labels

if TYPE_CHECKING:
    import pandas


class ResultMixin(Clustered):
    """Methods that use the result of a fit and do not change it."""

    _map: tuple[object, PointMap] | None = None  # the points of the map, and the map

    def explain(self, X: object, top: int = 5) -> Explanation:
        """Find for each cluster the features that separate its rows from all others, with the size of the effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that were clustered, in the same order. Other columns than those clustered are possible: they may
            describe the clusters. Or a text for each row, such as a column of a DataFrame: then the features are words.
        top : int, default=5
            Number of features per cluster.

        Returns
        -------
        Explanation
            Print it, read its arrays, or turn it into a table with `to_frame()`. The effect of a feature is Cliff's
            delta: 1 or −1 if the feature alone separates the cluster from the rest, and 0 if it does not separate them
            at all.

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> X = [[0.0, 7.0], [0.1, 3.0], [0.2, 5.0], [9.0, 7.0], [9.1, 3.0], [9.2, 5.0]]
        >>> model = DCTreeClustering(min_samples=2, selection="branches", min_cluster_size=3).fit(X)
        >>> print(model.explain(X, top=1))
        cluster 0: x0 -1.00 (0.1, others 9.1)
        cluster 1: x0 +1.00 (9.1, others 0.1)
        """
        check_is_fitted(self)
        names = None if hasattr(X, "columns") else getattr(self, "feature_names_in_", None)
        return explain_labels(X, self.labels_, top=top, feature_names=names)

    def map(self, X: object = None) -> FloatArray:
        """Return places of rows in two dimensions, for plots: clusters that merge late are far apart.

        The map is computed when it is first needed, which takes some seconds for tens of thousands of rows. It depends
        on `points_` alone, not on the order of the rows, the number of threads, or the clusters that are chosen. See
        `shade.layout.map_points`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            New rows. Each is placed at a weighted mean of the places of the nearest clustered rows. If None, the rows
            that were clustered.

        Returns
        -------
        ndarray of shape (n_samples, 2)

        Examples
        --------
        >>> from shade import DCTreeClustering
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = DCTreeClustering().fit(X)
        >>> model.map().shape, model.map(X[:3]).shape
        ((150, 2), (3, 2))
        """
        check_is_fitted(self)
        self._need_points("map")
        if self._map is None or self._map[0] is not self.points_:  # another fit has other points
            self._map = self.points_, map_points(self.points_, n_jobs=self.n_jobs)
        found = self._map[1]
        if X is None:
            return found.places.copy()
        return np.concatenate([found.place(points, n_jobs=self.n_jobs) for points in self._points_of(X)])

    def to_frame(self, ids: object = None, *, embedding: bool = False) -> pandas.DataFrame:
        """Return labels, probabilities and outlier scores of the training rows as a table.

        Parameters
        ----------
        ids : array-like of shape (n_samples,), optional
            Names of the rows, for the index of the table; row numbers if None. To join the result with a DataFrame that
            was clustered, give the index of that DataFrame.
        embedding : bool, default=False
            Add a column for each dimension of the embedding.

        Returns
        -------
        pandas.DataFrame
            Columns "label", "probability" and "outlier_score", then "embedding_0" and so on.
        """
        check_is_fitted(self)
        frame: pandas.DataFrame = need("pandas", "io", "to_frame").DataFrame(
            {"label": self.labels_, "probability": self.probabilities_, "outlier_score": self.outlier_scores_},
            index=None if ids is None else np.asarray(ids),
        )
        if embedding:
            for column, values in enumerate(self.points_.T):
                frame[f"embedding_{column}"] = values
        frame.index.name = "id"
        return frame

    def to_anndata(self, adata: Any = None, *, key: str = "shade") -> Any:
        """Write labels, probabilities and outlier scores into `obs` of an AnnData, and the embedding into `obsm`.

        Parameters
        ----------
        adata : AnnData or path, optional
            The rows that were clustered, in the same order. An AnnData is changed. So is the h5ad file at a path,
            without being read as a whole. If None, a new AnnData is made.
        key : str, default="shade"
            Name of the column of labels. The other columns begin with it, and the embedding of SHADE is called "X_"
            and this name.

        Returns
        -------
        AnnData, or None if a file was changed
        """
        check_is_fitted(self)
        if not key or "/" in key:
            raise ValueError(f"The 'key' parameter of to_anndata must be a name without '/'. Got {key!r} instead.")
        columns, name, embedding = cells.columns_of(self, key), f"X_{key}", getattr(self, "embedding_", None)
        if isinstance(adata, str | PathLike):
            cells.write_into_file(Path(adata), columns, name, embedding)
            return None
        if adata is None:
            adata = cells.new_anndata(len(self.labels_))
        return cells.write_into(adata, columns, name, embedding)

    def save(self, path: str | PathLike[str], *, decoder: bool = True) -> None:
        """Write the model to one file that `shade.load` reads.

        A file of DCTreeClustering holds the points of the fit. A file of SHADE holds the embedding and the networks,
        and the decoder turns the embedding back into approximate rows. Share such a file as carefully as the data.

        Parameters
        ----------
        path : str or path
            Usually ends in ".shade".
        decoder : bool, default=True
            Whether to save the decoders of SHADE's own networks. Without them, nobody can turn the embedding back into
            rows with the file alone, and the loaded model has no `inverse_transform`.
        """
        check_is_fitted(self)
        from shade.persistence.model_file import write_model_file  # here, since clustering alone needs no torch
        from shade.persistence.saved_state import contents_of

        write_model_file(path, contents_of(self, decoder=decoder))

    def save_folder(self, path: str | PathLike[str], *, title: str | None = None, decoder: bool = True) -> None:
        """Write a folder for a model hub: the model and a card, README.md. `shade.load` reads the folder.

        Parameters
        ----------
        path : str or path
            It is made if it does not exist. A model and a card in it are replaced.
        title : str, optional
            The first line of the card. If None, the name of the folder.
        decoder : bool, default=True
            As in `save`.
        """
        check_is_fitted(self)
        from shade.persistence.model_card import write_card
        from shade.persistence.model_file import read_model_file, write_model_file
        from shade.persistence.saved_state import contents_of

        folder, contents = Path(path), contents_of(self, decoder=decoder)
        folder.mkdir(parents=True, exist_ok=True)
        write_model_file(folder / MODEL_NAME, contents)
        card = write_card(read_model_file(folder / MODEL_NAME), title or folder.resolve().name)
        write_whole(folder / "README.md", card.encode())
