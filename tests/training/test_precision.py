"""Training in bfloat16: which fits do, and what stays in float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from shade import PAPER, SHADE
from shade._base.errors import CheckpointError
from shade.training import precision
from shade.training.autoencoders import FeedForwardAutoencoder
from shade.training.precision import choose_precision, has_bfloat16, products_in

CPU, CUDA, LAYERS = torch.device("cpu"), torch.device("cuda"), (16, 8)
SMALL = {"network": LAYERS, "epochs": 3, "n_networks": 2, "embedding_size": 3, "device": "cpu", "random_state": 0}
ROWS = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)


@pytest.mark.parametrize("has", [True, False])
def test_only_our_networks_on_a_processor_that_has_it_use_bfloat16(has: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda: has)
    assert choose_precision("auto", CPU, LAYERS) == ("bfloat16" if has else "float32")
    others = [("float32", CPU, LAYERS), ("auto", CUDA, LAYERS), ("auto", CPU, "conv"), ("auto", CPU, nn.Linear(2, 2))]
    for wanted, device, network in others:
        assert choose_precision(wanted, device, network) == "float32"


@pytest.mark.parametrize(
    ("can", "expected"), [({"avx512_bf16": True}, True), ({"amx_bf16": False}, False), ({}, False)]
)
def test_the_processor_is_asked_through_torch(can: dict, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can, raising=False)
    assert has_bfloat16() == expected


def test_a_torch_that_cannot_tell_counts_as_a_processor_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not has_bfloat16()


def test_the_embedding_keeps_rows_apart_that_bfloat16_cannot() -> None:
    torch.manual_seed(0)
    network, rows = FeedForwardAutoencoder(6, LAYERS, 3), torch.randn(200, 6)
    exact = network.encode(rows)
    with products_in("bfloat16", CPU):
        embedded = network.encode(rows)
    assert embedded.dtype == torch.float32
    assert not torch.equal(embedded, exact)  # the layers before it did compute in bfloat16
    assert torch.equal(embedded.bfloat16().float(), embedded) is False
    torch.testing.assert_close(embedded, exact, atol=0.02, rtol=0.05)


def test_labels_do_not_depend_on_threads_and_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    one, two = (SHADE(**SMALL, n_jobs=n_jobs).fit(ROWS) for n_jobs in (1, 2))
    assert one.precision_ == "bfloat16"
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    shorter = SHADE(**{**SMALL, "epochs": 1}).fit(ROWS, checkpoint=tmp_path / "run")
    assert shorter.n_iter_ == 2
    np.testing.assert_array_equal(SHADE(**SMALL).fit(ROWS, resume=tmp_path / "run").embedding_, one.embedding_)
    exact = SHADE(**SMALL, precision="float32").fit(ROWS)
    assert exact.precision_ == "float32"
    assert not np.array_equal(exact.embedding_, one.embedding_)


def test_training_does_not_go_on_in_another_format_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    SHADE(**SMALL).fit(ROWS, checkpoint=tmp_path / "run")
    with pytest.raises(CheckpointError, match="precision='auto', not 'float32'"):
        SHADE(**SMALL, precision="float32").fit(ROWS, resume=tmp_path / "run")


def test_the_settings_of_the_paper_are_of_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    settings = {**PAPER, "network": LAYERS, "epochs": 1, "device": "cpu", "random_state": 0}
    assert SHADE(**settings).fit(ROWS).precision_ == "float32"
