"""Encoders: a source becomes source states, right for every length in a padded batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from heedful.model.cells import Cell, CellState
from heedful.registry import Registry

encoders: Registry[Encoder] = Registry("encoder")


class Encoded(NamedTuple):
    """What the encoder knows of a batch. D is the number of directions, forward first where they are joined."""

    values: Tensor  # (B, S, D * H)  h_j of the top layer
    mask: Tensor  # (B, S) bool, True = real
    positions: Tensor  # (B, S) int64, from 1 in the sentence's own order; 0 = has none
    # Per layer, of (B, D * H): each direction's state after its last real token; () if the encoder is not recurrent.
    last: tuple[CellState, ...]
    segments: Tensor | None = None  # (B, S) int64, from 1 in the order in which they are read; 0 = has none


class Encoder(nn.Module, ABC):
    """Makes source states h_1 .. h_S of size `value_size`, and says what other parts may start from.

    Args:
        embedding: of source symbols (Y, E); or a front end that reads features, (B, S, F), and perhaps shortens them:
            ``front(features, mask, positions)`` gives vectors (B, S', E), and the mask and positions that belong to
            them, (B, S').
        value_size: V, of a source state.
        state: what a layer's last state is made of; None where layers have no last state.
    """

    layers: int
    bidirectional = False
    own_weights = 0  # tensors of (B, S, S) that it makes at least
    segmented = False  # reads segments: `forward` has a last argument more, (B, S) or None
    hidden_size: int

    def __init__(self, embedding: nn.Module, *, value_size: int, state: type[CellState] | None) -> None:
        super().__init__()
        self.embedding = embedding
        self.value_size = value_size
        self.state = state

    @property
    def shortening(self) -> int:
        """How many source positions one source state stands for: S' = ceil(S / shortening)."""
        return getattr(self.embedding, "shortening", 1)

    @abstractmethod
    def forward(self, source: Tensor, mask: Tensor, positions: Tensor) -> Encoded:
        """source (B, S) int64 tokens or (B, S, F) features, mask (B, S) bool, positions (B, S) int64."""

    def embed(self, source: Tensor, mask: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors (B, S', E) with their mask and positions; of tokens, S' = S."""
        if isinstance(self.embedding, nn.Embedding):
            return self.embedding(source), mask, positions
        return self.embedding(source, mask, positions)


@encoders.register("recurrent")
class Recurrent(Encoder):
    """L recurrent layers in one or two directions.

    h_j = [forward_j ; backward_j]: Bahdanau et al. 2015, section 3.2, where both directions share one embedding.

    Args:
        embedding: see `Encoder`.
        embedding_size: E.
        cell: the class of every layer.
        hidden_size: H, per direction.
        layers: L.
        bidirectional: D = 2 instead of 1.
        dropout: on the embeddings and on what passes from one layer to the next.
    """

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
        sizes = [embedding_size] + [self.value_size] * (layers - 1)
        self.forward_cells = nn.ModuleList(cell(size, hidden_size) for size in sizes)
        self.backward_cells = nn.ModuleList(cell(size, hidden_size) for size in sizes if bidirectional)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, mask: Tensor, positions: Tensor) -> Encoded:
        values, mask, positions = self.embed(source, mask, positions)
        lengths = mask.sum(1).clamp(min=1)
        assert self.state is not None
        last = []
        for layer in range(self.layers):
            values = self.dropout(values)
            runs = [_run(self.forward_cells[layer], values, lengths)]  # pyright: ignore[reportArgumentType]
            if self.bidirectional:
                order = _reversal(lengths, values.shape[1])
                outputs, state = _run(self.backward_cells[layer], _reorder(values, order), lengths)  # pyright: ignore
                runs.append((_reorder(outputs, order), state))
            values = torch.cat([outputs for outputs, _ in runs], dim=-1)  # h_j
            last.append(self.state(*(torch.cat(parts, -1) for parts in zip(*(s for _, s in runs), strict=True))))
        return Encoded(values, mask, positions, tuple(last))


def _run(cell: Cell, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, CellState]:
    return cell.unroll(inputs, cell.zero_state(inputs, inputs.shape[0]), lengths)


def _reversal(lengths: Tensor, width: int) -> Tensor:
    """(B, S): where to read from so that each row's real part is reversed and its padding stays behind."""
    steps = torch.arange(width, device=lengths.device)[None, :]
    mirrored = lengths[:, None] - 1 - steps
    return torch.where(mirrored >= 0, mirrored, steps)


def _reorder(values: Tensor, order: Tensor) -> Tensor:
    return values.gather(1, order.unsqueeze(-1).expand(-1, -1, values.shape[2]))
