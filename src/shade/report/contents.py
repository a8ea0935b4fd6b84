"""What a report shows, as plain values: points, clusters for each number of them, and what was run."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from shade import __version__
from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade._base.extras import installed_versions
from shade.clustering.clustering import finish
from shade.clustering.selection import FlatClustering, select_each_number, total_stabilities
from shade.clustering.structure_tree import StructureTree
from shade.metrics.explanation import explain_groups
from shade.plots.palette import DARK_NOISE_COLOUR, NOISE_COLOUR, cluster_colours
from shade.report.samples import KnownSamples
from shade.report.thumbnails import make_sheet

if TYPE_CHECKING:
    from shade.estimators.tree_estimator import TreeClusteringMixin

MOST_NUMBERS = 40
MOST_COLOURS = 120
MOST_EXEMPLARS = 8
TOP_FEATURES = 5
PACKAGES = ("numpy", "scipy", "torch", "numba", "bokeh")  # whose versions a report names
NARROW = 255  # clusters of which the labels fit into a byte, and the byte of noise
MOST_OUTSIDE = 4_000_000  # characters for the labels of rows in no branch, over all numbers of clusters

# Together with the points and the drawing library, these keep a report of 70,000 images under 15 MB.
GALLERY = {"longest_side": 56, "most_pixels": 6_000_000, "most_bytes": 1_200_000}
HOVER = {"longest_side": 64, "most_pixels": 12_000_000, "most_bytes": 4_200_000}


@dataclass
class ClusterTable:
    """Every cluster of any clustering that the page can show, each once; its branch is a range of the tree's order."""

    tree: StructureTree
    places: dict[tuple[float, ...], int] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    position: IntArray = field(init=False)  # of each row in the order

    def __post_init__(self) -> None:
        self.position = np.argsort(self.tree.order)

    def add(self, clustering: FlatClustering) -> dict[str, Any]:
        """A clustering as the page reads it: the numbers of its clusters, and the labels of rows in no branch."""
        codes, labels = clustering.branch_labels[self.tree.order], clustering.labels[self.tree.order]
        merges, everything = self.tree.merges, np.ones(len(codes), np.bool_)
        numbers, outside = [], codes < 0
        by_label = np.argsort(codes, kind="stable")[np.sum(outside) :]
        sizes = np.bincount(codes[by_label], minlength=clustering.n_clusters)
        for label, rows in enumerate(np.split(by_label, np.cumsum(sizes))[:-1]):
            key = int(rows[0]), int(rows[-1]) + 1
            node = merges.covering_node(*key)
            if merges.size[node] != len(rows):  # some of its branch are noise
                key, outside = (int(merges.start[node]), int(merges.stop[node])), everything
                if np.any((codes[slice(*key)] != label) & (codes[slice(*key)] >= 0)):
                    raise ValueError("The clusters of this model are not branches of its tree: was it altered?")
            place = *key, clustering.death[label], clustering.limit[label]
            if place not in self.places:
                self.places[place] = len(self.records)
                self.records.append(self._describe(clustering, label, key))
            numbers.append(self.places[place])
        return {"clusters": numbers, **_pack_outside(labels[outside], clustering.n_clusters)}

    def _describe(self, clustering: FlatClustering, label: int, key: tuple[int, int]) -> dict[str, Any]:
        merges = self.tree.merges
        node = merges.covering_node(*key)
        birth = float(np.append(merges.height, np.inf)[merges.parent[node]])
        death, stability = float(clustering.death[label]), float(clustering.stability[label])
        return {
            "start": key[0],
            "stop": key[1],
            "birth": min(birth, float(clustering.limit[label])),
            "death": death,
            # A member's strength is this over the distance it leaves at, or over that of the birth for outskirts.
            "core": death,
            "persistence": float(clustering.persistence[label]),
            "stability": stability if np.isfinite(stability) else None,
            "exemplars": self._pick_exemplars(clustering.exemplars[label]),
            "features": [],
        }

    def _pick_exemplars(self, rows: IntArray) -> list[int]:
        """A few rows from all along the order of the tree, so from different branches."""
        ordered = rows[np.argsort(self.position[rows])]
        places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_EXEMPLARS)).round().astype(np.int64)
        return [int(row) for row in ordered[places]]

    def explain(self, table: AnyArray, names: Sequence[str] | None) -> None:
        """Tell each cluster by the features that set it apart."""
        groups = [self.tree.order[record["start"] : record["stop"]] for record in self.records]
        explained = explain_groups(table, groups, top=TOP_FEATURES, feature_names=names)
        for place, record in enumerate(self.records):
            record["features"] = [
                {
                    "name": explained.feature_names[feature],
                    "effect": round(float(explained.effects[place, feature]), 3),
                    # The middle of two values near the largest number is infinite.
                    "inside": float(np.nan_to_num(explained.inside[place, rank])),
                    "outside": float(np.nan_to_num(explained.outside[place, rank])),
                }
                for rank, feature in enumerate(explained.features[place])
                if abs(explained.effects[place, feature]) > 0.01
            ]


