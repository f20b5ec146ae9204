"""Several attentions side by side, each in a smaller space of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention.attention import Asked, Attention, Carry
from heedful.attention.factor import Factor
from heedful.attention.memory import Attended, Memory, Parts, check_query, check_values
from heedful.attention.normalisers import Normaliser
from heedful.attention.products import Linear
from heedful.attention.scopes import Scope
from heedful.attention.scores import Score, at_least_one
from heedful.attention.weights import Factored, OfHeads, Weights, Windowed, dense
from heedful.errors import SizeError
from heedful.tensors import map_tensors


class MultiHead(nn.Module):
    """MultiHead(s, h) = W_o [head_1; ...; head_H], head_i = attention(W_q^i s, W_k^i h, W_v^i h).

    Vaswani et al. 2017, section 3.2.2, over any score, scope and normaliser; it is asked as an `Attention` is.
    W_q: (H d, Q), W_k, W_v: (H d, V), W_o: (V, H d), without biases, as printed, unless `bias` is set.

    The weights alpha_tj are the mean of the heads'; `explain` has each head's. A matrix that the score or the scope has
    of its own is one for all heads, each of which has its own projections in front of it.

    Inside, a head is a sentence: a batch of B is one of B * H to the attention. A memory's tensors are (B, H, ...).

    Differs from the paper in: the score need not be the scaled dot product, nor the normaliser softmax.

    Args:
        attention: what each head does, with a score of query_size = value_size = d.
        query_size: Q.
        value_size: V, also of the context.
        heads: H.
        bias: whether the projections have biases.

    Raises:
        SizeError: the score's two sizes differ, or there is not one head.
    """

    def __init__(
        self, attention: Attention, *, query_size: int, value_size: int, heads: int, bias: bool = False
    ) -> None:
        super().__init__()
        self.heads = at_least_one("heads", heads, heads)
        self.query_size = query_size
        self.value_size = value_size
        size = attention.score.query_size
        if attention.score.value_size != size:
            raise SizeError(
                f"a head's score must have queries and values of one size, got {size} and {attention.score.value_size}"
            )
        self.core = attention
        self.query_projection = Linear(query_size, heads * size, bias=bias)  # W_q
        self.key_projection = Linear(value_size, heads * size, bias=bias)  # W_k
        self.value_projection = Linear(value_size, heads * size, bias=bias)  # W_v
        self.output_projection = Linear(heads * size, value_size, bias=bias)  # W_o

    @property
    def score(self) -> Score:
        """Of each head."""
        return self.core.score

    @property
    def scope(self) -> Scope:
        """Of each head."""
        return self.core.scope

    @property
    def normaliser(self) -> Normaliser:
        """Of each head."""
        return self.core.normaliser

    @property
    def dropout(self) -> nn.Dropout:
        """On each head's weights."""
        return self.core.dropout

    @property
    def content_based(self) -> bool:
        """Whether a permutation of the source permutes the weights and leaves the context as it was."""
        return self.core.content_based

    @property
    def sequential(self) -> bool:
        """Whether a step's answer depends on the answers of the steps before it."""
        return self.core.sequential

    @property
    def lean(self) -> bool:
        """As an attention's."""
        return self.core.lean

    def prepare(
        self,
        values: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        *,
        segments: Tensor | None = None,
    ) -> Memory:
        """All that can be computed before the first query; arguments as for `Attention.prepare`.

        Returns:
            A memory of (B, H, ...): each head's keys and values (B, H, S, .), mask and positions (B, H, S).

        Raises:
            SizeError: values are not (B, S, V), or a mask or positions not (B, S).
        """
        check_values(values, self.value_size)
        if mask is not None and mask.shape == values.shape[:2] and mask.dtype == torch.bool:
            # What stands at masked positions must not spoil a gradient either.
            values = values.masked_fill(~mask.unsqueeze(-1), 0.0)

        def each(part: Tensor | None) -> Tensor | None:
            return None if part is None else part.repeat_interleave(self.heads, dim=0)

        memory = self.core.prepare(
            self._split(self.value_projection(values)),
            each(mask),
            each(positions),
            keys=self._split(self.key_projection(values)),
            segments=each(segments),
        )
        return map_tensors(self._by_head, memory)

    def begin(self, memory: Memory) -> Carry | None:
        """What the first step of a loop is given as `carry`: tensors (B, 1, H, ...)."""
        return self._packed(self.core.begin(_flat(memory)))

    def forward(
        self, query: Tensor, memory: Memory, *, steps: Tensor | None = None, carry: Carry | None = None
    ) -> Attended:
        """Ask `memory` all queries at once; as `Attention.forward`.

        Raises:
            SizeError: queries are not (B, T, Q) with the memory's B.
        """
        check_query(query, memory, self.query_size)
        queries = self._split(self.query_projection(query))
        return self._joined(self.core(queries, _flat(memory), steps=self._each(steps), carry=_unpacked(carry)))

    def one_by_one(self, query: Tensor, memory: Memory, *, steps: Tensor, carry: Carry | None = None) -> Attended:
        """Ask T queries one after the other, as `Attention.one_by_one`."""
        check_query(query, memory, self.query_size)
        queries = self._split(self.query_projection(query))
        steps = steps.repeat_interleave(self.heads, dim=0)
        return self._joined(self.core.one_by_one(queries, _flat(memory), steps=steps, carry=_unpacked(carry)))

    def explain(self, query: Tensor, memory: Memory, *, steps: Tensor, carry: Carry | None = None) -> Parts:
        """How each head's weights come to be: as `Attention.explain`, each part (B, H, T, S)."""
        check_query(query, memory, self.query_size)
        queries = self._split(self.query_projection(query))
        steps = steps.expand(query.shape[:2]).repeat_interleave(self.heads, dim=0)
        parts = self.core.explain(queries, _flat(memory), steps=steps, carry=_unpacked(carry))
        mask = parts.mask.expand_as(parts.scores)
        return map_tensors(self._by_head, parts._replace(mask=mask))

    def asked(self, memory: Memory, *, steps: int) -> AskedHeads:
        """`memory`, to be asked by a loop over at most `steps` steps, one query after the other."""
        return AskedHeads(self, memory, steps)

    def _split(self, projected: Tensor) -> Tensor:
        """(B, T, H d) -> (B H, T, d)."""
        return projected.unflatten(2, (self.heads, -1)).transpose(1, 2).flatten(0, 1)

    def _by_head(self, part: Tensor) -> Tensor:
        """(B H, ...) -> (B, H, ...)."""
        return part.unflatten(0, (-1, self.heads))

    def _each(self, steps: Tensor | None) -> Tensor | None:
        """Of queries, for each head's."""
        if steps is None or steps.dim() < 2 or steps.shape[0] == 1:
            return steps
        return steps.repeat_interleave(self.heads, dim=0)

    def _packed(self, carry: Carry | None) -> Carry | None:
        """(B H, T, ...) -> (B, T, H, ...), as hypotheses are chosen along the first two."""
        return map_tensors(lambda part: self._by_head(part).transpose(1, 2), carry)

    def _joined(self, attended: Attended, project: Any = None) -> Attended:
        """The heads' answers as one."""
        context = self._by_head(attended.context).transpose(1, 2).flatten(2)  # [head_1; ...; head_H]
        context = (project or self.output_projection)(context)
        return Attended(context, self._mean(attended.weighting), self._packed(attended.carry))

    def _mean(self, weights: Weights) -> Weights:
        if isinstance(weights, Factored):
            return OfHeads(weights, self.heads)
        if not isinstance(weights, Windowed):
            return self._by_head(dense(weights)).mean(1)
        columns, values = (self._by_head(part).transpose(1, 2).flatten(2) for part in weights[:2])  # (B, T, H W)
        return Windowed(columns, values / self.heads, weights.size)


