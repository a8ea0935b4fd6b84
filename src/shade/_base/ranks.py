"""Several processes that work on one fit, started by torchrun, and their communication."""

from __future__ import annotations

import atexit
import io
import os
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from shade._base.errors import RankError

if TYPE_CHECKING:
    import torch

    from shade._base.arrays import AnyArray

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")

HEARTBEAT_SECONDS = 5.0
LOST_CONNECTION = ("onnection closed", "onnection reset", "roken pipe", "timed out", "Timed out", "gloo", "NCCL")
PATIENCE_SECONDS = 40.0  # without a heartbeat of a rank, until the others stop
PATIENCE_AT_START_SECONDS = 600.0  # for a rank that has not started

# torch has one process group per process, and creating it takes seconds. So a group that was created here is kept for
# later fits, together with the store where its ranks meet and the number of fits, which is equal on all ranks.
_own_store: Any = None
_fits = 0


@dataclass(frozen=True)
class Ranks:
    """The rank of this process and the number of processes. A single process sends nothing and loads no torch."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process is rank 0, which decides, reports and writes."""
        return self.rank == 0

    def share_of(self, n_items: int) -> slice:
        """Return the items that this rank works on."""
        return slice(n_items * self.rank // self.count, n_items * (self.rank + 1) // self.count)

    def reduce_max(self, *arrays: AnyArray) -> None:
        """Replace each entry by the largest value of it on all ranks."""
        if self.count > 1:
            import torch
            import torch.distributed as dist

            for array in arrays:
                dist.all_reduce(torch.from_numpy(array), dist.ReduceOp.MAX)

    def gather_shares(self, array: AnyArray) -> None:
        """Send the rows that each rank has computed, by `share_of`, to all ranks."""
        if self.count > 1:
            import torch
            import torch.distributed as dist

            for rank in range(self.count):
                part = array[replace(self, rank=rank).share_of(len(array))]
                dist.broadcast(torch.from_numpy(part), rank)

    def sum_tensors(self, tensors: list[torch.Tensor]) -> None:
        """Replace tensors by their sums over the ranks, with one message."""
        if self.count > 1:
            import torch
            import torch.distributed as dist

            flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
            dist.all_reduce(flat)
            for tensor, summed in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
                tensor.copy_(summed.reshape(tensor.shape))

    def copy_from_first(self, tensors: list[torch.Tensor]) -> None:
        """Replace tensors by those of rank 0."""
        if self.count > 1:
            import torch.distributed as dist

            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def from_first(self, make: Callable[[], Value]) -> Value:
        """Return the value of `make` on rank 0, on every rank."""
        return make() if self.count == 1 else self._from_rank(0, make)

    def check_same(self, own: Mapping[str, object], what: str) -> None:
        """Raise the same error on every rank if a value of one rank differs from that of rank 0."""
        if self.count == 1:
            return
        import torch.distributed as dist

        values = [self._from_rank(rank, lambda: dict(own)) for rank in range(self.count)]
        for rank, found in enumerate(values):
            names = [name for name in {**values[0], **found} if found.get(name) != values[0].get(name)]
            if names:
                with suppress(RuntimeError):  # no rank leaves before all have the values
                    dist.barrier()
                shown = "; ".join(f"{name}={found.get(name)!s:.80}, not {values[0].get(name)!s:.80}" for name in names)
                raise RankError(
                    f"The processes of this fit do not have the same {what}: rank {rank} has {shown} as rank 0. Start "
                    "all of them with the same data, parameters and versions."
                )

    def _from_rank(self, rank: int, make: Callable[[], Value]) -> Value:
        """Return the value of `make` on one rank, on every rank."""
        import torch
        import torch.distributed as dist

        file = io.BytesIO()
        if self.rank == rank:
            value = make()
            pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
        size = torch.tensor([file.tell()])
        dist.broadcast(size, rank)
        if self.rank != rank:
            file = io.BytesIO(bytes(int(size)))
        dist.broadcast(torch.frombuffer(file.getbuffer(), dtype=torch.uint8), rank)
        return value if self.rank == rank else cast(Value, pickle.load(file))

    def lead(self, work: Callable[[Callable[[Item], Result]], Value], task: Callable[[Item], Result]) -> Value:
        """Run `work` on rank 0, and return its result on every rank.

        The argument of `work` is a function that makes all ranks run the same task together, and returns its result.
        """

        def do_together(item: Item) -> Result:
            self.from_first(lambda: (False, item))
            return task(item)

        while True:
            done, value = self.from_first(lambda: (True, work(do_together)))
            if done:
                return value
            task(cast(Item, value))


ALONE = Ranks()


def find_ranks() -> Ranks:
    """Return the processes that were started together: those of torch's process group, or those of torchrun.

    RANK without a WORLD_SIZE above 1 means a single process: some schedulers set RANK for every process.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return Ranks(distributed.get_rank(), distributed.get_world_size())
    count = int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1
    return Ranks(int(os.environ["RANK"]), count) if count > 1 else ALONE


@contextmanager
def process_group() -> Iterator[Ranks]:
    """Connect the processes that were started together, if there are several, during a fit.

    If torch has a process group, it is used; it must be able to send CPU tensors. Otherwise a group is created if
    torchrun, or a program that sets the same variables, has started several processes.

    Ranks notice the end of another rank by its closed connection or, if a machine disappears or a process hangs, by
    missing heartbeats. So a rank that is still working has no time limit.
    """
    ranks = find_ranks()
    if ranks.count == 1:
        yield ALONE
        return
    global _fits  # noqa: PLW0603
    import torch.distributed as dist

    _fits += 1
    with Heartbeat(_meet(ranks), ranks):
        try:
            if not dist.is_initialized():
                _make_group(ranks)
            yield ranks
            dist.barrier()  # so that all heartbeats stop together
        except BaseException as error:
            if _own_store is not None:
                _leave_group()  # the closed connection informs the other ranks
            lost = isinstance(error, RuntimeError) and any(sign in str(error) for sign in LOST_CONNECTION)
            if not lost or isinstance(error, RankError):
                raise
            raise RankError(
                "Another process of this fit ended or failed: its last messages say why. Start all processes again. "
                "If the fit wrote checkpoints, 'resume' continues from the last one."
            ) from error


def _meet(ranks: Ranks) -> Any:
    """Return the store of a group that was, or will be, created here; None if the user has created the group."""
    global _own_store  # noqa: PLW0603
    import torch.distributed as dist

    if _own_store is None and not dist.is_initialized():
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        store = next(rendezvous("env://"))[0]
        _own_store = PrefixStore(f"shade-{_agree_on_attempt(store, ranks)}-{_fits}", store)
    return _own_store


def _agree_on_attempt(store: Any, ranks: Ranks) -> str:
    """Return a name that only the processes of this attempt share.

    A store may outlive an attempt, and entries of an earlier attempt lead to dead processes. The number of restarts
    does not identify an attempt, since each machine has its own number. So rank 0 proposes a new name, the other ranks
    answer with names of their own, and rank 0 confirms the answers. The name is valid for the ranks with confirmed
    answers.
    """
    own = uuid.uuid4().hex
    if ranks.first:
        store.set("shade-attempt", own)
    last = time.monotonic() + PATIENCE_AT_START_SECONDS
    while time.monotonic() < last:
        if ranks.first:
            answers = [_read(store, f"shade-answer-{other}").split() for other in range(1, ranks.count)]
            if all(answer[:1] == [own] for answer in answers):
                store.set(f"shade-members-{own}", " ".join(answer[1] for answer in answers))
                return own
        else:
            attempt = _read(store, "shade-attempt")
            if attempt:
                store.set(f"shade-answer-{ranks.rank}", f"{attempt} {own}")
                if own in _read(store, f"shade-members-{attempt}").split():
                    return attempt
        time.sleep(0.05)
    raise RankError(
        f"Not all of the {ranks.count} processes of this fit were there after {PATIENCE_AT_START_SECONDS:.0f} s. Check "
        "that all of them are started, and that they can reach each other."
    )


def _read(store: Any, key: str) -> str:
    """Return the value of a key in a store, or ""."""
    return str(store.get(key).decode()) if store.check([key]) else ""


def _make_group(ranks: Ranks) -> None:
    import torch
    import torch.distributed as dist

    # nccl needs one device per rank. If some ranks have none, or share one, all ranks use gloo.
    devices = torch.cuda.device_count() if dist.is_nccl_available() else 0
    _own_store.set(f"devices-{ranks.rank}", str(int(devices >= int(os.environ.get("LOCAL_WORLD_SIZE", "1")))))
    enough = all(_own_store.get(f"devices-{other}") == b"1" for other in range(ranks.count))
    backend = "cpu:gloo,cuda:nccl" if enough else "gloo"
    dist.init_process_group(
        backend, store=_own_store, rank=ranks.rank, world_size=ranks.count, timeout=timedelta(days=1)
    )
    atexit.register(_leave_group)


def _leave_group() -> None:
    global _own_store  # noqa: PLW0603
    import torch.distributed as dist

    _own_store = None
    if dist.is_initialized():
        dist.destroy_process_group()


class Heartbeat(threading.Thread):
    """Signals to the other ranks that this one is running, and ends this one if another has stopped.

    If the user created the group, there is no store for it, and the limits of that group apply.
    """

    def __init__(self, store: Any, ranks: Ranks) -> None:
        super().__init__(daemon=True, name="shade-heartbeat")
        self._store: Any = None if store is None else store.clone()
        self._ranks = ranks
        self._done = threading.Event()
        self._answered = time.monotonic()

    def __enter__(self) -> None:
        if self._store is not None:
            self.start()
            threading.Thread(target=self._watch_store, daemon=True, name="shade-watch").start()

    def __exit__(self, *error: object) -> None:
        self._done.set()

    def run(self) -> None:
        """Increase the counter of this rank, and watch those of the others."""
        latest = dict.fromkeys(set(range(self._ranks.count)) - {self._ranks.rank}, (0, time.monotonic()))
        try:
            while not self._done.is_set():
                self._store.add(f"fit-{_fits}-{self._ranks.rank}", 1)
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
            return  # the store is gone: `_watch_store` ends this rank, unless the fit is over

    def _watch_store(self) -> None:
        """End this rank if the store no longer answers. A request to the store has no time limit of its own."""
        while not self._done.wait(HEARTBEAT_SECONDS):
            if time.monotonic() - self._answered > PATIENCE_SECONDS:
                self._end("The process that ranks meet at cannot be reached any more")

    def _end(self, reason: str) -> None:
        # The main thread waits inside a collective operation, where no exception reaches it.
        sys.stderr.write(f"{reason}: rank {self._ranks.rank} of {self._ranks.count} ends as well.\n")
        sys.stderr.flush()
        os._exit(1)
