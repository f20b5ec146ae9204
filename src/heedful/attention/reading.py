"""How a memory is read: all at once, or step by step; whole, or by its windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from torch import Tensor

from heedful.attention.memory import Memory
from heedful.attention.rows import Rows
from heedful.attention.scores import Score


class Reading(Protocol):
    """How a memory is read: all at once, or step by step."""

    memory: Memory
    steps: int

    at: Callable[[Tensor], Memory]

    def queries(self, query: Tensor, /) -> Tensor: ...
    def context(self, weights: Tensor, /) -> Tensor: ...


class Whole:
    """All queries at once."""

    def __init__(self, score: Score, memory: Memory, *, narrow: bool) -> None:
        self.memory, self.steps = memory, 1
        self.queries, self.at = score.queries, few(memory, narrow=narrow)

    def context(self, weights: Tensor) -> Tensor:
        return weights @ self.memory.values


def few(memory: Memory, *, narrow: bool) -> Callable[[Tensor], Memory]:
    """Makes windows (B, T, W) of a memory into a memory of B * T sentences of W positions each."""
    if not narrow:
        return lambda columns: memory  # never called
    values = Rows(memory.values)
    keys = None if memory.keys is memory.values else Rows(memory.keys)

    def at(columns: Tensor) -> Memory:
        found = values(columns)
        mask, positions = (
            part.gather(1, columns.flatten(1)).view(-1, columns.shape[2]) for part in (memory.mask, memory.positions)
        )
        lengths = memory.lengths.repeat_interleave(columns.shape[1])
        return Memory(found, found if keys is None else keys(columns), mask, positions, lengths)

    return at
