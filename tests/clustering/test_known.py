"""Clusters agree with what is known of some rows, and stay as they are where nothing is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from shade.clustering import Clustering, ClusterRule, cluster
from shade.clustering.known import Known
from shade.clustering.memberships import memberships_of
from tests.clustering.test_joining import groups_of_parts
from tests.clustering.test_selection import check_description
from tests.oracles import draw_groups, draw_points, partition_of

NONE = np.empty((0, 2), np.int64)
RULES = (
    ClusterRule(),
    ClusterRule(between_noise=True, min_samples=3),
    ClusterRule(selection="branches", min_samples=3),
    ClusterRule(selection="structure", between_noise=True, min_samples=3),
    ClusterRule(n_clusters=3, min_samples=3),
    ClusterRule(cut_distance=0.5, min_samples=3),
)


def with_known(found: Clustering, **known: object) -> Clustering:
    given = {"y": None, "must_link": None, "cannot_link": None, **known}
    return replace(found, known=Known.from_user(**given, n_rows=len(found.points)))


def draw_known(seed: int, points: np.ndarray) -> dict[str, object]:
    """Labels and pairs that a hidden truth agrees with, in which equal rows are alike."""
    random = np.random.default_rng([9, seed])
    n = len(points)
    truth = random.integers(0, 3, n)[np.unique(points, axis=0, return_inverse=True)[1].reshape(-1)]
    truth[points[:, 0] > np.median(points[:, 0])] %= 2
    y = np.where(random.random(n) < random.choice([0.0, 0.1, 0.4]), 10 * truth, -1)
    pairs = random.integers(0, n, (int(random.integers(0, 8)), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return {"y": y if (y < 0).any() else None, "must_link": pairs[same], "cannot_link": pairs[~same]}


def unmet(labels: np.ndarray, y: object = None, must_link: object = (), cannot_link: object = ()) -> list[str]:
    """What clusters contradict, pair by pair."""
    known = [] if y is None else [row for row, label in enumerate(y) if label >= 0]
    wrong = [f"{row} is noise" for row in known if labels[row] < 0]
    for one, other in combinations(known, 2):
        if (labels[one] == labels[other]) != (y[one] == y[other]):
            wrong.append(f"labels of {one} and {other}")
    wrong += [f"{one} with {other}" for one, other in must_link if labels[one] != labels[other]]
    wrong += [
        f"{one} without {other}" for one, other in cannot_link if labels[one] == labels[other] and labels[one] >= 0
    ]
    return wrong


def drawn_clusterings(count: int) -> Iterator[tuple[str, Clustering, dict[str, object]]]:
    for seed in range(count):
        points = draw_groups(seed, 30 + seed % 60, 2) if seed % 2 else draw_points(seed, 12, 60)
        rule = RULES[seed % len(RULES)]
        yield f"{seed=} {rule}", cluster(np.asarray(points, np.float64), rule, n_jobs=1), draw_known(seed, points)


def test_clusters_agree_with_labels_and_pairs() -> None:
    for what, found, known in drawn_clusterings(200):
        clustering = with_known(found, **known)
        assert unmet(clustering.flat.labels, **known) == [], what
        if clustering.known is not None:
            assert clustering.known.count_unmet(clustering.flat.labels) == 0, what


def test_they_are_described_as_others_are() -> None:
    for what, found, known in drawn_clusterings(120):
        clustering = with_known(found, **known)
        for flat in (clustering.flat, clustering.parts):
            check_description(flat, len(found.points), what)
            assert set(flat.branch_labels[flat.branch_labels >= 0]) == set(range(flat.n_clusters)), what
            assert (flat.limit > 0).all(), what
        memberships = memberships_of(clustering)
        assert isinstance(memberships, np.ndarray)
        assert (memberships.sum(axis=1) <= 1 + 1e-9).all(), what
        np.testing.assert_allclose(memberships.max(axis=1, initial=0), clustering.flat.strengths, err_msg=what)


def test_nothing_changes_where_nothing_is_known_or_all_is_known_already() -> None:
    for what, found, _ in drawn_clusterings(60):
        n = len(found.points)
        for y in (None, np.full(n, -1), np.full(n, np.nan), np.arange(n) % 3, ["a"] * n):
            assert with_known(found, y=y).known is None, what
        one_each = np.full(n, -1)
        for label, rows in enumerate(found.flat.exemplars[: found.flat.n_clusters]):
            one_each[rows[0]] = label
        if (one_each >= 0).any():
            check_same(with_known(found, y=one_each), found, what)


def test_nothing_changes_in_an_embedding_where_labels_agree_with_the_joined_clusters() -> None:
    for seed in range(5):
        points, _ = groups_of_parts(seed)
        found = cluster(points, ClusterRule(), settled=True, n_jobs=1)
        known = with_known(found, y=np.where(np.arange(len(points)) % 50 == 0, found.flat.labels, -1))
        check_same(known, found, f"{seed=}")
        np.testing.assert_array_equal(known.parts.labels, found.parts.labels)
        np.testing.assert_array_equal(memberships_of(known), memberships_of(found))


def check_same(one: Clustering, other: Clustering, what: str) -> None:
    expected = other.flat.to_arrays()
    for name, values in one.flat.to_arrays().items():
        np.testing.assert_array_equal(values, expected[name], err_msg=f"{what} {name}")


def partitions(n: int) -> Iterator[list[int]]:
    """Every way to put n rows into clusters."""
    if n == 0:
        yield []
        return
    for rest in partitions(n - 1):
        for label in range(max(rest, default=-1) + 2):
            yield [*rest, label]


def test_what_is_refused_is_what_no_partition_satisfies_by_brute_force() -> None:
    random = np.random.default_rng(4)
    everything, outcomes = list(partitions(6)), set()
    for trial in range(250):
        points = random.normal(size=(6, 2))
        found = cluster(points, ClusterRule(min_samples=2, min_cluster_size=2, selection="branches"), n_jobs=1)
        y = np.where(random.random(6) < 0.4, random.integers(0, 3, 6), -1)
        pairs = [random.permutation(6)[:2] for _ in range(int(random.integers(1, 7)))]
        cut = int(random.integers(0, len(pairs) + 1))
        known = {"y": y if (y < 0).any() else None, "must_link": pairs[:cut], "cannot_link": pairs[cut:]}
        possible = any(not unmet(np.array(labels), **known) for labels in everything)
        outcomes.add(possible)
        if not possible:
            with pytest.raises(ValueError, match="Correct the labels or the pairs"):
                with_known(found, **known)
        else:
            assert unmet(with_known(found, **known).flat.labels, **known) == [], f"{trial=} {known=}"
    assert outcomes == {True, False}


def divided_by_hand(clustering: Clustering, y: np.ndarray) -> np.ndarray:
    """Clusters by labels alone, row by row: the largest branch with one label, then the nearest row that has one."""
    free = replace(clustering, known=None)
    labels, tree, points = free.flat.labels, free.structure_tree, free.points
    branches = [set(tree.rows(candidate).tolist()) for candidate in range(tree.n_candidates)]
    final = [("noise", -1)] * len(labels)
    for row, label in enumerate(labels):
        own = [other for other in range(len(labels)) if labels[other] == label]
        known = {y[other] for other in own if y[other] >= 0}
        if y[row] >= 0:
            final[row] = ("known", y[row])
        elif label >= 0 and len(known) <= 1:
            final[row] = ("known", known.pop()) if known else ("found", label)
        elif label >= 0:
            seeds = {other: y[other] for other in own if y[other] >= 0}
            for branch in sorted(branches, key=len):  # the largest is the last that is written
                held = {y[other] for other in branch if y[other] >= 0}
                if len(held) == 1 and {labels[other] for other in branch} <= {label, -1}:
                    seeds |= dict.fromkeys(branch & set(own), held.pop())
            nearest = min(seeds, key=lambda seed: float(np.square(points[seed] - points[row]).sum()))
            final[row] = ("known", seeds[nearest])
    names = {name: number for number, name in enumerate(sorted(set(final) - {("noise", -1)}))}
    return np.array([names.get(name, -1) for name in final])


def test_a_cluster_with_several_labels_is_divided_into_branches_and_between_them_by_nearness() -> None:
    several = 0
    for seed in range(60):
        points = draw_groups(seed, 60 + seed, 3)
        found = cluster(
            points, ClusterRule(min_samples=3, n_clusters=2), n_jobs=1
        )  # a number: labels do not choose one
        random = np.random.default_rng(seed)
        y = np.where(random.random(len(points)) < 0.1, random.integers(0, 4, len(points)), -1)
        if (y >= 0).any():
            clustering = with_known(found, y=y)
            assert partition_of(clustering.flat.labels) == partition_of(divided_by_hand(clustering, y)), f"{seed=}"
            several += clustering.flat.n_clusters > found.flat.n_clusters
    assert several > 30


def test_a_handful_of_wrong_labels_changes_no_cluster_that_holds_none_of_them() -> None:
    for seed in range(20):
        points, groups = groups_of_parts(seed % 5)
        found = cluster(points, ClusterRule(), settled=True, n_jobs=1)
        assert found.flat.n_clusters == 3 < found.parts.n_clusters
        y = np.full(len(points), -1)
        random = np.random.default_rng(seed)
        y[random.choice(2400, 4, replace=False)] = random.integers(0, 3, 4)
        labels, before = with_known(found, y=y).flat.labels, found.flat.labels
        untouched = before == before[groups == 2].max()
        assert set(labels[untouched]).isdisjoint(labels[~untouched]), f"{seed=}"
        assert len(set(labels[untouched])) == 1, f"{seed=}"


def test_labels_undo_joins_in_an_embedding() -> None:
    points, groups = groups_of_parts(0)
    parts = np.repeat(np.arange(18), 200)
    found = cluster(points, ClusterRule(), settled=True, n_jobs=1)
    assert found.flat.n_clusters == 3
    clustering = with_known(found, y=np.where(np.arange(len(points)) % 9 == 0, parts, -1))
    inside = clustering.flat.labels >= 0
    assert clustering.flat.n_clusters == 18
    # Parts overlap: knowing their densities, 96.3 % of the rows can be told apart.
    assert np.mean(clustering.flat.labels[inside] == clustering.flat.labels[parts * 200][inside]) > 0.95
    coarser = with_known(found, y=np.where(np.arange(len(points)) % 9 == 0, groups // 2, -1))
    assert coarser.flat.n_clusters == 2


def test_the_order_of_the_rows_does_not_matter() -> None:
    for seed in range(30):
        points = draw_groups(seed, 70, 3)
        known = draw_known(seed, points)
        place = np.random.default_rng(seed).permutation(70)
        back = np.argsort(place)
        moved = {
            "y": None if known["y"] is None else np.asarray(known["y"])[place],
            "must_link": back[np.asarray(known["must_link"])],
            "cannot_link": back[np.asarray(known["cannot_link"])],
        }
        before = with_known(cluster(points, ClusterRule(min_samples=3), n_jobs=1), **known).flat
        after = with_known(cluster(points[place], ClusterRule(min_samples=3), n_jobs=1), **moved).flat
        assert partition_of(before.labels[place]) == partition_of(after.labels), f"{seed=}"


def test_equal_rows_with_different_labels_are_one_cluster_and_counted() -> None:
    points = np.repeat([[0.0], [1.0], [9.0], [10.0]], 4, axis=0)
    y = np.array([3, 3, 4, -1] + [-1] * 4 + [7] + [-1] * 7)
    clustering = with_known(cluster(points, ClusterRule(min_samples=2), n_jobs=1), y=y)
    assert len(set(clustering.flat.labels[:4])) == 1
    assert clustering.known is not None
    assert clustering.known.count_unmet(clustering.flat.labels) == 1
    assert sorted(clustering.known_labels) == [3, 7]


def test_known_noise_joins_the_cluster_of_its_label() -> None:
    random = np.random.default_rng(1)
    points = np.concatenate(
        [random.normal(size=(100, 3)), 30 + random.normal(size=(100, 3)), [[300.0] * 3, [-300.0] * 3]]
    )
    found = cluster(points, ClusterRule(), n_jobs=1)
    assert found.flat.labels[200:].tolist() == [-1, -1]
    y = np.full(202, -1)
    y[[0, 200, 201]] = 1, 1, 2
    flat = with_known(found, y=y).flat
    assert flat.labels[200] == flat.labels[0]
    assert (flat.n_clusters, flat.labels[201]) == (3, 2)
    pair = with_known(found, must_link=[(200, 201)]).flat
    assert pair.labels[200:].tolist() == [-1, -1]
    linked = with_known(found, must_link=[(0, 200)], cannot_link=[(200, 201)]).flat
    assert linked.labels[200] == linked.labels[0]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"y": [1, -1]}, r"y has shape \(2,\), but X has 6 rows"),
        ({"y": np.full((6, 2), -1)}, r"y has shape \(6, 2\)"),
        ({"y": [0.5, -1, -1, -1, -1, -1]}, r"y holds 0.5 in row 0. Give whole numbers"),
        ({"y": [-1, -1, -1, -2, -1, -1]}, "y holds -2 in row 3"),
        ({"y": ["a", None, "b", "a", "a", "a"]}, "y must be numbers where some labels are unknown"),
        ({"must_link": [(0, 6)]}, "'must_link' parameter of fit names row 6, but X has 6 rows"),
        ({"cannot_link": [(1, 1)]}, "'cannot_link' parameter of fit pairs row 1 with itself"),
        ({"cannot_link": [1, 2]}, "must be pairs of row numbers"),
        ({"must_link": [(0.0, 1.0)]}, "must be pairs of row numbers"),
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}, "Rows 0 and 2 are a cannot-link pair"),
        ({"y": [4, -1, 5, -1, -1, -1], "must_link": [(0, 1), (1, 2)]}, "label 4 and row 2 the label 5, but must-link"),
        ({"y": [4, -1, 4, -1, -1, -1], "cannot_link": [(0, 2)]}, "Rows 0 and 2 are a cannot-link pair"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_sentence(known: dict[str, object], message: str) -> None:
    given = {"y": None, "must_link": None, "cannot_link": None, **known}
    with pytest.raises(ValueError, match=message):
        Known.from_user(**given, n_rows=6)
