"""From what search found to what a person gets: text, tokens, scores and alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heedful.alignment import Alignment
from heedful.data.batches import Example
from heedful.data.codec import Codec
from heedful.data.encoded import Columns
from heedful.data.vocabulary import Vocabulary
from heedful.search import Hypothesis

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Prediction:
    """One answer to one source, or one given target that was scored.

    Attributes:
        text: the answer.
        tokens: its tokens as they are shown, without the end symbol.
        score: what answers are ranked by, in nats: see `heedful.search.Ranking`. With the default settings the mean
            log-probability of the tokens, the end symbol counted.
        log_probability: of the whole answer, in nats.
        token_scores: the log-probability of each token, the end symbol's last where it was reached; they sum to
            `log_probability`.
        alignment: the attention weights; None where they were not asked for, or the model has no attention.
        finished: False where the answer was cut at the length limit, or the rules left no way to go on.
        second_alignment: the weights over the second source, where the model looks at two.
    """

    text: str
    tokens: tuple[str, ...]
    score: float
    log_probability: float
    token_scores: tuple[float, ...]
    alignment: Alignment | None
    finished: bool
    second_alignment: Alignment | None = None


BLANK = Prediction("", (), 0.0, 0.0, (), None, True)
"""The answer to a blank source: nothing, at no cost."""


@dataclass(frozen=True)
class Answers:
    """Makes predictions of hypotheses.

    Args:
        codec: the vocabularies.
        convention: which word a row of weights belongs to.
        shortening: how many positions of the source a column of weights stands for.
        replace_unknown: whether the unknown symbol is replaced by the source token that its row looks at most: Luong,
            Sutskever et al. 2015, "Addressing the rare word problem", with attention in place of their pointers.
        dictionary: translations of the source tokens that are put in; one that is not there is copied.
    """

    codec: Codec
    convention: str
    shortening: int
    replace_unknown: bool
    dictionary: Mapping[str, str]

    def prediction(self, example: Example, hypothesis: Hypothesis, *, with_alignment: bool) -> Prediction:
        """One found answer."""
        words = self.codec.target_vocabulary.tokens(hypothesis.tokens)
        if self.replace_unknown:
            words = self._replaced(words, example, hypothesis)
        return self._prediction(example, hypothesis, words, with_alignment)

    def forced(self, example: Example, hypothesis: Hypothesis, target: str, *, with_alignment: bool) -> Prediction:
        """A given target; its tokens are shown as they stand in it, whether or not the vocabulary has them."""
        words = self.codec.target_tokeniser.split(target)
        return self._prediction(example, hypothesis, words, with_alignment)

    def _prediction(
        self, example: Example, hypothesis: Hypothesis, words: Sequence[str], with_alignment: bool
    ) -> Prediction:
        tokeniser = self.codec.target_tokeniser
        labels = tokeniser.labels_of(words)
        alignment, second = self._alignments(example, hypothesis, labels) if with_alignment else (None, None)
        return Prediction(
            text=tokeniser.join(words),
            tokens=tuple(labels),
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            token_scores=tuple(hypothesis.token_scores),
            alignment=alignment,
            finished=hypothesis.finished,
            second_alignment=second,
        )

    def _alignments(
        self, example: Example, hypothesis: Hypothesis, labels: Sequence[str]
    ) -> tuple[Alignment | None, Alignment | None]:
        """Over each source that is looked at."""
        columns = example.source.columns(self.shortening)
        first = self._alignment(columns, hypothesis.weights, labels, finished=hypothesis.finished)
        if example.second is None:
            return first, None
        return first, self._alignment(
            example.second.columns(), hypothesis.second_weights, labels, finished=hypothesis.finished
        )

    def _alignment(
        self, columns: Columns, weights: Tensor | None, labels: Sequence[str], *, finished: bool
    ) -> Alignment | None:
        if weights is None:
            return None
        end = self.codec.end_labels(finished=finished)
        return Alignment.of(
            columns.labels,
            [*labels, *end],
            weights[:, : len(columns.labels)].double().numpy(),
            convention=self.convention,
            source_positions=columns.positions,
            source_spans=columns.spans,
            target_end=bool(end),
            source_segments=columns.segments,
        )

    def _replaced(self, words: Sequence[str], example: Example, hypothesis: Hypothesis) -> list[str]:
        if hypothesis.weights is None or Vocabulary.UNKNOWN not in hypothesis.tokens:
            return list(words)
        source = example.source.columns(self.shortening)
        columns = [column for column, position in enumerate(source.positions) if position]
        weights = hypothesis.weights[:, columns]
        replaced = list(words)
        for place, token in enumerate(hypothesis.tokens):
            row = place if self.convention == "predicted" else place + 1  # the row that is about this token
            if token == Vocabulary.UNKNOWN and row < len(weights) and bool((weights[row] > 0).any()):
                label = source.labels[columns[int(weights[row].argmax())]]
                replaced[place] = self.dictionary.get(label, label)
        return replaced


def different(predictions: Sequence[Prediction]) -> list[Prediction]:
    """The first of each text: other tokens may spell the same."""
    first: dict[str, Prediction] = {}
    for prediction in predictions:
        first.setdefault(prediction.text, prediction)
    return list(first.values())
