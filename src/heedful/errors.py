"""The exceptions of heedful: each says what was expected, what was got, and where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HeedfulError(Exception):
    """Base of all errors that a user can cause and mend; its text is complete without a traceback, and one line."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class DataError(HeedfulError):
    """A file of pairs, a line of it, or a built-in corpus cannot be used."""


class RecipeError(HeedfulError):
    """A recipe has an unknown key, an unknown name, or a value that does not fit."""


class RunError(HeedfulError):
    """A run folder is missing, incomplete, or not what it says it is."""


class TrainingError(HeedfulError):
    """Training cannot go on, for instance because the loss is not a number."""


class MemoryShortage(HeedfulError):
    """There is not enough memory for a batch of sentences."""


class SizeError(HeedfulError, ValueError):
    """Two parts of a model, or a tensor and a module, do not fit together."""


def one_line(text: str) -> str:
    """`text` with all that would end a line, steer a terminal or not be seen written as in `repr`: names of files,
    and what other libraries say, may hold anything."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def excerpt(value: object, most: int = 80) -> str:
    """How `value` is written in Python, or the beginning of that."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of over 4,300 digits
        text = "a number too long to be written"
    return text if len(text) <= most else text[: most - 3] + "..."


def nearest(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the closest of `known`, else the whole list of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known are: {', '.join(known)}" if known else ""
