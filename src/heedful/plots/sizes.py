"""How labels are written and how large things are on a page of heat maps; knows nothing of matplotlib."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from heedful.alignment import Alignment
from heedful.alignment.labels import shown

# Inches. Cells are large where few, and shrink until a map is no longer than the easy side; below the
# small size labels would be hard to read, so then the map grows, up to the longest side.
_LARGE_CELL, _SMALL_CELL = 0.36, 0.22
_EASY_SIDE, _LONGEST_SIDE = 4.5, 24.0
_GAP = 0.2

_JOINER = "\u200d"  # makes one emoji of two
_VIRAMA = 9  # the combining class of signs that join two letters of Indic scripts

TITLE_SIZE = 10.0
"""In points."""


class Panel(NamedTuple):
    """Measures of one heat map, in inches: its cells, and the margins for labels and title."""

    cell: float
    left: float
    right: float
    top: float
    width: float
    height: float


def measure(alignment: Alignment, title: str | None) -> Panel:
    """How large `alignment` will be drawn; it has a row and a column."""
    rows, columns = alignment.weights.shape
    longest = max(rows, columns)
    cell = min(max(_SMALL_CELL, min(_LARGE_CELL, _EASY_SIDE / longest)), _LONGEST_SIDE / longest)
    em = font_size(cell) / 72
    width = columns * cell
    overhang = max(0.0, (_ems(title or "") * TITLE_SIZE / 72 - width) / 2)  # of a title in the middle
    left = max(overhang, em * max(map(_ems, alignment.row_labels())) + 0.4)
    above = 1.0 if fits(alignment.source, cell) else max(map(_ems, alignment.source))
    top = em * above + 0.3 + (0.2 if title else 0.0)
    return Panel(cell, left, overhang, top, width, rows * cell)


def edges(sizes: Sequence[tuple[float, float]]) -> tuple[list[float], float]:
    """Where bodies begin that are set in a line, given (margin, length) of each, and the line's length."""
    starts, end = [], 0.0
    for margin, length in sizes:
        starts.append(end + margin)
        end += margin + length + _GAP
    return starts, end


def font_size(cell: float) -> float:
    """In points, so that a line of text takes half of a cell's height."""
    return min(10.0, 72 * cell * 0.5)


def fits(labels: Sequence[str], cell: float) -> bool:
    """Whether all labels fit side by side over their columns, unturned."""
    return max(map(_ems, labels)) * font_size(cell) <= 72 * cell * 0.95


def label_width(labels: Sequence[str], cell: float) -> float:
    """About how wide the longest label is, in inches."""
    return font_size(cell) / 72 * max(map(_ems, labels))


def _ems(label: str) -> float:
    """About how wide `label` is, in units of the font size: what is set over or joined to a sign takes no room."""
    text = shown(label)
    return sum(_em(char, before) for before, char in zip(["", *text], text, strict=False))


def _em(char: str, before: str) -> float:
    if (
        unicodedata.category(char) in {"Mn", "Me", "Cf", "Sk"}
        or before == _JOINER
        or unicodedata.combining(before or "a") == _VIRAMA
    ):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(char) in "WF" else 0.65
