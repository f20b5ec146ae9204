"""Parts by name, and random tensors, for the tests of attention. Sizes are different primes."""

from typing import Any

import torch
from torch import Tensor

from grid import covering, possible
from heedful.attention import Attention, normalisers, scopes, scores

B, S, T, Q, V, A = 2, 11, 7, 5, 3, 13  # sentences, positions, queries; sizes of query, value, attention

# Small enough that some words are out of reach, and that local_m runs off the end of a sentence.
OPTIONS = {
    "additive": {"attention_size": A},
    "concat": {"attention_size": A},
    "location": {"max_positions": 4},
    "local_m": {"window": 2},
    "local_p": {"window": 2},
    "location_sensitive": {"attention_size": A, "kernel": 3, "weights": "both"},
    "monotonic": {"noise": 0.0, "bias": 0.5},
    "window": {"width": 2},
    "linear": {"attention_size": A},
    "block": {"width": 2},
    "strided": {"width": 1, "stride": 4},
}

# Options by which a part is another one, as a part by itself.
VARIANTS = {"linear of exp": ("linear", {"attention_size": A, "feature_map": "exp"})}
SCORES = (*scores.names(), *VARIANTS)


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def draw(module: torch.nn.Module, seed: int = 2) -> torch.nn.Module:
    """The module in float64, its parameters drawn from a normal distribution."""
    module.double()
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=100 * seed + i))
    return module


def value_size(score: str) -> int:
    """V, or for the scores that need one size, Q."""
    return Q if score in ("dot", "scaled_dot") else V


def variant(score: str) -> tuple[str, dict[str, Any]]:
    """Its registered name, and its options."""
    return VARIANTS.get(score, (score, OPTIONS.get(score, {})))


def make(score: str, scope: str = "global", normaliser: str = "softmax", dropout: float = 0.0) -> Attention:
    sizes = {"query_size": Q, "value_size": value_size(score)}
    attention = Attention(
        scores.build(*variant(score), sizes),
        scope=scopes.build(scope, OPTIONS.get(scope, {}), sizes),
        normaliser=normalisers.build(normaliser, OPTIONS.get(normaliser, {}), sizes),
        dropout=dropout,
    )
    return draw(attention)


# Any two parts that go together, in as few attentions as that takes: tests/grid.py.
COMBINATIONS = covering((SCORES, scopes.names(), normalisers.names()), lambda names: possible(make, *names))


def words_and_end(*lengths: int) -> tuple[Tensor, Tensor]:
    """mask and positions (B, S) of sentences of that many words and an end symbol, padded."""
    places = torch.arange(max(lengths) + 1)
    count = torch.tensor(lengths)[:, None]
    return places <= count, torch.where(places < count, places + 1, 0)
