"""The contents of a report as plain values: points, clusters for each number of clusters, and facts on the run."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from shade import __version__
from shade._base.arrays import AnyArray, FloatArray, IntArray
from shade._base.extras import installed_versions
from shade.clustering.clustering import Clustering, finish
from shade.clustering.joining import join_clusters
from shade.clustering.layers import find_layers
from shade.clustering.number_scores import score_numbers
from shade.clustering.reliability import Reliability
from shade.clustering.selection import FlatClustering, select_each_number
from shade.clustering.structure_tree import StructureTree
from shade.data.samples import counted
from shade.estimators.result_warnings import explain_few_clusters, explain_noise, next_splits
from shade.metrics.explanation import Explanation, explain_groups
from shade.plots.palette import DARK_NOISE_COLOUR, NOISE_COLOUR, cluster_colours
from shade.report.columns import describe_words, free_text, pack_columns, pick_columns
from shade.report.packing import pack
from shade.report.samples import KnownSamples
from shade.report.thumbnails import make_sheet
from shade.report.views import View

if TYPE_CHECKING:
    from shade.estimators.tree_estimator import TreeClusteringMixin

MOST_NUMBERS = 40
MOST_COLOURS = 120
MOST_EXEMPLARS = 8
TOP_FEATURES = 5
PACKAGES = ("numpy", "scipy", "torch", "numba", "bokeh")  # whose versions are in a report
NARROW = 255  # largest number of clusters whose labels fit into a byte, together with noise
MOST_OUTSIDE = 4_000_000  # characters for the labels of rows in no branch, summed over all numbers of clusters

ALTERED = "The clusters of this model are not branches of its tree: was it altered?"

# With these sizes, a report of 70,000 images has less than 15 MB, with its points and the drawing library.
GALLERY = {"longest_side": 56, "most_pixels": 6_000_000, "most_bytes": 1_200_000}
HOVER = {"longest_side": 64, "most_pixels": 12_000_000, "most_bytes": 4_200_000}


@dataclass
class ClusterTable:
    """All clusters of all clusterings in the page, each stored once. A branch is a range of the tree's order."""

    tree: StructureTree
    places: dict[tuple[object, ...], int] = field(default_factory=dict)
    records: list[dict[str, Any]] = field(default_factory=list)
    rows: list[IntArray] = field(default_factory=list)  # per record, the rows in its branches
    position: IntArray = field(init=False)  # of each row in the order

    def __post_init__(self) -> None:
        self.position = np.argsort(self.tree.order)

    def add(self, clustering: FlatClustering, *, scattered: bool = False) -> dict[str, Any]:
        """Add a clustering. Return it for the page: the numbers of its clusters, and labels of rows in no branch.

        Clusters that known labels have divided are `scattered`: their rows need not be those of a branch.
        """
        codes, labels = clustering.branch_labels[self.tree.order], clustering.labels[self.tree.order]
        merges, everything = self.tree.merges, np.ones(len(codes), np.bool_)
        numbers, outside = [], codes < 0
        by_label = np.argsort(codes, kind="stable")[np.sum(outside) :]
        sizes = np.bincount(codes[by_label], minlength=clustering.n_clusters)
        for label, rows in enumerate(np.split(by_label, np.cumsum(sizes))[:-1]):
            key = int(rows[0]), int(rows[-1]) + 1
            node = merges.covering_node(*key)
            if merges.size[node] != len(rows):  # some rows of the branch are noise
                key, outside = (int(merges.start[node]), int(merges.stop[node])), everything
                if not scattered and np.any((codes[slice(*key)] != label) & (codes[slice(*key)] >= 0)):
                    raise ValueError(ALTERED)
            place = *key, clustering.death[label], clustering.limit[label], *([label] if scattered else [])
            if place not in self.places:
                described = self._describe(clustering, label, key)
                own = self.tree.order[slice(*key)]
                rows_of = np.flatnonzero(clustering.labels == label) if scattered else own
                self._keep(place, described, clustering.exemplars[label], rows_of)
            numbers.append(self.places[place])
        return {"clusters": numbers, **_pack_outside(labels[outside], clustering.n_clusters)}

    def add_joined(self, parts: Sequence[int], found: FlatClustering, joined: FlatClustering) -> dict[str, Any]:
        """Add a clustering whose clusters consist of found ones. Return its clusters and the new labels of those."""
        labels = _labels_of_parts(found, joined)
        if labels is None:
            raise ValueError(ALTERED)
        numbers = []
        for label in range(joined.n_clusters):
            own = tuple(parts[part] for part in np.flatnonzero(labels == label).tolist())
            if len(own) > 1 and ("joined", *own) not in self.places:  # the record is based on that of the largest part
                rows = np.concatenate([self.rows[part] for part in own])
                described = {
                    **self.records[own[0]],
                    "core": float(joined.death[label]),
                    "persistence": float(joined.persistence[label]),
                }
                self._keep(("joined", *own), described, joined.exemplars[label], rows)
            numbers.append(self.places["joined", *own] if len(own) > 1 else own[0])
        return {"clusters": numbers, "joined": labels.tolist()}

    def _keep(self, place: tuple[object, ...], described: dict[str, Any], exemplars: IntArray, rows: IntArray) -> None:
        self.places[place] = len(self.records)
        self.records.append({**described, "exemplars": self._pick_exemplars(exemplars), "features": []})
        self.rows.append(rows)

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
            # A row's strength is this divided by the distance at which it leaves, for outskirts by that of the birth.
            "core": death,
            "persistence": float(clustering.persistence[label]),
            "stability": stability if np.isfinite(stability) else None,
        }

    def _pick_exemplars(self, rows: IntArray) -> list[int]:
        """Return a few rows, evenly spread over the order of the tree, so from different branches."""
        ordered = rows[np.argsort(self.position[rows])]
        places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_EXEMPLARS)).round().astype(np.int64)
        return [int(row) for row in ordered[places]]

    def explain(self, table: AnyArray, names: Sequence[str] | None) -> Explanation:
        """Add to each cluster the features that separate it from the others."""
        explained = explain_groups(table, self.rows, top=TOP_FEATURES, feature_names=names)
        for place, record in enumerate(self.records):
            record["features"] = [
                {
                    "name": explained.feature_names[feature],
                    "effect": round(float(explained.effects[place, feature]), 3),
                    # The median can be infinite if two middle values are near the largest number.
                    "inside": float(np.nan_to_num(explained.inside[place, rank])),
                    "outside": float(np.nan_to_num(explained.outside[place, rank])),
                }
                for rank, feature in enumerate(explained.features[place])
                if abs(explained.effects[place, feature]) > 0.01
            ]
        return explained


