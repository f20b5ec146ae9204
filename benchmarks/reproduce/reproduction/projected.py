"""The scores of Britz et al. 2017: both sides are projected to one size, whatever the size of the states."""

from __future__ import annotations

import math

from torch import Tensor

from heedful.attention import Memory, Score, scores
from heedful.attention.products import Linear


@scores.register("projected_dot")
class ProjectedDot(Score):
    """score(s, h) = (W_1 h) . (W_2 s), over sqrt(A) if it is `scaled`: Britz et al. 2017, whose dot product it is.

    W_1: (A, V), W_2: (A, Q), no biases.

    Args:
        attention_size: A.
        scaled: whether it is divided; theirs is not.
    """

    multiplies = True

    def __init__(self, query_size: int, value_size: int, *, attention_size: int = 128, scaled: bool = False) -> None:
        super().__init__(query_size, value_size)
        self.query_projection = Linear(query_size, attention_size, bias=False)  # W_2
        self.key_projection = Linear(value_size, attention_size, bias=False)  # W_1
        self.factor = 1 / math.sqrt(attention_size) if scaled else 1.0

    def keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values) * self.factor  # W_1 h_j, once a sentence

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W_2

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return queries @ memory.keys.transpose(1, 2)  # e_tj
