"""An answer with its errors marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from heedful.comparison.report.elements import Child, element


class Edit(NamedTuple):
    """A stretch of an answer, and of its reference where they are not the same."""

    said: str
    wanted: str | None


def edits(answer: str, references: Sequence[str]) -> list[Edit]:
    """The answer against the nearest of `references`, by the fewest units that have to be changed.

    Units are what stands between spaces; where no text has any, letters with their marks.
    """
    import regex
    from rapidfuzz.distance import Levenshtein

    spaced = any(" " in text.strip() for text in (answer, *references))

    def units(text: str) -> list[str]:
        return text.split() if spaced else regex.findall(r"\X", text)

    said = units(answer)
    wanted = min(map(units, references), key=lambda one: Levenshtein.distance(said, one), default=said)
    space = " " if spaced else ""
    return [
        Edit(
            space.join(said[code.src_start : code.src_end]),
            None if code.tag == "equal" else space.join(wanted[code.dest_start : code.dest_end]),
        )
        for code in Levenshtein.opcodes(said, wanted)
    ]


def marked(answer: str, references: Sequence[str]) -> Element:
    """The answer as a text in its own direction, its errors underlined, and in boxes what is missing."""
    found = edits(answer, references)
    if not answer.strip():
        return element("span", "wrong", "nothing")
    gap = " " if any(" " in text.strip() for text in (answer, *references)) else None
    children: list[Child] = []
    for said, wanted in found:
        children += [gap if children else None, _shown(said, wanted)]
    return element("bdi", None, *children)


def _shown(said: str, wanted: str | None) -> Child:
    if wanted is None:
        return said
    if not said:
        return element("span", {"class": "missing", "title": "missing"}, wanted, _heard("missing"))
    told = f"instead of {wanted}" if wanted else "too much"
    return element("span", {"class": "wrong", "title": told}, said, _heard(told))


def _heard(text: str) -> Element:
    """What the eye sees from the mark, for those who hear it."""
    return element("span", "unseen", f" ({text}) ")
