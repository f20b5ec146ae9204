"""A model and the pairs that it is looked at with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heedful.answers import Prediction
from heedful.attention.normalisers import Normaliser
from heedful.data.batches import Batch, Example, collate, in_order
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.model import Model
from heedful.predictor import Predictor, Progress, to_device
from heedful.recipes import PredictRecipe


@dataclass(frozen=True)
class Subject:
    """What every examination is given.

    Args:
        model: with attention, in evaluation mode.
        codec: its vocabularies.
        settings: the recipe's ``[predict]`` table; the attention's temperature is the model's own already.
        pairs: with targets.
        batch_size: sentences at once.
        normalisation: the Unicode form of the run's texts.
        progress: called with the number of sentences just done.
    """

    model: Model
    codec: Codec
    settings: PredictRecipe
    pairs: Sequence[Pair]
    batch_size: int
    normalisation: str = "NFC"
    progress: Progress | None = None

    def predictor(self, model: Model | None = None) -> Predictor:
        """The model, or another in its place, at work; it answers greedily."""
        settings = self.settings.model_copy(update={"attention_temperature": None, "beam": 1})
        return Predictor(model or self.model, self.codec, settings, normalisation=self.normalisation)

    def forced(self, normaliser: Normaliser | None = None, *, with_alignment: bool = True) -> list[Prediction]:
        """Each pair's target under teacher forcing, with another normaliser in the attention if one is given."""
        model = self.model if normaliser is None else self.model.with_normaliser(normaliser)
        return self.predictor(model).force(
            self.pairs, batch_size=self.batch_size, with_alignment=with_alignment, progress=self.progress
        )

    def answered(self) -> list[Prediction]:
        """The greedy answer to each source, without its alignment."""
        answers = self.predictor().predict(self.pairs, batch_size=self.batch_size, progress=self.progress)
        return [best for best, *_ in answers]

    def examples(self) -> list[Example]:
        """The pairs as ids; an example's `index` is its place among them."""
        return [Example.of(pair, self.codec, index) for index, pair in enumerate(self.pairs)]

    def batches(
        self, examples: Sequence[Example], groups: Sequence[Sequence[int]] | None = None
    ) -> Iterator[tuple[Batch, list[Example]]]:
        """Any examples as batches, on the model's device.

        Args:
            groups: the places of each batch's members; by default as in prediction.
        """
        device = next(self.model.parameters()).device
        for places in in_order(examples, self.batch_size) if groups is None else groups:
            members = [examples[place] for place in places]
            yield to_device(collate(members), device), members
            if self.progress is not None:
                self.progress(len(members))
