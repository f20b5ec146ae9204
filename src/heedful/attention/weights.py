"""The forms that attention weights come in; `dense` makes the (B, T, S) tensor of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.tensors import dense, steps_of

__all__ = [
    "Factored",
    "OfHeads",
    "SideBySide",
    "Weights",
    "Windowed",
    "dense",
    "featured",
    "join_weights",
    "positive_sum",
]


class Windowed(NamedTuple):
    """Weights of a scope with windows: what is not named is 0."""

    columns: Tensor  # (B, T, W) int64, of the `size` source positions; what is named twice in a row has the sum
    values: Tensor  # (B, T, W)
    size: int  # S

    def dense(self) -> Tensor:
        """(B, T, S)."""
        whole = self.values.new_zeros(*self.values.shape[:2], self.size)
        return whole.scatter_add(2, self.columns, self.values)

    def at(self, row: Tensor, place: Tensor) -> Windowed:
        """Of some sentences one step each, (N, 1, S)."""
        columns, values = (part[row, place].unsqueeze(1) for part in self[:2])
        return Windowed(columns, values, self.size)

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

    def at(self, row: Tensor, place: Tensor) -> SideBySide:
        """Of some sentences one step each, (N, 1, S' + S'')."""
        return SideBySide(*(steps_of(weights, row, place) for weights in self))

    def join(self, others: Sequence[SideBySide]) -> SideBySide:
        """These steps, then those of `others`."""
        steps = (self, *others)
        return SideBySide(join_weights([step.first for step in steps]), join_weights([step.second for step in steps]))


class Factored(NamedTuple):
    """Weights that nobody has computed yet: shares of q_t . k_j, none of them negative."""

    queries: Tensor  # (B, T, K), of the type that weights are of
    keys: Tensor  # (B, S, K)
    mask: Tensor  # (B, S) bool
    peaks: Tensor | None = None  # (B, 1, K), if keys are logarithms: see `featured`

    def dense(self) -> Tensor:
        """(B, T, S)."""
        with torch.autocast(self.keys.device.type, enabled=False):  # their sum may be too large for half precision
            keys = featured(self.keys, self.peaks)
            products = self.queries.to(keys.dtype) @ keys.mT * self.mask[:, None, :]
            return (products / positive_sum(products.sum(-1, keepdim=True))).to(self.queries.dtype)

    def at(self, row: Tensor, place: Tensor) -> Factored:
        """Of some sentences one step each, (N, 1, S)."""
        peaks = None if self.peaks is None else self.peaks[row]
        return Factored(self.queries[row, place].unsqueeze(1), self.keys[row], self.mask[row], peaks)

    def join(self, others: Sequence[Factored]) -> Factored:
        """These steps, then those of `others`."""
        return self._replace(queries=torch.cat([self.queries, *(step.queries for step in others)], dim=1))


class OfHeads(NamedTuple):
    """The mean over heads, of weights that nobody has computed yet."""

    each: Factored  # (B H, T, S)
    heads: int  # H

    def dense(self) -> Tensor:
        """(B, T, S)."""
        return self.each.dense().unflatten(0, (-1, self.heads)).mean(1)

    def at(self, row: Tensor, place: Tensor) -> OfHeads:
        """Of some sentences one step each, (N, 1, S)."""
        rows = row.unsqueeze(1) * self.heads + torch.arange(self.heads, device=row.device)
        return OfHeads(self.each.at(rows.flatten(), place.repeat_interleave(self.heads)), self.heads)

    def join(self, others: Sequence[OfHeads]) -> OfHeads:
        """These steps, then those of `others`."""
        return OfHeads(self.each.join([step.each for step in others]), self.heads)


Weights = Tensor | Windowed | Factored | OfHeads | SideBySide


def featured(keys: Tensor, peaks: Tensor | None) -> Tensor:
    """phi(k_j): the keys (B, S, K) themselves; with peaks, the largest of each number, they are logarithms."""
    return keys if peaks is None else (keys - peaks).clamp(max=0).exp()  # above 0 is padding alone


def positive_sum(sums: Tensor) -> Tensor:
    """What to divide by: 1 where nothing has been summed."""
    return torch.where(sums > 0, sums, 1)


def join_weights(steps: Sequence[Weights]) -> Weights:
    """Weights of one step after the other, along T."""
    first, *others = steps
    if isinstance(first, Tensor):
        return torch.cat([first, *others], dim=1)  # pyright: ignore[reportArgumentType]
    return first.join(others)  # pyright: ignore[reportArgumentType]
