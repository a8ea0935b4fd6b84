"""The first fit of a process: with an empty cache of kernels, and with a filled one. Each is a process of its own."""

import tempfile

from benchmarks.measure import Table, run_python, show, store

CODE = """
import json, time
marks = [(time.perf_counter(), time.process_time())]
mark = lambda: marks.append((time.perf_counter(), time.process_time()))
import numpy
from shade import {name}
X = numpy.random.default_rng(0).normal(size=(5000, 10))
mark()
{name}({arguments}).fit(X)
mark()
{name}({arguments}).fit(X)
mark()
print(json.dumps({{"marks": marks}}))
"""
ESTIMATORS = {"DCTreeClustering": 'device="cpu"', "SHADE": 'epochs=1, device="cpu"'}
STEPS = ("import", "first fit", "second fit")
# Seconds on the wall are what a user waits; where other programs want the cores, those of the processor say more.
CLOCKS = ("wall", "processor")


def run(repeats: int) -> None:
    tables: list[Table] = []
    for name, arguments in ESTIMATORS.items():
        code = CODE.format(name=name, arguments=arguments)
        with tempfile.TemporaryDirectory() as cache:
            empty = run_python(code, NUMBA_CACHE_DIR=cache)["marks"]
            filled = [run_python(code, NUMBA_CACHE_DIR=cache)["marks"] for _ in range(repeats)]
        for kernels, runs in {"kernels to be compiled": [empty], "kernels cached": filled}.items():
            for place, clock in enumerate(CLOCKS):
                seconds = {
                    step: [marks[end + 1][place] - marks[end][place] for marks in runs]
                    for end, step in enumerate(STEPS)
                }
                seconds["first fit beyond the second"] = [
                    first - second for first, second in zip(seconds["first fit"], seconds["second fit"], strict=True)
                ]
                title = f"{name}({arguments}), 5,000 x 10, {kernels}, {clock} time"
                tables.append(show(title, seconds, "second fit"))
    store("cold_start", tables)
