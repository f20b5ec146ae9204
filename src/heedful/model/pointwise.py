"""The encoder that reads each symbol by itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.attention.products import Linear
from heedful.model.encoder import Encoded, Encoder, encoders


@encoders.register("pointwise")
class Pointwise(Encoder):
    """h_j = tanh(W E x_j + b), L times: a source state knows its own symbol, and neither its neighbours nor its place.

    For sources whose order says nothing, such as a history of items: so Zhou et al. 2018, "Deep interest network for
    click-through rate prediction", section 4.3, weigh items. What is looked at is what decides, since nothing else
    has been carried to where it is looked for. Differs from the paper in that there are layers, where the paper's items
    are their embeddings.

    Args:
        embedding: see `Encoder`.
        embedding_size: E.
        hidden_size: H, of a source state.
        layers: L.
        dropout: on the embeddings and on what passes from one layer to the next.
    """

    def __init__(
        self,
        embedding: nn.Module,
        *,
        embedding_size: int,
        hidden_size: int,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embedding, value_size=hidden_size, state=None)
        self.hidden_size = hidden_size
        self.layers = layers
        sizes = [embedding_size] + [hidden_size] * (layers - 1)
        self.projections = nn.ModuleList(Linear(size, hidden_size) for size in sizes)  # W, b
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, mask: Tensor, positions: Tensor) -> Encoded:
        values, mask, positions = self.embed(source, mask, positions)
        for projection in self.projections:
            values = torch.tanh(projection(self.dropout(values)))
        return Encoded(values, mask, positions, ())