def gather_contents(model: TreeClusteringMixin, samples: KnownSamples, views: Sequence[View]) -> dict[str, Any]:
    """Return all values that the script of the page reads."""
    tree = model.structure_tree_
    available = int(tree.n_leaves[0])
    most = min(available, max(MOST_NUMBERS, min(model.n_clusters_ + 10, MOST_COLOURS)))
    clusters = ClusterTable(tree)
    fitted, own = model.clustering_, replace(model.clustering_.rule, n_clusters=None, cut_distance=None)
    # Other numbers of clusters are shown without what is known.
    free = (
        fitted if fitted.rule == own and fitted.known is None else replace(fitted, rule=own, known=None, numbers=None)
    )
    found = _add(free, free.parts, clusters)
    if fitted.joins and fitted.rule.cut_distance is None:
        as_fitted = clusters.add_joined(found["clusters"], free.parts, fitted.flat)
    else:
        as_fitted = _add(fitted, fitted.flat, clusters)
    numbers, fitted_number = _add_numbers(model, free, found["clusters"], clusters, most)
    layers = _add_layers(fitted, free, found["clusters"], clusters)
    table = samples.table
    if table is None and samples.images is None and not hasattr(model, "embedding_"):
        table = model.points_
    effects: dict[str, FloatArray] = {}
    if table is not None:
        known = samples.feature_names
        told = clusters.explain(table, getattr(model, "feature_names_in_", None) if known is None else known)
        effects = dict(zip(told.feature_names, np.abs(told.effects[as_fitted["clusters"]]).T, strict=True))
    if (text := free_text(samples.columns)) is not None:
        words = describe_words(samples.columns[text].tolist(), clusters.rows, TOP_FEATURES)
        for record, found_words in zip(clusters.records, words, strict=True):
            record["words"] = found_words
    order = tree.order
    columns, left_out = pack_columns(samples.columns, order, effects)
    return {
        "columns": columns,
        "picked": pick_columns([column["name"] for column in columns], effects),
        "leftOut": left_out,
        "layers": layers,
        "reliability": describe_reliability(model.reliability()),
        "points": {
            "row": pack(order, np.int32),
            "reachability": pack(_finite(model.dc_tree_.reachability), np.float32),
            "leaving": pack(np.maximum(tree.branches.leaving, tree.floor), np.float32),
            "outlier": pack(model.outlier_scores_[order], np.float32),
        },
        "views": [{**view.describe(model.labels_ >= 0), **_pack_places(view.places[order])} for view in views],
        "ids": None if samples.ids is None else [samples.ids[row] for row in order],
        "truth": None if samples.labels is None else _encode_texts(samples.labels, order),
        "clusters": clusters.records,
        "found": found,
        "numbers": numbers,
        "fitted": as_fitted,
        "fittedNumber": fitted_number,
        "available": available,
        "scores": [round(float(score), 6) for score in score_numbers(model.clustering_, most)],
        "palette": {
            "light": _hex(cluster_colours(MOST_COLOURS)),
            "dark": _hex(cluster_colours(MOST_COLOURS, dark=True)),
        },
        "noise": {"light": _hex([NOISE_COLOUR])[0], "dark": _hex([DARK_NOISE_COLOUR])[0]},
        "thumbnails": None if samples.images is None else _thumbnails(samples.images, clusters, tree.order),
    }


