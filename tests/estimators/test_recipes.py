"""Prediction at scale with a saved model: row by row, so the partitioning does not matter."""

import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

import shade
from shade import SHADE


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, np.ndarray]:
    X, _ = make_blobs(300, 5, centers=3, center_box=(-12, 12), random_state=0)
    table = pd.DataFrame(X, columns=list("abcde"))
    model = SHADE(epochs=3, network=(16,), embedding_size=2, selection="branches", random_state=0).fit(table)
    path = tmp_path_factory.mktemp("model") / "model.shade"
    model.save(path)
    return path, table, model.labels_


def label_partition(part: pd.DataFrame, model: Path) -> pd.Series:
    """What runs on a worker: load the model, label some rows."""
    labels = shade.load(model).predict(part) if len(part) else np.empty(0, np.int64)
    return pd.Series(labels, part.index, name="label")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find what this process finds."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


@pytest.mark.parametrize("partitions", [1, 7])
def test_dask_labels_partitions_as_predict_labels_all(
    partitions: int, saved: tuple[Path, pd.DataFrame, np.ndarray]
) -> None:
    frames = pytest.importorskip("dask.dataframe")
    path, table, expected = saved
    labels = frames.from_pandas(table, npartitions=partitions).map_partitions(
        label_partition, path, meta=("label", "int64")
    )
    assert np.array_equal(labels.compute(scheduler="sync"), expected)


@pytest.mark.usefixtures("workers")
@pytest.mark.filterwarnings("ignore")  # Ray has many of its own
def test_ray_labels_batches_as_predict_labels_all(saved: tuple[Path, pd.DataFrame, np.ndarray]) -> None:
    ray = pytest.importorskip("ray", reason="needs ray")
    data = pytest.importorskip("ray.data", reason="needs ray[data]")
    path, table, expected = saved
    ray.init(num_cpus=1, include_dashboard=False)
    try:
        rows = data.from_pandas(table.reset_index(names="row")).repartition(7)
        labelled = rows.map_batches(
            lambda part: part.assign(label=label_partition(part[list("abcde")], path)), batch_format="pandas"
        )
        found = labelled.to_pandas().sort_values("row")
    finally:
        ray.shutdown()
    assert np.array_equal(found["label"], expected)


@pytest.mark.usefixtures("workers")
@pytest.mark.filterwarnings("ignore")  # Spark has many of its own
def test_spark_labels_partitions_as_predict_labels_all(saved: tuple[Path, pd.DataFrame, np.ndarray]) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark and a Java runtime")
    path, table, expected = saved
    functions = pytest.importorskip("pyspark.sql.functions")
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

    @functions.pandas_udf("long")
    def label(part: pd.DataFrame) -> pd.Series:
        return label_partition(part, path)

    try:
        rows = session.createDataFrame(table.reset_index(names="row")).repartition(7)
        found = rows.withColumn("label", label(functions.struct(*"abcde"))).toPandas().sort_values("row")
    finally:
        session.stop()
    assert np.array_equal(found["label"], expected)


@pytest.mark.parametrize("partitions", [1, 5, 300])
def test_any_partitioning_gives_the_same_labels(partitions: int, saved: tuple[Path, pd.DataFrame, np.ndarray]) -> None:
    path, table, expected = saved
    cuts = np.linspace(0, 300, partitions + 1).astype(int)[: 12 if partitions == 300 else None]
    parts = [label_partition(table[start:stop], path) for start, stop in pairwise(cuts)]
    assert np.array_equal(pd.concat(parts), expected[: cuts[-1]])
