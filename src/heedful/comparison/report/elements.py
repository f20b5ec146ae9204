"""HTML and SVG as trees of elements: what is written in them is text, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, tostring

from heedful.alignment.labels import shown

Child = Element | str | None


def element(tag: str, attributes: str | Mapping[str, str | int | float] | None = None, *children: Child) -> Element:
    """`<tag class="..."> children </tag>`; a child that is None is left out.

    Args:
        attributes: a text is the class.
    """
    given = {"class": attributes} if isinstance(attributes, str) else attributes or {}
    node = Element(tag, {name: visible(str(value)) for name, value in given.items()})
    add(node, *children)
    return node


def add(node: Element, *children: Child) -> None:
    """Put `children` at the end of `node`."""
    for child in children:
        if isinstance(child, Element):
            node.append(child)
        elif child is not None:
            text = visible(child)
            if len(node):
                node[-1].tail = (node[-1].tail or "") + text
            else:
                node.text = (node.text or "") + text


def foreign(text: str, attributes: str | None = None) -> Element:
    """A text of the reader's data, in its own direction."""
    return element("bdi", attributes, text)


def scrolling(node: Element, label: str) -> Element:
    """`node` in a box that scrolls by itself, also by the keyboard."""
    return element("div", {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": label}, node)


def html(nodes: Iterable[Element]) -> str:
    """The text of `nodes`, one after the other."""
    return "\n".join(tostring(node, encoding="unicode", method="html") for node in nodes)


def visible(text: str) -> str:
    """`text` with what nobody would see, or what would turn others round, made visible; spaces and new lines stay."""
    if text.isascii() and text.isprintable():  # most of what is written: nothing to be made visible
        return text
    return re.sub(r"[^ \n]+", lambda word: shown(word[0]), text)
