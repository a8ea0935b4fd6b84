"""What tests that run side by side need, set before NumPy and numba are imported; programs they start inherit it."""

import os
from pathlib import Path

# Threads of BLAS and torch that wait for each other take long where other processes want the cores as well.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Numba numbers its cached files without a lock: two processes that compile a kernel for other types can mix them up.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache" / worker))
