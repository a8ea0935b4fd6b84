"""Runs in worker processes. They are resumable, stored as they end, and a worker that dies only loses its own run."""

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
    """Return all runs of a table, seed by seed, so that early results cover everything; unused seeds run once."""
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
    """Run methods on datasets and store the results. Stored runs are not repeated.

    Parameters
    ----------
    table : str
        A name in `TABLES`, or a new name for settings to compare.
    datasets : sequence of str, optional
        The available datasets of the table if None.
    methods : sequence of str or Method, optional
        The methods of the table if None. `Method("SHADE", {"epochs": 50})` is SHADE with another setting.
    seeds : int or iterable of int, default=10
        Number of seeds, counted from 0, or the seeds.
    database : path, default="paper.sqlite"
        The SQLite file. Each run is stored when it ends, so only unfinished runs can be lost.
    device : str, default="auto"
    jobs : int, default=1
        Number of worker processes, each with one run at a time. A script then needs ``if __name__ == "__main__":``
        around this call. With 0, runs are in this process: no process must start, but a crash ends it.
    folder : path, optional
        Folder of the datasets; SHADE_DATA or the user's cache if None.
    retry_failed : bool, default=False
        Whether failed runs are repeated.
    rerun_changed : bool, default=False
        Whether runs of shade's methods are repeated if they were made with other code than the current one.
    report : callable, optional
        Called with a line of text per run; lines go to standard error if None.

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
    """Give runs to workers and store their results."""
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
    """A process that runs one plan after the other, and its current plan."""

    def __init__(self, device: str, folder: str | None, threads: int) -> None:
        self.settings = device, folder, threads
        self.plan: Plan | None = None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")  # CUDA and thread pools do not work after a fork
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, *self.settings, os.getpid()), daemon=True)
        self.process.start()
        theirs.close()
        self.ready = False
        self.dead = False

    def start(self, plan: Plan) -> None:
        """Start a run, in a new process if the old one died."""
        if self.dead:
            self._begin()
        self.plan = plan
        with contextlib.suppress(OSError):  # if the process died between runs, `collect` finds it
            self.connection.send(plan)

    def collect(self) -> Run | None:
        """Return the finished run, or a failure if the process died; None if the process has just started."""
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
        """End the process; an unfinished run is lost."""
        self.connection.close()
        if self.plan is not None:
            self.process.terminate()
        self.process.join()


def _work(connection: Connection[Any, Any], device: str, folder: str | None, threads: int, parent: int) -> None:
    """Run plans in a worker until its connection closes."""
    import torch
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(threads)
    threadpool_limits(threads)
    connection.send(None)  # started and ready
    while True:
        try:
            plan: Plan = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        connection.send(measure_run(plan, device, folder, threads))


def _die_with(parent: int) -> None:
    """End this process when its parent has ended, even if that was killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


class _Progress:
    """Progress of the runs, and an estimate of the remaining time."""

    def __init__(self, plans: list[Plan], folder: str | os.PathLike[str] | None) -> None:
        self.folder = folder
        self.total = len(plans)
        self.count = 0
        self.cost_left = sum(cost_of(plan.dataset, folder) for plan in plans)
        self.cost_done = 0.0
        self.started = time.monotonic()

    def describe(self, run: Run) -> str:
        """Return a line about a finished run."""
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
