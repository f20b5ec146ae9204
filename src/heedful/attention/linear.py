"""Linear attention: a score whose softmax is a quotient of sums, which can be taken in the cheap order."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.attention.memory import Memory
from heedful.attention.products import Linear
from heedful.attention.scores import Score, at_least_one, scores


@scores.register("linear")
class Kernel(Score):
    """score(s, h) = log(phi(W_q s) . phi(W_k h)), phi(x) = elu(x) + 1: Katharopoulos et al. 2020, "Transformers are
    RNNs", equations 4 to 7. W_q: (A, Q), W_k: (A, V), no biases.

    The softmax of a logarithm is a share: alpha_tj = phi(q_t) . phi(k_j) / sum_i phi(q_t) . phi(k_i). So, under scope
    global and an undisturbed softmax,

        c_t = phi(q_t) sum_j phi(k_j) h_j^T / phi(q_t) . sum_j phi(k_j),

    whose sums are taken once a sentence: time and memory O(S + T), without any weights until somebody looks at them.
    With all other scopes and normalisers, at another temperature, and while weights are dropped in training, the order
    is the usual one, of T x S weights. Differs from the paper in that the values are the source states themselves.

    Args:
        attention_size: A, by default the query's size.
    """

    factored = True

    def __init__(self, query_size: int, value_size: int, *, attention_size: int | None = None) -> None:
        super().__init__(query_size, value_size)
        size = at_least_one("attention_size", attention_size, query_size)
        self.query_projection = Linear(query_size, size, bias=False)  # W_q
        self.key_projection = Linear(value_size, size, bias=False)  # W_k

    def keys(self, values: Tensor) -> Tensor:
        return positive(self.key_projection(values))  # phi(k_j)

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W_q

    def features(self, queries: Tensor) -> Tensor:
        return positive(queries)  # phi(q_t)

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        products = positive(queries) @ memory.keys.transpose(1, 2)
        return products.clamp(min=torch.finfo(products.dtype).tiny).log().to(queries.dtype)  # e_tj


def positive(inputs: Tensor) -> Tensor:
    """phi(x) = elu(x) + 1: x + 1 above 0, e^x below, where adding 1 to elu would lose it; single precision at least."""
    wide = inputs.to(torch.promote_types(inputs.dtype, torch.float32))
    return wide.clamp(min=0) + wide.clamp(max=0).exp()
