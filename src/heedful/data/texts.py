"""Texts as they come in: one Unicode normalisation for all of them."""

from __future__ import annotations

import unicodedata
from typing import Literal, get_args

from heedful.errors import DataError

Normalisation = Literal["NFC", "NFD", "NFKC", "NFKD", "none"]
NORMALISATIONS: tuple[str, ...] = get_args(Normalisation)


def normalise(text: str, form: str = "NFC") -> str:
    """`text` in a Unicode normalisation form (Unicode Standard Annex 15), or as it is where `form` is "none".

    Texts are normalised where they come in, and nowhere else: tokenisers, vocabularies and codecs take them as
    they are. No form makes or takes away a TAB, an end of line or a blank text.

    Args:
        text: any text.
        form: "NFC" composes letter and accent, "NFD" takes them apart; "NFKC" and "NFKD" also replace letters of
            another width or style by the plain ones.

    Raises:
        DataError: there is no such form.
    """
    if form not in NORMALISATIONS:
        *others, last = map(repr, NORMALISATIONS)
        raise DataError(f"normalisation: expected {', '.join(others)} or {last}, got {form!r}")
    return text if form == "none" else unicodedata.normalize(form, text)  # pyright: ignore[reportArgumentType]
