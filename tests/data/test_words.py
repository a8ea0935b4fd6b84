"""Texts as TF-IDF: the numbers of scikit-learn, the same words for new texts, and clear refusals."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import shade
from shade._base.errors import DataError, MemoryBudgetError
from shade.data import read_samples
from shade.data.encoding import TableEncoding
from tests.cli.commands import QUICK, run

WORDS = {
    "kitchen": "oven bread flour butter sugar recipe salt dough bake taste",
    "football": "goal referee penalty keeper league match striker coach cup team",
    "space": "orbit rocket planet launch moon satellite probe crater comet gravity",
}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Texts on three topics; "the" is in all of them, and each has a word of its own."""
    draw = random.Random(0)
    lines = [
        {
            "topic": topic,
            "year": 2000 + row,
            "body": " ".join(["The", f"only{topic}{row}", *draw.sample(words.split(), 6)]),
        }
        for topic, words in WORDS.items()
        for row in range(40)
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def bodies(path: Path) -> list[str]:
    return [json.loads(line)["body"] for line in path.read_text().splitlines()]


def test_words_are_weighed_as_scikit_learn_does(documents: Path, tmp_path: Path) -> None:
    samples = read_samples(documents, text="body", label="topic")
    known = TfidfVectorizer(sublinear_tf=True, vocabulary=sorted(" ".join(WORDS.values()).split()))
    np.testing.assert_allclose(samples.rows, known.fit_transform(bodies(documents)).toarray(), atol=1e-6)
    assert samples.feature_names == tuple(known.get_feature_names_out())  # neither "the" nor words of one text
    assert samples.notes == (
        "read column 'body' as text: 30 words, weighed by TF-IDF",
        "left out 1 other column: 'year'",
    )
    frame = pd.DataFrame({"body": bodies(documents), "topic": "x"})
    frame.to_csv(tmp_path / "documents.csv", index=False)
    assert np.array_equal(read_samples(tmp_path / "documents.csv", text="body", drop=["topic"]).rows, samples.rows)


def test_new_texts_have_the_weights_of_the_old_ones(documents: Path, tmp_path: Path) -> None:
    samples = read_samples(documents, text="body")
    encoding = TableEncoding.from_json(json.loads(json.dumps(samples.encoding.to_json())))
    assert encoding == samples.encoding
    new = tmp_path / "new.jsonl"
    lines = [*({"body": text} for text in bodies(documents)[:3]), {"body": None}, {"body": "unheard"}, {"body": "oven"}]
    new.write_text("\n".join(map(json.dumps, lines)))
    found = read_samples(new, table=encoding)
    np.testing.assert_array_equal(found.rows[:3], samples.rows[:3])
    assert not found.rows[3:5].any()
    assert found.rows[5].tolist() == [float(name == "oven") for name in found.feature_names]


def test_the_command_line_finds_topics_and_their_words(documents: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "fit", documents, "--text", "body", "--label", "topic", "-o", out, "--no-data", *QUICK, "--epochs", "30"
    )
    assert result.exit_code == 0, result.output
    summary, model = json.loads((out / "summary.json").read_text()), shade.load(out)
    assert summary["n_clusters"] == len(summary["keywords"]) == 3
    for words in summary["keywords"]:
        assert len(words) == 5
        assert sum(set(words) <= set(topic.split()) for topic in WORDS.values()) == 1
        assert ", ".join(words) in result.stdout
    predicted = run("predict", out, documents, "-o", tmp_path / "labels.csv")
    assert predicted.exit_code == 0, predicted.output
    assert pd.read_csv(tmp_path / "labels.csv")["label"].tolist() == model.labels_.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "title"}, "has no column 'title' for --text"),
        ({"text": "year"}, "Column 'year' of .* holds int64, not text. Give another column with --text"),
        ({"text": "body", "id": "body"}, "Column 'body' of .* cannot be --text and --label, --id or --drop as well"),
        ({"text": "topic"}, "No word of column 'topic' of .* is in at least 2 and in at most 50% of the texts"),
    ],
)
def test_texts_that_cannot_be_compared_are_refused(documents: Path, options: dict[str, Any], message: str) -> None:
    if options == {"text": "topic"}:
        documents.write_text("\n".join(json.dumps({"topic": f"word{row}"}) for row in range(20)))
    with pytest.raises(DataError, match=message):
        read_samples(documents, **options)


def test_arrays_have_no_texts_and_large_texts_are_refused(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "rows.npy", np.ones((5, 3)))
    with pytest.raises(DataError, match=r"rows.npy is no table, so it has no column 'body' of texts"):
        read_samples(tmp_path / "rows.npy", text="body")
    monkeypatch.setattr("shade._base.memory.available_memory", lambda: 25_000)
    with pytest.raises(MemoryBudgetError, match=r"30 words of 120 texts takes about 28.8 kB"):
        read_samples(documents, text="body")


@pytest.mark.parametrize("weights", [[], [1.0], [1.0, float("inf")], [1.0, -1.0], ["a", "b"]])
def test_forged_words_are_refused(weights: list[Any]) -> None:
    column = {"name": "body", "kind": "text", "values": ["one", "two"], "weights": weights}
    with pytest.raises(ValueError, match=r"have no weights|cannot be read"):
        TableEncoding.from_json({"columns": [column], "filler": None})
    TableEncoding.from_json({"columns": [{**column, "weights": [1.0, 2.0]}], "filler": None})
