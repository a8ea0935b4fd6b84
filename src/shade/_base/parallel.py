"""Threads and devices: how many there are, and running work on them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from ctypes.util import find_library
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, TypeVar

from shade._base.errors import DeviceError

if TYPE_CHECKING:
    import torch

Item = TypeVar("Item")
Result = TypeVar("Result")

# Matrix products round differently on different numbers of threads, and training amplifies differences in the last bit.
# Therefore training on a CPU always uses one thread: a seed gives the same labels for any number of threads. Other
# cores compute the targets, and no thread waits actively for another on a busy machine.
TRAINING_THREADS = 1
FEW_ITEMS = 256  # for fewer items, starting threads takes longer than it saves
# Signals that ask a process to end: Ctrl-C, kill, and closing a terminal.
INTERRUPTING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for n_jobs as in scikit-learn, but None means all cores: results are the same."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return available
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


def run_chunks(
    kernel: Callable[..., None],
    *arguments: Any,
    count: int,
    n_jobs: int | None = None,
    chunk: int = 1024,
    few: int = FEW_ITEMS,
    share: slice = slice(None),
) -> None:
    """Call kernel(*arguments, start, stop) for slices of range(count), or of a share, on threads unless few."""
    threads = count_threads(n_jobs)
    # With several slices per thread, unequal slices even out. The kernels release the interpreter lock.
    size = max(1, min(chunk, -(-count // (4 * threads))))
    first, last, _ = share.indices(count)
    slices = [(start, min(start + size, last)) for start in range(first, last, size)]
    if threads == 1 or count < few:
        for start, stop in slices:
            kernel(*arguments, start, stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(kernel, *arguments, start, stop) for start, stop in slices]:
            future.result()


def run_together(function: Callable[[Item, Event], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Call function(item, interruption) for each item, on several threads if given; return results in order.

    If one call fails, or at Ctrl-C, `interruption` is set, and this function waits for the other calls.
    """
    interruption = Event()
    if threads == 1 or len(items) == 1:
        return [function(item, interruption) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        futures = [pool.submit(function, item, interruption) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # if all calls succeeded, there is nothing to interrupt
            interruption.set()
            for future in futures:
                future.cancel()
    errors = [error for future in futures if not future.cancelled() and (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, KeyboardInterrupt)):
        raise error  # the error that came first, before the interruptions that it caused
    return [future.result() for future in futures]


_blas_limit = ExitStack()
_limit_lock = Lock()
_limited = 0  # number of threads that need the limit


@contextmanager
def training_threads() -> Iterator[None]:
    """Set the numbers of threads for training, for torch in this thread and for BLAS in the process, then restore them.

    torch has a number of threads per calling thread, so every training thread must use this. BLAS has one number: the
    first thread that enters sets it, and the last that leaves restores it. A background thread uses BLAS for the
    targets. With more BLAS threads, it would take cores from training.
    """
    global _limited  # noqa: PLW0603
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(TRAINING_THREADS)
    with _limit_lock:
        if _limited == 0:
            _blas_limit.enter_context(threadpool_limits(1, user_api="blas"))
        _limited += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limited -= 1
            if _limited == 0:
                _blas_limit.close()
        torch.set_num_threads(before)


@contextmanager
def usual_torch() -> Iterator[None]:
    """Use the default settings of torch in a block, whatever the caller has set; then restore those of the caller."""
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        for kind in ("cpu", "cuda", "mps"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":  # a default device makes every call slower
            stack.enter_context(torch.device("cpu"))
        yield


def tree_device(device: str) -> str:
    """Return where trees are built: on the CUDA device of the 'device' parameter, else on the CPU.

    Loading torch takes seconds, so it is not used if there is no CUDA driver.
    """
    if device == "cpu" or (device == "auto" and find_library("cuda") is None and find_library("nvcuda") is None):
        return "cpu"
    resolved = resolve_device(device)
    return str(resolved) if resolved.type == "cuda" else "cpu"


def resolve_device(device: str) -> torch.device:
    """Convert the 'device' parameter into an available torch device."""
    import torch

    if device in ("auto", "cuda") and torch.cuda.is_available():
        # Processes that were started together on one machine use one device each.
        own = int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()
        return torch.device(f"cuda:{own}" if own else "cuda")
    if device == "auto":
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        present = {
            "cpu": True,
            "cuda": torch.cuda.is_available() and (resolved.index or 0) < torch.cuda.device_count(),
            "mps": torch.backends.mps.is_available(),
        }[resolved.type]
    except (RuntimeError, KeyError):
        raise DeviceError(
            f"The 'device' parameter must be 'auto', 'cpu', 'cuda', 'cuda:N' or 'mps'. Got {device!r} instead."
        ) from None
    if not present:
        raise DeviceError(
            f"The 'device' parameter asks for {device!r}, which is not available here. Use 'auto' or 'cpu'."
        )
    return resolved
