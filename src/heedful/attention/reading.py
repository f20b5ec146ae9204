"""How a memory is read: all at once, or step by step; whole, or by its windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from heedful.attention.memory import Memory, Window
from heedful.attention.rows import Rows, Taken
from heedful.attention.scores import Score
from heedful.attention.weights import Windowed


class Reading(Protocol):
    """How a memory is read: all at once, or step by step."""

    memory: Memory
    at: Callable[[Tensor, Tensor], tuple[Memory, Taken]]

    def queries(self, query: Tensor, /) -> Tensor: ...
    def context(self, weights: Tensor, /) -> Tensor: ...
    def sums(self, features: Tensor, /) -> Tensor: ...


class Whole:
    """All queries at once."""

    def __init__(self, score: Score, memory: Memory, *, narrow: bool) -> None:
        self.memory, self.queries, self.at = memory, score.queries, few(memory, narrow=narrow)

    def context(self, weights: Tensor) -> Tensor:
        return weights @ self.memory.values

    def sums(self, features: Tensor) -> Tensor:
        assert self.memory.sums is not None
        return features @ self.memory.sums


def _never(columns: Tensor, mask: Tensor) -> tuple[Memory, Taken]:
    raise AssertionError("this attention looks at no windows by themselves")


def few(memory: Memory, *, narrow: bool) -> Callable[[Tensor, Tensor], tuple[Memory, Taken]]:
    """Makes windows (B, T, W) of a memory into a memory of B * T sentences of W positions each."""
    if not narrow:
        return _never
    rows = Rows(memory.values) if memory.keys is memory.values else Rows(memory.values, memory.keys)

    def at(columns: Tensor, mask: Tensor) -> tuple[Memory, Taken]:
        taken = rows(columns)
        positions = memory.positions.flatten().index_select(0, taken.index).view(-1, columns.shape[2])
        lengths = memory.lengths if columns.shape[1] == 1 else memory.lengths.repeat_interleave(columns.shape[1])
        return Memory(taken.rows[0], taken.rows[-1], mask.flatten(0, 1), positions, lengths), taken

    return at


def picked(memory: Memory, rows: Tensor, columns: Tensor) -> Memory:
    """Of the sentences `rows` (N) the positions `columns` (N, W), as a memory of N sentences of W positions."""
    at = (rows.unsqueeze(1), columns)
    values = memory.values[at]
    keys = values if memory.keys is memory.values else memory.keys[at]
    return Memory(values, keys, memory.mask[at], memory.positions[at], memory.lengths[rows])


def walk(
    score: Score, normaliser: Any, memory: Memory, queries: Tensor, window: Window, carry: Any
) -> tuple[Tensor, Windowed, Any]:
    """Context and weights of a normaliser that asks for the scores of few positions, and what it remembers."""
    flat, count = queries.flatten(0, 1), queries.shape[1]

    def rate(rows: Tensor, columns: Tensor) -> Tensor:
        some = picked(memory, rows // count, columns)
        return score(flat[rows].unsqueeze(1), some).squeeze(1)  # e_tj

    weights, after = normaliser.walk(rate, window.mask, memory, carry)  # alpha_tj
    if window.prior is not None:
        weights = weights._replace(values=weights.values * window.prior.gather(2, weights.columns))
    sentences = torch.arange(len(memory.mask), device=flat.device)[:, None, None]
    found = memory.values[sentences, weights.columns]  # (B, T, W, V)
    context = (weights.values.unsqueeze(2).to(found.dtype) @ found).squeeze(2)  # c_t
    return context, weights, after


def order_of(mask: Tensor, positions: Tensor) -> Tensor:
    """The columns in the order of their positions, then those without one, those that are masked last: (B, S)."""
    behind = positions.shape[1] + positions.amax()
    ranks = torch.where(positions > 0, positions, torch.where(mask, behind, behind + 1))
    return ranks.argsort(dim=1, stable=True)


def places_of(positions: Tensor) -> Tensor:
    """positions (B, S) -> the column of each, (B, P + 1); -1 where there is none."""
    columns = torch.arange(positions.shape[1], device=positions.device).expand_as(positions)
    places = torch.full((len(positions), int(positions.amax()) + 1), -1, device=positions.device)
    places = places.scatter(1, positions, columns)
    places[:, 0] = -1
    return places
