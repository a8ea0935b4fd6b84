"""Run the benchmarks: all of them, or those named."""

import argparse

from benchmarks import cold_start, device, fit, spanning_tree, training

PARTS = {
    "cold_start": cold_start.run,
    "training": training.run,
    "spanning_tree": spanning_tree.run,
    "fit": fit.run,
    "device": device.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=f"any of {', '.join(PARTS)}; all if none")
    parser.add_argument("--repeats", type=int, default=5, help="turns of what is quick; what is slow takes fewer")
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](arguments.repeats)


main()
