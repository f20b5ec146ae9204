"""Numbers as people read them, and the axes of charts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

NONE = "–"
"""Where there is no number."""


def known(values: Iterable[float | None]) -> list[float]:
    """Those that are finite."""
    return [value for value in values if value is not None and math.isfinite(value)]


def figure(value: float | None, digits: int = 2, unit: str = "") -> str:
    """With thousands apart and a true minus sign: ``"−1,234.50"``; `NONE` where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:,.{digits}f}"
    return (text.lstrip("-") if not float(text.replace(",", "")) else text.replace("-", "−")) + unit


def signed(value: float | None, digits: int) -> str:
    """With its sign, also where it is positive; nothing has none."""
    text = figure(value, digits)
    return text if text[0] in "−" + NONE or not text.strip("0.,") else f"+{text}"


def rounded(value: float | None, significant: int = 3) -> str:
    """To so many significant digits, for speeds and sizes: 12,345 is ``"12,300"``, 1.2345 ``"1.23"``."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    digits = significant - 1 - math.floor(math.log10(abs(value)))
    return figure(round(value, digits), max(0, digits))


def count(value: float) -> str:
    """A whole number, with thousands apart."""
    return f"{value:,.0f}"


def probability(value: float) -> str:
    """``"p = 0.034"``; what is below a thousandth is told so."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"


def digits_for(widths: Iterable[float | None], most: int = 3) -> int:
    """How many digits behind the point tell values apart whose intervals are that wide: 1 for 4.0, 2 for 0.08."""
    wide = sorted(width for width in known(widths) if width > 0)
    if not wide:
        return 1
    return min(most, max(1, -math.floor(math.log10(wide[len(wide) // 2] / 2))))


class Axis(NamedTuple):
    """From `low` to `high`, with `ticks` on the way."""

    low: float
    high: float
    ticks: tuple[float, ...]
    digits: int

    @classmethod
    def around(cls, values: Iterable[float | None], *, most: int = 5, from_zero: bool = False) -> Axis:
        """The axis that holds all of `values`, with at most `most` + 1 ticks at round numbers."""
        numbers = known(values) or [0.0, 1.0]
        low, high = min([*numbers, 0.0] if from_zero else numbers), max(numbers)
        wide = (high - low) or abs(high) or 1.0
        if not from_zero:
            low, high = low - 0.04 * wide, high + 0.04 * wide
        elif high <= low:
            high = low + wide
        raw = (high - low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= raw * (1 - 1e-9))
        if from_zero:
            high = math.ceil(high / step - 1e-9) * step
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        digits += round(step * 10**digits, 9) != int(round(step * 10**digits, 9))  # 2.5
        return cls(low, high, tuple(place * step for place in range(first, last + 1)), digits)

    def share(self, value: float) -> float:
        """Where on the axis, from 0 to 1; what is outside is at the end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def label(self, tick: float) -> str:
        return figure(tick, self.digits)
