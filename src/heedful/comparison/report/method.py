"""How it was measured: data, budget, machine, runs, settings, recipes."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from heedful.comparison.report import tables
from heedful.comparison.report.elements import element, foreign
from heedful.comparison.report.layout import folded, section, shown
from heedful.comparison.report.terms import ranked
from heedful.comparison.results import Comparison


def method(comparison: Comparison) -> Element:
    """Data, budget, machine, and how to do it again."""
    facts = [
        element("div", None, element("dt", None, name), element("dd", None, foreign(value)))
        for name, value in tables.facts(comparison)
    ]
    code = element("pre", None, element("code", None, comparison.command))
    again = [element("h3", None, "To make it again"), code] if comparison.command else []
    keys = {name for design in comparison.designs for name in design.settings}
    settings = tables.settings(comparison)
    recipes = [
        element(
            "div",
            None,
            element("h3", None, foreign(one.name)),
            element("pre", None, element("code", None, one.design.recipe)),
        )
        for one in ranked(comparison)
    ]
    return section(
        "method",
        "How it was measured",
        element("dl", None, *facts),
        *again,
        folded("Every run", shown(tables.runs(comparison), "Every run")),
        folded("The settings in which designs differ", shown(settings, "Settings")) if keys else None,
        folded("The recipes, whole", *recipes),
    )