def gather_contents(
    model: TreeClusteringMixin, samples: KnownSamples, flat: FloatArray, axes: tuple[str, str]
) -> dict[str, Any]:
    """Everything that the page's own program reads."""
    tree = model.structure_tree_
    available = int(tree.n_leaves[0])
    most = min(available, max(MOST_NUMBERS, min(model.n_clusters_ + 10, MOST_COLOURS)))
    clusters = ClusterTable(tree)
    fitted = clusters.add(model.clustering_.flat)
    if not model.clustering_.of_branches:
        fitted["leaving"] = pack(np.maximum(tree.size_branches.leaving, tree.floor), np.float32)
    numbers, fitted_number = _add_numbers(model, clusters, most)
    table = samples.table
    if table is None and samples.images is None and not hasattr(model, "embedding_"):
        table = model.points_
    if table is not None:
        known = samples.feature_names
        clusters.explain(table, getattr(model, "feature_names_in_", None) if known is None else known)
    order = tree.order
    return {
        "points": {
            "x": pack(flat[order, 0], np.float32),
            "y": pack(flat[order, 1], np.float32),
            "row": pack(order, np.int32),
            "reachability": pack(_finite(model.dc_tree_.reachability), np.float32),
            "leaving": pack(np.maximum(tree.branches.leaving, tree.floor), np.float32),
            "outlier": pack(model.outlier_scores_[order], np.float32),
        },
        "axes": axes,
        "ids": None if samples.ids is None else [samples.ids[row] for row in order],
        "truth": None if samples.labels is None else _encode_texts(samples.labels, order),
        "clusters": clusters.records,
        "numbers": numbers,
        "fitted": fitted,
        "fittedNumber": fitted_number,
        "available": available,
        "stability": [round(float(total), 6) for total in total_stabilities(tree, most)],
        "palette": {
            "light": _hex(cluster_colours(MOST_COLOURS)),
            "dark": _hex(cluster_colours(MOST_COLOURS, dark=True)),
        },
        "noise": {"light": _hex([NOISE_COLOUR])[0], "dark": _hex([DARK_NOISE_COLOUR])[0]},
        "thumbnails": None if samples.images is None else _thumbnails(samples.images, clusters, tree.order),
    }


def describe_run(model: Any, samples: KnownSamples) -> dict[str, Any]:
    """What was run on what and how long, for the header and the tables of the page."""
    history = getattr(model, "history_", None) or []
    facts = {
        "Estimator": type(model).__name__,
        "Rows": f"{len(model.labels_):,}",
        "Features": f"{model.n_features_in_:,}",
        "Clusters": f"{model.n_clusters_:,}",
        "Noise": f"{np.mean(model.labels_ < 0):.1%}",
    }
    if history:
        facts["Embedding"] = f"{model.embedding_.shape[1]} dimensions"
        networks = len({record.get("network", 0) for record in history})
        seconds = sum(record.get("seconds", 0.0) for record in history)
        epochs, took = f"{len(history) // networks:,} epochs", format_seconds(seconds / networks)
        # Networks may have trained side by side, so their times do not add up to one that anybody waited.
        facts["Training"] = f"{networks} networks, {epochs} in {took} each" if networks > 1 else f"{epochs} in {took}"
    given = {
        name: value for name, value in model.get_params(deep=False).items() if name not in ("verbose", "callbacks")
    }
    return {
        "facts": facts,
        "parameters": {name: shorten(str(value), 200) for name, value in given.items()},
        "source": samples.source,
        "notes": samples.notes,
        "versions": {"shade": __version__, "python": platform.python_version(), **installed_versions(PACKAGES)},
    }


def format_seconds(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def pack(values: AnyArray, dtype: Any) -> str:
    """An array as base64 of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes()).decode()


def _pack_outside(labels: IntArray, n_clusters: int) -> dict[str, Any]:
    """Labels of rows in no branch, in as few bytes as will do; none where all are noise."""
    if (labels < 0).all():
        return {"outside": None}
    if n_clusters <= NARROW:
        return {"outside": pack(np.where(labels < 0, NARROW, labels), np.uint8), "narrow": True}
    return {"outside": pack(labels, np.int32), "narrow": False}


def _thumbnails(images: AnyArray, clusters: ClusterTable, order: IntArray) -> dict[str, Any]:
    """A sharp sheet of exemplars, and a small picture of as many rows as fit."""
    exemplars = sorted({row for record in clusters.records for row in record["exemplars"]})
    everything = make_sheet(images, np.arange(len(order)), **HOVER)
    shown = everything.pop("rows")
    everything["step"] = shown[1] - shown[0] if len(shown) > 1 else 1
    return {"exemplars": make_sheet(images, np.array(exemplars, np.int64), **GALLERY), "everything": everything}


def _add_numbers(model: TreeClusteringMixin, clusters: ClusterTable, most: int) -> tuple[list[dict[str, Any]], int]:
    """What `recluster` finds for each number of clusters, and the number that is as fitted, 0 if none is.

    Beyond the fitted number there are as many as leave the page small.
    """
    tree, numbers, fitted, taken = model.structure_tree_, [], 0, 0
    rule = replace(model.clustering_.rule, n_clusters=int(tree.n_leaves[0]), cut_distance=None)
    asked = replace(model.clustering_, rule=rule)
    for number, branches in enumerate(select_each_number(tree, most), 1):
        clustering = finish(asked, branches)
        if np.array_equal(clustering.labels, model.labels_):
            fitted = number
        numbers.append(clusters.add(clustering))
        taken += len(numbers[-1]["outside"] or "")
        if taken > MOST_OUTSIDE and number >= model.n_clusters_:
            break
    return numbers, fitted


def _finite(reachability: FloatArray) -> FloatArray:
    """The first point has no reachability: it is drawn as high as the highest wall."""
    finite = np.isfinite(reachability)
    return np.where(finite, reachability, reachability[finite].max(initial=0.0))


def _encode_texts(texts: tuple[str, ...], order: IntArray) -> dict[str, Any]:
    names, codes = np.unique(np.array(texts, object).astype(str), return_inverse=True)
    return {"names": names.tolist(), "codes": pack(codes[order], np.int32)}


def _hex(colours: Any) -> list[str]:
    levels = np.asarray(np.asarray(colours) * 255).round().astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in levels]
