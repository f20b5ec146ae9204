"""A model with its vocabularies, put to use: texts in, texts, scores and alignments out.

It holds no state of its own, so several threads may use one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch

from heedful.answers import BLANK, Answers, Prediction, different
from heedful.data.batches import Batch, Example, Sequences, collate, in_order, shortened
from heedful.data.codec import Codec
from heedful.data.dictionary import read_dictionary
from heedful.data.pairs import Pair
from heedful.decoding import Decoding
from heedful.ensemble import Answering, Ensemble
from heedful.errors import DataError, RecipeError, RunError
from heedful.options import SearchOptions
from heedful.recipes import WIDEST, PredictRecipe, with_options
from heedful.room import Asked, room_for
from heedful.search import Hypothesis
from heedful.tensors import map_tensors, precise

Progress = Callable[[int], object]
"""Called with the number of sentences just done."""


class Predictor:
    """Decoding, scoring and alignment with one model.

    Args:
        model: a `Model` or an `Ensemble`, in evaluation mode.
        codec: its vocabularies.
        settings: the recipe's ``[predict]`` table: how answers are searched for.
        normalisation: the Unicode form of the run's texts, into which those in the settings are brought.
        dictionary: what to write for source tokens that are put in for unknown target tokens.

    Raises:
        RecipeError: a setting does not fit the model or its vocabularies.
    """

    def __init__(
        self,
        model: Answering,
        codec: Codec,
        settings: PredictRecipe,
        *,
        normalisation: str = "NFC",
        dictionary: Mapping[str, str] | None = None,
    ) -> None:
        self._plain = model
        self.model = model
        self.codec = codec
        self.settings = settings
        self.normalisation = normalisation
        for name in ("coverage_penalty", "attention_temperature"):
            if getattr(settings, name) and not model.has_attention:
                raise RecipeError(f"{name} is of no use to a model without attention (fusion 'none')")
        if settings.unknown == "replace" and not model.has_attention:
            raise RecipeError("unknown tokens cannot be replaced by a model without attention (fusion 'none')")
        if settings.unknown == "replace" and codec.source_features is not None:
            raise RecipeError(
                "unknown = 'replace' does not go with data.source_features: it puts tokens of the source in, and "
                "features have none"
            )
        if codec.has_label and model.row_convention == "input":
            raise RecipeError(
                "model.fusion.rows = 'input' does not go with data.target_tokens = 'label': the one row of weights is "
                "about the label, since no word is read before it"
            )
        if settings.attention_temperature is not None:
            self.model = model.at_attention_temperature(settings.attention_temperature)
        self.decoding = Decoding.of(settings, codec, normalisation=normalisation)
        self._answers = Answers(
            codec,
            model.row_convention,
            model.shortening,
            replace_unknown=settings.unknown == "replace",
            dictionary=dictionary or {},
        )

    def with_options(self, options: Mapping[str, Any], *, n_best: int = 1, known: type = SearchOptions) -> Predictor:
        """This model with other settings: see `SearchOptions`. Without a beam of its own, it is at least `n_best`.

        Raises:
            RecipeError: an option is unknown, or does not fit.
            DataError: `n_best` is above the beam, or the dictionary cannot be read.
        """
        settings = with_options(self.settings, options, known=known)
        check_count("n_best", n_best)
        if options.get("beam") is None and n_best > settings.beam:
            settings = settings.model_copy(update={"beam": n_best})
        dictionary = options.get("dictionary")
        if isinstance(dictionary, str | os.PathLike):
            dictionary = read_dictionary(dictionary, normalisation=self.normalisation)
        return Predictor(self._plain, self.codec, settings, normalisation=self.normalisation, dictionary=dictionary)

    def predict(
        self,
        pairs: Sequence[Pair],
        *,
        n_best: int = 1,
        batch_size: int | None = None,
        with_alignment: bool = False,
        progress: Progress | None = None,
    ) -> list[list[Prediction]]:
        """The n best answers to each pair's source (targets are not looked at), in the order of `pairs`.

        Raises:
            DataError: `n_best` is above the beam: see `with_options`.
        """
        if self.settings.sampling_temperature is None and n_best > self.settings.beam:
            raise DataError(f"n_best {n_best} needs a beam of at least {n_best}, got beam {self.settings.beam}")
        with_weights = with_alignment or self._answers.replace_unknown
        answers: list[list[Prediction]] = [[BLANK] for _ in pairs]
        asked = [index for index, pair in enumerate(pairs) if pair.source.strip()]
        examples = [Example.of(pairs[index], self.codec, index, with_target=False) for index in asked]
        for batch, members in self._batches(examples, batch_size):
            lines = [pairs[example.index].line for example in members]
            with self._room_for(members, lines, with_weights=with_weights):
                found = self.searched(batch, lines, n_best=n_best, with_weights=with_weights)
                for example, hypotheses, line in zip(members, found, lines, strict=True):
                    answers[example.index] = self._told(example, hypotheses, line, with_alignment)
            _tell(progress, len(members))
        return answers

    def _told(
        self, example: Example, hypotheses: Sequence[Hypothesis], line: int, with_alignment: bool
    ) -> list[Prediction]:
        if not hypotheses:
            raise RunError(f"line {line}: no answer has a finite probability; are the run's weights damaged?")
        predictions = [
            self._answers.prediction(example, hypothesis, with_alignment=with_alignment) for hypothesis in hypotheses
        ]
        # What was drawn may come twice; of what was searched for, other tokens may spell the same text.
        drawn = self.settings.sampling_temperature is not None
        return predictions if drawn else different(predictions)

    def searched(
        self, batch: Batch, lines: Sequence[int], *, n_best: int, with_weights: bool
    ) -> list[list[Hypothesis]]:
        source, *second = batch.sources
        width = self._seen(batch).mask.shape[1]
        asked = {"n_best": n_best, "with_weights": with_weights, "second": second[0] if second else None}
        found = self.decoding.search(self.model, source, lines, **asked)
        return [[hypothesis.split(width) for hypothesis in several] for several in found]

    def signature(self) -> str:
        """What a number that was measured with these answers should be quoted with."""
        parts = [self.decoding.signature()]
        if self._answers.dictionary:
            parts.append(f"dictionary:{len(self._answers.dictionary)}")
        if isinstance(self.model, Ensemble):
            parts.append(f"ensemble:{len(self.model.models)}|average:{self.model.average}")
        return "|".join(parts)

    def force(
        self,
        pairs: Sequence[Pair],
        *,
        batch_size: int | None = None,
        with_alignment: bool = True,
        posterior: bool = False,
        progress: Progress | None = None,
    ) -> list[Prediction]:
        """Each pair's own target as an answer: its scores and its alignment.

        Args:
            with_alignment: False for who needs the scores alone; then `posterior` is of no effect.
            posterior: the alignment tells where each word came from now that it is known, rather than where the model
                looked before it wrote it: see `heedful.model.posterior.posterior`.
        """
        answers_of = replace(self._answers, convention="predicted") if posterior else self._answers
        answers: list[Prediction] = [BLANK] * len(pairs)
        examples = []
        for index, pair in enumerate(pairs):
            if pair.target is None:
                raise RunError(f"line {pair.line}: a target is needed to be scored, got none")
            examples.append(Example.of(pair, self.codec, index))
        for batch, members in self._batches(examples, batch_size):
            lines = [pairs[example.index].line for example in members]
            with self._room_for(members, lines, with_weights=with_alignment):
                found = self._forced(batch, members, with_alignment=with_alignment, posterior=posterior)
                for example, hypothesis in zip(members, found, strict=True):
                    answers[example.index] = answers_of.forced(
                        example, hypothesis, pairs[example.index].target or "", with_alignment=with_alignment
                    )
            _tell(progress, len(members))
        return answers

    def _forced(
        self, batch: Batch, members: Sequence[Example], *, with_alignment: bool, posterior: bool
    ) -> list[Hypothesis]:
        """Targets as search would have reported them."""
        assert batch.target is not None
        with torch.inference_mode():
            needed = with_alignment or self.settings.coverage_penalty > 0
            logs, weights = self.model.force(batch, with_weights=needed)
            scores = self.decoding.score(self._seen(batch), logs, batch.target.mask.sum(1), weights).tolist()
            totals = logs.to(precise(logs.device)).sum(1).tolist()
            if not with_alignment:
                weights = None
            elif posterior:
                weights = self.model.posterior(batch)
        values, rows = logs.tolist(), None if weights is None else weights.cpu()
        return [
            Hypothesis(
                tokens=self.codec.without_end(example.target or []),
                score=scores[row],
                log_probability=totals[row],
                token_scores=values[row][: len(example.target or [])],
                weights=None if rows is None else rows[row, : len(example.target or [])],
                finished=True,
            ).split(self._seen(batch).mask.shape[1])
            for row, example in enumerate(members)
        ]

    def _room_for(
        self, members: Sequence[Example], lines: Sequence[int], *, with_weights: bool
    ) -> AbstractContextManager[None]:
        asked = asked_of(self.model, members)
        remedies = ["lower batch_size" if len(members) > 1 else "shorten the texts"]
        remedies += ["ask for no alignments"] if with_weights else []
        remedies += [f"train with {asked.whole.narrower}"] if asked.bytes else []
        several = ", ".join(map(str, lines[:8])) + (", ..." if len(lines) > 8 else "")
        device = next(self.model.parameters()).device
        what = f"{len(members)} sentences at once (lines {several})"
        return room_for(what, asked, device=device, remedy=", or ".join(remedies))

    def _seen(self, batch: Batch) -> Sequences:
        """The source as attention has it."""
        return shortened(batch.sources[0], self.model.shortening)

    def _batches(self, examples: Sequence[Example], batch_size: int | None) -> Iterator[tuple[Batch, list[Example]]]:
        size = self.settings.batch_size if batch_size is None else batch_size
        check_count("batch_size", size)
        device = next(self.model.parameters()).device
        for places in in_order(examples, size):
            members = [examples[place] for place in places]
            yield to_device(collate(members), device), members


def check_count(name: str, value: Any, *, most: int | None = WIDEST) -> None:
    """Refuse what is no whole number of at least 1, or more than any machine could hold at once."""
    if not isinstance(value, int) or value < 1 or (most is not None and value > most):
        limit = "" if most is None else f" and at most {most}"
        raise DataError(f"{name} must be a whole number of at least 1{limit}, got {value!r}")


def asked_of(model: Answering, examples: Sequence[Example]) -> Asked:
    """What attention is asked for by a batch of these; a search, where they have no targets, asks step by step."""
    steps = max(len(example.target or ()) for example in examples)
    positions = -(-max(len(example.source.ids) for example in examples) // model.shortening)
    whole = model.whole_weights
    return Asked(len(examples), steps, positions, whole if steps else whole._replace(across=0, target=0))


def to_device(batch: Batch, device: torch.device) -> Batch:
    """`batch` with its tensors on `device`."""
    return map_tensors(lambda tensor: tensor.to(device, non_blocking=True), batch)


def _tell(progress: Progress | None, count: int) -> None:
    if progress is not None:
        progress(count)
