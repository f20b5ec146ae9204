"""The forms that attention weights come in; `dense` makes the (B, T, S) tensor of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.tensors import dense

__all__ = ["SideBySide", "Weights", "Windowed", "dense", "join_weights"]


class Windowed(NamedTuple):
    """Weights of a scope with windows: what is not named is 0."""

    columns: Tensor  # (B, T, W) int64, of the `size` source positions; what is named twice in a row has the sum
    values: Tensor  # (B, T, W)
    size: int  # S

    def dense(self) -> Tensor:
        """(B, T, S)."""
        whole = self.values.new_zeros(*self.values.shape[:2], self.size)
        return whole.scatter_add(2, self.columns, self.values)

    def join(self, others: Sequence[Windowed]) -> Windowed:
        """These steps, then those of `others`."""
        steps = (self, *others)
        columns = torch.cat([step.columns for step in steps], dim=1)
        return Windowed(columns, torch.cat([step.values for step in steps], dim=1), self.size)


class SideBySide(NamedTuple):
    """Weights over two sources, each of which has rows of its own."""

    first: Weights  # (B, T, S')
    second: Weights  # (B, T, S'')

    def dense(self) -> Tensor:
        """(B, T, S' + S'')."""
        return torch.cat([dense(self.first), dense(self.second)], dim=-1)

    def join(self, others: Sequence[SideBySide]) -> SideBySide:
        """These steps, then those of `others`."""
        steps = (self, *others)
        return SideBySide(join_weights([step.first for step in steps]), join_weights([step.second for step in steps]))


Weights = Tensor | Windowed | SideBySide


def join_weights(steps: Sequence[Weights]) -> Weights:
    """Weights of one step after the other, along T."""
    first, *others = steps
    if isinstance(first, Tensor):
        return torch.cat([first, *others], dim=1)  # pyright: ignore[reportArgumentType]
    return first.join(others)  # pyright: ignore[reportArgumentType]
