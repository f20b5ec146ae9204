"""Scores that see what has been attended to: additive ones, with features of the weights of earlier steps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.attention.additive import additive_scores
from heedful.attention.memory import Memory
from heedful.attention.products import Linear
from heedful.attention.scores import Score, at_least_one, scores
from heedful.attention.weights import Weights, dense
from heedful.errors import RecipeError, SizeError

_CHANNELS = {"last": 1, "sum": 1, "both": 2}


@scores.register("coverage")
class Coverage(Score):
    """score(s_t, h_j) = v . tanh(W_s s_t + W_h h_j + w_c c_tj + b), c_t = alpha_1 + ... + alpha_t-1: See, Liu and
    Manning 2017, "Get To The Point", section 2.3; Tu et al. 2016, "Modeling Coverage for Neural Machine Translation".

    W_s: (A, Q), W_h: (A, V), w_c, b, v: (A). Differs from See et al. in that nothing is added to the loss; from Tu et
    al. in that coverage is the plain sum, not divided by a word's fertility, nor made by a recurrent network.

    Args:
        attention_size: A, by default the query's size.
    """

    sequential = True

    def __init__(self, query_size: int, value_size: int, *, attention_size: int | None = None) -> None:
        super().__init__(query_size, value_size)
        self.attention_size = at_least_one("attention_size", attention_size, query_size)
        self.query_projection = Linear(query_size, self.attention_size, bias=False)  # W_s
        self.key_projection = Linear(value_size, self.attention_size)  # W_h, b
        self.coverage_projection = _vector(self.attention_size)  # w_c
        self.v = _vector(self.attention_size)

    def keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)  # W_h h_j + b

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W_s

    def forward(self, queries: Tensor, memory: Memory, carry: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        features = carry.to(memory.keys.dtype).unsqueeze(-1) * self.coverage_projection  # w_c c_tj
        return _rated(queries, memory, features, self.v)

    def begin(self, memory: Memory) -> Tensor:
        """c_1 = 0, (B, 1, S)."""
        return memory.values.new_zeros(memory.mask.shape, dtype=_wide(memory)).unsqueeze(1)

    def remember(self, carry: Tensor, weights: Weights, memory: Memory) -> Tensor:
        return carry + dense(weights)


@scores.register("location_sensitive")
class LocationSensitive(Score):
    """score(s_t, h_j) = v . tanh(W s_t + V h_j + U f_tj + b), f_t = F * alpha_t-1: Chorowski et al. 2015,
    "Attention-Based Models for Speech Recognition", section 2.1.

    F * is a convolution over the places of the sentence as it was written, with zeros outside of it; what has no place
    (tags, then the end symbol) comes behind the last word. Before the first step all weights are 0. W: (A, Q), V: (A,
    V), U: (A, filters), F: (filters, 1 or 2, kernel), b, v: (A). Differs from the paper in that F has the weights of
    the last step, their sum over all steps, or, as in Tacotron 2 (Shen et al. 2018), both, as `weights` says.

    Args:
        attention_size: A, by default the query's size.
        filters: how many features a place has.
        kernel: over how many places each is computed, an odd number.
        weights: "last", "sum" or "both".

    Raises:
        RecipeError: `weights` is something else.
        SizeError: a size is below 1, or the kernel even.
    """

    content_based = False
    sequential = True

    def __init__(
        self,
        query_size: int,
        value_size: int,
        *,
        attention_size: int | None = None,
        filters: int = 8,
        kernel: int = 7,
        weights: str = "last",
    ) -> None:
        super().__init__(query_size, value_size)
        if weights not in _CHANNELS:
            raise RecipeError(
                f"score 'location_sensitive' looks at the weights of the 'last' step, their 'sum' over all, or 'both', "
                f"got {weights!r}"
            )
        if at_least_one("kernel", kernel, kernel) % 2 == 0:
            raise SizeError(f"a kernel must be odd, so that it has a middle, got {kernel}")
        at_least_one("filters", filters, filters)
        self.weights = weights
        self.attention_size = at_least_one("attention_size", attention_size, query_size)
        self.query_projection = Linear(query_size, self.attention_size, bias=False)  # W
        self.key_projection = Linear(value_size, self.attention_size)  # V, b
        self.convolution = nn.Conv1d(_CHANNELS[weights], filters, kernel, padding=kernel // 2, bias=False)  # F
        self.feature_projection = Linear(filters, self.attention_size, bias=False)  # U
        self.v = _vector(self.attention_size)

    def keys(self, values: Tensor) -> Tensor:
        return self.key_projection(values)  # V h_j + b

    def query_weight(self) -> Tensor:
        return self.query_projection.weight  # W

    def forward(self, queries: Tensor, memory: Memory, carry: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _rated(queries, memory, self.feature_projection(self.location_features(memory, carry)), self.v)  # U f_tj

    def location_features(self, memory: Memory, carry: Tensor) -> Tensor:
        """f_tj, (B, T, S, filters)."""
        assert memory.order is not None
        ranked = self.convolution(carry.flatten(0, 1).to(self.convolution.weight.dtype))  # F * alpha_t-1
        ranked = ranked.unflatten(0, carry.shape[:2])
        order = memory.order[:, None, None, :].expand_as(ranked)
        return torch.zeros_like(ranked).scatter(-1, order, ranked).transpose(2, 3)

    def begin(self, memory: Memory) -> Tensor:
        """Zeros, (B, 1, 1 or 2, S), in the order of the sentence: those of the last step, then the sum."""
        batch, size = memory.mask.shape
        return memory.values.new_zeros(batch, 1, _CHANNELS[self.weights], size, dtype=_wide(memory))

    def remember(self, carry: Tensor, weights: Weights, memory: Memory) -> Tensor:
        assert memory.order is not None
        found = dense(weights).to(carry.dtype)
        last = found.gather(-1, memory.order.unsqueeze(1).expand_as(found)).unsqueeze(2)
        sums = carry[:, :, -1:] + last
        return {"last": last, "sum": sums, "both": torch.cat([last, sums], dim=2)}[self.weights]


def _vector(size: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))


def _wide(memory: Memory) -> torch.dtype:
    """In half precision a sum of weights would soon stop to grow."""
    return torch.promote_types(memory.values.dtype, torch.float32)


def _rated(queries: Tensor, memory: Memory, features: Tensor, v: Tensor) -> Tensor:
    """v . tanh(query + key + features): (B, T, A), keys (B, S, A), (B, T, S, A) -> (B, T, S)."""
    keys = (memory.keys.unsqueeze(1) + features).flatten(0, 1)  # each query is the only one of a sentence of its own
    return additive_scores(queries.flatten(0, 1).unsqueeze(1), keys, v).view(*queries.shape[:2], -1)
