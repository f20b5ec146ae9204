"""The report of a comparison: one Markdown file, and one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from heedful.comparison.report.curves import curves
from heedful.comparison.report.differences import differences
from heedful.comparison.report.dimensions import dimensions
from heedful.comparison.report.elements import element, html, visible
from heedful.comparison.report.examples import examples
from heedful.comparison.report.learning import learning
from heedful.comparison.report.markdown import markdown
from heedful.comparison.report.method import method
from heedful.comparison.report.quality import answer, quality
from heedful.comparison.report.terms import title
from heedful.comparison.results import Comparison
from heedful.files import write_atomically
from heedful.plots.page import page, part, ramps

MARKDOWN, HTML = "report.md", "report.html"
_SCRIPTS = ("data.js", "picture.js", "heatmap.js")


def write_report(comparison: Comparison, folder: Path) -> None:
    """Write ``report.md`` and ``report.html`` into `folder`; the same comparison gives the same files.

    The page has its own style, script and pictures, and asks nobody for anything. Charts are SVG and can be read
    without scripts; heat maps are drawn from bytes, to 1/255, by the script that reports of `heedful.look` have.

    Raises:
        SizeError: an attention weight is not from 0 to 1.
        RunError: a file cannot be written.
    """
    write_atomically(folder / MARKDOWN, markdown(comparison).encode("utf-8", "backslashreplace"))
    write_atomically(folder / HTML, _page(comparison))


def _page(comparison: Comparison) -> bytes:
    shown, maps = examples(comparison)
    sections = [
        answer(comparison),
        quality(comparison),
        differences(comparison),
        dimensions(comparison),
        curves(comparison),
        learning(comparison),
        shown,
        method(comparison),
    ]
    data: dict[str, Any] = {"measures": [], "ramps": ramps(), "maps": maps}
    own = "heedful.comparison.report"
    return page(
        part("comparison.html", package=own),
        data,
        title=visible(title(comparison)),
        style=part("report.css") + part("comparison.css", package=own),
        script="".join(map(part, _SCRIPTS)) + part("comparison.js", package=own),
        body=html(_body(comparison, [one for one in sections if one is not None])),
    )


def _body(comparison: Comparison, sections: list[Element]) -> list[Element]:
    named = [(one.get("id"), one.find("h2")) for one in sections]
    links = [
        element("li", None, element("a", {"href": f"#{name}"}, head.text)) for name, head in named if head is not None
    ]
    colours = [
        element("option", {"value": value}, name)
        for value, name in (("", "as the system"), ("light", "light"), ("dark", "dark"))
    ]
    choose = element("label", "scripted colours", "Colours ", element("select", {"id": "theme"}, *colours))
    contents = element("nav", {"aria-label": "Contents"}, element("ul", None, *links))
    name = title(comparison)
    return [
        element("header", None, element("h1", {"class": "cut", "title": name}, name), choose),
        element("main", None, sections[0], contents, *sections[1:]),
    ]
