"""Speed, as ratios within one run: `python -m benchmarks`, or one part with `python -m benchmarks training`."""
