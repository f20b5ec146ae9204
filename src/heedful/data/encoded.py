"""Sources as the model gets them, and what is shown of them beside attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np


class Grid(NamedTuple):
    """Where vector j of a source of features lies, j from 0: from ``step * j`` to ``step * j + width``."""

    step: float
    width: float
    unit: str


class Encoded(NamedTuple):
    """A source as the model gets it; all three have the same length.

    `ids` are tags, tokens, END. `positions` tell the place 1..n of each token in the text as it was written,
    and are 0 for tags and END. `labels` are what to show. `segments` are the numbers of each token's segment, from 1 as
    they are read, and 0 for tags and END; None where texts are not cut into segments.

    Of a source of features `ids` is the array (S, F) float32 of normalised vectors, without an END; `positions` are
    1..S, and `grid` says where they lie, in place of labels.
    """

    ids: list[int] | np.ndarray
    positions: Sequence[int]
    labels: list[str]
    grid: Grid | None = None
    segments: list[int] | None = None

    def columns(self, shortening: int = 1) -> Columns:
        """What attention's columns show, where the model makes one source state of so many positions."""
        if self.grid is None:
            return Columns(self.labels, self.positions, None, self.segments)
        step, width, unit = self.grid
        size = len(self.ids)
        firsts = range(0, size, shortening)
        spans = [(step * first, step * (min(first + shortening, size) - 1) + width) for first in firsts]
        return Columns([_label(start, unit) for start, _ in spans], range(1, len(spans) + 1), spans)


class Columns(NamedTuple):
    """The columns of an `Alignment`: labels, positions; of features where each lies, of texts the segments."""

    labels: Sequence[str]
    positions: Sequence[int]
    spans: list[tuple[float, float]] | None
    segments: Sequence[int] | None = None


def _label(start: float, unit: str) -> str:
    """``"0.12 s"``, ``"17 px"``, ``"3"``."""
    text = f"{start:.2f}" if unit == "s" else f"{start:.4g}" if start < 1000 else f"{start:.0f}"
    return f"{text} {unit}".rstrip()
