"""A training step of heedful against the usual loop, and against the floor of its bare matrix products.

    python benchmarks/train_step.py [--shapes short long] [--fusions early] [--cells gru] [--json FILE]

What is timed: forward and backward of decoder, attention, readout and loss, single precision, no encoder and no
optimiser; source states are given and get gradients. The usual loop is in `steps/usual.py`, with a form of it that
repeats less ("apart"); what the two floors count in `steps/floor.py`; the sizes in `steps/shapes.py`. Before anything
is timed, the usual loop is given heedful's weights, and its loss and gradients must be heedful's.

The median over `--repeats` runs, the sides in turn in one process; ratios are those of the medians; --json keeps every
run. At S = T = 1,000 the usual loop would need some 30 GiB: its time and memory there are extrapolated from smaller
S = T, by a S^2 + b S through the two lengths that `--extrapolate` names (what it computes and keeps is in S x T or in
T); such figures are marked with ~. So extrapolated from 100 and 200, memory at 400 is within 1 % of what is measured
there, time within 20 %, on the low side. Peak memory is that of a step, in a process of its own (`steps/memory.py`), of
the shapes that `--memory` names; only Linux tells it.

heedful must be installed (`pip install -e .`). All of it takes half an hour on two cores, which must be idle.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
from typing import Any

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # as the command line has it

import torch

from steps.floor import floor
from steps.machine import new_file, signature
from steps.memory import measurable
from steps.shapes import CELLS, FUSIONS, SHAPES, Shape
from steps.sides import greatest_difference, peak_of, steps, timings

TOLERANCE = 1e-4  # of single precision, over hundreds of steps; in double precision, tests ask for 1e-9
SIDES = ("usual", "apart", "heedful", "floor", "onednn")
COLUMNS = (
    "shape",
    "fusion",
    "cell",
    "usual ms",
    "apart ms",
    "heedful ms",
    "floor ms",
    "floor (oneDNN) ms",
    "usual/heedful",
    "apart/heedful",
    "heedful/floor",
    "heedful/floor (oneDNN)",
    "floor GFLOP",
    "usual MiB",
    "heedful MiB",
    "differ by",
)


def main(words: list[str] | None = None) -> None:
    given = _options().parse_args(words)
    if given.threads:
        torch.set_num_threads(given.threads)
    print("|", " | ".join(COLUMNS), "|\n|" + "---|" * len(COLUMNS))
    rows = []
    for name in given.shapes:
        for fusion in given.fusions:
            for cell in given.cells:
                rows.append(row(name, fusion, cell, given))
                print("|", " | ".join(_cells(rows[-1])), "|", flush=True)
    lengths = " and ".join(map(str, given.extrapolate))
    line = f"{signature('train_step')}; medians of {given.repeats}; ~ is extrapolated from S = T = {lengths}"
    print(f"\n{line}")
    if given.json:
        given.json.write_text(json.dumps({"signature": line, "rows": rows}, indent=1))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--fusions", nargs="+", choices=FUSIONS, default=list(FUSIONS))
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, help="by default as many as torch takes")
    parser.add_argument("--memory", nargs="*", choices=SHAPES, default=["longest"], help="shapes to measure it of")
    parser.add_argument("--extrapolate", nargs=2, type=int, default=[200, 400], metavar="S")
    parser.add_argument(
        "--without", nargs="+", choices=("usual", "apart", "floor", "onednn"), default=[], help="sides to leave out"
    )
    parser.add_argument("--json", type=new_file, help="where all figures go")
    return parser


def row(name: str, fusion: str, cell: str, given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one shape, fusion and cell."""
    shape, extrapolated = SHAPES[name], name == "longest"
    near = _long(shape, 100) if extrapolated else shape
    sides = tuple(side for side in SIDES if side not in given.without)
    found: dict[str, Any] = {
        "shape": name,
        "sizes": dataclasses.asdict(shape),
        "fusion": fusion,
        "cell": cell,
        "extrapolated": extrapolated,
        "floor_gflop": floor(shape, fusion, cell).flops / 1e9,
    }
    if "usual" in sides:
        found["difference"] = greatest_difference(near, fusion, cell)
        assert found["difference"] < TOLERANCE, f"{name} {fusion} {cell}: the two differ by {found['difference']:.1e}"
    run = tuple(side for side in sides if not (extrapolated and side in ("usual", "apart")))
    found["times_ms"] = timings(steps(shape, fusion, cell, run), repeats=given.repeats)
    found["ms"] = {side: statistics.median(times) for side, times in found["times_ms"].items()}
    if extrapolated and "usual" in sides:
        found["ms"]["usual"], found["usual_ms_at"] = _extrapolate(
            lambda near: _alone("usual", near, fusion, cell, repeats=min(given.repeats, 3)),
            shape,
            given.extrapolate,
        )
    if name in given.memory and measurable():
        found["mib"] = {"heedful": peak_of("heedful", shape, fusion, cell)}
        if extrapolated and "usual" in sides:
            found["mib"]["usual"], found["usual_mib_at"] = _extrapolate(
                lambda near: peak_of("usual", near, fusion, cell), shape, given.extrapolate
            )
        elif "usual" in sides:
            found["mib"]["usual"] = peak_of("usual", shape, fusion, cell)
    return found


def _alone(side: str, shape: Shape, fusion: str, cell: str, *, repeats: int) -> float:
    return statistics.median(timings(steps(shape, fusion, cell, (side,)), repeats=repeats)[side])


def _long(shape: Shape, length: int) -> Shape:
    return dataclasses.replace(shape, source=length, target=length)


def _extrapolate(measure: Any, shape: Shape, lengths: list[int]) -> tuple[float, dict[int, float]]:
    """The value at the shape's S = T of the a S^2 + b S that is as measured at two lengths, and what was measured."""
    (first, low), (second, high) = found = [(length, measure(_long(shape, length))) for length in sorted(lengths)]
    b = (second * low / first - first * high / second) / (second - first)
    b = max(b, 0.0)  # below 0 it is noise: then through the longer one alone
    a = (high / second - b) / second
    return (a * shape.source + b) * shape.source, dict(found)


def _cells(row: dict[str, Any]) -> list[str]:
    """A line of the table."""
    ms, mib = row["ms"], row.get("mib", {})
    about = "~" if row["extrapolated"] else ""

    def text(value: float | None, form: str, mark: str = "") -> str:
        return "" if value is None else f"{mark}{value:{form}}"

    def ratio(first: str, second: str, mark: str = "") -> str:
        return f"{mark}{ms[first] / ms[second]:.2f}" if first in ms and second in ms else ""

    return [
        f"{row['shape']} ({SHAPES[row['shape']]})",
        row["fusion"],
        row["cell"],
        text(ms.get("usual"), ",.0f", about),
        text(ms.get("apart"), ",.0f"),
        text(ms["heedful"], ",.0f"),
        text(ms.get("floor"), ",.0f"),
        text(ms.get("onednn"), ",.0f"),
        ratio("usual", "heedful", about),
        ratio("apart", "heedful"),
        ratio("heedful", "floor"),
        ratio("heedful", "onednn"),
        text(row["floor_gflop"], ".1f"),
        text(mib.get("usual"), ",.0f", about),
        text(mib.get("heedful"), ",.0f"),
        text(row.get("difference"), ".0e"),
    ]


if __name__ == "__main__":
    main()
