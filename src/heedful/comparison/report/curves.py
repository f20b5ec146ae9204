"""Quality by source length, by how often the rarest token was seen, and by unknown tokens."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from heedful.comparison.recommend import NAMES as METRIC_NAMES
from heedful.comparison.report import tables
from heedful.comparison.report.elements import Child, element
from heedful.comparison.report.figures import Axis, count, digits_for, figure
from heedful.comparison.report.layout import folded, hint, section, shown
from heedful.comparison.report.lines import Line, Tick, lines, middles
from heedful.comparison.report.marks import key
from heedful.comparison.report.terms import BOUNDED, PART_NAMES, better_is, metric_name, ranked, widths
from heedful.comparison.results import Breakdown, Comparison

TOGETHER = 3
"""So many designs can be read in one panel with their intervals; of more each has a panel of its own, too."""
MANY = 6
"""Groups whose labels do not stand beside each other on a narrow page."""
_ABOUT = {
    "length": (
        "By source length",
        "Source length in tokens",
        "What has to pass through one fixed vector is lost as sources get longer; attention should keep it "
        "(Bahdanau, Cho and Bengio 2015, figure 2).",
    ),
    "rarest": (
        "By the rarest source token",
        "How often the rarest token of a source occurs in the training sources",
        "What was seen seldom is harder to translate or to pronounce.",
    ),
    "unknown": (
        "By unknown source tokens",
        "How many tokens of a source were never seen in training",
        "An unknown token is one symbol to a model, whatever it is.",
    ),
}


def curves(comparison: Comparison) -> Element | None:
    """A figure for each breakdown."""
    parts = [part for one in comparison.breakdowns for part in _figure(comparison, one)]
    if not parts:
        return None
    metric, part = comparison.metric, comparison.part
    said = (
        f"{metric_name(metric, capital=True)}, on {PART_NAMES[part.name]}; {better_is(metric)}. "
        "Bands are 95 % intervals; n is the number of sources in each group."
    )
    return section("curves", "Where designs differ", hint(said), *parts)


def about(breakdown: Breakdown) -> str:
    """Its title."""
    return _ABOUT[breakdown.by][0]


def _figure(comparison: Comparison, breakdown: Breakdown) -> list[Child]:
    title, across, why = _ABOUT[breakdown.by]
    table = tables.groups(comparison, breakdown)
    return [
        element("h3", None, title),
        hint(f"{why} Across: {across[0].lower()}{across[1:]}. Up: {metric_name(comparison.metric)}."),
        *_panels(comparison, breakdown),
        folded("Numbers", shown(table, f"{title}: {METRIC_NAMES[comparison.metric]} with 95 % intervals")),
        _real(comparison, breakdown),
    ]


def _panels(comparison: Comparison, breakdown: Breakdown) -> list[Child]:
    found = _lines(comparison, breakdown)
    groups = breakdown.groups
    shares = middles(len(groups))
    ticks = [Tick(share, one.label, f"n = {count(one.sources)}") for share, one in zip(shares, groups, strict=True)]
    ends = [end for line in found for end in (*line.values, *line.highs) if end is not None]
    axis = Axis.around([min(end, 100.0) for end in ends] if comparison.metric in BOUNDED else ends, from_zero=True)
    few, many = len(found) <= TOGETHER, " many" if len(groups) > MANY else ""
    overview = lines(found, ticks, axis, label=_told(comparison, breakdown, found), bands=few, every=True)
    legend = element("ul", "legend-list", *(element("li", None, key(line.place, line.name)) for line in found))
    nodes: list[Child] = [element("div", f"overview{many}", legend, overview)]
    if few:
        return nodes
    each, bare = element("div", f"panels{many}"), [Tick(tick.share, tick.label) for tick in ticks]
    for line in found:
        others = [other for other in found if other is not line]
        told = _told(comparison, breakdown, [line])
        panel = lines([line], bare, axis, label=told, height=130, behind=others, every=True)
        each.append(element("div", None, key(line.place, line.name), panel))
    box = folded("Each design with its interval, the others in grey", each)
    if breakdown.by == "length":
        box.set("open", "")
    return [*nodes, box]


def _lines(comparison: Comparison, breakdown: Breakdown) -> list[Line]:
    shares = middles(len(breakdown.groups))
    return [
        Line(
            one.place,
            one.name,
            shares,
            tuple(error.value for error in errors),
            tuple(error.low for error in errors),
            tuple(error.high for error in errors),
        )
        for one in ranked(comparison)
        for errors in [[group.errors[one.place] for group in breakdown.groups]]
    ]


def _told(comparison: Comparison, breakdown: Breakdown, found: list[Line]) -> str:
    """A panel in words."""
    digits = digits_for(width for group in breakdown.groups for width in widths(group.errors))
    designs = (
        f"{line.name}: "
        + ", ".join(
            f"{group.label} {figure(value, digits)}" for group, value in zip(breakdown.groups, line.values, strict=True)
        )
        for line in found
    )
    return f"{METRIC_NAMES[comparison.metric]} {_ABOUT[breakdown.by][0].lower()}. " + "; ".join(designs)


def _real(comparison: Comparison, breakdown: Breakdown) -> Element | None:
    """Which differences are real in which group."""
    if len(comparison.designs) < 2:
        return None
    items = []
    for group in breakdown.groups:
        said = tables.wins(comparison, group.differences)
        items.append(element("li", None, f"{group.label}: ", "; ".join(said) or "none"))
    return folded("Which of these differences are real", element("ul", "notes", *items))
