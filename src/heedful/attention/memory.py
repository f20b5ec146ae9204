"""The values that pass through attention. Axes: B sentences, S source positions, T queries."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Memory(NamedTuple):
    """What a decoder may ask about one batch of sentences; made once by `Attention.prepare`."""

    values: Tensor  # (B, S, V)  the source states h_j, zero where masked
    keys: Tensor  # (B, S, K)  what the score needs of them, computed once a sentence
    mask: Tensor  # (B, S) bool, True = a real position
    positions: Tensor  # (B, S) int64, the word's place in the sentence from 1; 0 = has no place (padding, end, tags)


class Window(NamedTuple):
    """Which positions may answer, and how much each answer counts before it is heard."""

    mask: Tensor  # (B, T or 1, S) bool
    prior: Tensor | None = None  # (B, T, S), multiplied in after normalising; None = 1 everywhere


class Attended(NamedTuple):
    """The answer to each query."""

    context: Tensor  # (B, T, V)  c_t
    weights: Tensor  # (B, T, S)  alpha_tj; rows sum to 1, to less under a prior, to 0 if all is masked
