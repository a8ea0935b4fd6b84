"""Batches and what is computed ahead for them."""

import threading

import numpy as np
import pytest
import torch

from shade.training.batches import compute_ahead, prepare_batches, shuffle_batches


@pytest.mark.parametrize(("n", "size", "smallest"), [(10, 4, 1), (10, 3, 2), (500, 500, 5), (503, 500, 5), (7, 100, 5)])
def test_every_row_is_in_one_batch_and_no_batch_is_too_small(n: int, size: int, smallest: int) -> None:
    batches = shuffle_batches(n, size, smallest, np.random.default_rng(0))
    assert sorted(np.concatenate(batches)) == list(range(n))
    assert all(len(batch) >= min(smallest, n) for batch in batches)
    assert all(len(batch) < size + smallest for batch in batches)


def test_results_come_in_order_from_another_thread() -> None:
    threads = set()

    def square(x: int) -> int:
        threads.add(threading.get_ident())
        return x * x

    assert list(compute_ahead(square, range(30))) == [x * x for x in range(30)]
    assert threading.get_ident() not in threads


def test_an_error_in_the_background_reaches_the_consumer() -> None:
    with pytest.raises(ZeroDivisionError):
        list(compute_ahead(lambda x: 1 // x, [1, 0, 1]))


def test_stopping_early_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    stream = compute_ahead(lambda x: x, iter(range(10_000)))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_batches_without_targets_are_passed_on() -> None:
    [batch] = prepare_batches([np.arange(4)], None, torch.device("cpu"))
    assert batch.steps is None
    assert batch.rows.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("ahead", [True, False])
def test_targets_that_are_made_at_once_need_no_other_thread(ahead: bool) -> None:
    threads = set()

    def targets(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        threads.add(threading.get_ident())
        return rows[::-1].copy(), np.ones(len(rows))

    [batch] = prepare_batches([np.arange(4)], targets, torch.device("cpu"), ahead=ahead)
    assert batch.rows.tolist() == [3, 2, 1, 0]
    assert (threads == {threading.get_ident()}) == (not ahead)
