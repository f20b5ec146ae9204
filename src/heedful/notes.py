"""What a user must be told about data and answers: nothing is skipped, unknown or cut in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from heedful.data.codec import Codec
from heedful.data.pairs import Corpus, Pair
from heedful.data.tokens import Tokeniser
from heedful.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heedful.answers import Prediction

Message = Callable[[str], object]
"""Called with one line of text for a person."""


def skipped(corpus: Corpus) -> str | None:
    """Which bad lines of a corpus were left out."""
    if not corpus.skipped:
        return None
    return (
        f"{corpus.name}: bad lines skipped, {len(corpus.skipped)} in all: {few([line for line, _ in corpus.skipped])}"
    )


class Notes:
    """Gathers, over any number of answers, what was unknown in their sources and which of them were cut.

    An endless stream fills no memory: all are counted, the first few are named.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._symbols = 0
        self._unknown = 0
        self._unknown_first = _First(10)
        self._cut = 0
        self._cut_first = _First(20)

    def add(self, pair: Pair, found: Sequence[Prediction]) -> None:
        """Take note of the answers to one source."""
        if not all(prediction.finished for prediction in found):
            self._cut += 1
            self._cut_first.add(str(pair.line))
        if not pair.source.strip():  # not read
            return
        codec = self._codec
        if codec.source_features is None:
            self._add_first(pair)
        if codec.second_tokeniser is not None and codec.second_vocabulary is not None:
            self._add(codec.second_tokeniser, codec.second_vocabulary, pair.second or "")

    def _add_first(self, pair: Pair) -> None:
        codec, vocabulary = self._codec, self._codec.source_vocabulary
        tags = [
            tag
            for tag, known in zip(pair.tags, vocabulary.ids((), pair.tags), strict=True)
            if known == vocabulary.UNKNOWN
        ]
        self._symbols += len(pair.tags)
        self._add_unknown(tags)
        self._add(codec.source_tokeniser, vocabulary, pair.source)

    def _add(self, tokeniser: Tokeniser, vocabulary: Vocabulary, text: str) -> None:
        tokens = tokeniser.split(text)
        self._symbols += len(tokens)
        self._add_unknown(tokeniser.labels_of(vocabulary.unknown(tokens)))

    def _add_unknown(self, labels: Sequence[str]) -> None:
        for label in labels:
            self._unknown += 1
            self._unknown_first.add(repr(label if len(label) <= 40 else label[:37] + "..."))

    def tell(self, message: Message) -> None:
        """Say what there is to say."""
        if self._unknown:
            message(
                f"{self._unknown} of {self._symbols} source symbols were never seen in training: {self._unknown_first}"
            )
        if self._cut:
            message(
                f"answers cut before their end at lines {self._cut_first} ({self._cut} in all); max_length_ratio, "
                "max_length_extra and max_length set the limit (or rules left no way to go on)"
            )


class _First:
    """The first few different ones of any number; written with dots where there were more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[str, None] = {}
        self._more = False

    def add(self, text: str) -> None:
        if len(self._kept) < self._most:
            self._kept[text] = None
        elif text not in self._kept:
            self._more = True

    def __str__(self) -> str:
        return ", ".join(self._kept) + (", ..." if self._more else "")


def few(things: Iterable[object], most: int = 20) -> str:
    """The first of them, with dots where there are more."""
    first = _First(most)
    for thing in things:
        first.add(str(thing))
    return str(first)
