"""Validation by real decoding: what the model says on its own, not what it says when told the right words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from heedful.data.batches import Example, collate, in_order
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.split import spread
from heedful.diagnosis import attention_health
from heedful.errors import TrainingError
from heedful.evaluation import evaluate_texts
from heedful.model import Model
from heedful.predictor import Predictor, asked_of, to_device
from heedful.recipes import Recipe, with_options
from heedful.room import room_for

_LOOKED_AT = 200
"""Alignments whose measures are a curve's next point: enough for a mean, a moment's work."""

_CELLS = 1 << 24
"""Weights that are looked at for it, all of them dense: those of 16 pairs of 1,000 tokens, or of none of 10,000."""

SCORES = ("sequence_error", "token_error", "word_error", "bleu", "chrf")


@dataclass(frozen=True)
class Validator:
    """Scores a model on development pairs, greedily.

    Args:
        codec: vocabularies.
        recipe: batch size and BLEU's tokeniser.
        pairs: the development pairs; `size` of them are looked at, evenly spread over the file.
    """

    codec: Codec
    recipe: Recipe
    pairs: Sequence[Pair]

    def __call__(self, model: Model) -> tuple[float, dict[str, float]]:
        """(loss in nats a target token under teacher forcing, scores from decoding); the mode is put back.

        Raises:
            TrainingError: the loss is not a number.
        """
        training = model.training
        model.eval()
        try:
            loss = self._loss(model)
            if not math.isfinite(loss):
                raise TrainingError(
                    f"the development loss is {loss}; training stopped, the best weights so far are kept. "
                    "A lower train.learning_rate or train.clip_norm may help"
                )
            return loss, self._scores(model)
        finally:
            model.train(training)

    def health(self, model: Model) -> dict[str, float]:
        """Measures of attention on some of the pairs: `heedful.diagnosis.attention_health`; none without attention."""
        if not model.has_attention:
            return {}
        training = model.training
        model.eval()
        try:
            predictor = greedy_predictor(model, self.codec, self.recipe)
            forced = predictor.force(self._looked_at())
        finally:
            model.train(training)
        return attention_health(answer.alignment for answer in forced if answer.alignment is not None)

    def _looked_at(self) -> list[Pair]:
        """Some of the pairs, evenly spread; of long ones only as many as have `_CELLS` weights together."""
        looked_at, cells = [], 0
        for pair in spread(self.pairs, _LOOKED_AT):
            example = Example.of(pair, self.codec, 0)
            more = len(example.source.ids) * len(example.target or ())
            if cells + more <= _CELLS:
                looked_at.append(pair)
                cells += more
        return looked_at

    def _loss(self, model: Model) -> float:
        examples = [Example.of(pair, self.codec, index) for index, pair in enumerate(self.pairs)]
        device = next(model.parameters()).device
        total, tokens = 0.0, 0
        with torch.inference_mode():
            for places in in_order(examples, self.recipe.predict.batch_size):
                members = [examples[place] for place in places]
                what, remedy = f"{len(members)} development pairs at once", "lower predict.batch_size"
                with room_for(what, asked_of(model, members), device=device, remedy=remedy, error=TrainingError):
                    loss = model(to_device(collate(members), device))
                    total, tokens = total + float(loss.plain), tokens + int(loss.tokens)
        return total / tokens

    def _scores(self, model: Model) -> dict[str, float]:
        predictor = greedy_predictor(model, self.codec, self.recipe)
        outputs = [answers[0].text for answers in predictor.predict(self.pairs)]
        scores = evaluate_texts(
            [pair.asked for pair in self.pairs],
            outputs,
            [pair.target or "" for pair in self.pairs],
            target_split=self.codec.target_tokeniser.split,
            bleu_tokenizer=self.recipe.predict.bleu_tokenizer,
            normalisation=self.recipe.data.normalisation,
        )
        return {name: getattr(scores, name) for name in SCORES}


def greedy_predictor(model: Model, codec: Codec, recipe: Recipe) -> Predictor:
    """What answers in a validation: greedily, by all other rules that the recipe has for answers.

    Raises:
        RecipeError: a setting of ``[predict]`` does not fit the model or its vocabularies.
    """
    settings = with_options(recipe.predict, {"beam": 1})
    return Predictor(model, codec, settings, normalisation=recipe.data.normalisation)


def better(metric: str, new: float, old: float | None) -> bool:
    """Whether `new` beats `old`: more BLEU and chrF, less of everything else. NaN never does."""
    if new != new:
        return False
    if old is None:
        return True
    return new > old if metric in ("bleu", "chrf") else new < old
