"""What layers of self-attention are made of beside attention: residuals, layer norm, feed-forward, positions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from heedful.attention import Attention, MultiHead, ScaledDot, Scope
from heedful.attention.products import Linear
from heedful.errors import RecipeError, SizeError

PERIOD = 10_000.0
"""The longest wave of the sinusoidal positions is so many times 2 pi long."""


class Inputs(nn.Module):
    """x_j = W_e (scale * E w_j) + p_j: vectors of the layers' size H, which know their position.

    ``positions="sinusoidal"``: p_j[2i] = sin(j / 10000^(2i / H)), p_j[2i + 1] = cos(j / 10000^(2i / H)): Vaswani et al.
    2017, section 3.5. ``positions="learned"``: row j of a matrix with rows 0 .. `max_positions`. W_e, without a bias,
    only where the sizes differ; the paper's scale of embeddings is sqrt(H), of section 3.4.

    Args:
        vector_size: E.
        size: H.
        scale: what the vectors are multiplied by.
        positions: "sinusoidal" or "learned".
        max_positions: the last position that has a learned vector.
        dropout: on the sum.
    """

    def __init__(
        self, vector_size: int, size: int, *, scale: float, positions: str, max_positions: int, dropout: float
    ) -> None:
        super().__init__()
        if positions not in ("sinusoidal", "learned"):
            raise RecipeError(f"positions are 'sinusoidal' or 'learned', got {positions!r}")
        self.size = size
        self.scale = scale
        self.projection = Linear(vector_size, size, bias=False) if vector_size != size else nn.Identity()  # W_e
        if not 1 <= max_positions < 2**31:
            raise SizeError(f"max_positions must be at least 1 and below 2**31, got {max_positions}")
        self.learned = nn.Embedding(max_positions + 1, size) if positions == "learned" else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, positions: Tensor) -> Tensor:
        """vectors (B, S, E), positions (B, S) int64 from 0 -> (B, S, H).

        Raises:
            SizeError: a position that has no learned vector.
        """
        return self.placed(self.projected(vectors), positions)

    def projected(self, vectors: Tensor) -> Tensor:
        """W_e (scale * E w_j)."""
        return self.projection(vectors * self.scale)

    def placed(self, projected: Tensor, positions: Tensor) -> Tensor:
        """x_j, of what `projected` gives."""
        return self.dropout(projected + self._vectors(positions).to(projected.dtype))

    def _vectors(self, positions: Tensor) -> Tensor:
        if self.learned is None:
            return sinusoids(positions, self.size)
        last = self.learned.num_embeddings - 1
        if positions.numel() and (longest := int(positions.max())) > last:
            raise SizeError(
                f"positions are learned up to {last}, got a text with position {longest}; "
                "positions = 'sinusoidal' have no end, and max_positions may be larger"
            )
        return self.learned(positions)


def sinusoids(positions: Tensor, size: int) -> Tensor:
    """(...) int64 -> (..., size), in double precision on the CPU."""
    kind = torch.float32 if positions.device.type == "mps" else torch.float64
    waves = torch.arange(0, size, 2, device=positions.device, dtype=kind) / size
    angles = positions.unsqueeze(-1) / PERIOD**waves  # j / 10000^(2i / H)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :size]


class Residual(nn.Module):
    """x + f(x) around a part f, with layer norm: "before", x + f(norm(x)), or "after", norm(x + f(x)).

    After is Vaswani et al. 2017, section 3.1; before trains without warming up (Xiong et al. 2020, "On layer
    normalization in the transformer architecture").

    Args:
        size: H.
        norm: "before" or "after".
        dropout: on f(x).
    """

    def __init__(self, size: int, *, norm: str, dropout: float) -> None:
        super().__init__()
        if norm not in ("before", "after"):
            raise RecipeError(f"layer norm stands 'before' a part or 'after' it, got {norm!r}")
        self.before = norm == "before"
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def read(self, x: Tensor) -> Tensor:
        """What f is given."""
        return self.norm(x) if self.before else x

    def add(self, x: Tensor, answer: Tensor) -> Tensor:
        """What goes on, from x and f(read(x))."""
        total = x + self.dropout(answer)
        return total if self.before else self.norm(total)


class FeedForward(nn.Module):
    """W_2 max(0, W_1 x + b_1) + b_2: Vaswani et al. 2017, section 3.3. W_1: (F, H), W_2: (H, F).

    Args:
        size: H.
        inner_size: F; by default 4 H, as in the paper.
    """

    def __init__(self, size: int, inner_size: int | None) -> None:
        super().__init__()
        inner_size = 4 * size if inner_size is None else inner_size
        if inner_size < 1:
            raise SizeError(f"feed_forward_size must be at least 1, got {inner_size}")
        self.inner = Linear(size, inner_size)  # W_1, b_1
        self.outer = Linear(inner_size, size)  # W_2, b_2

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.relu(self.inner(x)))


class Layer(nn.Module):
    """Attention of states to each other, then feed-forward, each with a residual: Vaswani et al. 2017, section 3.1.

    Args:
        size: H.
        heads: of the attention: see `self_attention`.
        feed_forward_size: F; by default 4 H.
        scope: who may answer; None for all.
        norm: "before" or "after".
        dropout: on what each part adds.
    """

    def __init__(
        self,
        size: int,
        heads: int | None,
        feed_forward_size: int | None,
        *,
        scope: Scope | None,
        norm: str,
        dropout: float,
    ) -> None:
        super().__init__()
        self.attention = self_attention(size, heads, scope)
        self.feed_forward = FeedForward(size, feed_forward_size)
        self.around_attention = Residual(size, norm=norm, dropout=dropout)
        self.around_feed_forward = Residual(size, norm=norm, dropout=dropout)

    def think(self, x: Tensor) -> Tensor:
        """What feed-forward makes of states (..., H) that have heard the others."""
        return self.around_feed_forward.add(x, self.feed_forward(self.around_feed_forward.read(x)))


def self_attention(size: int, heads: int | None, scope: Scope | None = None) -> MultiHead:
    """Heads of scaled dot products by which states of `size` ask each other; by default 4, or 2 or 1 if these do.

    Raises:
        SizeError: `heads` does not divide the size.
    """
    if heads is None:
        heads = next(count for count in (4, 2, 1) if size % count == 0)
    head = head_size(size, heads)
    return MultiHead(Attention(ScaledDot(head, head), scope=scope), query_size=size, value_size=size, heads=heads)


def head_size(size: int, heads: int) -> int:
    """d = size / heads.

    Raises:
        SizeError: it is no whole number.
    """
    if heads < 1 or size % heads:
        raise SizeError(f"heads share a size among them: expected a number of heads that divides {size}, got {heads}")
    return size // heads


def embedding_scale(embedding: nn.Module) -> float:
    """sqrt(E) for an embedding, whose numbers are small at first; 1 for what else makes vectors."""
    return math.sqrt(embedding.embedding_dim) if isinstance(embedding, nn.Embedding) else 1.0
