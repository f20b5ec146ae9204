"""Normalisers: scores become weights. A row with nothing to attend to becomes all zeros, never NaN."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention.memory import Groups, Memory
from heedful.attention.segments import by_segments
from heedful.errors import SizeError
from heedful.registry import Registry

COLDEST = 1e-6
"""The lowest temperature, at which the largest score takes all; below, single precision has no numbers left."""

normalisers: Registry[Normaliser] = Registry("normaliser")


class Normaliser(nn.Module, ABC):
    """alpha = normalise(e / temperature) over the positions that the mask allows. A new one writes `distribute`.

    Args:
        temperature: above 1 flattens the weights, below 1 sharpens them.
    """

    content_based = True  # a permutation of the source permutes the weights
    sequential = False  # looks at earlier steps: `forward(scores, mask, memory, carry)` returns weights and carry
    partial = False  # rows may sum to less than 1
    walks = False  # asks for the scores of few positions, one after the other: has a method `walk`
    whole_rows = False  # needs the scores of the whole source, also where the scope has windows

    def __init__(self, *, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = _positive(temperature)

    @property
    def shares(self) -> bool:
        """Whether alpha_j = exp(e_j) / sum_k exp(e_k) and nothing else, so that it need not be asked."""
        return False

    def at(self, temperature: float) -> Normaliser:
        """This normaliser at another temperature; it is left as it is."""
        other = copy.copy(self)
        other.temperature = _positive(temperature)
        return other

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        """scores (B, T, S), mask bool that broadcasts to it -> weights (B, T, S), exactly 0 where masked."""
        wide = scores.to(torch.promote_types(scores.dtype, torch.float32))  # half precision is summed in single
        # The fill is finite, so that a row of nothing but fill still has finite weights, which the mask zeroes; and a
        # score that overflowed, as it may in half precision, counts as the largest finite one.
        limits = torch.finfo(wide.dtype)
        filled = torch.where(mask, wide.clamp(limits.min, limits.max), limits.min)
        if self.temperature != 1.0:
            # From the largest down, so that the largest stays what it is when others become too small to be told apart.
            below = (filled - filled.detach().amax(-1, keepdim=True)) / self.temperature
            filled = torch.where(mask, below.clamp(min=limits.min), limits.min)
        return (self.distribute(filled) * mask).to(scores.dtype)

    @abstractmethod
    def distribute(self, scores: Tensor) -> Tensor:
        """Finite scores (B, T, S), the masked ones far below all others -> weights that sum to 1 over S."""

    def over(self, groups: Groups) -> Callable[[Tensor, Tensor], Tensor]:
        """What makes weights (B, T, S) of scores and a mask where a scope has segments: see `by_segments`."""
        return partial(by_segments, self, groups)

    def begin(self, memory: Memory) -> Any:
        """What a part that is `sequential` knows before the first step: tensors (B, 1, ...)."""
        raise NotImplementedError


def _positive(temperature: float) -> float:
    if not temperature >= COLDEST:
        raise SizeError(f"a temperature must be at least {COLDEST:g}, got {temperature}")
    return temperature


@normalisers.register("softmax")
class Softmax(Normaliser):
    """alpha_j = exp(e_j) / sum_k exp(e_k)."""

    @property
    def shares(self) -> bool:
        return self.temperature == 1.0

    def distribute(self, scores: Tensor) -> Tensor:
        return torch.softmax(scores, dim=-1)


@normalisers.register("sparsemax")
class Sparsemax(Normaliser):
    """alpha_j = max(0, e_j - tau), tau such that they sum to 1: Martins and Astudillo 2016. Many are exactly 0."""

    def distribute(self, scores: Tensor) -> Tensor:
        from entmax import sparsemax

        return sparsemax(scores, dim=-1)


@normalisers.register("entmax15")
class Entmax15(Normaliser):
    """alpha_j = max(0, e_j / 2 - tau)^2, tau such that they sum to 1: 1.5-entmax, Peters et al. 2019.
    Between softmax and sparsemax."""

    def distribute(self, scores: Tensor) -> Tensor:
        from entmax import entmax15

        return entmax15(scores, dim=-1)
