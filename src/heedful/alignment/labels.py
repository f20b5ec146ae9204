"""How a label is shown. The script of reports has the same rules: `shown` in plots/template/data.js."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

# Not "Cf": marks over Arabic and other numbers, and signs that build hieroglyphs.
_SEEN = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]")
# No letters, whatever Unicode calls them: fillers, the blank of Braille, grapheme joiners, and noncharacters.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffe\uffff]")
_SELECTOR = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_TAG = re.compile("[\U000e0020-\U000e007f]")  # letters of flags, behind the black flag
_VIRAMA = re.compile("[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]")  # of Indic scripts
_FLAG, _JOINERS = "\U0001f3f4", "\u200c\u200d"


def shown(label: str) -> str:
    """`label` with characters made visible that nobody would see, or that turn the others round.

    A space alone is "␣"; control characters, directions and other formats are "U+202E". Joiners stay inside words and
    emoji, and so do what chooses the form of a sign and the letters of flags, behind what they belong to.
    """
    if label and all(unicodedata.category(char) == "Zs" for char in label):
        return "".join("␣" if char == " " else _code(char) for char in label)
    return "".join(
        _code(char) if _hidden(before, char, after) else char
        for before, char, after in zip(["", *label], label, [*label[1:], ""], strict=False)
    )


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


def _hidden(before: str, char: str, after: str) -> bool:
    """Whether `char` between these two is not to be seen, or changes their order."""
    if char in _JOINERS:
        return not (_joins(before) and (_joins(after) or _VIRAMA.match(before)))
    if _SELECTOR.match(char):
        return not before
    if _TAG.match(char):
        return not (before == _FLAG or _TAG.match(before))
    hidden = unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and not _SEEN.match(char)
    return hidden or bool(_BLANK.match(char))


def _joins(char: str) -> bool:
    """Whether it is a letter, a mark or a symbol."""
    return bool(char) and unicodedata.category(char)[0] in "LMS"


def edges_of(segments: Sequence[int] | None) -> list[float]:
    """Where, between columns, another segment begins: 1.5 is between the second and the third."""
    return [place - 0.5 for place, (one, other) in enumerate(pairwise(segments or ()), start=1) if one != other]
