"""How far to trust a cluster: the evidence is that of the test, and weak clusters are not found again."""

import numpy as np
import pandas as pd
import pytest

from shade import DCTreeClustering
from shade.clustering.reliability import measure_reliability
from shade.metrics import disco_samples

WISHES = [{}, {"n_clusters": 2}, {"cut_distance": 1.5}, {"between_noise": True}]


@pytest.fixture(scope="module")
def model() -> DCTreeClustering:
    random = np.random.default_rng(0)
    centres = 12.0 * np.eye(5)[:3]
    X = np.vstack([*(random.normal(centre, 1.0, (100, 5)) for centre in centres), random.uniform(-20, 30, (10, 5))])
    return DCTreeClustering().fit(X)


def test_the_evidence_of_a_branch_is_that_of_the_test(model):
    tree, found = model.structure_tree_, model.reliability()
    leaves = np.setdiff1d(np.arange(1, tree.n_candidates), tree.parent)
    inside = model.clustering_.flat.branch_labels
    for leaf in leaves:
        label = inside[tree.rows(leaf)[0]]
        assert found.evidence[label] == pytest.approx(tree.evidence(leaf))
        assert found.limit[label] == pytest.approx(tree.test.limit(int(tree.size[leaf]), int(tree.n_leaves[0])))
    assert (found.evidence > found.limit).all()


def test_clear_clusters_are_found_again(model):
    found = model.reliability()
    assert found.stability.min() > 0.95
    assert found.size.tolist() == np.bincount(model.labels_[model.labels_ >= 0]).tolist()
    np.testing.assert_array_equal(found.persistence, model.cluster_persistence_)
    disco = disco_samples(model.clustering_.points, model.labels_)
    assert found.separation[0] == pytest.approx(disco[model.labels_ == 0].mean())


@pytest.fixture(scope="module")
def cloud() -> DCTreeClustering:
    """One cloud that was divided into two all the same."""
    return DCTreeClustering().fit(np.random.default_rng(1).normal(size=(400, 2))).recluster(n_clusters=2)


def test_parts_of_one_cloud_are_not_found_again(model, cloud):
    found = cloud.reliability()
    assert found.stability.min() < 0.6
    assert (found.evidence < found.limit).any()
    assert found.separation.min() < model.reliability().separation.min()


def test_one_cluster_has_no_evidence_but_is_found_again():
    found = DCTreeClustering().fit(np.random.default_rng(1).normal(size=(400, 5))).reliability()
    assert len(found.size) == 1
    assert np.isnan(found.evidence).all() and np.isnan(found.limit).all()
    assert found.stability[0] > 0.9


@pytest.mark.parametrize("wish", WISHES)
def test_every_clustering_has_figures(model, wish):
    other = model.recluster(**wish) if wish else model
    found = other.reliability()
    assert len(found.stability) == other.n_clusters_
    assert ((found.stability >= 0) & (found.stability <= 1)).all()
    assert np.isfinite(found.evidence).all()
    assert np.isnan(found.limit).all() == ("cut_distance" in wish)


@pytest.mark.parametrize("selection", ["branches", "structure"])
def test_rules_without_a_test_have_no_limit(model, selection):
    found = DCTreeClustering(selection=selection).fit(model.clustering_.points).reliability()
    assert np.isnan(found.limit).all() and (found.evidence > 0).all()


def test_known_labels_do_not_matter(model):
    known = np.full(310, -1)
    known[[0, 1, 150]] = 0, 1, 2
    labelled = DCTreeClustering().fit(model.clustering_.points, known)
    assert len(labelled.reliability().stability) == labelled.n_clusters_


def test_the_smallest_data_has_figures():
    for X in ([[0.0], [1.0]], np.ones((30, 3)), np.repeat([[0.0], [5.0]], 20, axis=0)):
        found = DCTreeClustering(min_samples=2).fit(X).reliability()
        assert ((found.stability >= 0) & (found.stability <= 1)).all()


def test_the_same_seed_gives_the_same_stability(cloud):
    disco = np.zeros(400)
    first, again, other = (measure_reliability(cloud.clustering_, disco, seed).stability for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_figures_are_told_as_text_and_as_a_table(model):
    found = model.reliability()
    lines = str(found).splitlines()
    assert lines[0].split() == ["cluster", "rows", "persistence", "evidence", "needed", "stability", "DISCO"]
    assert len(lines) == 1 + model.n_clusters_ and lines[1].split()[1] == str(found.size[0])
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame) and frame["stability"].tolist() == found.stability.tolist()
