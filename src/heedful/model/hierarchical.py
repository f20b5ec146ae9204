"""The encoder of documents: words within segments, segments within the source."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.attention.segments import columns_of, means, numbered
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded, Encoder, Recurrent, encoders


@encoders.register("hierarchical")
class HierarchicalEncoder(Encoder):
    """h_j = w_j + u_g: recurrent layers over the words of each segment g alone, and again over the segments.

    w_j are the states of the words, which know of their own segment only; u_g those of the layers that read the means
    of each segment's w_j, segment after segment. The decoder starts from the last states of these. Both levels have L
    layers of the same kind and size. What has no segment, tags and the end symbol, is read as the last.

    After Yang et al. 2016, "Hierarchical attention networks for document classification", section 2.2. Differs from the
    paper in that a segment is the mean of its words' states, not their sum under a learned attention; and in that words
    keep their states, with their segment's added, since it is words that the decoder asks for.

    Args:
        embedding: see `Encoder`.
        embedding_size: E.
        cell: the class of every layer.
        hidden_size: H, per direction.
        layers: L, of each level.
        bidirectional: D = 2 instead of 1.
        dropout: on the embeddings, on segments, and on what passes from one layer to the next.
    """

    segmented = True

    def __init__(
        self,
        embedding: nn.Module,
        *,
        embedding_size: int,
        cell: type[Cell],
        hidden_size: int,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, value_size=hidden_size * (2 if bidirectional else 1), state=cell.state)
        self.hidden_size = hidden_size
        self.layers = layers
        self.bidirectional = bidirectional

        def level(size: int) -> Recurrent:
            return Recurrent(
                _Given(),
                embedding_size=size,
                cell=cell,
                hidden_size=hidden_size,
                layers=layers,
                bidirectional=bidirectional,
                dropout=dropout,
            )

        self.words, self.segments = level(embedding_size), level(self.value_size)

    def forward(self, source: Tensor, mask: Tensor, positions: Tensor, segments: Tensor | None = None) -> Encoded:
        """As for `Encoder`; segments (B, S) int64, from 1, are read in the order of their numbers. None is one."""
        vectors, mask, positions = self.embed(source, mask, positions)
        numbers = numbered(segments, mask)
        columns = columns_of(numbers)
        words = self._words(vectors, columns)  # w_j
        counts = numbers.amax(1, keepdim=True)
        places = torch.arange(1, columns.shape[1] + 1, device=mask.device) * torch.ones_like(counts)
        read: Encoded = self.segments(means(words, numbers), places <= counts, places)
        own = read.values.gather(1, (numbers - 1).clamp(min=0).unsqueeze(-1).expand_as(words))  # u_g of each word
        return Encoded(words + own, mask, positions, read.last)

    def _words(self, vectors: Tensor, columns: Tensor) -> Tensor:
        """Each segment as a sentence of its own: (B, S, E), (B, G, W) -> (B, S, V), 0 for what is in none."""
        batch, size = vectors.shape[:2]
        there = columns >= 0
        rows = torch.arange(batch, device=columns.device)[:, None, None].expand_as(columns)
        kept = there.any(-1)  # no sentence of nothing
        at, index, mask = rows[kept], columns[kept].clamp(min=0), there[kept]
        read = self.words(vectors[at, index], mask, index).values
        flat = (at * size + index)[mask]
        values = read.new_zeros(batch * size, read.shape[2]).index_add(0, flat, read[mask])
        return values.unflatten(0, (batch, size))


class _Given(nn.Module):
    """For who reads vectors."""

    def forward(self, vectors: Tensor, mask: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return vectors, mask, positions
