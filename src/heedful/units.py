"""What links count: the tokens of a text, or its words where a tokeniser cuts these into pieces."""

from __future__ import annotations

from heedful.alignment.merge import word_groups
from heedful.data.tokens import Tokeniser


def units_of(tokeniser: Tokeniser, text: str) -> list[list[int]]:
    """The places of the tokens of `text` that make each unit that links and tags count, in order."""
    labels = tokeniser.labels(text)
    return word_groups(labels) if tokeniser.cuts_words else [[place] for place in range(len(labels))]
