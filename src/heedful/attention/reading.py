"""How a memory is read: all at once, or step by step; whole, or by its windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from torch import Tensor

from heedful.attention.memory import Memory
from heedful.attention.rows import Rows, Taken
from heedful.attention.scores import Score


class Reading(Protocol):
    """How a memory is read: all at once, or step by step."""

    memory: Memory
    steps: int

    at: Callable[[Tensor, Tensor], tuple[Memory, Taken]]

    def queries(self, query: Tensor, /) -> Tensor: ...
    def context(self, weights: Tensor, /) -> Tensor: ...
    def sums(self, features: Tensor, /) -> Tensor: ...


class Whole:
    """All queries at once."""

    def __init__(self, score: Score, memory: Memory, *, narrow: bool) -> None:
        self.memory, self.steps = memory, 1
        self.queries, self.at = score.queries, few(memory, narrow=narrow)

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
