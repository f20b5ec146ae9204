"""The picture of `scaling.py`: small multiples, a column for each axis, time above and memory below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from steps.axes import AXES, TIMES, Point, slope

_COLOURS = {"train": "#0072B2", "decode": "#D55E00"}  # of Okabe and Ito's set
_INK, _FAINT = "#1b1f24", "#8a929b"
_GUIDE: dict[str, Any] = {"color": _FAINT, "lw": 1, "ls": (0, (4, 3))}
_EXPECTED = {("threads", "train"): -1, ("threads", "decode"): -1, ("threads", "memory"): 0, ("B", "decode"): 0}
"""The slope of what is linear, where it is not 1; 0 needs no guide. Decoding is told by the sentence."""


def draw(figures: Mapping[str, Sequence[Point]], base: Mapping[str, int], file: Path, *, title: str) -> None:
    """Write the picture of what was measured along each axis; `base` is where an axis goes through the base."""
    figure = Figure(figsize=(max(2.35 * len(figures) + 0.9, 7.5), 5.8), dpi=150, layout="constrained")
    grid = figure.subplots(2, len(figures), sharey="row", squeeze=False)
    for column, (name, points) in enumerate(figures.items()):
        above, below = grid[0][column], grid[1][column]
        for kind in TIMES:
            _line(above, points, kind, _COLOURS[kind])
        _line(below, points, "memory", _COLOURS["train" if AXES[name].trains else "decode"])
        above.set_title(AXES[name].meaning, fontsize=9.5, color=_INK)
        below.set_xlabel(name, fontsize=9.5, color=_INK)
        for axes in (above, below):
            _dress(axes, [point.value for point in points], base[name])
    grid[0][0].set_ylabel("time, ms", color=_INK)
    grid[1][0].set_ylabel("peak memory, MiB", color=_INK)
    for axes in grid[:, 0]:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    # Once the points have set the limits of a row.
    for row, kinds in zip(grid, (tuple(TIMES), ("memory",)), strict=True):
        for axes, (name, points) in zip(row, figures.items(), strict=True):
            for kind in kinds:
                _guide(axes, points, kind, _EXPECTED.get((name, kind), 1))
    handles = [Line2D([], [], marker="o", ms=3.5, color=_COLOURS[kind], label=TIMES[kind]) for kind in TIMES]
    handles.append(Line2D([], [], **_GUIDE, label="linear"))
    figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    note = "numbers: slope over the last three points; band: the base"
    figure.suptitle(f"{title}\n{note}", x=0.01, ha="left", fontsize=9.5, color=_INK)
    figure.savefig(file)


def _line(axes: Axes, points: Sequence[Point], kind: str, colour: str) -> None:
    pairs = [(point.value, value) for point in points if (value := getattr(point, kind)) is not None]
    if pairs:
        axes.plot(*zip(*pairs, strict=True), marker="o", ms=3.5, lw=1.6, color=colour, zorder=3)
    if len(pairs) > 2:
        number = slope(*zip(*pairs[-3:], strict=True))
        falls = number < 0  # the number stands on the side of the line where there is room
        style = {"ha": "right", "va": "top" if falls else "bottom", "fontsize": 8, "color": colour, "zorder": 4}
        axes.annotate(f"{number:.2f}", pairs[-1], xytext=(-6, -2 if falls else 2), textcoords="offset points", **style)


def _guide(axes: Axes, points: Sequence[Point], kind: str, power: int) -> None:
    """What would be linear, through the last point; or, where it falls, through the first."""
    ends = points[0].value, points[-1].value
    where = points[-1] if power > 0 else points[0]
    value = getattr(where, kind)
    if value is None or power == 0:
        return
    limits = axes.get_xlim(), axes.get_ylim()
    axes.plot(ends, [value * (end / where.value) ** power for end in ends], **_GUIDE)
    axes.set(xlim=limits[0], ylim=limits[1])


def _dress(axes: Axes, values: Sequence[int], base: int) -> None:
    axes.set(xscale="log", yscale="log")
    shown = values if len(values) < 5 else values[::-1][:: 2 if len(values) < 7 else 3]
    axes.xaxis.set_major_locator(FixedLocator(list(shown)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.axvline(base, color="#e3e6ea", lw=5, zorder=0)
    axes.grid(axis="y", color="#eceff2", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, color=_FAINT, labelcolor=_INK)
    axes.tick_params(axis="y", which="minor", left=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_FAINT)
