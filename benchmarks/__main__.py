"""Run the benchmarks: all of them, or those named."""

import argparse

from benchmarks import (
    answer,
    capacity,
    chance,
    cold_start,
    device,
    embedded_points,
    fit,
    known_labels,
    layout,
    memory,
    out_of_core,
    packaged,
    settled_chance,
    spanning_tree,
    training,
)

PARTS = {
    "cold_start": cold_start.run,
    "training": training.run,
    "spanning_tree": spanning_tree.run,
    "fit": fit.run,
    "device": device.run,
}
# Run only when named: they take minutes or gigabytes.
LARGE = {
    "answer": answer.run,
    "capacity": capacity.run,
    "chance": chance.run,
    "settled_chance": settled_chance.run,
    "out_of_core": out_of_core.run,
    "embedded_points": embedded_points.run,
    "known_labels": known_labels.run,
    "layout": layout.run,
    "memory": memory.run,
    "packaged": packaged.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = f"any of {', '.join([*PARTS, *LARGE])}; all but {' and '.join(LARGE)} if none"
    parser.add_argument("parts", nargs="*", choices=[*PARTS, *LARGE, []], help=names)
    parser.add_argument("--repeats", type=int, default=5, help="turns of what is quick; what is slow takes fewer")
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        if part in LARGE:
            LARGE[part]()
        else:
            PARTS[part](arguments.repeats)


main()
