"""Common code of all parts: arrays, errors, files, memory, ranks, threads, validation."""
