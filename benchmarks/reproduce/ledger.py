"""What all reproductions will cost: runs, the longest of them, hours.

python benchmarks/reproduce/ledger.py [--write-docs]

prints the plan, or writes it into docs/reproductions.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import architecture
import fixed_vector
import links
import luong_ladder
import temperature
import width
from reproduction.cells import Study
from reproduction.command import DOCUMENT, write_between

STUDIES = tuple(each.STUDY for each in (fixed_vector, luong_ladder, width, architecture, links, temperature))


def plan(studies: Sequence[Study] = STUDIES) -> str:
    """A table in Markdown: minutes of a run and hours of all, training alone on one thread."""
    lines = ["| reproduction | cells | seeds | runs | updates of a run | longest run | all |", f"|{' --- |' * 7}"]
    for study in studies:
        updates = sorted({cell.updates for cell in study.cells})
        between = f"{updates[0]:,}" if len(updates) == 1 else f"{updates[0]:,} to {updates[-1]:,}"
        count, seeds = len(study.cells), len(study.seeds)
        longest = max(cell.minutes for cell in study.cells)
        sizes = f"{count} | {seeds} | {count * seeds} | {between} | {longest:.1f} minutes | {study.hours:.1f} hours"
        lines.append(f"| {study.title} | {sizes} |")
    runs = sum(len(study.cells) * len(study.seeds) for study in studies)
    lines.append(f"| all | | | {runs} | | | {sum(study.hours for study in studies):.1f} hours |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="The plan of the reproductions.")
    parser.add_argument("--write-docs", nargs="?", type=Path, const=DOCUMENT, metavar="FILE")
    options = parser.parse_args()
    print(plan())
    if options.write_docs is not None:
        write_between(options.write_docs, "ledger", plan())


if __name__ == "__main__":
    main()
