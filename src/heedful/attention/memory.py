"""The values that pass through attention. Axes: B sentences, S source positions, T queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from heedful.attention.weights import Weights, dense, featured
from heedful.errors import SizeError


class Memory(NamedTuple):
    """What a decoder may ask about one batch of sentences; made once by `Attention.prepare`."""

    values: Tensor  # (B, S, V)  the source states h_j, zero where masked
    keys: Tensor  # (B, S, K)  what the score needs of them, computed once a sentence
    mask: Tensor  # (B, S) bool, True = a real position
    positions: Tensor  # (B, S) int64, the word's place in the sentence from 1; 0 = has no place (padding, end, tags)
    lengths: Tensor  # (B) int64, the place of the last word: the sentence's length S in local scopes
    # (B, P + 1) int64, for scopes with windows: the column of the word at each place, or -1
    places: Tensor | None = None
    # (B, S) int64, for parts that remember: the columns in the order of the sentence
    order: Tensor | None = None
    sums: Tensor | None = None  # (B, K, V + 1), for scores that are factored: sum_j phi(k_j) [h_j; 1]^T
    peaks: Tensor | None = None  # (B, 1, K), for those whose keys are logarithms: max_j k_j
    segments: Segments | None = None  # for scopes with segments: see `Scope.cut`
    second: Memory | None = None  # of a second source, where two attentions ask: see `TwoAttentions`

    def with_values(self, values: Tensor) -> Memory:
        """Others (..., S, V'), to be answered with in the place of the source states; what is asked stays."""
        sums = None if self.sums is None else summed(featured(self.keys, self.peaks), values, self.mask)
        return self._replace(values=values, sums=sums)


def summed(features: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """sum_j phi(k_j) [h_j; 1]^T over the real positions, (B, K, V + 1); also under autocast of the features' type."""
    ones = torch.ones_like(values[..., :1])
    with torch.autocast(features.device.type, enabled=False):  # sums of a long source are too large for half precision
        return (features * mask.unsqueeze(-1)).mT @ torch.cat([values, ones], dim=-1).to(features.dtype)


class Segments(NamedTuple):
    """A source that is cut into G segments of at most W positions."""

    memory: Memory  # of G positions, the segments themselves: their states, and what a score of segments needs of them
    columns: Tensor  # (B, G, W) int64: the columns of each segment's positions, -1 where there are no more


class Groups(NamedTuple):
    """Segments that a query rates, each of which shares its weight out among its positions."""

    scores: Tensor  # (B, T, G)
    columns: Tensor  # (B, G, W), as in `Segments`


class Window(NamedTuple):
    """Which positions may answer, and how much each answer counts before it is heard.

    A scope that looks at few positions names their `columns`, and says the rest of these alone: nothing is computed
    for other positions, forward or backward.
    """

    mask: Tensor  # (B, T or 1, S) bool; with columns (B, T, W)
    prior: Tensor | None = None  # (B, T, S or W), multiplied in after normalising; None = 1 everywhere
    columns: Tensor | None = None  # (B, T, W) int64, each where `mask` is True another one of S; None = all
    groups: Groups | None = None  # weights are those of segments times those within them; not with columns

    def dense(self, size: int) -> Window:
        """The same window over all `size` positions."""
        if self.columns is None:
            return self

        def spread(part: Tensor) -> Tensor:
            assert self.columns is not None
            masked = part.masked_fill(~self.mask, 0)
            return part.new_zeros(*part.shape[:2], size).scatter_add(2, self.columns, masked)

        prior = None if self.prior is None else spread(self.prior)
        return Window(spread(self.mask.to(torch.int8)).bool(), prior)


class Parts(NamedTuple):
    """How weights came to be, over the whole source."""

    mask: Tensor  # (B, T, S) bool: what may answer, as the scope and the score say
    scores: Tensor  # (B, T, S)  e_tj
    shares: Tensor  # (B, T, S), normalised, before the prior
    prior: Tensor | None  # (B, T, S)
    groups: Groups | None = None  # the segments, whose weights are in the shares already


class Attended(NamedTuple):
    """The answer to each query."""

    context: Tensor  # (B, T, V)  c_t
    weighting: Weights  # the weights in the form in which they were computed
    carry: Any = None  # what parts that remember take with them to the next step

    @property
    def weights(self) -> Tensor:
        """alpha_tj, (B, T, S): rows sum to 1, to less under a prior or a `partial` normaliser, to 0 if all is masked
        or a walk has ended."""
        return dense(self.weighting)


def check_values(values: Tensor, size: int) -> None:
    """Refuse source states that are not (B, S, V) with S of at least 1 and this V."""
    if values.dim() != 3 or values.shape[1] < 1 or values.shape[2] != size:
        raise SizeError(f"values must be (sentences, 1 position or more, {size}), got {tuple(values.shape)}")


def check_query(query: Tensor, memory: Memory, size: int) -> None:
    """Refuse queries that are not (B, T, Q) with the memory's B and this Q."""
    sentences = memory.mask.shape[0]
    if query.dim() != 3 or query.shape[::2] != (sentences, size):
        raise SizeError(f"queries must be ({sentences}, steps, {size}), got {tuple(query.shape)}")
