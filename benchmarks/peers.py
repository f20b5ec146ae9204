"""heedful against the toolkits that install from PyPI: training and decoding, on the same data, in turn, in one run.

    python benchmarks/peers.py SOURCE TARGET SOURCE TARGET --environments FOLDER [--json FILE]

SOURCE and TARGET are parallel files, gzipped or not: first spelling and sounds, symbols with spaces between them (g2p),
then raw sentences (translation); with --task, those of the tasks that it names. FOLDER gets a virtual environment for
each toolkit, which later runs use again: a gigabyte each, from PyPI; several, where pip's PyTorch comes with CUDA. They
want Python 3.11, and Linux or macOS. heedful runs in the Python that runs this, which has it installed.

Prints a Markdown table for each task with the ratios that are asked for, says what could not be run and why, and what
all was measured on. Decoding is forced: the end symbol suppressed and exactly 12 (g2p) or 20 steps on 500 sources,
which is the only fair way to compare it. Settings stand in the docstrings of benchmarks/peers/. It takes 15 minutes on
two cores, which must be idle; --quick shows in a few that all of it runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.conduct import MEASURES, Plan, compare
from peers.corpora import TASKS, prepare
from peers.sides import NOT_RUN, SIDES, TOOLKITS
from peers.table import report, signature


def main(words: Sequence[str] | None = None) -> None:
    given = _arguments(words)
    sides = [side for side in SIDES if side.toolkit in given.toolkits and (not given.side or side.name in given.side)]
    quick = given.quick
    plan = Plan(given.measure, 1 if quick else given.repeats, 1.0 if quick else given.seconds, given.threads)
    figures: dict[str, Any] = {}
    sizes = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, name in enumerate(given.task):
            task, folder = TASKS[name], Path(scratch) / name
            source, target = given.data[2 * number : 2 * number + 2]
            sizes[name] = prepare(task, source, target, folder / "data", most=given.pairs)
            figures[name] = compare(
                sides,
                task,
                data=folder / "data",
                environments=given.environments,
                folder=folder,
                plan=plan,
                tell=lambda text: print(text, file=sys.stderr, flush=True),
            )
            print(report(task, sizes[name], figures[name]), end="\n\n", flush=True)
    line = signature(figures, repeats=plan.repeats, seconds=plan.seconds)
    print(*(f"Not run: {name}, which {why}." for name, why in NOT_RUN.items()), "", line, sep="\n")
    if given.json:
        values = {
            "signature": line,
            "sizes": {name: size._asdict() for name, size in sizes.items()},
            "figures": figures,
        }
        given.json.write_text(json.dumps(values, indent=1) + "\n", "utf-8")


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+", metavar="SOURCE TARGET", help="two files for each task")
    parser.add_argument("--environments", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--task", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--toolkits", nargs="+", choices=TOOLKITS, default=list(TOOLKITS))
    parser.add_argument("--side", nargs="+", choices=[side.name for side in SIDES], help="only these models")
    parser.add_argument("--measure", nargs="+", choices=MEASURES, default=MEASURES, help="only these")
    parser.add_argument("--repeats", type=int, default=5, help="segments of each side (%(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a segment of training (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of each toolkit (%(default)s)")
    parser.add_argument("--pairs", type=int, default=30_000, help="most pairs to train on (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="one short segment each: to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where every segment's figures go")
    given = parser.parse_args(words)
    if len(given.data) != 2 * len(given.task):
        parser.error(f"expected two files for each of {', '.join(given.task)}, got {len(given.data)}")
    for path in given.data:
        if not path.is_file():
            parser.error(f"no file {path}")
    if given.json and not given.json.absolute().parent.is_dir():
        parser.error(f"no folder {given.json.absolute().parent} for {given.json.name}")
    return given


if __name__ == "__main__":
    main()
