"""What sections are made of."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import Child, element, foreign, scrolling
from heedful.comparison.report.figures import NONE
from heedful.comparison.report.marks import key
from heedful.comparison.report.tables import Table

_NUMERAL = frozenset("0123456789+−" + NONE)


def section(name: str, title: str, *children: Child) -> Element:
    return element(
        "section",
        {"id": name, "aria-labelledby": f"{name}-title"},
        element("h2", {"id": f"{name}-title"}, title),
        *children,
    )


def hint(*children: Child) -> Element:
    return element("p", "hint", *children)


def folded(title: str, *children: Child) -> Element:
    """What is there for those who want it."""
    return element("details", None, element("summary", None, title), *children)


def _kind(texts: tuple[str, ...]) -> str:
    """The class of a column."""
    if all(text[:1] in _NUMERAL for text in texts):
        return "number"
    longest = max(map(len, texts))
    return "short" if longest <= 14 else "text" if longest <= 24 else "text long"


def shown(table: Table, caption: str) -> Element:
    """A table as HTML: rows of designs have their marks, columns of numbers stand to the right."""
    kinds = [_kind(column) for column in zip(*table.rows, strict=True)]
    rows = []
    for place, (first, *rest) in enumerate(table.rows):
        name = key(table.designs[place].place, first) if table.designs else foreign(first)
        cells = (element("td", kind, foreign(one)) for kind, one in zip(kinds[1:], rest, strict=True))
        rows.append(element("tr", None, element("th", {"scope": "row"}, name), *cells))
    head = [
        element("th", {"scope": "col", "class": kind}, foreign(one))
        for kind, one in zip(["text", *kinds[1:]], table.head, strict=True)
    ]
    whole = element(
        "table",
        None,
        element("caption", "unseen", caption),
        element("thead", None, element("tr", None, *head)),
        element("tbody", None, *rows),
    )
    return scrolling(whole, caption)
