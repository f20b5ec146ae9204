"""Which differences are real: a matrix of all pairs, and the same in words."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from heedful.comparison.recommend import NAMES as METRIC_NAMES
from heedful.comparison.recommend import listed
from heedful.comparison.report import tables
from heedful.comparison.report.elements import Child, element, foreign, scrolling
from heedful.comparison.report.figures import digits_for, probability, signed
from heedful.comparison.report.layout import folded, hint, section, shown
from heedful.comparison.report.marks import key
from heedful.comparison.report.terms import PART_NAMES, Ranked, between, gain, ranked, widths
from heedful.comparison.results import Comparison, Difference


def differences(comparison: Comparison) -> Element | None:
    """A matrix of all pairs, and the same in words."""
    designs, judged = ranked(comparison), comparison.judgement()
    if len(designs) < 2:
        return None
    digits = digits_for(widths(judged.errors))
    head = [element("th", {"scope": "col"}, foreign(one.name)) for one in designs]
    rows = [
        element(
            "tr",
            None,
            element("th", {"scope": "row"}, key(one.place, one.name)),
            *(_cell(comparison, between(judged.differences, one.name, other.name), digits) for other in designs),
        )
        for one in designs
    ]
    caption = "Differences between designs with their adjusted p"
    whole = element(
        "table",
        "matrix",
        element("caption", "unseen", caption),
        element("thead", None, element("tr", None, element("th", {"scope": "col"}, "row minus column"), *head)),
        element("tbody", None, *rows),
    )
    return section(
        "differences",
        "Which differences are real",
        hint(
            f"Differences in {METRIC_NAMES[comparison.metric]} on {PART_NAMES[judged.part]}, in points. p is adjusted "
            "for the number of pairs (Holm 1979); where it is below 0.05 the difference is called real: ",
            element("span", "swatch better"),
            "the row is better, ",
            element("span", "swatch worse"),
            "the row is worse, both in bold with a star.",
        ),
        *_words(comparison, designs),
        scrolling(whole, caption),
        folded("Every pair, with its interval", shown(tables.pairs(comparison), "Every pair with its interval")),
    )


def _cell(comparison: Comparison, found: Difference | None, digits: int) -> Element:
    if found is None:
        return element("td", "open", element("span", {"aria-hidden": "true"}, "·"))
    kind = "open" if not found.real else "better" if gain(comparison.metric, found.value) > 0 else "worse"
    value = signed(found.value, digits) + ("*" if found.real else "")
    told = f"{found.first} minus {found.second}: {signed(found.low, digits)} to {signed(found.high, digits)}"
    return element(
        "td",
        {"class": kind, "title": told},
        element("b", None, value),
        element("small", None, probability(found.adjusted)),
    )


def _words(comparison: Comparison, designs: list[Ranked]) -> list[Element]:
    """What the best is better than, and what it is not told apart from; of the others what they are better than."""
    beaten = {one.name: tables.beaten(comparison, one) for one in designs}
    if not any(beaten.values()):
        return [element("p", None, "None of these differences is real: the designs are not told apart.")]
    best = designs[0].name
    level = [one.name for one in designs[1:] if one.name not in beaten[best]]
    first = [element("li", None, *_better(best, beaten[best]))] if beaten[best] else []
    if level:
        first.append(
            element("li", None, "Not told apart from ", foreign(best), ", the best: ", foreign(listed(level)), ".")
        )
    others = [element("li", None, *_better(name, worse)) for name, worse in beaten.items() if worse and name != best]
    rest = [folded("What the others are better than", element("ul", "notes", *others))] if others else []
    return [element("ul", "notes", *first), *rest]


def _better(name: str, worse: list[str]) -> list[Child]:
    return [foreign(name), " is better than ", foreign(listed(worse)), "."]
