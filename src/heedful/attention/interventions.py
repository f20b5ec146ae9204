"""Interventions: normalisers that put other weights in the place of a model's own, to see what it needs them for.

They are put in by ``model.with_normaliser(...)``. Masks hold as ever, a row with nothing to attend to stays all zeros,
and what a local scope multiplies its weights by comes afterwards, as it does to a model's own weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from heedful.attention.memory import Groups
from heedful.attention.normalisers import Normaliser


class Uniform(Normaliser):
    """alpha_j = 1 / n for the n positions that the mask allows, whatever the scores."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return _even(scores, mask)

    def distribute(self, scores: Tensor) -> Tensor:
        return torch.full_like(scores, 1 / scores.shape[-1])


def _even(scores: Tensor, mask: Tensor) -> Tensor:
    """Of the shape and type of the scores."""
    shares = mask / mask.sum(-1, keepdim=True).clamp(min=1)
    return shares.to(scores.dtype).expand_as(scores)


class ArgMax(Normaliser):
    """alpha_j = 1 where the score is largest (the first of equals), else 0."""

    def distribute(self, scores: Tensor) -> Tensor:
        return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


class Shuffled(Normaliser):
    """The weights that another sentence of the batch has at the same step: see `partners`.

    The same position of the other sentence gives its weight; where that is longer, what lies outside is lost and the
    rest grows. A row that loses all so is uniform, one that has nothing to lose stays all zeros. A batch of one has no
    other sentence, and keeps its own. At another temperature its base is.

    Args:
        base: the model's own normaliser.
        heads: of the attention, each of which is given the same head's.
    """

    whole_rows = True

    def __init__(self, base: Normaliser, *, heads: int = 1) -> None:
        super().__init__(temperature=base.temperature)
        self.base = base
        self.heads = heads
        self.sequential = base.sequential
        self.begin = base.begin

    def at(self, temperature: float) -> Shuffled:
        return Shuffled(self.base.at(temperature), heads=self.heads)

    def forward(self, scores: Tensor, mask: Tensor, *carried: Any) -> Any:
        own = self.base(scores, mask, *carried)
        if self.sequential:
            own, after = own
            return self._moved(own, mask), after
        return self._moved(own, mask)

    def over(self, groups: Groups) -> Callable[[Tensor, Tensor], Tensor]:
        base = self.base.over(groups)
        return lambda scores, mask: self._moved(base(scores, mask), mask)

    def _moved(self, weights: Tensor, mask: Tensor) -> Tensor:
        own = weights.unflatten(0, (-1, self.heads))
        other = own[partners(len(own))].flatten(0, 1)
        kept = other * mask
        sums, whole = kept.sum(-1, keepdim=True), other.sum(-1, keepdim=True)  # `partial` ones have less than 1
        return torch.where(sums > 0, kept / sums, _even(kept, mask)) * whole

    def distribute(self, scores: Tensor) -> Tensor:
        return self.base.distribute(scores)


def partners(count: int) -> list[int]:
    """For each sentence of a batch the one whose weights, or states, it is given.

    Two neighbours change places; where the number is odd, the last three go round. So it makes no difference where
    sentences in one order are cut into batches, as long as all batches but the last are of an even number.
    """
    found = [place ^ 1 for place in range(count)]
    if count % 2:
        found[-3:] = [count - 2, count - 1, count - 3] if count > 1 else [0]
    return found


class Observed(Normaliser):
    """The model's own weights; before they are used, ``tell(scores, mask, weights)`` is called with them.

    At another temperature its base is.

    Args:
        base: the model's own normaliser.
        tell: scores and weights are (B, T, S), the mask bool that broadcasts to them; once a call, that is once for all
            steps or once a step. Of several heads they are (B * heads, T, S), a sentence's side by side.
    """

    whole_rows = True

    def __init__(self, base: Normaliser, tell: Callable[[Tensor, Tensor, Tensor], object]) -> None:
        super().__init__(temperature=base.temperature)
        self.base = base
        self.tell = tell
        self.sequential = base.sequential
        self.begin = base.begin

    def at(self, temperature: float) -> Observed:
        return Observed(self.base.at(temperature), self.tell)

    def forward(self, scores: Tensor, mask: Tensor, *carried: Any) -> Any:
        answer = self.base(scores, mask, *carried)
        self.tell(scores, mask, answer[0] if self.sequential else answer)
        return answer

    def over(self, groups: Groups) -> Callable[[Tensor, Tensor], Tensor]:
        base = self.base.over(groups)

        def told(scores: Tensor, mask: Tensor) -> Tensor:
            weights = base(scores, mask)
            self.tell(scores, mask, weights)
            return weights

        return told

    def distribute(self, scores: Tensor) -> Tensor:
        return self.base.distribute(scores)
