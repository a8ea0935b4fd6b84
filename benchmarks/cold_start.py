"""The first fit of a process: with an empty cache of kernels, and with a filled one. Each is a process of its own."""

import tempfile

from benchmarks.measure import Table, run_python, show, store

CODE = """
import json, time
clock = time.{clock}
started = clock()
import numpy
from shade import {name}
X = numpy.random.default_rng(0).normal(size=(5000, 10))
imported = clock()
{name}({arguments}).fit(X)
first = clock()
{name}({arguments}).fit(X)
print(json.dumps({{"import": imported - started, "first fit": first - imported, "second fit": clock() - first}}))
"""
ESTIMATORS = {"DCTreeClustering": 'device="cpu"', "SHADE": 'epochs=1, device="cpu"'}


# Seconds on the wall are what a user waits; where other programs want the cores, those of the processor say more.
CLOCKS = {"wall": "perf_counter", "processor": "process_time"}


def run(repeats: int) -> None:
    tables: list[Table] = []
    for name, arguments in ESTIMATORS.items():
        for clock, function in CLOCKS.items():
            code = CODE.format(name=name, arguments=arguments, clock=function)
            with tempfile.TemporaryDirectory() as cache:
                empty = run_python(code, NUMBA_CACHE_DIR=cache)
                filled = [run_python(code, NUMBA_CACHE_DIR=cache) for _ in range(repeats)]
            for title, runs in {"kernels to be compiled": [empty], "kernels cached": filled}.items():
                seconds = {step: [run[step] for run in runs] for step in empty}
                seconds["first fit beyond the second"] = [run["first fit"] - run["second fit"] for run in runs]
                title = f"{name}({arguments}), 5,000 x 10, {title}, {clock} time"
                tables.append(show(title, seconds, "second fit"))
    store("cold_start", tables)
