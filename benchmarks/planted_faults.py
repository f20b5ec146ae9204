"""How well does `heedful diagnose` find what is wrong with attention? Small models of known health, made and judged.

    python benchmarks/planted_faults.py make FOLDER --seed-base 5000
    python benchmarks/planted_faults.py judge FOLDER [--out FILE]

`make` trains about a hundred small models as ordinary run folders (six seconds each on one core); it goes on where it
was stopped. `judge` diagnoses each and prints the confusion matrix as Markdown; with --out, FILE gets it and FILE with
the ending .json every verdict. What the faults are, and how they are made, is in benchmarks/planted/.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from planted import parts  # noqa: F401  # registers the parts that some runs are made of, so that they can be loaded
from planted.judge import judge
from planted.make import make
from planted.recipes import TRUTHS


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    maker = commands.add_parser("make", help="train the models that are not there yet")
    maker.add_argument("folder", type=Path)
    maker.add_argument("--seed-base", type=int, required=True, help="models of other seeds are other models")
    maker.add_argument("--only", choices=TRUTHS, help="only models that are made to be this")
    maker.add_argument("--limit", type=int, help="only the first so many of them")
    maker.add_argument(
        "--updates", type=int, help="for a quick try: so many updates each on fewer pairs, and no model is refused"
    )
    judger = commands.add_parser("judge", help="diagnose all models of a folder and count")
    judger.add_argument("folder", type=Path)
    judger.add_argument("--out", type=Path, help="where the table goes, as Markdown; and beside it as .json")
    arguments = parser.parse_args(words)
    if arguments.command == "make":
        make(
            arguments.folder,
            arguments.seed_base,
            only=arguments.only,
            limit=arguments.limit,
            updates=arguments.updates,
            tell=_tell,
        )
    else:
        judge(arguments.folder, out=arguments.out, tell=_tell)


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
