"""Run the benchmarks: all of them, or those named."""

import argparse

from benchmarks import device, fit, spanning_tree, training

PARTS = {"training": training.run, "spanning_tree": spanning_tree.run, "fit": fit.run, "device": device.run}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=f"any of {', '.join(PARTS)}; all if none")
    for part in parser.parse_args().parts or PARTS:
        PARTS[part]()


main()
