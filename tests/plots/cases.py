"""Alignments and reports to be drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heedful.alignment import Alignment
from heedful.plots import Entry, Map, Report

LABELS = {
    " ": "␣",
    "a b": "a b",
    "\u00a0": "U+00A0",
    " \u3000": "␣U+3000",
    "\x07": "U+0007",
    "\ufffe": "U+FFFE",
    "\u200d": "U+200D",
    "a\u200d": "aU+200D",
    "\u200cb": "U+200Cb",
    "a \u200db": "a U+200Db",
    "\u202eabc": "U+202Eabc",
    "\u2066": "U+2066",
    "x\u200f": "xU+200F",
    "\ufeffa": "U+FEFFa",
    "so\u00adft": "soU+00ADft",
    "\u3164": "U+3164",
    "\ufe0f": "U+FE0F",
    "\U000e0067": "U+E0067",
}
"""Labels and how they are shown: what cannot be seen, or turns others round, by its number."""

KEPT = [
    "👩\u200d👩\u200d👧\u200d👦",
    "👩🏽\u200d💻",
    "🏳\ufe0f\u200d🌈",
    "❤\ufe0f",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "می\u200cخواهم",
    "क\u094d\u200d",
    "क\u094d\u200dष",
    "\u0600\u0661",
    "שלום",
    "é",
]
"""Labels in which formats stand where they belong, or none."""


def random_alignment(
    source: Sequence[str], target: Sequence[str], *, seed: int, convention: str = "predicted"
) -> Alignment:
    """With end symbols on both sides, around the diagonal, more or less sharp."""
    draw = np.random.default_rng(seed)
    columns, rows = len(source) + 1, len(target) + 1
    far = np.abs(np.arange(columns) - np.linspace(0, columns - 1, rows)[:, None])
    weights = np.exp(draw.normal(0, 1, (rows, columns)) - draw.uniform(0.1, 3) * far)
    return Alignment.of(
        [*source, "∎"],
        [*target, "∎"],
        weights / weights.sum(axis=1, keepdims=True),
        convention=convention,
        source_positions=[*range(1, columns), 0],
        target_end=True,
    )


def entry(line: int, source: Sequence[str], target: Sequence[str], *, captions: Sequence[str] = ("",)) -> Entry:
    """A pair with a map for each caption."""
    maps = [
        Map(random_alignment(source, target, seed=97 * line + place), " ".join(target), caption, -line / 7 - place)
        for place, caption in enumerate(captions)
    ]
    return Entry(line, " ".join(source), " ".join(target), tuple(maps))


def words(kind: str, count: int) -> list[str]:
    return [f"{kind}{place}" for place in range(count)]


def report(*entries: Entry, title: str = "a report") -> Report:
    return Report(title, (("run", "runs/a"), ("data", "pairs.tsv")), entries)
