"""What lies under the source axis where the source is no text: sound as its spectrogram, or an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from heedful.alignment import Alignment
from heedful.errors import DataError, SizeError, nearest

Kind = Literal["spectrogram", "image"]


@dataclass(frozen=True)
class Picture:
    """An array whose columns lie evenly from 0 to `end` along the source.

    Attributes:
        values: (F, N) finite numbers: of a spectrogram N frames of F features, the lowest first; of an image its rows,
            from the top, of N pixel columns, where more is lighter.
        kind: ``"spectrogram"`` or ``"image"``: a spectrogram may be stretched, an image keeps its proportions.
        end: where the last column ends, in seconds, in pixels, or in what else `Alignment.source_spans` counts; N
            without it.
        unit: of places: ``"s"``, ``"px"``, or nothing.
        frequencies: of a spectrogram the middle of each of the F features in Hz, ascending; counted without it.

    Raises:
        DataError: there is no such kind.
        SizeError: the parts do not fit together, or a number is not finite.
    """

    values: np.ndarray
    kind: Kind = "spectrogram"
    end: float | None = None
    unit: str = ""
    frequencies: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)  # nobody else can change it
        if values.ndim != 2 or not values.size or not np.isfinite(values).all():
            raise SizeError(f"picture: expected (F, N) finite numbers, F and N at least 1, got {values.shape}")
        if self.kind not in get_args(Kind):
            raise DataError(f"unknown kind of picture {self.kind!r}{nearest(str(self.kind), get_args(Kind))}")
        values.flags.writeable = False
        end = float(values.shape[1] if self.end is None else self.end)
        if not (np.isfinite(end) and end > 0):
            raise SizeError(f"picture: expected an end above 0, got {end}")
        frequencies = None if self.frequencies is None else tuple(map(float, self.frequencies))
        if frequencies is not None and not (len(frequencies) == len(values) and np.all(np.diff(frequencies) > 0)):
            raise SizeError(f"picture: expected {len(values)} ascending frequencies, one for each row")
        for name, value in (("values", values), ("end", end), ("frequencies", frequencies)):
            object.__setattr__(self, name, value)

    @property
    def length(self) -> float:
        """`end`, which is always known."""
        assert self.end is not None
        return self.end

    def shown_range(self) -> tuple[float, float]:
        """The values that are shown as the least and the largest.

        Of a spectrogram the lowest twentieth is not told apart: the logarithm of silence is far below all else.
        """
        low = np.percentile(self.values, 5) if self.kind == "spectrogram" else self.values.min()
        high = self.values.max()
        return float(low if low < high else self.values.min()), float(high)

    def levels(self) -> np.ndarray:
        """(F, N) from 0 to 1: what is shown."""
        low, high = self.shown_range()
        return np.clip((self.values - low) / (high - low), 0, 1) if high > low else np.zeros_like(self.values)

    def cells(self, alignment: Alignment) -> list[tuple[float, float]]:
        """From where to where each column of the weights is drawn: its span, as far as it is on the picture; equal
        shares of the picture where the alignment has no spans.

        Spans that overlap are cut: on an image, whose pixels are where they are, in the middle of what they share; of
        sound where the next one begins, as windows are in a spectrogram.

        Raises:
            DataError: the spans do not go from left to right over the picture.
        """
        count = len(alignment.source)
        if alignment.source_spans is None:
            return [(self.length * place / count, self.length * (place + 1) / count) for place in range(count)]
        starts, ends = map(list, zip(*alignment.source_spans, strict=True))
        ends[-1] = min(ends[-1], self.length)
        for place in range(1, count):
            if ends[place - 1] > starts[place]:
                middle = (ends[place - 1] + starts[place]) / 2
                ends[place - 1] = starts[place] = middle if self.kind == "image" else starts[place]
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if not 0 <= start < end:
                raise DataError(
                    f"picture: expected source positions from left to right between 0 and {self.length:g}, got "
                    f"position {place + 1} from {start:g} to {alignment.source_spans[place][1]:g}"
                )
        return list(zip(starts, ends, strict=True))
