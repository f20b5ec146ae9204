"""How designs learned: what decides, on the development data, while they were trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import element
from heedful.comparison.report.figures import Axis, count, figure
from heedful.comparison.report.layout import folded, hint, section, shown
from heedful.comparison.report.lines import Line, Tick, lines
from heedful.comparison.report.marks import key
from heedful.comparison.report.tables import Table
from heedful.comparison.report.terms import BOUNDED, Ranked, better_is, gain, metric_name, ranked
from heedful.comparison.results import Comparison


class _Curve(NamedTuple):
    """One run's validations: updates or minutes, and the values."""

    design: Ranked
    seed: int
    spent: tuple[float, ...]
    values: tuple[float, ...]


def learning(comparison: Comparison) -> Element | None:
    """A panel for each design with a line for each seed, the other designs in grey."""
    curves = list(_curves(comparison))
    if not curves:
        return None
    unit = "updates" if comparison.budget.updates is not None else "minutes"
    across = Axis.around([0, *(end for curve in curves for end in curve.spent)], most=4, from_zero=True)
    bounded = [
        min(value, 100.0) if comparison.metric in BOUNDED else value for curve in curves for value in curve.values
    ]
    up = Axis.around(bounded, from_zero=True)
    drawn = {(curve.design.name, curve.seed): _line(curve, across) for curve in curves}
    ticks = [Tick(across.share(tick), across.label(tick)) for tick in across.ticks]
    panels = element("div", "panels")
    for design in ranked(comparison):
        own = [line for (name, _), line in drawn.items() if name == design.name]
        behind = [line for (name, _), line in drawn.items() if name != design.name]
        told = "; ".join(_told(curve, comparison, unit) for curve in curves if curve.design == design)
        panel = lines(own, ticks, up, label=told, height=150, behind=behind)
        panels.append(element("div", None, key(design.place, design.name), panel))
    said = (
        f"{metric_name(comparison.metric, capital=True)}, of greedy answers to the development data; "
        f"{better_is(comparison.metric)}. Across: {unit}. A line for each seed, other designs in grey."
    )
    return section(
        "learning", "How they learned", hint(said), panels, folded("Numbers", shown(_table(comparison), said))
    )


def _curves(comparison: Comparison) -> Iterator[_Curve]:
    for design in ranked(comparison):
        for run in design.design.runs:
            known = [one for one in run.curve if comparison.metric in one.scores]
            if known:
                spent = (one.updates if comparison.budget.updates is not None else one.minutes for one in known)
                yield _Curve(design, run.seed, tuple(spent), tuple(one.scores[comparison.metric] for one in known))


def _line(curve: _Curve, across: Axis) -> Line:
    shares = tuple(across.share(spent) for spent in curve.spent)
    return Line(curve.design.place, curve.design.name, shares, curve.values)


def _best(curve: _Curve, comparison: Comparison) -> tuple[float, float]:
    """The best value, and what was spent until then."""
    pairs = zip(curve.values, curve.spent, strict=True)
    return max(pairs, key=lambda pair: gain(comparison.metric, pair[0]))


def _told(curve: _Curve, comparison: Comparison, unit: str) -> str:
    best, spent = _best(curve, comparison)
    digits = 0 if unit == "updates" else 1
    ends = f"from {figure(curve.values[0], 1)} to {figure(curve.values[-1], 1)}"
    return (
        f"{curve.design.name}, seed {curve.seed}: {ends}, best {figure(best, 1)} after {figure(spent, digits)} {unit}"
    )


def _table(comparison: Comparison) -> Table:
    curves = list(_curves(comparison))
    unit, digits = ("updates", 0) if comparison.budget.updates is not None else ("minutes", 1)
    rows = []
    for curve in curves:
        best, spent = _best(curve, comparison)
        ends = (figure(curve.values[0], 1), figure(curve.values[-1], 1), figure(best, 1), figure(spent, digits))
        rows.append((curve.design.name, str(curve.seed), count(len(curve.values)), *ends))
    head = ("design", "seed", "validations", "first", "last", "best", f"after {unit}")
    return Table(head, tuple(rows), tuple(curve.design for curve in curves))