class AskedHeads:
    """A memory that a loop asks step by step: what all steps multiply by is taken once, with its gradient."""

    def __init__(self, attention: MultiHead, memory: Memory, steps: int) -> None:
        self._attention = attention
        self._ask: Asked = attention.core.asked(_flat(memory), steps=steps)
        query, output, batch = attention.query_projection, attention.output_projection, memory.mask.shape[0]
        self._queries = Factor(query.weight, query.bias, batch=batch, steps=steps)
        self._outputs = Factor(output.weight, output.bias, batch=batch, steps=steps)

    def __call__(self, query: Tensor, *, steps: Tensor, carry: Carry | None = None) -> Attended:
        """The answers to the next queries, (B, 1, Q); `steps` and `carry` as in `MultiHead.forward`."""
        heads = self._attention
        queries = heads._split(self._queries(query))
        each = heads._each(steps)
        assert each is not None
        return heads._joined(self._ask(queries, steps=each, carry=_unpacked(carry)), self._outputs)


def _flat(memory: Memory) -> Memory:
    """(B, H, ...) -> (B H, ...)."""
    return map_tensors(lambda part: part.flatten(0, 1), memory)


def _unpacked(carry: Carry | None) -> Carry | None:
    """(B, T, H, ...) -> (B H, T, ...)."""
    return map_tensors(lambda part: part.transpose(1, 2).flatten(0, 1), carry)
