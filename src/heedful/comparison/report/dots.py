"""Values with their intervals, a row each, as a table with pictures in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import element
from heedful.comparison.report.figures import Axis, figure
from heedful.comparison.report.marks import key, marker, percent, style_of

# A narrow page lays rows out anew, which would take their meaning from them.
_COLUMN, _CELL = {"role": "columnheader", "scope": "col"}, {"role": "cell"}
_HEADS = (("of", "design"), ("picture", "picture"), ("value", "mean, and 95 % interval"))


class Dot(NamedTuple):
    """One row: a value, its interval, and what it is the mean of."""

    place: int
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    each: tuple[float, ...] = ()


def dots(rows: Sequence[Dot], axis: Axis, *, title: str, digits: int) -> Element:
    """A table with a picture of each row's numbers in it."""
    ticks = [
        element("text", {"x": percent(axis.share(tick)), "y": 12, "text-anchor": "middle"}, axis.label(tick))
        for tick in axis.ticks
    ]
    scale = element("svg", {"class": "strip", "height": 18, "aria-hidden": "true"}, *ticks)
    heads = [element("th", {**_COLUMN, "class": name}, element("span", "unseen", text)) for name, text in _HEADS]
    heads[1].append(scale)
    lines = [
        element(
            "tr",
            {"role": "row"},
            element("th", {"role": "rowheader", "scope": "row"}, key(row.place, row.name)),
            element("td", {**_CELL, "class": "picture"}, _strip(row, axis)),
            element(
                "td", {**_CELL, "class": "value"}, element("b", None, figure(row.value, digits)), _range(row, digits)
            ),
        )
        for row in rows
    ]
    body = element("tbody", {"role": "rowgroup"}, element("tr", {"role": "row", "class": "scale"}, *heads), *lines)
    whole = element("table", {"class": "dots", "role": "table", "aria-label": title}, body)
    return element("div", None, element("h3", None, title), whole)


def _range(row: Dot, digits: int) -> Element | None:
    if row.low is None or row.high is None:
        return None
    return element("span", "range", f" {figure(row.low, digits)} to {figure(row.high, digits)}")


def _strip(row: Dot, axis: Axis) -> Element:
    middle, below = (11, 24) if len(row.each) > 1 else (15, 15)
    grid = [
        element("line", {"class": "grid", "x1": at, "x2": at, "y1": -6, "y2": 36})
        for at in map(percent, map(axis.share, axis.ticks))
    ]
    strip = element("svg", {"class": "strip", "height": 30, "aria-hidden": "true"}, *grid)
    style = style_of(row.place)
    if row.low is not None and row.high is not None:
        ends = [percent(axis.share(end)) for end in (row.low, row.high)]
        strip.append(
            element("line", {"class": f"interval {style}", "x1": ends[0], "x2": ends[1], "y1": middle, "y2": middle})
        )
    if len(row.each) > 1:
        strip.extend(
            element("circle", {"class": f"seed {style}", "cx": percent(axis.share(one)), "cy": below, "r": 2.6})
            for one in row.each
        )
    if row.value is not None:
        strip.append(marker(row.place, axis.share(row.value), middle))
    return strip
