"""The same examples side by side: every design's answer, its errors marked, and where it looked."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import Child, element, foreign
from heedful.comparison.report.layout import hint, section
from heedful.comparison.report.marking import marked
from heedful.comparison.report.marks import key
from heedful.comparison.report.terms import ranked
from heedful.comparison.results import Answered, Comparison, Example
from heedful.plots.report import Map, map_data

FIRST = "most different answers"
LONGEST = 70


def in_order(comparison: Comparison) -> list[Example]:
    """Those on which the models disagree most first; else as they are."""
    return sorted(comparison.examples, key=lambda one: one.why != FIRST)


def examples(comparison: Comparison) -> tuple[Element | None, list[dict[str, Any]]]:
    """The section, and what its script draws the heat maps from."""
    if not comparison.examples:
        return None, []
    maps: list[dict[str, Any]] = []
    found = in_order(comparison)
    missing = element("p", "hint unscripted", "Heat maps are drawn by the page’s own script, which is switched off.")
    cards = [_card(comparison, example, place, maps) for place, example in enumerate(found)]
    return section(
        "examples", "The same examples side by side", _reading(comparison), missing, _tools(found), *cards
    ), maps


def _reading(comparison: Comparison) -> Element:
    seed = f" with seed {comparison.budget.seeds[0]}" if len(comparison.budget.seeds) > 1 else ""
    return hint(
        f"Answers of each design’s run{seed}. ",
        element("span", "wrong", "Underlined"),
        ": not as in the nearest reference; ",
        element("span", "missing", "boxed"),
        ": missing there. In a heat map the source is along the top, "
        "what was written is down the side; the darker a cell (in dark colours: the brighter), the more of the "
        "attention of that step it got. A dot marks the word that a step looked at most, the bar beside a row is its "
        "entropy.",
    )


def _tools(found: list[Example]) -> Element:
    options = [
        element("option", {"value": place}, f"{_brief(one.source)} – {one.why}") for place, one in enumerate(found)
    ]
    choose = element("label", None, "Example ", element("select", {"id": "example"}, *options))
    stretch = element("input", {"id": "stretch", "type": "checkbox"})
    return element("div", "scripted", choose, element("label", None, stretch, " to each map’s largest weight"))


def _brief(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _card(comparison: Comparison, example: Example, place: int, maps: list[dict[str, Any]]) -> Element:
    name = f"example-{place}"
    figures = [
        _figure(example, example.answers[one.place], key(one.place, one.name), one.name, maps)
        for one in ranked(comparison)
    ]
    several = "references" if len(example.references) > 1 else "reference"
    references: list[Child] = []
    for text in example.references:
        references += [" / " if references else None, foreign(text)]
    return element(
        "article",
        {"class": "example", "aria-labelledby": name},
        element("h3", {"id": name}, foreign(example.source)),
        element("p", "given", element("span", None, f"{several}: "), *references),
        element("div", "maps", *figures),
    )


def _figure(example: Example, answered: Answered, sign: Element, name: str, maps: list[dict[str, Any]]) -> Element:
    verdict = element("span", "wrong-sign", "✗ wrong") if answered.wrong else element("span", "right", "✓ right")
    said = element("div", "said", marked(answered.text, example.references if answered.wrong else ()), " ", verdict)
    caption = element("figcaption", None, sign, said)
    if answered.alignment is None:
        return element("figure", None, caption, hint("no attention to show"))
    maps.append(map_data(Map(answered.alignment, answered.text, name)))
    return element(
        "figure",
        {"data-map": len(maps) - 1},
        caption,
    )
