"""How time and memory grow with S, T, B, V, beam and threads, one at a time from a base: where are they linear?

    python benchmarks/scaling.py [--axes S T] [--fusion early] [--cell gru] [--plot FILE.png] [--json FILE]
    python benchmarks/scaling.py --scopes [global local_m] [--lengths 500 1000] [--fusion late] [--plot FILE.png]

Time is that of a training step of the whole model (encoder, decoder, loss, gradients; no optimiser), and that of
decoding a batch to exactly T symbols, a sentence. Peak memory is what a training step needs beyond its weights (its
gradients among it), on the axis beam what decoding does; each is measured in a process of its own, and only on Linux.
Medians over `--repeats` runs, the points of an axis in turn. All sentences are of full length.

A slope is that of a line through the points in logarithms, by least squares: 1 is linear, 0 does not grow; once over
the whole axis, and once over its last three points, where what does not grow no longer hides the rest.

With `--scopes` it is something else: a training step of decoder, attention and readout alone, for one sentence whose
source and target are equally long, by scope (and with the score linear): which of them is linear in the length?

heedful must be installed (`pip install -e .`). It takes about six minutes on two cores, which must be idle; with
`--scopes` as long on one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Sequence

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # as the command line has it

import torch

from steps import by_scope
from steps.axes import AXES, TIMES, Point, Setting, measure, slope
from steps.machine import new_file, signature
from steps.shapes import CELLS, FUSIONS

COLUMNS = {**TIMES, "memory": "peak, MiB"}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axes", nargs="+", choices=AXES, default=list(AXES))
    parser.add_argument("--scopes", nargs="*", choices=by_scope.SCOPES, help="by scope instead; without names, by all")
    parser.add_argument("--lengths", nargs="+", type=int, default=list(by_scope.LENGTHS), help="with --scopes")
    parser.add_argument("--fusion", choices=FUSIONS, help="early; with --scopes late")
    parser.add_argument("--cell", choices=CELLS, default="gru")
    parser.add_argument("--repeats", type=int, help="5; with --scopes 3")
    parser.add_argument("--threads", type=int, help="of the base; by default as many as torch takes")
    parser.add_argument("--plot", type=new_file, help="where the picture goes, PNG")
    parser.add_argument("--json", type=new_file, help="where all figures go")
    given = parser.parse_args(words)
    if given.threads:
        torch.set_num_threads(given.threads)
    if given.scopes is not None:
        scopes(given.scopes or list(by_scope.SCOPES), given)
        return
    given.fusion, given.repeats = given.fusion or "early", given.repeats or 5
    base = Setting()
    figures: dict[str, list[Point]] = {}
    for name in given.axes:
        figures[name] = measure(AXES[name], base, given.fusion, given.cell, repeats=given.repeats)
        print("\n".join(points_table(name, figures[name])), end="\n\n", flush=True)
    print("\n".join(slopes_table(figures)))
    line = f"{signature('scaling')}; base {base}, {given.fusion} {given.cell}; medians of {given.repeats}"
    print(f"\n{line}")
    if given.json:
        values = {name: [point._asdict() for point in points] for name, points in figures.items()}
        given.json.write_text(json.dumps({"signature": line, "figures": values}, indent=1))
    if given.plot:
        from steps.plot import draw

        places = {name: dataclasses.asdict(base)[AXES[name].field] for name in figures}
        draw(figures, places, given.plot, title=f"{given.fusion} fusion, {given.cell}; base {base}")


def scopes(names: Sequence[str], given: argparse.Namespace) -> None:
    """The section by scope."""
    fusion, repeats = given.fusion or "late", given.repeats or 3
    figures = {name: by_scope.measure(name, given.lengths, fusion, repeats=repeats) for name in names}
    for kind in ("train", "memory"):
        print("\n".join(by_scope.table(figures, given.lengths, kind)), end="\n\n", flush=True)
    print("\n".join(by_scope.compared(figures)))
    batch, hidden, vocabulary = by_scope.SIZES
    title = f"{fusion} gru; B{batch} H{hidden} V{vocabulary} D{by_scope.D}"
    line = f"{signature('scaling by scope')}; {title}; medians of {repeats}"
    print(f"\n{line}")
    if given.json:
        values = {name: [point._asdict() for point in points] for name, points in figures.items()}
        given.json.write_text(json.dumps({"signature": line, "figures": values}, indent=1))
    if given.plot:
        by_scope.draw(figures, given.plot, title=title)


def points_table(name: str, points: Sequence[Point]) -> list[str]:
    """What was measured along an axis, as Markdown."""
    rows = [f"| {name} | {' | '.join(COLUMNS.values())} |", "|---|---|---|---|"]
    for point in points:
        rows.append(f"| {point.value:,} | {' | '.join(_text(getattr(point, kind)) for kind in COLUMNS)} |")
    return rows


def slopes_table(figures: dict[str, list[Point]]) -> list[str]:
    """The slopes of each axis, over all of it and over its last three points, as Markdown."""
    heads = " | ".join(f"{kind} | its end" for kind in COLUMNS)
    rows = [f"| slope | from | to | {heads} |", "|---|---|---|" + "---|---|" * len(COLUMNS)]
    for name, points in figures.items():
        values = [point.value for point in points]
        cells = []
        for kind in COLUMNS:
            measured = [getattr(point, kind) for point in points]
            known = measured[0] is not None and len(points) > 1
            cells += [f"{slope(values[-n:], measured[-n:]):.2f}" if known else "" for n in (len(points), 3)]
        rows.append(f"| {name} | {values[0]:,} | {values[-1]:,} | {' | '.join(cells)} |")
    return rows


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
