"""The five dimensions: what designs are, what they cost, and how their attention looks."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from heedful.comparison.report import tables
from heedful.comparison.report.elements import Child, element, foreign
from heedful.comparison.report.layout import folded, hint, section, shown
from heedful.comparison.report.terms import ranked
from heedful.comparison.results import Comparison

_OF_COST = (
    "Speeds and memory were measured one design at a time, with nothing else running; memory is the peak of a whole "
    "process, libraries included. Predicting is done with the recipe’s own search."
)
_OF_CHARACTER = (
    "Means over seeds. Entropy: 0 all weight on one position, 1 all alike. Diagonality: the share of the weight near "
    "the diagonal; where a task turns the order round, a low one is right. AER: the alignment error rate against gold "
    "links. Health: the verdict of heedful diagnose. A design without attention has none of these."
)


def dimensions(comparison: Comparison) -> Element:
    """What designs are, what they cost, and how their attention looks."""
    make_up, character = tables.make_up(comparison), tables.character(comparison)
    cost = tables.cost(comparison)
    parts: list[Child] = [
        element("h3", None, "What they are"),
        shown(make_up, "Order of computation, score, scope, normaliser, and where the context enters"),
        element("h3", None, "What they cost"),
        shown(cost, "Parameters, speeds and memory"),
        hint(_OF_COST),
    ]
    if len(character.head) > 1:
        parts += [
            element("h3", None, "Character of the alignment"),
            shown(character, "Entropy, diagonality, alignment error rate and health"),
            hint(_OF_CHARACTER),
            *_verdicts(comparison),
        ]
    return section("dimensions", "The designs in five dimensions", *parts)


def _verdicts(comparison: Comparison) -> list[Element]:
    """What is said about attention that is not healthy."""
    said = [
        (one, run)
        for one in ranked(comparison)
        for run in one.design.runs
        if run.attention and run.attention.verdict != "healthy"
    ]
    if not said:
        return []
    items = [
        element("li", None, foreign(one.name), f", seed {run.seed}: {run.attention.says}" if run.attention else None)
        for one, run in said
    ]
    return [folded("What is said of attention that is not healthy", element("ul", "notes", *items))]
