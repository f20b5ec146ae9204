"""Training steps by scope for `scaling.py`: how time and memory of long pairs grow where a part of them answers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from steps.axes import slope
from steps.memory import measurable, peak
from steps.shapes import Shape, batch_of, make
from steps.sides import Step, heedful_step

D = 10
"""Words on either side of the centre of a window."""

SCOPES: dict[str, dict[str, Any]] = {
    "global": {},
    "local_m": {"scope": {"name": "local_m", "window": D}},
    "window": {"scope": {"name": "window", "width": D}},
    "block": {"scope": {"name": "block", "width": 7, "neighbours": 1}},  # as many words as 2 D + 1
    "strided": {"scope": {"name": "strided", "width": D, "stride": 64}},
    "score linear": {"score": "linear"},
}
LENGTHS = (500, 1000, 2000, 4000, 8000)
COMPARED = 4000
SIZES = (1, 256, 45)
"""Sentences, hidden size, target symbols."""
LONGEST, LARGEST = 60, 8192
"""Seconds and MiB that a step may be expected to take, if it is to be measured: four times those at half the length."""


class Length(NamedTuple):
    """What was measured with source and target of this length."""

    value: int
    train: float  # ms of a step
    memory: float | None  # peak MiB; None where it is not told


def training(length: int, scope: str, fusion: str, sizes: Sequence[int]) -> Step:
    """A training step of decoder, attention and readout, for source states that are given; gradients of these too."""
    batch, hidden, vocabulary = sizes
    shape = Shape(batch, length, length, hidden, vocabulary)
    return heedful_step(make(shape, fusion, "gru", **SCOPES[scope]), batch_of(shape))


def measure(scope: str, lengths: Sequence[int], fusion: str, *, repeats: int) -> list[Length]:
    """Medians of `repeats` runs; it stops where a step would be too long, or too large."""
    points: list[Length] = []
    for length in lengths:
        if points:
            last, more = points[-1], (length / points[-1].value) ** 2
            if more * last.train > 1000 * LONGEST or more * (last.memory or 0) > LARGEST:
                break
        words = (scope, fusion, SIZES)
        memory = peak(training, (length, *words), tiny=(11, *words)) if measurable() else None
        step, taken = training(length, *words), []
        for turn in range(repeats + 1):
            start = time.perf_counter()
            step()
            if turn:  # the first does not count
                taken.append(1000 * (time.perf_counter() - start))
        points.append(Length(length, statistics.median(taken), memory))
    return points


def table(figures: Mapping[str, Sequence[Length]], lengths: Sequence[int], kind: str) -> list[str]:
    """Lengths along, scopes down, and the slopes over all and over the last three lengths, as Markdown."""
    head = f"| {'time, ms' if kind == 'train' else 'peak, MiB'} | {' | '.join(f'{n:,}' for n in lengths)} |"
    rows = [f"{head} slope | its end |", "|---|" + "--:|" * (len(lengths) + 2)]
    for scope, points in figures.items():
        known = {point.value: getattr(point, kind) for point in points}
        cells = [_text(known.get(length)) for length in lengths]
        values = [each for each in known.values() if each is not None]
        slopes = [f"{slope(list(known)[-n:], values[-n:]):.2f}" if len(values) > 1 else "" for n in (len(values), 3)]
        rows.append(f"| {scope} | {' | '.join([*cells, *slopes])} |")
    return rows


def compared(figures: Mapping[str, Sequence[Length]], at: int = COMPARED) -> list[str]:
    """Each scope against global at this length; and where one stopped before the others."""
    last = {scope: points[-1].value for scope, points in figures.items()}
    lines = [f"{scope} stopped at {end:,}" for scope, end in last.items() if end < max(last.values())]
    known = {scope: point for scope, points in figures.items() for point in points if point.value == at}
    whole = known.pop("global", None)
    if whole is None:
        return lines
    for scope, point in known.items():
        memory = "" if point.memory is None or whole.memory is None else f" and 1/{whole.memory / point.memory:.1f}"
        lines.append(f"at {at:,} {scope} takes 1/{whole.train / point.train:.1f} of the time{memory} of the memory")
    return lines


def draw(figures: Mapping[str, Sequence[Length]], file: Path, *, title: str) -> None:
    """Time and memory against the length, a line for each scope."""
    from matplotlib.figure import Figure

    colours = ("#1b1f24", "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")  # of Okabe and Ito's set
    figure = Figure(figsize=(9.4, 4.4), dpi=150, layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, kind, label in zip(panels, ("train", "memory"), ("time of a step, ms", "peak memory, MiB"), strict=True):
        for (scope, points), colour in zip(figures.items(), colours, strict=False):
            pairs = [(point.value, value) for point in points if (value := getattr(point, kind)) is not None]
            if pairs:
                ends = slope(*zip(*pairs[-3:], strict=True)) if len(pairs) > 2 else float("nan")
                name = f"{scope} ({ends:.2f})"
                style: dict[str, Any] = {"ls": "--" if scope == "window" else "-", "label": name}  # over local_m
                axes.plot(*zip(*pairs, strict=True), marker="o", ms=3.5, lw=1.6, color=colour, **style)
        values = sorted({point.value for points in figures.values() for point in points})
        axes.set(xscale="log", yscale="log", ylabel=label, xlabel="source length = target length")
        axes.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        axes.grid(axis="y", color="#eceff2", lw=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    figure.suptitle(f"{title}\nin brackets: slope over the last three points", x=0.01, ha="left", fontsize=9.5)
    figure.savefig(file)


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
