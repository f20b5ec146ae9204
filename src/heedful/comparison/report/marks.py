"""What charts are made of: inline SVG without script or style, as wide as there is room, its letters as large as ever.

Places across are shares of the width in per cent; what has a path is in a frame of 100 x 100 that is stretched. Each
design has a colour, a dash and a mark of its own, by class: the page's style knows the colours.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import element, foreign

STYLES = 12
"""How many designs have a colour, a dash and a marker of their own."""
_MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-5L5 0L0 5L-5 0z",
    "M0-5L4.6 3.6H-4.6z",
    "M0 5L4.6-3.6H-4.6z",
    "M-4.5 0L-2.25-4H2.25L4.5 0L2.25 4H-2.25z",
)


def style_of(place: int) -> str:
    """The class of the design in that place."""
    return f"d{place % STYLES}"


def marker(place: int, across: float | None = None, down: float = 0.0) -> Element:
    """The design's mark, at that share of the width."""
    at = {"x": "50%" if across is None else percent(across), "y": f"{down:.1f}", "overflow": "visible"}
    kind = "mark hollow" if place % STYLES >= len(_MARKERS) else "mark"
    path = {"class": f"{kind} {style_of(place)}", "d": _MARKERS[place % len(_MARKERS)]}
    return element("svg", at, element("path", path))


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def key(place: int, name: str) -> Element:
    """A design's mark with its name."""
    sign = element("svg", {"class": "sign", "width": 26, "height": 14, "aria-hidden": "true"})
    sign.append(element("line", {"class": f"line {style_of(place)}", "x1": 0, "x2": 26, "y1": 7, "y2": 7}))
    sign.append(marker(place, down=7))
    return element("span", "name", sign, foreign(name))
