"""The answer, and how good each design is: dots with intervals, and all numbers."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from heedful.comparison.report import tables
from heedful.comparison.report.dots import Dot, dots
from heedful.comparison.report.elements import element
from heedful.comparison.report.figures import Axis, digits_for
from heedful.comparison.report.layout import hint, section, shown
from heedful.comparison.report.terms import (
    PART_NAMES,
    better_is,
    each_seed,
    known_metrics,
    metric_name,
    question,
    ranked,
    sentence,
    widths,
)
from heedful.comparison.results import Comparison, Judged


def answer(comparison: Comparison) -> Element:
    """The question, and what to take."""
    first, *others = comparison.recommendation or (None,)
    box = element("div", "answer")
    if first is not None:
        box.append(element("p", None, first.says))
        if first.because:
            box.append(element("div", "because", first.because))
    reasons = [
        element("li", None, element("span", None, one.says), " ", element("span", "because", one.because))
        for one in others
        if one
    ]
    if reasons:
        box.append(element("ul", None, *reasons))
    notes = element("ul", "notes", *(element("li", None, note) for note in comparison.notes))
    known = [element("h3", None, "Notes"), notes] if comparison.notes else []
    return element(
        "section",
        {"id": "answer", "aria-label": "Recommendation"},
        element("p", "question", question(comparison)),
        box,
        *known,
    )


def quality(comparison: Comparison) -> Element:
    """Dots and intervals on each part, and all metrics as a table."""
    metric, seeds = comparison.metric, comparison.budget.seeds
    parts = [comparison.judgement(metric, part.name) for part in comparison.parts]
    axis = Axis.around(_numbers(comparison, parts))
    digits = max(digits_for(widths(judged.errors)) for judged in parts)
    charts = [
        dots(
            _rows(comparison, judged),
            axis,
            title=f"{metric_name(metric, capital=True)}, on {PART_NAMES[judged.part]}",
            digits=digits,
        )
        for judged in parts
    ]
    what = (
        "The mark is the mean over the seeds, which are the small circles under it"
        if len(seeds) > 1
        else "One seed each"
    )
    of = sentence(metric, comparison.data.token_name)
    others = [sentence(one, comparison.data.token_name) for one in known_metrics(comparison)[1:]]
    return section(
        "quality",
        "Quality",
        hint(f"{of}; {better_is(metric)}. {what}; the line is the 95 % interval. The best first, here and below."),
        element("div", "charts", *charts),
        element("h3", None, "All measures of quality"),
        shown(tables.quality(comparison), "All measures of quality with their 95 % intervals"),
        hint(". ".join(others) + ".") if others else None,
    )


def _rows(comparison: Comparison, judged: Judged) -> list[Dot]:
    return [
        Dot(one.place, one.name, error.value, error.low, error.high, each_seed(one.design, judged.part, judged.metric))
        for one in ranked(comparison)
        for error in [judged.errors[one.place]]
    ]


def _numbers(comparison: Comparison, parts: Iterable[Judged]) -> list[float]:
    """All that the charts have to hold."""
    rows = [row for judged in parts for row in _rows(comparison, judged)]
    return [number for row in rows for number in (row.value, row.low, row.high, *row.each) if number is not None]
