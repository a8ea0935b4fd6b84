"""Run the benchmarks: all of them, or those named."""

import argparse

from benchmarks import device, embedded_points, fit, out_of_core, spanning_tree, training

PARTS = {"training": training.run, "spanning_tree": spanning_tree.run, "fit": fit.run, "device": device.run}
# Run only when named: they take minutes and gigabytes.
LARGE = {"out_of_core": out_of_core.run, "embedded_points": embedded_points.run}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parts = {**PARTS, **LARGE}
    names = f"any of {', '.join(parts)}; all but {' and '.join(LARGE)} if none"
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help=names)
    for part in parser.parse_args().parts or PARTS:
        parts[part]()


main()
