"""Figures as Markdown: a table for each task, the ratios that are asked for, and what could not be run."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peers.corpora import Sizes, Task
from peers.sides import BATCH_SIZE, LEARNING_RATE, RATIOS, SEED, SIDES, SIZES, TOOLKITS, Side

_HEAD = (
    "toolkit",
    "parts",
    "version",
    "parameters",
    "target tokens/s",
    "ms/update",
    "peak RSS, MiB",
    "forced greedy, sentences/s",
    "forced beam 5, sentences/s",
)
_MEASURED = {"train": "training", "beam 1": "forced greedy", "beam 5": "forced beam 5"}
_FEW = 2  # sentences at once, where a batch would take minutes


def report(task: Task, sizes: Sizes, figures: Mapping[str, Any]) -> str:
    """The part on one task."""
    about = (
        f"{sizes.pairs:,} pairs, {sizes.source_symbols:,} / {sizes.target_symbols:,} symbols, mean target "
        f"{sizes.target_length:.2f} with the end symbol; {task.batch} pairs to an update; decoding {task.steps} steps."
    )
    sides = [side for side in SIDES if side.name in figures]
    rows = [_row(side, figures[side.name]) for side in sides if figures[side.name].keys() & _MEASURED]
    notes = [*_few(figures), *_ratios(task, figures), *_failed(sides, figures)]
    return "\n".join([f"### {task.title}", "", about, "", _table(rows), "", *notes])


def signature(figures: Mapping[str, Mapping[str, Any]], *, repeats: int, seconds: float) -> str:
    """What the figures were measured on and with."""
    measured = [side for sides in figures.values() for side in sides.values() if "torch" in side]
    versions = " ".join(sorted({f"torch {side['torch']}" for side in measured}))
    threads = "/".join(sorted({str(side["threads"]) for side in measured}))
    return (
        f"Medians of {repeats} segments of {seconds:g} s (decoding {seconds / 2:g} s), all sides in turn | "
        f"{_processor()}, {os.cpu_count()} cores, {threads} threads | Python {platform.python_version()}, {versions} | "
        f"float32, Adam {LEARNING_RATE}, embeddings {SIZES['embedding']}, encoder 2 x {SIZES['encoder']}, "
        f"decoder {SIZES['decoder']}, decoding {BATCH_SIZE} at once, seed {SEED}"
    )


def _row(side: Side, figures: Mapping[str, Any]) -> list[str]:
    train = figures.get("train", [])
    per_update = _middle([1000 * part["seconds"] / part["updates"] for part in train])
    peak = f"{figures['peak_mib']:,.0f}" if "peak_mib" in figures else "-"
    decoded = [_middle(_rates(figures, measure)) for measure in ("beam 1", "beam 5")]
    speed = _middle(_rates(figures, "train"))
    parameters = f"{figures['parameters']:,}"
    return [TOOLKITS[side.toolkit], side.parts, figures["version"], parameters, speed, per_update, peak, *decoded]


def _rates(figures: Mapping[str, Any], measure: str) -> list[float]:
    return [part.get("tokens", part.get("sentences")) / part["seconds"] for part in figures.get(measure, [])]


def _middle(values: Sequence[float]) -> str:
    if not values:
        return "-"
    middle = statistics.median(values)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.3g}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = [_HEAD, ["---", "---", "---", *["---:"] * 6], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ratios(task: Task, figures: Mapping[str, Any]) -> list[str]:
    """Each round's ratio, and the median of these: what the machine did meanwhile falls on both sides of a ratio."""
    lines = []
    for ratio in RATIOS:
        both = [_rates(figures.get(name, {}), ratio.measure) for name in (ratio.ours, ratio.theirs)]
        if not all(both):
            continue
        rounds = [ours / theirs for ours, theirs in zip(*both, strict=False)]
        middle, asked = statistics.median(rounds), ratio.asked.get(task.name)
        verdict = "" if asked is None else f"; asked: {asked:g}, {'met' if middle >= asked else 'NOT met'}"
        ours, theirs = (figures[name].get("batches", {}).get(ratio.measure) for name in (ratio.ours, ratio.theirs))
        unlike = "" if ours == theirs else f"; {ours} against {theirs} sentences at once"
        lines.append(
            f"- {_MEASURED[ratio.measure]}, {ratio.ours} to {ratio.theirs}: **{middle:.2f} times** "
            f"({min(rounds):.2f} to {max(rounds):.2f}{unlike}{verdict})"
        )
    return lines


def _few(figures: Mapping[str, Any]) -> list[str]:
    return [
        f"- {name}, {_MEASURED[measure]}: {_FEW} sentences at once; more would take minutes"
        for name, side in figures.items()
        for measure, size in side.get("batches", {}).items()
        if size == _FEW
    ]


def _failed(sides: Sequence[Side], figures: Mapping[str, Any]) -> list[str]:
    return [
        f"- {side.name} could not be run{' to the end' if figures[side.name].keys() & _MEASURED else ''}: "
        f"{figures[side.name]['failed']}"
        for side in sides
        if "failed" in figures[side.name]
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'} ({platform.machine()})"
