"""Segments: where a source is cut into parts, lines, sentences or so many tokens each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from heedful.data.tokens import Tokeniser
from heedful.errors import RecipeError
from heedful.registry import Registry


class Segmenter(ABC):
    """Says which segment each token of a text is in."""

    @abstractmethod
    def cut(self, text: str, tokeniser: Tokeniser, tokens: Sequence[str]) -> list[int]:
        """For each of `tokens`, which `tokeniser` made of `text`, the number of its segment, from 1 without a gap."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its name, and beside it its options."""


segmenters: Registry[Segmenter] = Registry("segments")


def make_segmenter(name: str, options: Mapping[str, Any] | None = None) -> Segmenter:
    """A segmenter by its registered name.

    Raises:
        RecipeError: unknown name or option, or an option that does not fit.
    """
    return segmenters.build(name, options or {}, {})


def segmenter_from_json(values: Mapping[str, Any]) -> Segmenter:
    """The inverse of `Segmenter.to_json`."""
    options = dict(values)
    return make_segmenter(options.pop("name"), options)


def _after(ends: Sequence[bool]) -> list[int]:
    """A new segment begins behind each token that ends one; several ends in a row are one."""
    follows = [False, *(end and not again for end, again in pairwise(ends))]
    return [1 + number for number in accumulate(map(int, follows))][: len(ends)]


@segmenters.register("line")
class Lines(Segmenter):
    """A segment for each line of the text; tokens that have a separator in them, or spell a part of one, end theirs.

    Files of one pair a line have no texts of several: take JSON lines, or a separator that is a token of its own
    between two segments. Where the tokeniser drops white space, and with it the line ends, lines are cut before it.

    Args:
        separator: what ends a line; a line feed by default.
    """

    def __init__(self, *, separator: str = "\n") -> None:
        if not separator:
            raise RecipeError("segments 'line': expected a separator of one character or more, got an empty text")
        self.separator = separator

    def cut(self, text: str, tokeniser: Tokeniser, tokens: Sequence[str]) -> list[int]:
        labels = tokeniser.labels_of(tokens)
        if not self.separator.isspace() or self.separator in "".join(labels):
            return _after([self.separator in label for label in labels])
        counts = [len(tokeniser.split(line)) for line in text.split(self.separator)]
        filled = [count for count in counts if count]
        return [number for number, count in enumerate(filled, start=1) for _ in range(count)][: len(tokens)]

    def to_json(self) -> dict[str, Any]:
        return {"name": "line", "separator": self.separator}


@segmenters.register("marks")
class Marks(Segmenter):
    """A segment ends behind each mark, or row of marks.

    Args:
        marks: the characters, side by side; a token ends a segment if, less white space, it ends in one of them.
    """

    def __init__(self, *, marks: str = ".!?。！？।") -> None:
        if not marks.strip():
            raise RecipeError(f"segments 'marks': expected one character or more, got {marks!r}")
        self.marks = marks

    def cut(self, text: str, tokeniser: Tokeniser, tokens: Sequence[str]) -> list[int]:
        labels = [label.rstrip() for label in tokeniser.labels_of(tokens)]
        return _after([bool(label) and label[-1] in self.marks for label in labels])

    def to_json(self) -> dict[str, Any]:
        return {"name": "marks", "marks": self.marks}


@segmenters.register("length")
class Length(Segmenter):
    """Segments of so many tokens, the last of what is left.

    Args:
        tokens: how many.
    """

    def __init__(self, *, tokens: int = 20) -> None:
        if tokens < 1:
            raise RecipeError(f"segments 'length': expected tokens of at least 1, got {tokens}")
        self.tokens = tokens

    def cut(self, text: str, tokeniser: Tokeniser, tokens: Sequence[str]) -> list[int]:
        return [1 + place // self.tokens for place in range(len(tokens))]

    def to_json(self) -> dict[str, Any]:
        return {"name": "length", "tokens": self.tokens}
