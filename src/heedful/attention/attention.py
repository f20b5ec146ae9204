"""Attention = scope x score x normaliser. It knows nothing of RNNs."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention.asked import Asked
from heedful.attention.memory import Attended, Memory, Parts, Window, check_query, check_values, summed
from heedful.attention.normalisers import Normaliser, Softmax
from heedful.attention.products import plain_only
from heedful.attention.reading import Reading, Whole, order_of, places_of, walk
from heedful.attention.scopes import Global, Scope
from heedful.attention.scores import Score
from heedful.attention.segments import numbered
from heedful.attention.weights import Factored, Weights, Windowed, featured, join_weights, positive_sum
from heedful.errors import RecipeError, SizeError

BLOCK = 1 << 22
"""How many numbers of keys and values windows hold at once, unless those of a single step are more."""

Carry = tuple[Any, Any, Any]
"""What scope, score and normaliser take from step to step; None for a part that remembers nothing."""


class Attention(nn.Module):
    """alpha_t = normalise(score(s_t, h_j)), c_t = sum_j alpha_tj h_j, for the positions j in scope.

    Args:
        score: how well a position answers a query.
        scope: which positions may answer; global by default.
        normaliser: turns scores into weights; softmax by default.
        dropout: share of the weights that are zeroed in training (the others grow by 1 / (1 - dropout)) before they
            make the context; the weights that are returned are those from before.

    Raises:
        RecipeError: the scope has segments, and the normaliser remembers earlier steps.
    """

    heads = 1

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
        if self.scope.segmented and self.normaliser.sequential:
            raise RecipeError(
                f"scope {type(self.scope).__name__} does not go with normaliser {type(self.normaliser).__name__}: "
                "the scope has weights made within each segment, the normaliser goes over the whole source step by step"
            )

    @property
    def core(self) -> Attention:
        """What has score, scope and normaliser, to put another in its place."""
        return self

    @property
    def query_size(self) -> int:
        """Q."""
        return self.score.query_size

    @property
    def value_size(self) -> int:
        """V."""
        return self.score.value_size

    @property
    def content_based(self) -> bool:
        """Whether a permutation of the source permutes the weights and leaves the context as it was."""
        return all(part.content_based for part in self._parts())

    @property
    def sequential(self) -> bool:
        """Whether a step's answer depends on the answers of the steps before it."""
        return any(part.sequential for part in self._parts())

    @property
    def lean(self) -> bool:
        """Whether T queries are answered without any tensor of (B, T, S), if the source is long enough."""
        return self._narrow() or self._factored()

    def _parts(self) -> tuple[Scope, Score, Normaliser]:
        return self.scope, self.score, self.normaliser

    def prepare(
        self,
        values: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        *,
        keys: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> Memory:
        """All that can be computed before the first query. Call it once a sentence.

        Args:
            values: (B, S, V), the source states; what stands at masked positions is never looked at.
            mask: (B, S) bool, True = real; by default all are.
            positions: (B, S) int64, each word's place in its sentence from 1, 0 for what has none (the end
                symbol, tags, padding); by default 1, 2, ... over the real positions.
            keys: (B, S, V), what queries are compared with, where that is something else than the values.
            segments: (B, S) int64, the number of each position's segment from 1; real positions of number 0 are a
                segment of their own, the last. By default all are one. Only a scope with segments looks at it.

        Raises:
            SizeError: values are not (B, S, V) with the score's V, or a mask, positions or segments not (B, S).
        """
        check_values(values, self.value_size)
        if mask is None:
            mask = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        if mask.dtype != torch.bool:
            raise SizeError(f"a mask must be of bool, True = a real position, got {mask.dtype}")
        if positions is None:
            positions = mask.long().cumsum(1) * mask
        for name, tensor in (("mask", mask), ("positions", positions), ("segments", segments)):
            if tensor is not None and tensor.shape != values.shape[:2]:
                raise SizeError(f"{name} must be {tuple(values.shape[:2])}, got {tuple(tensor.shape)}")
        values = values.masked_fill(~mask.unsqueeze(-1), 0.0)
        compared = values if keys is None else keys.masked_fill(~mask.unsqueeze(-1), 0.0)
        positions = positions.masked_fill(~mask, 0)
        prepared = self.score.keys(compared)
        places = places_of(positions) if self._narrow() else None
        order = order_of(mask, positions) if self.sequential else None
        peaks = self.score.peaks(prepared, mask) if self._factored() else None
        sums = summed(featured(prepared, peaks), values, mask) if self._factored() else None
        memory = Memory(values, prepared, mask, positions, positions.amax(1), places, order, sums, peaks)
        return self.scope.cut(memory, numbered(segments, mask), compared) if self.scope.segmented else memory

    def begin(self, memory: Memory) -> Carry | None:
        """What the first step of a loop is given as `carry`; None where no part remembers anything."""
        if not self.sequential:
            return None
        scope, score, normaliser = (part.begin(memory) if part.sequential else None for part in self._parts())
        return scope, score, normaliser

    def forward(
        self, query: Tensor, memory: Memory, *, steps: Tensor | None = None, carry: Carry | None = None
    ) -> Attended:
        """Ask `memory` all queries at once; they do not see each other.

        Where a part remembers what was attended to (`sequential`), queries come one after the other along T; unless a
        `carry` is given, for then they are those of one step.

        Args:
            query: (B, T, Q).
            steps: int64 that broadcasts to (B, T), each query's place in the target from 0; by default
                0, 1, 2, ... along T. Some local scopes look at it.
            carry: of `begin` or of the step before, for a batch of B with T hypotheses each.

        Raises:
            SizeError: queries are not (B, T, Q) with the score's Q and the memory's B.
        """
        check_query(query, memory, self.query_size)
        if steps is None:
            steps = torch.arange(query.shape[1], device=query.device)[None, :]
        if self.sequential and carry is None:
            return self.one_by_one(query, memory, steps=steps.expand(query.shape[:2]))
        return self._answer(Whole(self.score, memory, narrow=self._narrow()), query, steps, carry)

    def explain(self, query: Tensor, memory: Memory, *, steps: Tensor, carry: Carry | None = None) -> Parts:
        """How the weights of one step, or of T that remember nothing, come to be; arguments as for `forward`."""
        memory = memory._replace(places=None)  # without which windows are masks
        window: Window = _call(self.scope, query, memory, steps, carry=carry and carry[0])
        parts, _ = self._parts_of(self.score.queries(query), memory, window.dense(memory.mask.shape[1]), carry)
        return parts

    def asked(self, memory: Memory, *, steps: int) -> Asked:
        """`memory`, to be asked by a loop over at most `steps` steps, one query after the other."""
        return Asked(self, memory, steps)

    def one_by_one(self, query: Tensor, memory: Memory, *, steps: Tensor, carry: Carry | None = None) -> Attended:
        """Ask T queries one after the other, the first one behind `carry`, by default none; steps: (B, T)."""
        ask, carry, answers = self.asked(memory, steps=query.shape[1]), carry or self.begin(memory), []
        for one, step in zip(query.split(1, dim=1), steps.split(1, dim=1), strict=True):
            answers.append(ask(one, steps=step, carry=carry))
            carry = answers[-1].carry
        contexts, weights, _ = zip(*answers, strict=True)
        return Attended(torch.cat(contexts, dim=1), join_weights(weights), carry)

    def _answer(self, reading: Reading, query: Tensor, steps: Tensor, carry: Carry | None) -> Attended:
        memory = reading.memory
        if memory.sums is not None and self._factored():
            features = self.score.features(reading.queries(query), memory.peaks)  # phi(q_t)
            with torch.autocast(features.device.type, enabled=False):
                over, under = reading.sums(features).split([memory.values.shape[2], 1], dim=-1)
            context = (over / positive_sum(under)).to(memory.values.dtype)  # c_t
            return Attended(context, Factored(features.to(query.dtype), memory.keys, memory.mask, memory.peaks))
        window: Window = _call(self.scope, query, memory, steps, carry=carry and carry[0])
        queries = reading.queries(query)
        if window.columns is not None and not self._narrow():
            window = window.dense(memory.mask.shape[1])
        after = None
        if window.columns is not None:
            context, weights = self._look(reading, queries, window)
        elif carry is not None and self._walks():
            window = window._replace(mask=self._open(window, memory))
            context, weights, after = walk(self.score, self.normaliser, memory, queries, window, carry[2])
        else:
            parts, after = self._parts_of(queries, memory, window, carry)
            weights = parts.shares if parts.prior is None else parts.shares * parts.prior  # alpha_tj
            context = reading.context(self._dropped(weights, memory))  # c_t
        return Attended(context, weights, self._remember(carry, weights, memory, after))

    def _parts_of(self, queries: Tensor, memory: Memory, window: Window, carry: Carry | None) -> tuple[Parts, Any]:
        """And what the normaliser remembers."""
        _, of_score, of_normaliser = carry or (None, None, None)
        mask, after = self._open(window, memory), None
        scores = _call(self.score, queries, memory, carry=of_score)  # e_tj
        if window.groups is not None:
            shares = self.normaliser.over(window.groups)(scores, mask)
        elif self.normaliser.sequential:
            shares, after = self.normaliser(scores, mask, memory, of_normaliser)
        else:
            shares = self.normaliser(scores, mask)
        return Parts(mask, scores, shares, window.prior, window.groups), after

    def _open(self, window: Window, memory: Memory) -> Tensor:
        reach = self.score.reach(memory)
        return window.mask if reach is None else window.mask & reach[:, None, :]

    def _remember(self, carry: Carry | None, weights: Weights, memory: Memory, after: Any) -> Carry | None:
        if carry is None:
            return None
        scope, score = (
            part.remember(own, weights, memory) if part.sequential else None
            for part, own in zip((self.scope, self.score), carry, strict=False)
        )
        return scope, score, after

    def _walks(self) -> bool:
        return self.normaliser.walks and not self.score.sequential and not plain_only()

    def _narrow(self) -> bool:
        """Whether windows are looked at by themselves; else they are masks over the whole source."""
        whole = self.score.sequential or self.normaliser.sequential or self.normaliser.whole_rows
        return self.scope.windowed and not whole and not plain_only()

    def _factored(self) -> bool:
        """Whether contexts are made of sums over the source that no query takes part in, and no weights."""
        drops = self.training and self.dropout.p > 0
        return self.score.factored and self.scope.everywhere and self.normaliser.shares and not drops

    def _look(self, reading: Reading, queries: Tensor, window: Window) -> tuple[Tensor, Windowed]:
        """Context and weights over windows, a block of steps at a time."""
        assert window.columns is not None
        memory, (batch, count, width) = reading.memory, window.columns.shape
        size = max(1, BLOCK // (batch * width * (memory.keys.shape[2] + memory.values.shape[2])))
        parts = (queries, window.mask.expand_as(window.columns), window.columns, window.prior)
        if count <= size:
            context, weights = self._at(reading, *parts)
        else:
            blocks = (repeat(None) if part is None else part.split(size, dim=1) for part in parts)
            found = [self._at(reading, *block) for block in zip(*blocks, strict=False)]
            context, weights = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
        return context, Windowed(window.columns, weights, memory.mask.shape[1])

    def _at(
        self, reading: Reading, queries: Tensor, mask: Tensor, columns: Tensor, prior: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        few, taken = reading.at(columns, mask)  # B * T sentences of one step each
        mask = few.mask.unsqueeze(1)
        reach = self.score.reach(few)
        if reach is not None:
            mask = mask & reach[:, None, :]
        with taken.once_more():
            scores = self.score(queries.flatten(0, 1).unsqueeze(1), few)  # e_tj
        weights = self.normaliser(scores, mask)  # alpha_tj
        if prior is not None:
            weights = weights * prior.flatten(0, 1).unsqueeze(1)
        dropped = self._dropped(weights, few)
        with taken.once_more():
            context = dropped @ few.values  # c_t
        return context.view(*columns.shape[:2], -1), weights.view(columns.shape)

    def _dropped(self, weights: Tensor, memory: Memory) -> Tensor:
        return self.dropout(weights).to(memory.values.dtype)


def _call(part: Any, *arguments: Any, carry: Any) -> Any:
    """A part that remembers is given what it remembers."""
    return part(*arguments, carry) if part.sequential else part(*arguments)
