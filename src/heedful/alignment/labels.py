"""How a label is shown."""

from __future__ import annotations

import unicodedata


def shown(label: str) -> str:
    """`label` with characters made visible that a picture cannot show: spaces alone, and those not of XML."""
    if label and not label.strip(" "):
        return "␣" * len(label)
    return "".join(f"U+{ord(char):04X}" if _unprintable(char) else char for char in label)


def _unprintable(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} or char in "\ufffe\uffff"
