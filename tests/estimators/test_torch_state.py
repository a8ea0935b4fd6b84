"""A fit gives the same result whatever the caller has set in torch, and leaves the caller's settings as they were."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from shade import SHADE, load
from tests.estimators.test_resume import SETTINGS, assert_same, blobs

X = blobs()


@contextmanager
def double_by_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def device_by_default() -> Iterator[None]:
    torch.set_default_device("meta")  # where nothing can be computed
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def all_at_once() -> Iterator[None]:
    with double_by_default(), device_by_default(), torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        yield


STATES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "double": double_by_default,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "device": device_by_default,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "all": all_at_once,
}


def state() -> tuple[object, ...]:
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")
    return torch.get_default_dtype(), torch.get_default_device(), torch.get_autocast_dtype("cpu"), *modes


class Own(nn.Module):
    """A module of a user's, made with whatever type is the default."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Linear(5, 16, device="cpu"), nn.BatchNorm1d(16, device="cpu"))
        self.up = nn.Linear(16, 5, device="cpu")

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(x)

    def decode(self, z: torch.Tensor) -> torch.Tensor:
        return self.up(z)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("networks", [1, 2])
def test_a_fit_does_not_depend_on_the_settings_of_torch(name: str, networks: int) -> None:
    settings = {**SETTINGS, "n_networks": networks}
    expected = SHADE(**settings).fit(X)
    with STATES[name]():
        before = state()
        model = SHADE(**settings).fit(X)
        assert state() == before
        assert_same(model, expected)
        assert np.array_equal(model.predict(X), expected.labels_)
        decoded = expected.inverse_transform(expected.embedding_[:5])
        assert np.array_equal(model.inverse_transform(model.embedding_[:5]), decoded)
    assert_same(SHADE(**settings).fit(X), expected)


@pytest.mark.parametrize("name", STATES)
def test_a_module_of_the_users_and_a_model_file_work_in_each(name: str, tmp_path: Path) -> None:
    expected = SHADE(**SETTINGS).fit(X)
    with STATES[name]():
        own = SHADE(**{**SETTINGS, "network": Own()}).fit(X)
        assert own.networks_[0].up.weight.dtype == torch.float32
        assert np.isfinite(own.embedding_).all()
        expected.save(tmp_path / "model.shade")
        assert np.array_equal(load(tmp_path / "model.shade").transform(X), expected.transform(X))


@pytest.mark.parametrize("network", ["conv", (16,)])
def test_a_fit_that_fails_leaves_the_settings_too(network: object) -> None:
    with all_at_once():
        before = state()
        with pytest.raises(ValueError, match=r"NaN|images"):
            SHADE(**{**SETTINGS, "network": network}).fit(np.full((20, 5), np.nan))
        assert state() == before
