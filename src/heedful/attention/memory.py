"""The values that pass through attention. Axes: B sentences, S source positions, T queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from heedful.attention.weights import Weights, dense


class Memory(NamedTuple):
    """What a decoder may ask about one batch of sentences; made once by `Attention.prepare`."""

    values: Tensor  # (B, S, V)  the source states h_j, zero where masked
    keys: Tensor  # (B, S, K)  what the score needs of them, computed once a sentence
    mask: Tensor  # (B, S) bool, True = a real position
    positions: Tensor  # (B, S) int64, the word's place in the sentence from 1; 0 = has no place (padding, end, tags)
    lengths: Tensor  # (B) int64, the place of the last word: the sentence's length S in local scopes
    places: Tensor | None = (
        None  # (B, P + 1) int64, for scopes with windows: the column of the word at each place, or -1
    )
    segments: Segments | None = None  # for scopes with segments: see `Scope.cut`


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
        """alpha_tj, (B, T, S): rows sum to 1, to less under a prior, to 0 if all is masked."""
        return dense(self.weighting)
