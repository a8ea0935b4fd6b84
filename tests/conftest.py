"""One thread of BLAS and torch a process: tests run side by side, and threads that wait for each other take long."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before NumPy is imported; processes that tests start inherit it
