"""Several processes that work on one fit, as torchrun starts them: who one is, and how results meet.

In a single process every function here does nothing, and torch is not loaded for it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from shade._base.arrays import AnyArray
from shade._base.errors import RankError

if TYPE_CHECKING:
    import torch

HEARTBEAT_SECONDS = 5.0
LOST_CONNECTION = ("onnection closed", "onnection reset", "roken pipe", "timed out", "Timed out", "gloo", "NCCL")
PATIENCE_SECONDS = 40.0  # without a heartbeat of a rank, before the others give up
PATIENCE_AT_START_SECONDS = 600.0  # for a rank that has not begun


_together = False  # whether a fit that ranks share is under way; background threads must see it
_own_store: Any = None  # where the ranks of a group that was made here meet
_fits = 0  # that were shared; the same number on all ranks


def rank_and_world() -> tuple[int, int]:
    """The number of this process and how many there are; 0 of 1 outside of a fit that they share."""
    if not _together:
        return 0, 1
    import torch.distributed as dist

    return dist.get_rank(), dist.get_world_size()


@contextmanager
def process_group() -> Iterator[None]:
    """Work together with the processes that were started together, if there are others, for as long as a fit takes.

    Takes part in the process group there is, which must be able to send CPU tensors, or makes one when torchrun, or
    what sets the same variables, has started several processes; that one stays for the fits after.

    Ranks find out that another has died from its closed connection, or from its missing heartbeats where a machine
    vanishes or a process hangs; so waiting for a rank that is at work needs no limit.
    """
    started = "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1
    if not _in_a_group() and not started:
        yield
        return
    global _together, _fits  # noqa: PLW0603
    import torch.distributed as dist

    _fits += 1
    with Heartbeat(_meet()):
        try:
            if not dist.is_initialized():
                _make_group()
            _together = True
            yield
            dist.barrier()  # heartbeats stop together
        except BaseException as error:
            if _own_store is not None:
                _leave_group()  # the other ranks are told by the closed connection
            if not isinstance(error, RuntimeError) or not any(sign in str(error) for sign in LOST_CONNECTION):
                raise
            raise RankError(
                "This process lost another one of the same fit, which ended or failed: see what that one says. Start "
                "again with 'resume' to go on from the last checkpoint."
            ) from error
        finally:
            _together = False


def _in_a_group() -> bool:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return int(distributed.get_world_size()) > 1


def _meet() -> Any:
    """The store of a group that is ours, or is about to be; None if someone else has made the group."""
    global _own_store  # noqa: PLW0603
    if _own_store is None and not _in_a_group():
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store = next(rendezvous("env://"))[0]
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        _own_store = PrefixStore(f"shade-{_agree_on_attempt(store, rank, world)}-{_fits}", store)
    return _own_store


def _agree_on_attempt(store: Any, rank: int, world: int) -> str:
    """A name that the processes of this attempt alone share.

    A store may outlive an attempt, and what an earlier one left in it leads to dead processes. How often the processes
    were started again does not tell attempts apart: each machine counts for itself. So rank 0 proposes a new name, the
    others answer with one of their own, and the name holds for those whose answers rank 0 has seen.
    """
    own = uuid.uuid4().hex
    if rank == 0:
        store.set("shade-attempt", own)
    last = time.monotonic() + PATIENCE_AT_START_SECONDS
    while time.monotonic() < last:
        if rank == 0:
            answers = [_read(store, f"shade-answer-{other}").split() for other in range(1, world)]
            if all(answer[:1] == [own] for answer in answers):
                store.set(f"shade-members-{own}", " ".join(answer[1] for answer in answers))
                return own
        else:
            attempt = _read(store, "shade-attempt")
            if attempt:
                store.set(f"shade-answer-{rank}", f"{attempt} {own}")
                if own in _read(store, f"shade-members-{attempt}").split():
                    return attempt
        time.sleep(0.05)
    raise RankError(
        f"Not all of the {world} processes of this fit have come together within {PATIENCE_AT_START_SECONDS:.0f} s."
    )


def _read(store: Any, key: str) -> str:
    """What a store holds under a key, or nothing."""
    return str(store.get(key).decode()) if store.check([key]) else ""


def _make_group() -> None:
    import torch
    import torch.distributed as dist

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # nccl wants a device for each rank; ranks without one, or that share one, send through gloo, all of them.
    devices = torch.cuda.device_count() if dist.is_nccl_available() else 0
    _own_store.set(f"devices-{rank}", str(int(devices >= int(os.environ.get("LOCAL_WORLD_SIZE", "1")))))
    enough = all(_own_store.get(f"devices-{other}") == b"1" for other in range(world))
    backend = "cpu:gloo,cuda:nccl" if enough else "gloo"
    dist.init_process_group(backend, store=_own_store, rank=rank, world_size=world, timeout=timedelta(days=1))
    atexit.register(_leave_group)


def _leave_group() -> None:
    global _own_store  # noqa: PLW0603
    import torch.distributed as dist

    _own_store = None
    if dist.is_initialized():
        dist.destroy_process_group()


class Heartbeat(threading.Thread):
    """Tells the other ranks that this one lives, and ends this one when another no longer does.

    A group that was not made here has no store for it, and limits of its own.
    """

    def __init__(self, store: Any) -> None:
        super().__init__(daemon=True, name="shade-heartbeat")
        self._store: Any = None if store is None else store.clone()
        self._rank, self._world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self._done = threading.Event()
        self._answered = time.monotonic()

    def __enter__(self) -> None:
        if self._store is not None:
            self.start()
            threading.Thread(target=self._watch_store, daemon=True, name="shade-watch").start()

    def __exit__(self, *error: object) -> None:
        self._done.set()

    def run(self) -> None:
        """Count up, and watch the counts of the others."""
        latest = dict.fromkeys(set(range(self._world)) - {self._rank}, (0, time.monotonic()))
        try:
            while not self._done.is_set():
                self._store.add(f"fit-{_fits}-{self._rank}", 1)
                for rank, (before, when) in latest.items():
                    count = self._store.add(f"fit-{_fits}-{rank}", 0)
                    patience = PATIENCE_SECONDS if count else PATIENCE_AT_START_SECONDS
                    if count != before:
                        latest[rank] = (count, time.monotonic())
                    elif time.monotonic() - when > patience:
                        self._end(f"Rank {rank} has not been heard of for {patience:.0f} s")
                self._answered = time.monotonic()
                self._done.wait(HEARTBEAT_SECONDS)
        except RuntimeError:
            return  # the store is gone: the watch ends this rank, unless the fit is over

    def _watch_store(self) -> None:
        """Give up when the store no longer answers; asking it has no limit of its own."""
        while not self._done.wait(HEARTBEAT_SECONDS):
            if time.monotonic() - self._answered > PATIENCE_SECONDS:
                self._end("The process that ranks meet at cannot be reached any more")

    def _end(self, reason: str) -> None:
        # The main thread waits inside a collective, where no exception reaches it.
        sys.stderr.write(f"{reason}: rank {self._rank} of {self._world} ends as well.\n")
        sys.stderr.flush()
        os._exit(1)


def share_of(count: int) -> slice:
    """The slice of some items that is this rank's to work on."""
    rank, world = rank_and_world()
    return slice(count * rank // world, count * (rank + 1) // world)


def reduce_max(*arrays: AnyArray) -> None:
    """Replace each entry by the largest that any rank has for it."""
    if rank_and_world()[1] > 1:
        import torch
        import torch.distributed as dist

        for array in arrays:
            dist.all_reduce(torch.from_numpy(array), dist.ReduceOp.MAX)


def gather_shares(array: AnyArray) -> None:
    """Give every rank the rows that each has worked on, by `share_of`."""
    world = rank_and_world()[1]
    if world > 1:
        import torch
        import torch.distributed as dist

        for rank in range(world):
            part = array[len(array) * rank // world : len(array) * (rank + 1) // world]
            dist.broadcast(torch.from_numpy(part), rank)


def sum_tensors(tensors: list[torch.Tensor]) -> None:
    """Replace tensors by their sums over the ranks, in one message."""
    if rank_and_world()[1] > 1:
        import torch
        import torch.distributed as dist

        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        for tensor, summed in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(summed.reshape(tensor.shape))


def copy_from_first(tensors: list[torch.Tensor]) -> None:
    """Replace tensors by those of rank 0."""
    if rank_and_world()[1] > 1:
        import torch.distributed as dist

        for tensor in tensors:
            dist.broadcast(tensor, 0)


def arrays_from_first(*arrays: AnyArray) -> None:
    """Fill arrays with those of rank 0."""
    if rank_and_world()[1] > 1:
        import torch

        copy_from_first([torch.from_numpy(array) for array in arrays])


def bytes_from_first(data: bytes) -> bytes:
    """What rank 0 gives, on every rank."""
    if rank_and_world()[1] == 1:
        return data
    import torch

    size = torch.tensor([len(data)])
    copy_from_first([size])
    content = torch.frombuffer(bytearray(data), dtype=torch.uint8) if rank_and_world()[0] == 0 and data else None
    if content is None:
        content = torch.empty(int(size), dtype=torch.uint8)
    if len(content):
        copy_from_first([content])
    return content.numpy().tobytes()
