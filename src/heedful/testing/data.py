"""The sentences that the conformance suite asks about."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.attention import Attention, Memory, MultiHead

AnyAttention = Attention | MultiHead

SENTENCES, STEPS, WORDS = 2, 7, 11  # B, T, S: primes, so that no two axes can be mistaken for each other
QUERY_SIZE, VALUE_SIZE = 5, 3
LENGTHS = (11, 7)
KEPT = (0, 1, 3, 4, 7, 8, 10)  # what is left of the 11 positions where the others are masked
GONE = (2, 5, 6, 9)


class Answer(NamedTuple):
    context: Tensor  # (B, T, V)
    weights: Tensor  # (B, T, S)


class Data(NamedTuple):
    """Two sentences, the second padded. Each ends in an end symbol, and its words are held in reverse."""

    query: Tensor  # (B, T, Q)
    values: Tensor  # (B, S, V)
    mask: Tensor  # (B, S)
    positions: Tensor  # (B, S)
    segments: Tensor  # (B, S)  the words in threes, for scopes with segments
    context_share: Tensor  # (B, T, V)  what the loss makes of the context
    weights_share: Tensor  # (B, T, S)  and of the weights

    def pick(self, columns: Sequence[int]) -> Data:
        """Only these source positions, in this order."""
        query, values, mask, positions, segments, context_share, weights_share = self
        source = (values[:, columns], mask[:, columns], positions[:, columns], segments[:, columns])
        return Data(query, *source, context_share, weights_share[..., columns])

    def hide(self, columns: Sequence[int]) -> Data:
        """Mask these source positions; what stands there is not a number."""
        values, mask, positions = self.values.clone(), self.mask.clone(), self.positions.clone()
        values[:, columns], mask[:, columns], positions[:, columns] = torch.nan, False, 0
        return self._replace(values=values, mask=mask, positions=positions)

    def memory(self, module: AnyAttention, values: Tensor) -> Memory:
        return module.prepare(values, self.mask, self.positions, segments=self.segments)


def example(module: AnyAttention, dtype: torch.dtype) -> Data:
    query = normal(SENTENCES, STEPS, module.query_size, seed=1).to(dtype)
    values = normal(SENTENCES, WORDS, module.value_size, seed=2).to(dtype)
    context_share = normal(SENTENCES, STEPS, module.value_size, seed=3).to(dtype)
    weights_share = normal(SENTENCES, STEPS, WORDS, seed=4).to(dtype)
    lengths = torch.tensor(LENGTHS)[:, None]
    mask = torch.arange(WORDS) < lengths
    positions = (lengths - 1 - torch.arange(WORDS)).clamp(min=0)
    return Data(query, values, mask, positions, (positions + 2) // 3, context_share, weights_share)


def drawn(attention: AnyAttention, dtype: torch.dtype) -> AnyAttention:
    """A copy that does not drop anything, with parameters that are not zero.

    They are drawn so that no weight of a built-in normaliser is at its edge, where gradients magnify rounding errors.
    """
    module = copy.deepcopy(attention).double().eval()
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters(), start=23):
            parameter.copy_(0.7 * normal(*parameter.shape, seed=seed))
    return module.to(dtype)


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
