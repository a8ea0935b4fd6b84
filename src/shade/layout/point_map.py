"""A map of points, and the places of new points in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from shade._base.arrays import FloatArray
from shade._base.validation import check_n_jobs, check_points
from shade.density.order import canonical_order, differs_from_last
from shade.density.search import AllPairs, KDTree, ProductBlocks, make_search
from shade.layout.arrangement import Arrangement
from shade.layout.descent import Attraction, descend

NEIGHBOURS = 30  # per row, which attract it with weights that decrease with the distance
PERPLEXITY = 20.0  # of these weights: the effective number of neighbours
FEWEST = 4  # distinct rows: for fewer, the map is their principal components
NEAREST = 5  # mapped rows that determine the place of a new row


@dataclass(frozen=True)
class PointMap:
    """Points of many dimensions and their places in two dimensions.

    Attributes
    ----------
    points : ndarray of shape (n_samples, n_dimensions)
    places : ndarray of shape (n_samples, 2)
        Neighbouring points have neighbouring places, and equal points the same place. Only this has a meaning, and
        roughly also the distances between clusters. The coordinates have no unit.
    """

    points: FloatArray
    places: FloatArray

    def place(self, points: object, *, n_jobs: int | None = None) -> FloatArray:
        """Return the places of new points: weighted means of the places of the five nearest mapped points.

        A point that is in the map gets its own place. The place of a point does not depend on other new points.

        Parameters
        ----------
        points : array-like of shape (n_new, n_dimensions)
        n_jobs : int, optional
            Number of threads; all cores if None.

        Returns
        -------
        ndarray of shape (n_new, 2)
        """
        check_n_jobs(n_jobs, "PointMap.place")
        queries = check_points(points)
        if queries.shape[1] != self.points.shape[1]:
            raise ValueError(
                f"The new points must have as many columns as the mapped ones, {self.points.shape[1]}. "
                f"Got {queries.shape[1]} instead."
            )
        if self.points.shape[1] <= 2:
            return _as_plane(queries)
        distinct, places, search = self._index
        found, squared = search.nearest(queries, min(NEAREST + 1, len(distinct)), n_jobs)
        return _weighted_mean(places[found], squared)

    @cached_property
    def _index(self) -> tuple[FloatArray, FloatArray, KDTree | AllPairs | ProductBlocks]:
        """Distinct points, their places, and a search among them, built at the first use."""
        order = canonical_order(self.points)
        first = order[differs_from_last(self.points, order)]
        distinct = self.points[first]
        return distinct, self.places[first], make_search(distinct)


def map_points(points: object, *, n_jobs: int | None = None) -> PointMap:
    """Place points in two dimensions so that clusters are apart.

    Neighbouring points attract each other and all points repel each other, as in t-SNE. Branches of the density tree
    that merge late are kept far apart. The map depends only on the points. The order of the rows and the number of
    threads do not change it, and on the same kind of processor it is always the same. Points of at most two dimensions
    are not changed.

    Parameters
    ----------
    points : array-like of shape (n_samples, n_dimensions)
    n_jobs : int, optional
        Number of threads; all cores if None.

    Returns
    -------
    PointMap

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from shade.layout import map_points
    >>> found = map_points(load_iris().data)
    >>> found.places.shape
    (150, 2)
    >>> bool((found.place(load_iris().data[:3]) == found.places[:3]).all())
    True
    """
    check_n_jobs(n_jobs, "map_points")
    checked = check_points(points)
    if checked.shape[1] <= 2:
        return PointMap(checked, _as_plane(checked))
    # Each distinct point once, in an order that depends only on the points. So equal points have one place, and the
    # order of the rows changes nothing.
    order = canonical_order(checked)
    new = differs_from_last(checked, order)
    with threadpool_limits(1, user_api="blas"):  # on several threads, products differ in their last bits
        laid_out = _lay_out(_scaled(checked[order[new]]), n_jobs)
    places = np.empty((len(checked), 2))
    places[order] = laid_out[np.cumsum(new) - 1]
    return PointMap(checked, places)


def _lay_out(distinct: FloatArray, n_jobs: int | None) -> FloatArray:
    """Return the places of distinct points."""
    components = _first_components(distinct)
    if len(distinct) < FEWEST:
        return components
    count = min(NEIGHBOURS, len(distinct) - 1)
    found, squared = make_search(distinct).nearest(distinct, count + 1, n_jobs)
    # If there are few points, the weights must still decrease with the distance.
    perplexity = min(PERPLEXITY, 2.0 * count / 3.0)
    attraction = Attraction.of_neighbours(found[:, 1:].copy(), squared[:, 1:].copy(), perplexity, n_jobs)
    arrangement = Arrangement.of_points(distinct, n_jobs)
    return _turned(descend(arrangement.start(components), attraction, arrangement, n_jobs))


def _scaled(points: FloatArray) -> FloatArray:
    """Centre points at zero and scale them, so that no square is too large or too small."""
    centred = points - points.mean(axis=0)
    largest = float(np.abs(centred).max())
    scaled: FloatArray = centred / largest if largest > 0 else centred
    return scaled


def _first_components(points: FloatArray) -> FloatArray:
    """Return the first two principal components of each point."""
    centred = points - points.mean(axis=0)
    _, _, directions = np.linalg.svd(np.linalg.qr(centred, mode="r"), full_matrices=False)
    flat = np.zeros((len(points), 2))
    flat[:, : min(2, len(directions))] = centred @ directions[:2].T
    return _turned(flat)


def _turned(places: FloatArray) -> FloatArray:
    """Centre places at zero, rotate them to be widest along x, and mirror them so that the farther end is positive."""
    centred = places - places.mean(axis=0)
    (xx, xy), (_, yy) = centred.T @ centred
    angle = 0.5 * np.arctan2(2.0 * xy, xx - yy)
    cosine, sine = np.cos(angle), np.sin(angle)
    turned: FloatArray = centred @ np.array([[cosine, -sine], [sine, cosine]])
    return turned * np.where(turned.max(axis=0) >= -turned.min(axis=0), 1.0, -1.0)


def _weighted_mean(places: FloatArray, squared: FloatArray) -> FloatArray:
    """Return means of neighbours' places. Weights decrease with the squared distance, to zero at the last neighbour.

    So a place does not jump if another point becomes the last neighbour.
    """
    nearest = np.maximum(squared[:, :1], np.finfo(np.float64).tiny)
    weights = nearest / np.maximum(squared, np.finfo(np.float64).tiny)
    if squared.shape[1] > NEAREST:
        weights = weights - weights[:, -1:]
    weights[weights.sum(axis=1) == 0.0] = 1.0  # all neighbours are equally far
    weights[squared[:, 0] == 0.0, 1:] = 0.0
    means: FloatArray = (weights[:, :, None] * places).sum(axis=1) / weights.sum(axis=1)[:, None]
    return means


def _as_plane(points: FloatArray) -> FloatArray:
    """Return points of one or two dimensions unchanged, as two columns."""
    return np.column_stack([points, np.zeros(len(points))]) if points.shape[1] == 1 else points.copy()
