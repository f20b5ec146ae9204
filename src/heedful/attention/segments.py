"""Segments of a source: which positions each has, and weights that are shared out twice."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from heedful.attention.memory import Groups


def numbered(segments: Tensor | None, mask: Tensor) -> Tensor:
    """The segment of each position: 1 .. G without a gap, 0 where masked; (B, S) int64.

    Segments keep the order of their numbers, and those of which all is masked have none. What is real and of number 0
    is a segment of its own, the last.

    Args:
        segments: (B, S) int64, from 0; None for one segment.
        mask: (B, S) bool.
    """
    if segments is None:
        return mask.long()
    behind = segments.amax(1, keepdim=True) + 1
    numbers = torch.where(segments > 0, segments, behind).masked_fill(~mask, 0)
    there = torch.zeros(len(numbers), int(numbers.amax()) + 1, dtype=torch.long, device=mask.device)
    there = there.scatter(1, numbers, 1)
    there[:, 0] = 0
    return there.cumsum(1).gather(1, numbers) * mask


def columns_of(numbers: Tensor) -> Tensor:
    """The columns of each segment's positions, in their order: (B, S) of `numbered` -> (B, G, W), -1 where no more."""
    batch, size = numbers.shape
    count = max(1, int(numbers.amax()))
    keys = torch.where(numbers > 0, numbers - 1, count)  # what is masked comes last
    sizes = torch.zeros(batch, count + 1, dtype=torch.long, device=numbers.device)
    sizes = sizes.scatter_add(1, keys, torch.ones_like(keys))
    order = keys.argsort(dim=1, stable=True)
    sorted_keys = keys.gather(1, order)
    places = torch.arange(size, device=numbers.device) - (sizes.cumsum(1) - sizes).gather(1, sorted_keys)
    width = max(1, int(sizes[:, :count].amax()))
    columns = torch.full((batch, count + 1, width), -1, device=numbers.device)
    rows = torch.arange(batch, device=numbers.device).unsqueeze(1)
    columns[rows, sorted_keys, places.clamp(max=width - 1)] = order
    return columns[:, :count]


def means(values: Tensor, numbers: Tensor) -> Tensor:
    """The mean of each segment's values: (B, S, V), 0 where masked, and (B, S) of `numbered` -> (B, G, V)."""
    count = max(1, int(numbers.amax()))
    places = (numbers - 1).clamp(min=0)
    sums = values.new_zeros(len(values), count, values.shape[2])
    sums = sums.scatter_add(1, places.unsqueeze(-1).expand_as(values), values)
    sizes = torch.zeros_like(places[:, :1]).expand(-1, count).scatter_add(1, places, (numbers > 0).long())
    return sums / sizes.clamp(min=1).unsqueeze(-1)


def by_segments(normalise: Callable[[Tensor, Tensor], Tensor], groups: Groups, scores: Tensor, mask: Tensor) -> Tensor:
    """alpha_tj = beta_tg alpha_t(j|g), g the segment of position j; (B, T, S).

    beta is `normalise` of the segments' scores, over those in which a position may answer; alpha(j|g) is `normalise` of
    the positions' scores within the segment g.

    Args:
        normalise: as `Normaliser.forward`.
        groups: the segments.
        scores: (B, T, S).
        mask: bool that broadcasts to it.
    """
    batch, steps, _ = scores.shape
    count, width = groups.columns.shape[1:]
    index = groups.columns.clamp(min=0).flatten(1).unsqueeze(1).expand(-1, steps, -1)  # (B, T, G * W)
    open_ = mask.expand_as(scores).gather(2, index) & (groups.columns >= 0).flatten(1).unsqueeze(1)
    rows = (batch, steps * count, width)
    within = normalise(scores.gather(2, index).reshape(rows), open_.reshape(rows))  # alpha(j|g)
    within = within.view(batch, steps, count, width)
    shares = normalise(groups.scores, open_.view_as(within).any(-1))  # beta
    weights = (within * shares.unsqueeze(-1)).flatten(2).to(scores.dtype)
    return torch.zeros_like(scores).scatter_add(2, index, weights)
