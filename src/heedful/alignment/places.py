"""Where in sound or a picture the target's words were looked for, against where they are."""

from __future__ import annotations

from collections.abc import Sequence

from heedful.alignment.alignment import Alignment
from heedful.errors import DataError


def places(alignment: Alignment) -> list[tuple[float, float] | None]:
    """For each target word from where to where the source position with its largest weight lies: seconds of sound,
    pixel columns of a picture. None where no position has weight.

    Raises:
        DataError: the source of the alignment is text.
    """
    if alignment.source_spans is None:
        raise DataError("expected an alignment whose source is sound, a picture or vectors, got one of text")
    shift = alignment.rows_about_words().start
    found: list[tuple[float, float] | None] = [None] * len(alignment.rows_about_words())
    for row, column in alignment.peaks():
        found[row - shift] = alignment.source_spans[column]
    return found


def found_inside(alignment: Alignment, intervals: Sequence[tuple[float, float]], *, margin: float = 0.0) -> list[bool]:
    """For each target word whether it was looked for where it is: whether the middle of its place, see `places`, is in
    its interval, widened by `margin` on both sides.

    Raises:
        DataError: there is not an interval for each target word, or the source of the alignment is text.
    """
    own = places(alignment)
    if len(own) != len(intervals):
        raise DataError(f"expected an interval for each of the {len(own)} target words, got {len(intervals)}")
    return [
        place is not None and start - margin <= sum(place) / 2 <= end + margin
        for place, (start, end) in zip(own, intervals, strict=True)
    ]
