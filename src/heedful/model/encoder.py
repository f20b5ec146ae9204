"""The encoder: source tokens become source states, right for every length in a padded batch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from heedful.model.cells import Cell, CellState


class Encoded(NamedTuple):
    """What the encoder knows of a batch. D is the number of directions, forward first where they are joined."""

    values: Tensor  # (B, S, D * H)  h_j of the top layer
    mask: Tensor  # (B, S) bool, True = real
    positions: Tensor  # (B, S) int64, from 1 in the sentence's own order; 0 = has none
    last: tuple[CellState, ...]  # per layer, of (B, D * H): each direction's state after its last real token


class Encoder(nn.Module):
    """Embeddings and L recurrent layers in one or two directions.

    h_j = [forward_j ; backward_j]: Bahdanau et al. 2015, section 3.2, where both directions share one embedding.

    Args:
        vocabulary_size: number of source symbols.
        embedding_size: E.
        cell: the class of every layer.
        hidden_size: H, per direction.
        layers: L.
        bidirectional: D = 2 instead of 1.
        dropout: on the embeddings and on what passes from one layer to the next.
    """

    def __init__(
        self,
        vocabulary_size: int,
        *,
        embedding_size: int,
        cell: type[Cell],
        hidden_size: int,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.layers = layers
        self.bidirectional = bidirectional
        self.directions = 2 if bidirectional else 1
        self.value_size = self.directions * hidden_size
        self.state = cell.state
        self.embedding = nn.Embedding(vocabulary_size, embedding_size)
        sizes = [embedding_size] + [self.value_size] * (layers - 1)
        self.forward_cells = nn.ModuleList(cell(size, hidden_size) for size in sizes)
        self.backward_cells = nn.ModuleList(cell(size, hidden_size) for size in sizes if bidirectional)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor, positions: Tensor) -> Encoded:
        """tokens (B, S) int64, mask (B, S) bool, positions (B, S) int64."""
        lengths = mask.sum(1).clamp(min=1)
        values = self.embedding(tokens)
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
