"""What a user must be told about data and answers: nothing is skipped, unknown or cut in silence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from heedful.data.codec import Codec
from heedful.data.pairs import Corpus, Pair

if TYPE_CHECKING:
    from heedful.predictor import Prediction

Message = Callable[[str], object]
"""Called with one line of text for a person."""


def skipped(corpus: Corpus) -> str | None:
    """Which bad lines of a corpus were left out."""
    if not corpus.skipped:
        return None
    return f"{corpus.name}: {len(corpus.skipped)} bad lines skipped: {_few([line for line, _ in corpus.skipped])}"


class Notes:
    """Gathers, over any number of answers, what was unknown in their sources and which of them were cut."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._cut: list[int] = []
        self._unknown: dict[str, int] = {}
        self._symbols = 0

    def add(self, pair: Pair, found: Sequence[Prediction]) -> None:
        """Take note of the answers to one source."""
        if not found[0].finished:
            self._cut.append(pair.line)
        if not pair.source.strip():  # a blank source is not read
            return
        tokens = self._codec.source_tokeniser.split(pair.source)
        self._symbols += len(pair.tags) + len(tokens)
        vocabulary = self._codec.source_vocabulary
        tags = [
            tag
            for tag, known in zip(pair.tags, vocabulary.ids((), pair.tags), strict=True)
            if known == vocabulary.UNKNOWN
        ]
        for token in (*tags, *self._codec.source_tokeniser.labels_of(vocabulary.unknown(tokens))):
            self._unknown[token] = self._unknown.get(token, 0) + 1

    def tell(self, message: Message) -> None:
        """Say what there is to say."""
        if self._unknown:
            total = sum(self._unknown.values())
            message(
                f"{total} of {self._symbols} source symbols were never seen in training: "
                + _few([repr(token) for token in self._unknown], 10)
            )
        if self._cut:
            message(
                f"{len(self._cut)} answers were cut at the length limit (lines {_few(self._cut)}); "
                "predict.max_length_ratio and max_length_extra in the run's recipe.toml set it"
            )


def _few(things: Sequence[object], most: int = 20) -> str:
    return ", ".join(map(str, things[:most])) + (", ..." if len(things) > most else "")
