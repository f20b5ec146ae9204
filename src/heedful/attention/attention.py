"""Attention = scope x score x normaliser. It knows nothing of RNNs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.attention.factor import Factor
from heedful.attention.memory import Attended, Memory
from heedful.attention.normalisers import Normaliser, Softmax
from heedful.attention.scopes import Global, Scope
from heedful.attention.scores import Score
from heedful.errors import SizeError


class Attention(nn.Module):
    """alpha_t = normalise(score(s_t, h_j)), c_t = sum_j alpha_tj h_j, for the positions j in scope.

    Args:
        score: how well a position answers a query.
        scope: which positions may answer; global by default.
        normaliser: turns scores into weights; softmax by default.
        dropout: share of the weights that are zeroed in training (the others grow by 1 / (1 - dropout)) before they
            make the context; the weights that are returned are those from before.
    """

    def __init__(
        self,
        score: Score,
        *,
        scope: Scope | None = None,
        normaliser: Normaliser | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.score = score
        self.scope = scope if scope is not None else Global()
        self.normaliser = normaliser if normaliser is not None else Softmax()
        self.dropout = nn.Dropout(dropout)

    @property
    def content_based(self) -> bool:
        """Whether a permutation of the source permutes the weights and leaves the context as it was."""
        return self.score.content_based and self.scope.content_based

    def prepare(self, values: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Memory:
        """All that can be computed before the first query. Call it once a sentence.

        Args:
            values: (B, S, V), the source states; what stands at masked positions is never looked at.
            mask: (B, S) bool, True = real; by default all are.
            positions: (B, S) int64, each word's place in its sentence from 1, 0 for what has none (the end
                symbol, tags, padding); by default 1, 2, ... over the real positions.

        Raises:
            SizeError: values are not (B, S, V) with the score's V, or a mask or positions not (B, S).
        """
        if values.dim() != 3 or values.shape[1] < 1 or values.shape[2] != self.score.value_size:
            raise SizeError(
                f"values must be (sentences, 1 position or more, {self.score.value_size}), got {tuple(values.shape)}"
            )
        if mask is None:
            mask = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        if mask.dtype != torch.bool:
            raise SizeError(f"a mask must be of bool, True = a real position, got {mask.dtype}")
        if positions is None:
            positions = mask.long().cumsum(1) * mask
        for name, tensor in (("mask", mask), ("positions", positions)):
            if tensor.shape != values.shape[:2]:
                raise SizeError(f"{name} must be {tuple(values.shape[:2])}, got {tuple(tensor.shape)}")
        values = values.masked_fill(~mask.unsqueeze(-1), 0.0)
        positions = positions.masked_fill(~mask, 0)
        return Memory(values, self.score.keys(values), mask, positions)

    def forward(self, query: Tensor, memory: Memory, *, steps: Tensor | None = None) -> Attended:
        """Ask `memory` all queries at once; they do not see each other.

        Args:
            query: (B, T, Q).
            steps: int64 that broadcasts to (B, T), each query's place in the target from 0; by default
                0, 1, 2, ... along T. Only the scope local_m looks at it.

        Raises:
            SizeError: queries are not (B, T, Q) with the score's Q and the memory's B.
        """
        if query.dim() != 3 or query.shape[::2] != (memory.mask.shape[0], self.score.query_size):
            raise SizeError(
                f"queries must be ({memory.mask.shape[0]}, steps, {self.score.query_size}), got {tuple(query.shape)}"
            )
        if steps is None:
            steps = torch.arange(query.shape[1], device=query.device)[None, :]
        weights = self._weights(query, self.score.queries(query), memory, steps)
        return Attended(self._dropped(weights, memory) @ memory.values, weights)

    def asked(self, memory: Memory, *, steps: int) -> Asked:
        """`memory`, to be asked by a loop over at most `steps` steps, one query after the other."""
        return Asked(self, memory, steps)

    def _weights(self, query: Tensor, queries: Tensor, memory: Memory, steps: Tensor) -> Tensor:
        window = self.scope(query, memory, steps)
        mask = window.mask
        reach = self.score.reach(memory)
        if reach is not None:
            mask = mask & reach[:, None, :]
        scores = self.score(queries, memory)  # e_tj
        weights = self.normaliser(scores, mask)  # alpha_tj
        if window.prior is not None:
            weights = weights * window.prior
        return weights

    def _dropped(self, weights: Tensor, memory: Memory) -> Tensor:
        return self.dropout(weights).to(memory.values.dtype)


class Asked:
    """A memory that a loop asks step by step: what all steps multiply by is taken once, with its gradient."""

    def __init__(self, attention: Attention, memory: Memory, steps: int) -> None:
        self.attention, self.memory = attention, memory
        weight, batch = attention.score.query_weight(), memory.mask.shape[0]
        self.query_factor = None if weight is None else Factor(weight, batch=batch, steps=steps)
        self.values_factor = Factor(memory.values, batch=batch, steps=steps)

    def __call__(self, query: Tensor, *, steps: Tensor) -> Attended:
        """The answers to the next queries, (B, 1, Q); `steps` as in `Attention.forward`."""
        queries = query if self.query_factor is None else self.query_factor(query)
        weights = self.attention._weights(query, queries, self.memory, steps)  # alpha_t
        return Attended(self.values_factor(self.attention._dropped(weights, self.memory)), weights)  # c_t
