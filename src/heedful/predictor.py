"""A model with its vocabularies, put to use: texts in, texts, scores and alignments out.

It holds no state of its own, so several threads may use one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from heedful.alignment import Alignment
from heedful.data.batches import Batch, Example, Sequences, collate, in_order
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.errors import RecipeError, RunError
from heedful.recipes import PredictRecipe
from heedful.search import Hypothesis, beam, greedy
from heedful.tensors import map_tensors

if TYPE_CHECKING:
    from heedful.model import Model

Progress = Callable[[int], object]
"""Called with the number of sentences just done."""


@dataclass(frozen=True)
class Prediction:
    """One answer to one source, or one given target that was scored.

    Attributes:
        text: the answer.
        tokens: its tokens as they are shown, without the end symbol.
        score: log-probability in nats / length ** length_penalty, the end symbol counted; what answers are ranked by.
        log_probability: of the whole answer, in nats.
        token_scores: the log-probability of each token, the end symbol's last where it was reached.
        alignment: the attention weights; None where they were not asked for, or the model has no attention.
        finished: False where the answer was cut at the length limit.
    """

    text: str
    tokens: tuple[str, ...]
    score: float
    log_probability: float
    token_scores: tuple[float, ...]
    alignment: Alignment | None
    finished: bool


BLANK = Prediction("", (), 0.0, 0.0, (), None, True)
"""The answer to a blank source: nothing, at no cost."""


class Predictor:
    """Decoding, scoring and alignment with one model.

    Args:
        model: in evaluation mode.
        codec: the model's vocabularies.
        settings: the recipe's ``[predict]`` table: defaults and limits.
    """

    def __init__(self, model: Model, codec: Codec, settings: PredictRecipe) -> None:
        self.model = model
        self.codec = codec
        self.settings = settings

    def predict(
        self,
        pairs: Sequence[Pair],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        length_penalty: float | None = None,
        batch_size: int | None = None,
        with_alignment: bool = False,
        progress: Progress | None = None,
    ) -> list[list[Prediction]]:
        """The n best answers to each pair's source (targets are not looked at), in the order of `pairs`."""
        penalty = self.settings.length_penalty if length_penalty is None else length_penalty
        _check_search(penalty, batch_size)
        width = beam_size or self.settings.beam
        answers: list[list[Prediction]] = [[BLANK] for _ in pairs]
        asked = [index for index, pair in enumerate(pairs) if pair.source.strip()]
        examples = [Example(self._source(pairs[index]), None, index) for index in asked]
        for batch, members in self._batches(examples, batch_size):
            found = self._search(batch, width, n_best, penalty, with_alignment)
            for example, hypotheses in zip(members, found, strict=True):
                if not hypotheses:
                    line = pairs[example.index].line
                    raise RunError(f"line {line}: no answer has a finite probability; are the run's weights damaged?")
                answers[example.index] = [self._prediction(example, hypothesis) for hypothesis in hypotheses]
            _tell(progress, len(members))
        return answers

    def force(
        self,
        pairs: Sequence[Pair],
        *,
        batch_size: int | None = None,
        length_penalty: float | None = None,
        progress: Progress | None = None,
    ) -> list[Prediction]:
        """Each pair's own target as an answer: its scores and its alignment."""
        penalty = self.settings.length_penalty if length_penalty is None else length_penalty
        _check_search(penalty, batch_size)
        answers: list[Prediction] = [BLANK] * len(pairs)
        examples = []
        for index, pair in enumerate(pairs):
            if pair.target is None:
                raise RunError(f"line {pair.line}: a target is needed to be scored, got none")
            examples.append(Example(self._source(pair), self.codec.encode_target(pair.target), index))
        for batch, members in self._batches(examples, batch_size):
            with torch.inference_mode():
                logs, weights = self.model.force(batch)
            for row, example in enumerate(members):
                answers[example.index] = self._forced(example, logs[row], weights, row, penalty)
            _tell(progress, len(members))
        return answers

    def _source(self, pair: Pair):
        return self.codec.encode_source(pair.source, pair.tags)

    def _batches(self, examples: Sequence[Example], batch_size: int | None) -> Iterator[tuple[Batch, list[Example]]]:
        device = next(self.model.parameters()).device
        for places in in_order(examples, self.settings.batch_size if batch_size is None else batch_size):
            members = [examples[place] for place in places]
            yield to_device(collate(members), device), members

    def _search(
        self, batch: Batch, width: int, n_best: int, penalty: float, with_weights: bool
    ) -> list[list[Hypothesis]]:
        source: Sequences = batch.sources[0]
        lengths = source.mask.sum(1).float()
        limits = (self.settings.max_length_ratio * lengths + self.settings.max_length_extra).long()
        with torch.inference_mode():
            memory, state = self.model.begin(source)
        if width == 1 and n_best == 1:
            best = greedy(
                self.model.step,
                memory,
                state,
                max_lengths=limits,
                length_penalty=penalty,
                with_weights=with_weights,
            )
            return [[hypothesis] for hypothesis in best]
        return beam(
            self.model.step,
            memory,
            state,
            beam_size=width,
            max_lengths=limits,
            n_best=n_best,
            length_penalty=penalty,
            with_weights=with_weights,
        )

    def _prediction(self, example: Example, hypothesis: Hypothesis) -> Prediction:
        end = [self.codec.target_vocabulary.END] if hypothesis.finished else []
        labels = self.codec.target_labels([*hypothesis.tokens, *end])
        return Prediction(
            text=self.codec.decode_target(hypothesis.tokens),
            tokens=tuple(labels[: len(hypothesis.tokens)]),
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            token_scores=tuple(hypothesis.token_scores),
            alignment=self._alignment(example, labels, hypothesis.weights, hypothesis.finished),
            finished=hypothesis.finished,
        )

    def _forced(
        self,
        example: Example,
        logs: torch.Tensor,
        weights: torch.Tensor | None,
        row: int,
        penalty: float,
    ) -> Prediction:
        assert example.target is not None
        steps = len(example.target)
        scores = logs[:steps].tolist()
        rows = None if weights is None else weights[row, :steps].cpu()
        total = sum(scores)
        hypothesis = Hypothesis(example.target[:-1], total / steps**penalty, total, scores, rows, True)
        return self._prediction(example, hypothesis)

    def _alignment(
        self, example: Example, labels: Sequence[str], weights: torch.Tensor | None, finished: bool
    ) -> Alignment | None:
        if weights is None:
            return None
        source = example.source
        return Alignment.of(
            source.labels,
            labels,
            weights[:, : len(source.ids)].double().numpy(),
            convention=self.model.row_convention,
            source_positions=source.positions,
            target_end=finished,
        )


def _check_search(length_penalty: float, batch_size: int | None) -> None:
    if not 0 <= length_penalty < 100:
        raise RecipeError(f"length_penalty must be from 0 to 100, got {length_penalty}")
    if batch_size is not None and batch_size < 1:
        raise RecipeError(f"batch_size must be at least 1, got {batch_size}")


def to_device(batch: Batch, device: torch.device) -> Batch:
    """`batch` with its tensors on `device`."""
    return map_tensors(lambda tensor: tensor.to(device, non_blocking=True), batch)


def _tell(progress: Progress | None, count: int) -> None:
    if progress is not None:
        progress(count)
