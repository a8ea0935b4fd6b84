"""What every room needs: arrays, errors, files, memory, ranks, threads, validation."""
