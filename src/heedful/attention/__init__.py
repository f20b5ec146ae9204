"""Attention on its own: scope x score x normaliser. PyTorch only; useful in anybody's model.

>>> import torch
>>> attention = Attention(Additive(query_size=5, value_size=3, attention_size=7))
>>> memory = attention.prepare(torch.randn(2, 11, 3))    # once a sentence
>>> attended = attention(torch.randn(2, 4, 5), memory)    # four queries
>>> attended.context.shape, attended.weights.shape
(torch.Size([2, 4, 3]), torch.Size([2, 4, 11]))
"""

from heedful.attention.attention import Attention
from heedful.attention.coverage import Coverage, LocationSensitive
from heedful.attention.hierarchical import Hierarchical
from heedful.attention.linear import Kernel
from heedful.attention.memory import Attended, Groups, Memory, Segments, Window
from heedful.attention.monotonic import Monotonic
from heedful.attention.multihead import MultiHead
from heedful.attention.normalisers import Entmax15, Normaliser, Softmax, Sparsemax, normalisers
from heedful.attention.scopes import Causal, Global, LocalM, LocalP, Scope, scopes
from heedful.attention.scores import Additive, Concat, Dot, General, Location, ScaledDot, Score, scores
from heedful.attention.two import TwoAttentions
from heedful.attention.weights import Factored, SideBySide, Weights, Windowed, dense
from heedful.attention.windows import Block, Strided, Truncated

__all__ = [
    "Additive",
    "Attended",
    "Attention",
    "Block",
    "Causal",
    "Concat",
    "Coverage",
    "Dot",
    "Entmax15",
    "Factored",
    "General",
    "Global",
    "Groups",
    "Hierarchical",
    "Kernel",
    "LocalM",
    "LocalP",
    "Location",
    "LocationSensitive",
    "Memory",
    "Monotonic",
    "MultiHead",
    "Normaliser",
    "ScaledDot",
    "Scope",
    "Score",
    "Segments",
    "SideBySide",
    "Softmax",
    "Sparsemax",
    "Strided",
    "Truncated",
    "TwoAttentions",
    "Weights",
    "Window",
    "Windowed",
    "dense",
    "normalisers",
    "scopes",
    "scores",
]
