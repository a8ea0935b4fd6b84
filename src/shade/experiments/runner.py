"""Runs in worker processes: resumable, each stored as it ends, a worker that dies taking down its own run only."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from shade._base.errors import ShadeError
from shade._base.parallel import count_threads
from shade.experiments.measuring import Plan, measure_run
from shade.experiments.methods import METHODS, Method, code_of
from shade.experiments.samples import cost_of
from shade.experiments.store import Run, RunStore
from shade.experiments.tables import datasets_of, methods_of

Report = Callable[[str], object]


def plan_runs(table: str, datasets: Iterable[str], methods: Iterable[Method], seeds: int | Iterable[int]) -> list[Plan]:
    """All runs of a table, seed by seed, so that early results are about everything; seeds that change nothing once."""
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    chosen = list(dict.fromkeys(methods))
    return [
        Plan(table, dataset, method, seed)
        for seed in numbers
        for dataset in dict.fromkeys(datasets)
        for method in chosen
        if METHODS[method.name].random or seed == numbers[0]
    ]


def run_experiments(
    table: str,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str | Method] | None = None,
    seeds: int | Iterable[int] = 10,
    *,
    database: str | os.PathLike[str] = "paper.sqlite",
    device: str = "auto",
    jobs: int = 1,
    folder: str | os.PathLike[str] | None = None,
    retry_failed: bool = False,
    rerun_changed: bool = False,
    report: Report | None = None,
) -> RunStore:
    """Run methods on datasets and store what they found; what is stored already is not run again.

    Parameters
    ----------
    table : str
        A name of `TABLES`, or any name of your own for settings to compare.
    datasets : sequence of str, optional
        Those of the table that are at hand if None.
    methods : sequence of str or Method, optional
        Those of the table if None. `Method("SHADE", {"epochs": 50})` is SHADE with another setting.
    seeds : int or iterable of int, default=10
        How many seeds from 0 on, or which.
    database : path, default="paper.sqlite"
        The SQLite file. A run is a row in it as soon as it ended, so that nothing but runs in flight can be lost.
    device : str, default="auto"
    jobs : int, default=1
        Number of worker processes, one run at a time in each. A script needs ``if __name__ == "__main__":`` around this
        call then. With 0, runs are made in this very process: nothing to start, but a crash ends it.
    folder : path, optional
        Where the datasets are; SHADE_DATA or the user's cache if None.
    retry_failed : bool, default=False
        Whether runs that failed are run again.
    rerun_changed : bool, default=False
        Whether methods of shade are run again where the stored run was made with other code than the present.
    report : callable, optional
        Gets a line of text a run; they go to standard error if None.

    Returns
    -------
    RunStore
    """
    say = report or (lambda line: sys.stderr.write(f"{line}\n"))
    store = RunStore(database)
    plans = plan_runs(table, datasets or datasets_of(table, folder), methods_of(table, methods or ()), seeds)
    done = {
        run.identity
        for run in store.runs(table)
        if not (run.failure and retry_failed) and not (rerun_changed and run.code != code_of(run.method))
    }
    left = [plan for plan in plans if plan.report().identity not in done]
    say(f"{table}: {len(plans)} runs, {len(plans) - len(left)} of them stored already in {store.path}")
    progress = _Progress(left, folder)

    def keep(run: Run) -> None:
        store.add(run)
        say(progress.describe(run))

    where = None if folder is None else str(folder)
    if jobs == 0:
        for plan in left:
            keep(measure_run(plan, device, where, None))
    elif left:
        _run_in_workers(left, device, min(jobs, len(left)), where, keep)
    return store


def _run_in_workers(plans: list[Plan], device: str, jobs: int, folder: str | None, keep: Callable[[Run], None]) -> None:
    """Hand runs to workers and keep what comes back."""
    waiting = list(reversed(plans))
    threads = max(1, count_threads(None) // jobs)
    workers = [_Worker(device, folder, threads) for _ in range(jobs)]
    try:
        for worker in workers:
            worker.start(waiting.pop())
        while busy := [worker for worker in workers if worker.plan]:
            ready = wait([worker.connection for worker in busy])
            for worker in busy:
                run = worker.collect() if worker.connection in ready else None
                if run is not None:
                    keep(run)
                    if waiting:
                        worker.start(waiting.pop())
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that runs one plan after the other, and the plan it is at."""

    def __init__(self, device: str, folder: str | None, threads: int) -> None:
        self.settings = device, folder, threads
        self.plan: Plan | None = None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")  # CUDA and thread pools do not survive a fork
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, *self.settings, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.ready = False
        self.dead = False

    def start(self, plan: Plan) -> None:
        """Begin a run, in a new process if the one before died."""
        if self.dead:
            self._begin()
        self.plan = plan
        with contextlib.suppress(OSError):  # where it died between runs, collecting will tell
            self.connection.send(plan)

    def collect(self) -> Run | None:
        """The run that ended, or the failure of a process that died; None if the process has just come up."""
        try:
            found: Run | None = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            self.dead = True
            found = self._failure()
        if found is None:
            self.ready = True
        else:
            self.plan = None
        return found

    def _failure(self) -> Run:
        code = self.process.exitcode
        if not self.ready:
            raise ShadeError(
                f"A worker process did not come up (exit code {code}). A script that starts runs needs "
                'if __name__ == "__main__": around the call; or use jobs=0.'
            )
        if self.plan is None:
            raise ShadeError(f"A worker process died between two runs (exit code {code}).")
        return self.plan.report(failure=f"The process died with exit code {code}.")

    def stop(self) -> None:
        """End the process; a run in flight is lost."""
        self.connection.close()
        if self.plan is not None:
            self.process.terminate()
        self.process.join()


def _work(connection: Connection[Any, Any], device: str, folder: str | None, threads: int, parent: int) -> None:
    """What a worker does until its connection closes."""
    import torch
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what a Ctrl-C means
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(threads)
    threadpool_limits(threads)
    connection.send(None)  # up, and able to run
    while True:
        try:
            plan: Plan = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        connection.send(measure_run(plan, device, folder, threads))


def _die_with(parent: int) -> None:
    """End this process when its parent is gone, even if that was killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


class _Progress:
    """How far it is, and how long it may still take."""

    def __init__(self, plans: list[Plan], folder: str | os.PathLike[str] | None) -> None:
        self.folder = folder
        self.total = len(plans)
        self.count = 0
        self.cost_left = sum(cost_of(plan.dataset, folder) for plan in plans)
        self.cost_done = 0.0
        self.started = time.monotonic()

    def describe(self, run: Run) -> str:
        """A line about a run that ended."""
        cost = cost_of(run.dataset, self.folder)
        self.count, self.cost_done, self.cost_left = self.count + 1, self.cost_done + cost, self.cost_left - cost
        left = (time.monotonic() - self.started) * self.cost_left / self.cost_done
        method = run.method + (f" {run.parameters}" if run.key else "")
        place = f"[{self.count:>{len(str(self.total))}}/{self.total}]"
        ending = f"{_duration(left)} left" if self.count < self.total else "all done"
        return f"{place} {run.dataset} {method} seed {run.seed}: {_result(run)}; {ending}"


def _result(run: Run) -> str:
    if run.failure:
        return f"FAILED, {run.failure}"
    noise = run.noise_share or 0.0
    ari = "" if run.ari is None or noise == 0.0 else f" ({100 * run.ari:.1f} without noise)"
    return (
        f"ARI {100 * (run.ari_assigned or 0.0):.1f}{ari}, {run.n_clusters} clusters, noise {100 * noise:.1f} %, "
        f"{run.seconds:.1f} s"
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
