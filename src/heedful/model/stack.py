"""Several recurrent layers on top of each other."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from heedful.attention.factor import Factor
from heedful.model.cells import Cell, CellState

LayerStates = tuple[CellState, ...]


class Stack(nn.Module):
    """L layers in one direction; the output of each is the input of the next.

    Args:
        cell: the class of every layer.
        input_size: of the first layer.
        hidden_size: H, of all layers.
        layers: L.
        dropout: on what passes from one layer to the next.
    """

    def __init__(
        self, cell: type[Cell], *, input_size: int, hidden_size: int, layers: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (layers - 1)
        self.cells = nn.ModuleList(cell(size, hidden_size) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    @property
    def first(self) -> Cell:
        return self.cells[0]  # pyright: ignore[reportReturnType]

    @property
    def top(self) -> Cell:
        return self.cells[-1]  # pyright: ignore[reportReturnType]

    def unroll(self, inputs: Tensor, states: LayerStates) -> tuple[Tensor, LayerStates]:
        """inputs (B, T, I), states of (B, 1, H) -> top outputs (B, T, H), last states of (B, 1, H)."""
        last = []
        for index, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            inputs = self.dropout(inputs) if index else inputs
            flat = type(state)(*(part.squeeze(1) for part in state))
            inputs, state = cell.unroll(inputs, flat)  # pyright: ignore[reportCallIssue]
            last.append(type(state)(*(part.unsqueeze(1) for part in state)))
        return inputs, tuple(last)

    def recurrent(self, *, batch: int, steps: int) -> list[Factor]:
        """What a loop over `steps` steps computes each layer's recurrent gates with."""
        weights = [cell.recurrent_weight() for cell in self.cells]  # pyright: ignore[reportCallIssue]
        return [Factor(weight, bias, batch=batch, steps=steps) for weight, bias in weights]

    def advance(
        self, gates: Tensor, states: LayerStates, recurrent_gates: Sequence[Factor] | None = None
    ) -> LayerStates:
        """One step from the first layer's input gates (..., G); a loop gives what `recurrent` made."""
        after: list[CellState] = []
        for index, (cell, state) in enumerate(zip(self.cells, states, strict=True)):
            if index:
                gates = cell.input_gates(self.dropout(after[-1].hidden))  # pyright: ignore[reportCallIssue]
            recurrent = recurrent_gates[index](state.hidden) if recurrent_gates else cell.recurrent_gates(state)  # pyright: ignore
            after.append(cell.advance(gates, recurrent, state))  # pyright: ignore[reportCallIssue]
        return tuple(after)

    def outputs_before(self, outputs: Tensor, states: LayerStates) -> Tensor:
        """Top outputs (B, T, H) shifted by one: the top state BEFORE each step; `states` are those of the start."""
        return torch.cat([states[-1].hidden, outputs[:, :-1]], dim=1)
