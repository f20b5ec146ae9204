"""Attention on its own: scope x score x normaliser. PyTorch only; useful in anybody's model.

>>> import torch
>>> attention = Attention(Additive(query_size=5, value_size=3, attention_size=7))
>>> memory = attention.prepare(torch.randn(2, 11, 3))    # once a sentence
>>> attended = attention(torch.randn(2, 4, 5), memory)    # four queries
>>> attended.context.shape, attended.weights.shape
(torch.Size([2, 4, 3]), torch.Size([2, 4, 11]))
"""

from heedful.attention.attention import Attention
from heedful.attention.hierarchical import Hierarchical
from heedful.attention.memory import Attended, Groups, Memory, Segments, Window
from heedful.attention.multihead import MultiHead
from heedful.attention.normalisers import Entmax15, Normaliser, Softmax, Sparsemax, normalisers
from heedful.attention.scopes import Causal, Global, LocalM, LocalP, Scope, scopes
from heedful.attention.scores import Additive, Concat, Dot, General, Location, ScaledDot, Score, scores
from heedful.attention.weights import Weights, Windowed, dense

__all__ = [
    "Additive",
    "Attended",
    "Attention",
    "Causal",
    "Concat",
    "Dot",
    "Entmax15",
    "General",
    "Global",
    "Groups",
    "Hierarchical",
    "LocalM",
    "LocalP",
    "Location",
    "Memory",
    "MultiHead",
    "Normaliser",
    "ScaledDot",
    "Scope",
    "Score",
    "Segments",
    "Softmax",
    "Sparsemax",
    "Weights",
    "Window",
    "Windowed",
    "dense",
    "normalisers",
    "scopes",
    "scores",
]
