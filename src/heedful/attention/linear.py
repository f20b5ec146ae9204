"""Linear attention: a score whose softmax is a quotient of sums, which can be taken in the cheap order."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.attention.memory import Memory
from heedful.attention.products import Linear
from heedful.attention.scores import Score, at_least_one, scores
from heedful.attention.weights import featured
from heedful.errors import RecipeError


@scores.register("linear")
class Kernel(Score):
    """score(s, h) = log(phi(W_q s) . phi(W_k h)): Katharopoulos et al. 2020, "Transformers are RNNs", equations 4 to 7.
    W_q: (A, Q), W_k: (A, V), no biases.

    The softmax of a logarithm is a share: alpha_tj = phi(q_t) . phi(k_j) / sum_i phi(q_t) . phi(k_i). So, under scope
    global and an undisturbed softmax,

        c_t = phi(q_t) sum_j phi(k_j) h_j^T / phi(q_t) . sum_j phi(k_j),

    whose sums are taken once a sentence: time and memory O(S + T), without any weights until somebody looks at them.
    With all other scopes and normalisers, at another temperature, and while weights are dropped in training, the order
    is the usual one, of T x S weights. Differs from the paper in that the values are the source states themselves.

    ``feature_map="elu"``: phi(x) = elu(x) + 1, as in the paper: it grows no faster than its argument, so weights are
    slow to become sharp. ``feature_map="exp"``: phi(x) = e^x, the map of Zhang et al. 2024, "The hedgehog & the
    porcupine", without its second half e^-x; then score(s, h) = log sum_d exp(q_d + k_d). One number d can outweigh all
    others, so weights can be sharp, though not more of them than there are numbers: each of S positions can have most
    of some query's weight only if A >= S, under any map. Exponentials are taken of q_d + max_j k_dj less its maximum
    over d, and of k_dj less its own over j, which cancels in the shares and leaves no sum below 1.

    Args:
        attention_size: A, by default the query's size.
        feature_map: phi, "elu" or "exp".

    Raises:
        RecipeError: there is no such map.
    """

    factored = True

    def __init__(
        self, query_size: int, value_size: int, *, attention_size: int | None = None, feature_map: str = "elu"
    ) -> None:
        super().__init__(query_size, value_size)
        if feature_map not in ("elu", "exp"):
            raise RecipeError(f"a feature map is 'elu' or 'exp', got {feature_map!r}")
        size = at_least_one("attention_size", attention_size, query_size)
        self.feature_map = feature_map
        self.query_projection = Linear(query_size, size, bias=False)  # W_q
        self.key_projection = Linear(value_size, size, bias=False)  # W_k

    def keys(self, values: Tensor) -> Tensor:
        keys = self.key_projection(values)  # k_j
        return positive(keys) if self.feature_map == "elu" else _wide(keys)

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W_q

    def peaks(self, keys: Tensor, mask: Tensor) -> Tensor | None:
        if self.feature_map == "elu":
            return None
        lowest = keys.masked_fill(~mask.unsqueeze(-1), torch.finfo(keys.dtype).min)
        peaks = lowest.detach().amax(1, keepdim=True)  # max_j k_j
        return torch.where(mask.any(1)[:, None, None], peaks, 0)

    def features(self, queries: Tensor, peaks: Tensor | None) -> Tensor:
        if peaks is None:
            return positive(queries)
        logarithms = _wide(queries) + peaks
        return (logarithms - _most(logarithms)).exp()

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        peaks = self.peaks(memory.keys, memory.mask)
        with torch.autocast(queries.device.type, enabled=False):  # as where sums are taken
            products = self.features(queries, peaks) @ featured(memory.keys, peaks).mT
        found = products.clamp(min=torch.finfo(products.dtype).tiny).log()
        return (found if peaks is None else found + _most(_wide(queries) + peaks)).to(queries.dtype)  # e_tj


def positive(inputs: Tensor) -> Tensor:
    """phi(x) = elu(x) + 1: x + 1 above 0, e^x below, where adding 1 to elu would lose it."""
    wide = _wide(inputs)
    return wide.clamp(min=0) + wide.clamp(max=0).exp()


def _most(logarithms: Tensor) -> Tensor:
    """What each query's numbers may be divided by: it cancels, so it needs no gradient."""
    return logarithms.detach().amax(-1, keepdim=True)


def _wide(inputs: Tensor) -> Tensor:
    """In single precision at least."""
    return inputs.to(torch.promote_types(inputs.dtype, torch.float32))
