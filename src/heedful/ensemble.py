"""Several models that answer as one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from heedful.attention import Weights, dense
from heedful.data.batches import Batch, Sequences
from heedful.errors import RecipeError
from heedful.model.model import Model, of_target
from heedful.options import EnsembleAverage
from heedful.room import Whole


class Answering(Protocol):
    """What search and forced decoding need of a model: `Model` and `Ensemble` have it."""

    @property
    def row_convention(self) -> str: ...
    @property
    def has_attention(self) -> bool: ...
    @property
    def shortening(self) -> int: ...
    def begin(self, source: Sequences, second: Sequences | None = None, *, hypotheses: int = 0) -> tuple[Any, Any]: ...
    def step(self, tokens: Tensor, memory: Any, state: Any) -> tuple[Tensor, Weights | None, Any]: ...
    @property
    def whole_weights(self) -> Whole: ...
    def force(self, batch: Batch, *, with_weights: bool = True) -> tuple[Tensor, Tensor | None]: ...
    def posterior(self, batch: Batch) -> Tensor: ...
    def at_attention_temperature(self, temperature: float) -> Answering: ...
    def parameters(self) -> Any: ...


class Ensemble(nn.Module):
    """Models over the same vocabularies, one vote each at every step.

    Attention weights are the mean over the members that have any.

    Args:
        models: in evaluation mode.
        average: what of them is averaged.

    Raises:
        RecipeError: the rows of their attention weights belong to different words, or there is no such average.
    """

    def __init__(self, models: Sequence[Model], *, average: EnsembleAverage = "probabilities") -> None:
        super().__init__()
        if average not in ("probabilities", "log_probabilities"):
            raise RecipeError(f"an ensemble averages 'probabilities' or 'log_probabilities', got {average!r}")
        conventions = {model.row_convention for model in models if model.has_attention}
        if len(conventions) > 1:
            raise RecipeError(
                "an ensemble needs attention weights whose rows belong to the same words: some of these models have "
                "model.fusion.rows = 'predicted' and some 'input'"
            )
        shortenings = {model.shortening for model in models}
        if len(shortenings) > 1:
            raise RecipeError(
                "an ensemble needs weights over the same positions: the fronts of these models make one of "
                f"{' and '.join(map(str, sorted(shortenings)))} (model.front)"
            )
        self._shortening = shortenings.pop()
        if len({len(model.attentions) for model in models if model.has_attention}) > 1:
            raise RecipeError(
                "an ensemble needs attention to the same sources: some of these models look at the second source "
                "(model.second = 'concat' or 'gate') and some do not"
            )
        self.models = nn.ModuleList(models)
        self.average: EnsembleAverage = average
        self._convention = conventions.pop() if conventions else "predicted"

    @property
    def row_convention(self) -> str:
        """As a model's."""
        return self._convention

    @property
    def shortening(self) -> int:
        """As a model's."""
        return self._shortening

    @property
    def has_attention(self) -> bool:
        """Whether any of the models has."""
        return any(model.has_attention for model in self._members())

    @property
    def whole_weights(self) -> Whole:
        """As a model's: of those that make most."""
        return Whole(*map(max, zip(*(model.whole_weights for model in self._members()), strict=True)))

    def begin(
        self, source: Sequences, second: Sequences | None = None, *, hypotheses: int = 0
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Memories and first states, one for each model; `hypotheses` as a model's."""
        begun = (model.begin(source, second, hypotheses=hypotheses) for model in self._members())
        memories, states = zip(*begun, strict=True)
        return memories, states

    def step(
        self, tokens: Tensor, memory: tuple[Any, ...], state: tuple[Any, ...]
    ) -> tuple[Tensor, Tensor | None, tuple[Any, ...]]:
        """Search's step, as a model's."""
        steps = zip(self._members(), memory, state, strict=True)
        logs, weights, states = zip(*(model.step(tokens, *its) for model, *its in steps), strict=True)
        return self._agree(logs), _mean(weights), states

    def force(self, batch: Batch, *, with_weights: bool = True) -> tuple[Tensor, Tensor | None]:
        """Forced decoding, as a model's."""
        each = (model.distributions(batch, with_weights=with_weights) for model in self._members())
        logs, weights = zip(*each, strict=True)
        return of_target(self._agree(logs), batch), _mean(weights)

    def posterior(self, batch: Batch) -> Tensor:
        """The mean over the members that have attention."""
        given = [model.posterior(batch) for model in self._members() if model.has_attention]
        return torch.stack(given).mean(0)

    def at_attention_temperature(self, temperature: float) -> Ensemble:
        """These models with another temperature in the attention of each that has one."""
        models = [
            model.at_attention_temperature(temperature) if model.has_attention else model for model in self._members()
        ]
        return Ensemble(models, average=self.average)

    def _members(self) -> Sequence[Model]:
        return tuple(self.models)  # pyright: ignore[reportReturnType]

    def _agree(self, logs: Sequence[Tensor]) -> Tensor:
        """Members' log-probabilities (..., Y) -> the ensemble's."""
        stacked = torch.stack(tuple(logs))
        if self.average == "probabilities":
            return stacked.logsumexp(0) - math.log(len(logs))
        return torch.log_softmax(stacked.mean(0), dim=-1)


def _mean(weights: Sequence[Weights | None]) -> Tensor | None:
    given = [dense(each) for each in weights if each is not None]
    return torch.stack(given).mean(0) if given else None
