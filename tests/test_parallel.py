"""Devices, as processes and parameters ask for them."""

from contextlib import ExitStack

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from shade._base.errors import DeviceError
from shade._base.parallel import resolve_device, training_threads


@pytest.mark.parametrize(
    ("asked", "rank", "found"),
    [
        ("auto", None, "cuda"),
        ("cuda", "1", "cuda:1"),
        ("auto", "3", "cuda:1"),
        ("cuda:0", "1", "cuda:0"),
        ("cpu", "1", "cpu"),
    ],
)
def test_ranks_of_one_machine_take_a_device_each(
    monkeypatch: pytest.MonkeyPatch, asked: str, rank: str | None, found: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    assert resolve_device(asked) == torch.device(found)


def test_devices_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto").type in ("cpu", "mps")
    for asked in ("cuda", "cuda:7", "toaster"):
        with pytest.raises(DeviceError, match="'device' parameter"):
            resolve_device(asked)


def test_the_last_fit_that_ends_gives_blas_its_threads_back() -> None:
    def threads_of_blas() -> set[int]:
        return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        first, second = ExitStack(), ExitStack()
        first.enter_context(training_threads())
        second.enter_context(training_threads())
        first.close()
        assert threads_of_blas() == {1}
        second.close()
        assert threads_of_blas() == {2}
