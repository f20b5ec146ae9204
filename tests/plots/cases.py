"""Alignments and reports to be drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heedful.alignment import Alignment
from heedful.plots import Entry, Map, Report


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
