"""The segments of an alignment's source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from heedful.errors import SizeError, excerpt

if TYPE_CHECKING:
    from heedful.alignment.alignment import Alignment

Part = TypeVar("Part")


def by_segments(alignment: Alignment) -> Alignment:
    """A column for each segment, the sum of its words', and one for tags and the end symbol, if they are there.

    A segment is called by its number, first word and last word. What an `Alignment` does with words this one does with
    segments: links, heat maps, files.

    Raises:
        SizeError: the source is not cut into segments.
    """
    segments = alignment.source_segments
    if segments is None:
        raise SizeError("this alignment's source is not cut into segments; a run does so by data.segments")
    numbers = [*range(1, max(segments) + 1), *([0] if 0 in segments else [])]
    groups = [[place for place, own in enumerate(segments) if own == number] for number in numbers]
    named = zip(numbers, groups, strict=True)
    return replace(
        alignment,
        source=tuple(_label(number, [alignment.source[place] for place in group]) for number, group in named),
        weights=np.stack([alignment.weights[:, group].sum(1) for group in groups], axis=1),
        source_positions=tuple(numbers),
        source_segments=None,
    )


def as_segments(segments: Any, columns: int) -> tuple[int, ...] | None:
    """The number of each column's segment, or None; of no columns, None.

    Raises:
        SizeError: not one for each column, or not 1..n in this order, 0 aside.
    """
    if segments is None:
        return None
    try:
        numbers = tuple(int(segment) for segment in segments)
    except (TypeError, ValueError) as error:
        raise SizeError(f"source segments: expected whole numbers, got {excerpt(segments, 40)}") from error
    if len(numbers) != columns:
        raise SizeError(f"source segments: expected one for each of the {columns} source labels, got {len(numbers)}")
    if numbers != renumbered(numbers):
        raise SizeError(f"source segments: expected 1, 2, .. in the order of the text, 0 aside, got {list(numbers)}")
    return numbers or None


def picked(parts: Sequence[Part] | None, places: Sequence[int]) -> tuple[Part, ...] | None:
    """Those at `places`; all of them where they are too few, for who counts them afterwards."""
    if parts is None or max(places, default=-1) >= len(parts):
        return None if parts is None else tuple(parts)
    return tuple(parts[place] for place in places)


def renumbered(segments: Sequence[int] | None) -> tuple[int, ...] | None:
    """1, 2, ... by first appearance; 0 stays, and None."""
    if segments is None:
        return None
    numbers: dict[int, int] = {0: 0}
    return tuple(numbers.setdefault(segment, len(numbers)) for segment in segments)


def _label(number: int, words: Sequence[str]) -> str:
    """What a segment is called: ``"3: It .. rained"``; the one of tags and the end symbol by these."""
    if number == 0:
        return " ".join(words)
    ends = [word.strip() for word in (words[0], words[-1])]
    return f"{number}: {ends[0]}" if len(words) == 1 else f"{number}: {ends[0]} .. {ends[1]}"
