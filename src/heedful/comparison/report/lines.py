"""Lines over bins or numbers, with bands around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import element
from heedful.comparison.report.figures import NONE, Axis, figure
from heedful.comparison.report.marks import key, marker, percent, style_of


class Line(NamedTuple):
    """One design's values at shares of the width, with their intervals where there are any; None where no value is."""

    place: int
    name: str
    shares: tuple[float, ...]
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...] = ()
    highs: tuple[float | None, ...] = ()


class Tick(NamedTuple):
    """A label along the width, with a note under it."""

    share: float
    label: str
    note: str = ""


def middles(count: int) -> tuple[float, ...]:
    """The shares of the width where bins of one width have their middles."""
    return tuple((place + 0.5) / count for place in range(count))


def lines(
    shown: Sequence[Line],
    across: Sequence[Tick],
    axis: Axis,
    *,
    label: str,
    height: int = 190,
    behind: Sequence[Line] = (),
    bands: bool = True,
    every: bool = False,
) -> Element:
    """A panel with a line for each of `shown`, and, faint, one for each of `behind`.

    Args:
        label: what it says, for those who hear it.
        height: in pixels, without the labels under it.
        bands: with the intervals, as bands around the lines.
        every: a mark at every value.
    """
    frame = element("svg", {"viewBox": "0 0 100 100", "preserveAspectRatio": "none", "width": "100%", "height": height})
    for line in behind:
        frame.extend(_paths(line, axis, "line behind"))
    picture = element(
        "svg",
        {"class": "plot", "height": height, "role": "img", "aria-label": label},
        *_grid(across, axis, height),
        frame,
    )
    for line in shown:
        style = style_of(line.place)
        if line.lows and bands:
            frame.extend(_bands(line, axis, style))
        frame.extend(_paths(line, axis, f"line {style}"))
        if every:
            picture.extend(
                marker(line.place, share, height * (1 - axis.share(value)))
                for share, value in zip(line.shares, line.values, strict=True)
                if value is not None
            )
    return element("div", "panel", picture)


def _grid(across: Sequence[Tick], axis: Axis, height: int) -> list[Element]:
    nodes = []
    for tick in axis.ticks:
        y = f"{height * (1 - axis.share(tick)):.1f}"
        nodes.append(element("line", {"class": "grid", "x1": 0, "x2": "100%", "y1": y, "y2": y}))
        nodes.append(element("text", {"x": -6, "y": f"{float(y) + 4:.1f}", "text-anchor": "end"}, axis.label(tick)))
    for place, (share, label, note) in enumerate(across):
        name = "odd" if place % 2 else "even"
        at = {"x": percent(share), "text-anchor": "middle"}
        nodes.append(element("text", {**at, "class": name, "y": height + 16}, label))
        if note:
            nodes.append(element("text", {**at, "class": f"note {name}", "y": height + 31}, note))
    return nodes


def _runs(values: Sequence[float | None]) -> list[list[int]]:
    """The places of values that stand together: a line does not go over what is not there."""
    runs: list[list[int]] = [[]]
    for place, value in enumerate(values):
        if value is not None:
            runs[-1].append(place)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _point(share: float, value: float, axis: Axis) -> str:
    return f"{100 * share:.2f} {100 * (1 - axis.share(value)):.2f}"


def _paths(line: Line, axis: Axis, style: str) -> list[Element]:
    points = [_point(share, value or 0.0, axis) for share, value in zip(line.shares, line.values, strict=True)]
    return [
        element("path", {"class": style, "d": "M" + "L".join(points[run[0] : run[-1] + 1])})
        for run in _runs(line.values)
        if len(run) > 1
    ]


def _bands(line: Line, axis: Axis, style: str) -> list[Element]:
    found = []
    for run in _runs(line.lows):
        edge = [_point(line.shares[one], line.lows[one] or 0.0, axis) for one in run]
        edge += [_point(line.shares[one], line.highs[one] or 0.0, axis) for one in reversed(run)]
        found.append(element("path", {"class": f"band {style}", "d": "M" + "L".join(edge) + "z"}))
    return found


def numbers(head: Sequence[str], shown: Sequence[Line], *, digits: int) -> list[list[str | Element]]:
    """The rows of a table of the same: designs across `head`."""
    rows: list[list[str | Element]] = []
    for line in shown:
        cells: list[str | Element] = [key(line.place, line.name)]
        for place in range(len(head)):
            low = line.lows[place] if line.lows else None
            high = line.highs[place] if line.highs else None
            value = figure(line.values[place], digits)
            cells.append(
                value
                if low is None or high is None or value == NONE
                else f"{value} ({figure(low, digits)} to {figure(high, digits)})"
            )
        rows.append(cells)
    return rows
