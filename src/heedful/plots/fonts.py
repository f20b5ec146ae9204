"""Fonts that have the glyphs of a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

# Have no shape of their own: a font without them lacks nothing.
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}

_REGULAR, _MEDIUM = (400, "normal", "regular", "book"), (500, "medium")

# Come with matplotlib for formulas and for boxes: what they have for a character is not its glyph.
_NOT_FOR_TEXT = ("cm", "STIXNonUnicode", "STIXSize", "Last Resort")


def families_for(texts: Iterable[str]) -> tuple[list[str], str]:
    """Font families that together show `texts`, and the characters that no installed font has.

    The user's own choice (``rcParams["font.family"]``) comes first; others are added, the one with
    most of the missing characters first, only where glyphs are missing.
    """
    from matplotlib import font_manager

    families = list(font_manager.FontProperties().get_family())
    first = font_manager.findfont(font_manager.FontProperties(family=families))
    needed = {char for text in texts for char in text if unicodedata.category(char) not in _INVISIBLE}
    missing = needed - _characters(first)
    # Fonts are only read where glyphs are missing: there may be hundreds.
    helpful = {name: missing & _characters(path) for name, path in _regular_fonts()} if missing else {}
    while missing:
        best = max(helpful, key=lambda name: len(missing & helpful[name]))
        if not missing & helpful[best]:
            break
        families.append(best)
        missing -= helpful[best]
    return families, "".join(sorted(missing))


def _regular_fonts() -> list[tuple[str, str]]:
    """(family, file) of upright fonts of usual weight, sorted: the choice must not depend on the disk.

    Medium ones come last: some scripts are only in such a font.
    """
    from matplotlib import font_manager

    found = sorted(
        (entry.weight not in _REGULAR, entry.name, entry.fname)
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal"
        and entry.weight in (*_REGULAR, *_MEDIUM)
        and not entry.name.startswith(_NOT_FOR_TEXT)
    )
    return [(name, path) for _, name, path in found]


def _characters(path: str) -> set[str]:
    """All characters that the font file at `path` has a glyph for; none where it cannot be read."""
    from matplotlib import font_manager

    try:
        return {chr(code) for code in font_manager.get_font(path).get_charmap()}
    except (OSError, RuntimeError):
        return set()
