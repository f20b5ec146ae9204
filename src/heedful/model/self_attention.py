"""The encoder whose states ask each other."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.attention import Attended
from heedful.model.blocks import Inputs, Layer, embedding_scale
from heedful.model.encoder import Encoded, Encoder, encoders


@encoders.register("self_attention")
class SelfAttention(Encoder):
    """L layers of self-attention and feed-forward: Vaswani et al. 2017, section 3.1.

    x = x + MultiHead(x, x), x = x + W_2 max(0, W_1 x + b_1) + b_2, with layer norm before each part or after it, over
    embeddings with positions. Under "before" there is one more layer norm at the end.

    A word's position is its place in the text as written, from 1, whichever way the text is read; the end symbol stands
    behind the last word, and tags are all at 0. What is masked is as if it were not there.

    Differs from the paper in: layer norm is before by default, projections into heads have no biases (as printed), and
    a matrix leads from embeddings to layers where their sizes differ.

    Args:
        embedding: see `Encoder`.
        embedding_size: E.
        hidden_size: H, of a source state.
        layers: L.
        dropout: on the embeddings and on what each part adds.
        heads: of every layer; they must divide H; by default 4, or 2 or 1 if these do.
        feed_forward_size: F; by default 4 H.
        positions: "sinusoidal" or "learned".
        max_positions: the last position that has a learned vector.
        norm: "before" or "after".
    """

    def __init__(
        self,
        embedding: nn.Module,
        *,
        embedding_size: int,
        hidden_size: int,
        layers: int = 1,
        dropout: float = 0.0,
        heads: int | None = None,
        feed_forward_size: int | None = None,
        positions: str = "sinusoidal",
        max_positions: int = 1000,
        norm: str = "before",
    ) -> None:
        super().__init__(embedding, value_size=hidden_size, state=None)
        self.hidden_size = hidden_size
        self.layers = layers
        self.inputs = Inputs(
            embedding_size,
            hidden_size,
            scale=embedding_scale(embedding),
            positions=positions,
            max_positions=max_positions,
            dropout=dropout,
        )
        self.blocks = nn.ModuleList(
            Layer(hidden_size, heads, feed_forward_size, scope=None, norm=norm, dropout=dropout) for _ in range(layers)
        )
        self.own_weights = self.blocks[0].attention.heads  # pyright: ignore
        self.norm = nn.LayerNorm(hidden_size) if norm == "before" else nn.Identity()

    def forward(self, source: Tensor, mask: Tensor, positions: Tensor) -> Encoded:
        vectors, mask, positions = self.embed(source, mask, positions)
        values = self.placed(vectors, mask, positions)
        for block in self.blocks:
            heard, _ = ask_each_other(block, values, mask, positions)  # pyright: ignore[reportArgumentType]
            values = block.think(heard)  # pyright: ignore[reportCallIssue]
        return Encoded(self.norm(values), mask, positions, ())

    def placed(self, vectors: Tensor, mask: Tensor, positions: Tensor) -> Tensor:
        """What the first layer reads, (B, S, H): vectors (B, S, E) that know their places."""
        return self.inputs(vectors, _with_end(mask, positions))


def ask_each_other(block: Layer, x: Tensor, mask: Tensor, positions: Tensor) -> tuple[Tensor, Attended]:
    """States x (B, S, H) with mask and positions (B, S) once they have heard each other, and what they heard."""
    read = block.around_attention.read(x)
    heard = block.attention(read, block.attention.prepare(read, mask, positions))
    return block.around_attention.add(x, heard.context), heard


def _with_end(mask: Tensor, positions: Tensor) -> Tensor:
    """Positions (B, S), where a text's last symbol stands behind its last word if it has no place of its own: it is the
    end symbol, by which the last words can be found."""
    columns = torch.arange(mask.shape[1], device=mask.device)
    last = mask & (columns == (columns * mask).amax(1, keepdim=True))
    return torch.where(last & (positions == 0), positions.amax(1, keepdim=True) + 1, positions)