def describe_reliability(found: Reliability) -> list[dict[str, float | None]]:
    """Return the figures of each cluster, rounded; None where there is none."""
    names = ("evidence", "limit", "stability", "separation")
    figures = np.column_stack([getattr(found, name) for name in names]).round(3)
    return [
        {name: value if np.isfinite(value) else None for name, value in zip(names, row, strict=True)}
        for row in figures.tolist()
    ]


def describe_run(model: Any, samples: KnownSamples, command: str | None = None) -> dict[str, Any]:
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
        facts["Embedding"] = counted(model.embedding_.shape[1], "dimension")
        networks = len({record.get("network", 0) for record in history})
        seconds = sum(record.get("seconds", 0.0) for record in history)
        epochs, took = counted(len(history) // networks, "epoch"), format_seconds(seconds / networks)
        # Networks may have trained side by side, so the sum of their times is not the time of the training.
        facts["Training"] = f"{networks} networks, {epochs} in {took} each" if networks > 1 else f"{epochs} in {took}"
    if getattr(model, "seed_", None) is not None:
        facts["Seed"] = str(model.seed_)
    given = {
        name: value for name, value in model.get_params(deep=False).items() if name not in ("verbose", "callbacks")
    }
    return {
        "facts": facts,
        "advice": _advise(model.clustering_, command),
        "parameters": {name: shorten(str(value), 200) for name, value in given.items()},
        "source": samples.source,
        "notes": samples.notes,
        "versions": {"shade": __version__, "python": platform.python_version(), **installed_versions(PACKAGES)},
    }


def _advise(clustering: Clustering, command: str | None) -> list[str]:
    """What a result of one cluster, or of much noise, means, and what can be done next."""
    advice = [sentence for sentence in (explain_few_clusters(clustering), explain_noise(clustering)) if sentence]
    for changes in re.findall(r"recluster\((.+?)\)", " ".join(advice)):
        pairs = (change.split("=") for change in changes.replace("_", "-").split(", "))
        options = (f"--no-{name}" if value == "False" else f"--{name} {value}" for name, value in pairs)
        advice.append(f"In a terminal, in the folder of model.shade: shade recluster . {' '.join(options)}")
    if "set_params(background_noise=False)" in " ".join(advice):
        fitted_by = command or "the same shade fit with"
        advice.append(f"In a terminal: {fitted_by} --no-background-noise --overwrite")
    if clustering.flat.n_clusters == 1 and (sizes := next_splits(clustering)):
        parts = (f"{len(own)} clusters of {', '.join(f'{size:,}' for size in own)} rows" for own in sizes)
        advice.append(f"The next splits would give {', or '.join(parts)}.")
    return advice


def format_seconds(seconds: float) -> str:
    """Return a duration as readable text."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _pack_places(places: FloatArray) -> dict[str, str]:
    return {"x": pack(places[:, 0], np.float32), "y": pack(places[:, 1], np.float32)}


def _pack_outside(labels: IntArray, n_clusters: int) -> dict[str, Any]:
    """Return labels of rows in no branch, in as few bytes as possible; None if all are noise."""
    if (labels < 0).all():
        return {"outside": None}
    if n_clusters <= NARROW:
        return {"outside": pack(np.where(labels < 0, NARROW, labels), np.uint8), "narrow": True}
    return {"outside": pack(labels, np.int32), "narrow": False}


def _thumbnails(images: AnyArray, clusters: ClusterTable, order: IntArray) -> dict[str, Any]:
    """Return a sharp sheet of exemplars, and a sheet with small images of as many rows as fit."""
    exemplars = sorted({row for record in clusters.records for row in record["exemplars"]})
    everything = make_sheet(images, np.arange(len(order)), **HOVER)
    shown = everything.pop("rows")
    everything["step"] = shown[1] - shown[0] if len(shown) > 1 else 1
    return {"exemplars": make_sheet(images, np.array(exemplars, np.int64), **GALLERY), "everything": everything}


def _add(clustering: Clustering, flat: FlatClustering, clusters: ClusterTable) -> dict[str, Any]:
    added = clusters.add(flat, scattered=clustering.known is not None)
    if not clustering.of_branches:
        tree = clustering.structure_tree
        added["leaving"] = pack(np.maximum(tree.size_branches.leaving, tree.floor), np.float32)
    return added


def _add_numbers(
    model: TreeClusteringMixin, free: Clustering, parts: Sequence[int], clusters: ClusterTable, most: int
) -> tuple[list[dict[str, Any]], int]:
    """Return what `recluster` finds for each number of clusters, and the number equal to the fit, or 0.

    Above the fitted number, there are as many as keep the page small.
    """
    tree, numbers, fitted, taken = model.structure_tree_, [], 0, 0
    asked = replace(free, rule=replace(free.rule, n_clusters=int(tree.n_leaves[0])))
    for number, branches in enumerate(select_each_number(tree, most), 1):
        if number <= free.parts.n_clusters:
            flat = join_clusters(free.parts, free.joining_order, number, free.dc_tree)
            numbers.append(clusters.add_joined(parts, free.parts, flat))
        else:
            flat = finish(asked, branches)
            numbers.append(clusters.add(flat))
            taken += len(numbers[-1]["outside"] or "")
        if np.array_equal(flat.labels, model.labels_):
            fitted = number
        if taken > MOST_OUTSIDE and number >= model.n_clusters_:
            break
    return numbers, fitted


def _add_layers(
    fitted: Clustering, free: Clustering, parts: Sequence[int], clusters: ClusterTable
) -> list[dict[str, Any] | None]:
    """Return the layers of a model, the coarsest first; None is the clustering of the fit."""
    layers = find_layers(fitted)
    added: list[dict[str, Any] | None] = []
    for layer, flat in enumerate(layers.clusterings):
        if layer == layers.chosen:
            added.append(None)
        elif _labels_of_parts(free.parts, flat) is not None:
            added.append(clusters.add_joined(parts, free.parts, flat))
        else:
            added.append(clusters.add(flat, scattered=fitted.known is not None or layer < layers.chosen))
    return added


def _labels_of_parts(found: FlatClustering, joined: FlatClustering) -> IntArray | None:
    """Return the label that each found cluster has in another clustering; None if it does not consist of them."""
    labels, inside = np.empty(found.n_clusters, np.int64), found.labels >= 0
    labels[found.labels[inside]] = joined.labels[inside]
    return labels if np.array_equal(np.append(labels, -1)[found.labels], joined.labels) else None


def _finite(reachability: FloatArray) -> FloatArray:
    """Replace the infinite reachability of the first point by the highest finite one."""
    finite = np.isfinite(reachability)
    return np.where(finite, reachability, reachability[finite].max(initial=0.0))


def _encode_texts(texts: tuple[str, ...], order: IntArray) -> dict[str, Any]:
    names, codes = np.unique(np.array(texts, object).astype(str), return_inverse=True)
    return {"names": names.tolist(), "codes": pack(codes[order], np.int32)}


def _hex(colours: Any) -> list[str]:
    levels = np.asarray(np.asarray(colours) * 255).round().astype(int)
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in levels]
