"""Scores: how well does each source position answer the query?"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention.additive import additive_scores
from heedful.attention.memory import Memory
from heedful.attention.products import Linear, linear
from heedful.attention.weights import Weights
from heedful.errors import SizeError
from heedful.registry import Registry

scores: Registry[Score] = Registry("score")


class Score(nn.Module, ABC):
    """e_tj = score(query_t, h_j), in three parts so that nothing is computed twice.

    ``keys`` is called once a sentence, ``queries`` once for all queries at hand, ``forward`` compares them.
    A new score writes `forward`, and `keys` or `query_weight` where it has matrices of its own.

    Args:
        query_size: Q, the size of the decoder state that asks.
        value_size: V, the size of a source state.
    """

    content_based = True  # a permutation of the source permutes the scores
    sequential = False  # looks at what was attended to before: `forward` has a last argument more, its carry
    multiplies = False  # by the query: where that is all zeros, all positions are rated the same
    factored = False  # e_tj = log(phi(q_t) . phi(k_j)), none of them negative

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.value_size = value_size

    def keys(self, values: Tensor) -> Tensor:
        """(B, S, V) -> (B, S, K): what `forward` needs of the source states."""
        return values

    def query_weight(self) -> Tensor | None:
        """The matrix that every query is multiplied by, (K, Q), or None. A loop over steps takes it once."""
        return None

    def queries(self, query: Tensor) -> Tensor:
        """(B, T, Q) -> (B, T, K): the query times `query_weight`."""
        weight = self.query_weight()
        return query if weight is None else linear(query, weight)

    def features(self, queries: Tensor, peaks: Tensor | None) -> Tensor:
        """Of a score that is `factored`: phi(q_t), (B, T, K), from `queries`, up to a factor for each query; at least
        in single precision, none negative. Where keys are logarithms it is that of phi(k_j) over e^`peaks`."""
        raise NotImplementedError

    def peaks(self, keys: Tensor, mask: Tensor) -> Tensor | None:
        """Of a score that is `factored`, and whose keys are logarithms: the largest of each number, (B, 1, K)."""
        return None

    def reach(self, memory: Memory) -> Tensor | None:
        """(B, S) bool: the positions that this score can rate; None = all."""
        return None

    @abstractmethod
    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        """(B, T, K) from `queries` -> raw scores (B, T, S); what stands at masked positions is ignored."""

    def begin(self, memory: Memory) -> Any:
        """What a part that is `sequential` knows before the first step: tensors (B, 1, ...)."""
        raise NotImplementedError

    def remember(self, carry: Any, weights: Weights, memory: Memory) -> Any:
        """What it knows after a step with these weights: tensors (B, T, ...), T hypotheses of that step."""
        raise NotImplementedError


@scores.register("dot")
class Dot(Score):
    """score(s, h) = s . h: Luong et al. 2015, section 3.1. Query and values must be of one size.

    Raises:
        SizeError: the sizes differ.
    """

    multiplies = True

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__(query_size, value_size)
        if query_size != value_size:
            raise SizeError(
                f"score {type(self).__name__} needs queries and values of one size, "
                f"got query_size {query_size} and value_size {value_size}; 'general' takes any sizes"
            )

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return queries @ memory.keys.transpose(1, 2)  # e_tj


@scores.register("scaled_dot")
class ScaledDot(Dot):
    """score(s, h) = s . h / sqrt(Q): Vaswani et al. 2017, section 3.2.1."""

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return super().forward(queries / math.sqrt(self.query_size), memory)


@scores.register("general")
class General(Score):
    """score(s, h) = s . W_a h: Luong et al. 2015, section 3.1. W_a: (Q, V), no bias."""

    multiplies = True

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__(query_size, value_size)
        self.key_projection = Linear(value_size, query_size, bias=False)  # W_a

    def keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)  # W_a h_j

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return queries @ memory.keys.transpose(1, 2)  # e_tj


@scores.register("additive")
class Additive(Score):
    """score(s, h) = v_a . tanh(W_a s + U_a h + b_a): Bahdanau et al. 2015, appendix A.1.2.

    W_a: (A, Q), U_a: (A, V), v_a: (A). Differs from the paper in nothing; the paper prints no bias in this
    equation, so `bias` is off unless asked for.

    Args:
        attention_size: A, by default the query's size.
        bias: whether there is a b_a.
    """

    def __init__(
        self, query_size: int, value_size: int, *, attention_size: int | None = None, bias: bool = False
    ) -> None:
        super().__init__(query_size, value_size)
        self.attention_size = at_least_one("attention_size", attention_size, query_size)
        self.query_projection = Linear(query_size, self.attention_size, bias=False)  # W_a
        self.key_projection = Linear(value_size, self.attention_size, bias=bias)  # U_a, b_a
        self.v = nn.Parameter(torch.empty(self.attention_size))  # v_a
        nn.init.uniform_(self.v, -(self.attention_size**-0.5), self.attention_size**-0.5)

    def keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)  # U_a h_j

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W_a

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return additive_scores(queries, memory.keys, self.v)


@scores.register("concat")
class Concat(Score):
    """score(s, h) = v_a . tanh(W_a [s; h]): Luong et al. 2015, section 3.1 (as in arXiv v5).

    The additive score with its two matrices written as one. W_a: (A, Q + V), v_a: (A), no bias.

    Args:
        attention_size: A, by default the query's size.
    """

    def __init__(self, query_size: int, value_size: int, *, attention_size: int | None = None) -> None:
        super().__init__(query_size, value_size)
        self.attention_size = at_least_one("attention_size", attention_size, query_size)
        self.projection = Linear(query_size + value_size, self.attention_size, bias=False)  # W_a
        self.v = nn.Parameter(torch.empty(self.attention_size))  # v_a
        nn.init.uniform_(self.v, -(self.attention_size**-0.5), self.attention_size**-0.5)

    def keys(self, values: Tensor) -> Tensor:
        return linear(values, self.projection.weight[:, self.query_size :])

    def query_weight(self) -> Tensor:
        return self.projection.weight[:, : self.query_size]

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return additive_scores(queries, memory.keys, self.v)


@scores.register("location")
class Location(Score):
    """a_t = softmax(W_a s): Luong et al. 2015, section 3.1. W_a: (P, Q); row p rates the word at position p.

    The words' content is not looked at. For a short source only the first rows are used; words behind
    position P, and whatever has no position (the end symbol, tags), get no weight.

    Args:
        max_positions: P.
    """

    content_based = False
    multiplies = True

    def __init__(self, query_size: int, value_size: int, *, max_positions: int = 50) -> None:
        super().__init__(query_size, value_size)
        self.max_positions = at_least_one("max_positions", max_positions, max_positions)
        self.query_projection = Linear(query_size, max_positions, bias=False)  # W_a

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W_a

    def reach(self, memory: Memory) -> Tensor:
        return (memory.positions > 0) & (memory.positions <= self.max_positions)

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        rows = (memory.positions - 1).clamp(0, self.max_positions - 1)  # (B, S)
        return queries.gather(2, rows[:, None, :].expand(-1, queries.shape[1], -1))


def at_least_one(name: str, size: int | None, default: int) -> int:
    """`size`, or `default` where it is None.

    Raises:
        SizeError: it is below 1.
    """
    size = default if size is None else size
    if size < 1:
        raise SizeError(f"{name} must be at least 1, got {size}")
    return size
