"""Recurrent cells that can be run over a whole sequence at once, or one step at a time from parts.

A step is three parts, so that a decoder can take out of its loop what does not depend on the loop:
``input_gates`` (linear in the input; of the first columns alone, with `input_columns` for the rest),
``recurrent_gates`` (linear in the previous state), ``advance`` (everything else).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.attention.products import Linear, linear
from heedful.registry import Registry

cells: Registry[Cell] = Registry("cell")


class HiddenState(NamedTuple):
    """The state of a GRU layer."""

    hidden: Tensor  # (..., H)


class HiddenAndCell(NamedTuple):
    """The state of an LSTM layer."""

    hidden: Tensor  # (..., H)
    cell: Tensor  # (..., H)


CellState = HiddenState | HiddenAndCell


_SHUT = 1e4
"""The sigmoid of it is 1, and of its negative 0, in every type, the half precisions (up to 65,504) among them."""


class Cell(nn.Module, ABC):
    """One recurrent layer in one direction. States and gates may have any leading axes.

    Args:
        input_size: I.
        hidden_size: H.
    """

    state: type[HiddenState] | type[HiddenAndCell] = HiddenState

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size

    @abstractmethod
    def input_weight(self) -> tuple[Tensor, Tensor]:
        """W (G, I) and b (G): what the inputs are multiplied by."""

    @abstractmethod
    def recurrent_weight(self) -> tuple[Tensor, Tensor | None]:
        """U (G', H) and its bias: what the previous hidden state is multiplied by."""

    @abstractmethod
    def advance(self, input_gates: Tensor, recurrent_gates: Tensor, state: CellState) -> CellState:
        """The new state, from (..., G), (..., G') and the previous state."""

    @abstractmethod
    def unroll(self, inputs: Tensor, state: CellState, lengths: Tensor | None = None) -> tuple[Tensor, CellState]:
        """All steps at once: inputs (B, T, I), state of (B, H) -> outputs (B, T, H) and the state after the last step,
        or after step ``lengths[b]`` of each row. Outputs behind a row's length are of no meaning."""

    def input_gates(self, inputs: Tensor) -> Tensor:
        """The share of the gates that comes from the first ``inputs.shape[-1]`` columns of the input, and the bias."""
        weight, bias = self.input_weight()
        return linear(inputs, weight[:, : inputs.shape[-1]], bias)

    def input_columns(self, start: int) -> Tensor:
        """What the columns of the input from `start` on are multiplied by: (G, I - start)."""
        return self.input_weight()[0][:, start:]

    def recurrent_gates(self, state: CellState) -> Tensor:
        """The share of the gates that comes from the previous hidden state."""
        weight, offset = self.recurrent_weight()
        return linear(state.hidden, weight, offset)

    def zero_state(self, like: Tensor, *leading: int) -> CellState:
        """A state of zeros, (*leading, H), of the dtype and device of `like`."""
        return self.state(*(like.new_zeros(*leading, self.hidden_size) for _ in self.state._fields))


class _Library(Cell):
    """A cell whose parameters and whose run over all steps are PyTorch's own."""

    rnn: nn.GRU | nn.LSTM

    def input_weight(self) -> tuple[Tensor, Tensor]:
        return self.rnn.weight_ih_l0, self.rnn.bias_ih_l0  # pyright: ignore[reportReturnType]

    def recurrent_weight(self) -> tuple[Tensor, Tensor]:
        return self.rnn.weight_hh_l0, self.rnn.bias_hh_l0  # pyright: ignore[reportReturnType]

    def _run(self, inputs: Tensor, state: CellState) -> tuple[Tensor, list[Tensor]]:
        """PyTorch's own loop over all steps: outputs, and the parts of the last state."""
        outputs, last = self.rnn(inputs, _first(state))
        return outputs, [part.squeeze(0) for part in (last if isinstance(last, tuple) else (last,))]


@cells.register("gru")
class GRU(_Library):
    """PyTorch's GRU (Cho et al. 2014, with the reset gate after the product):

    r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), n = tanh(W_n x + r * (U_n h)), h' = (1 - z) * n + z * h,
    each product with a bias. z keeps the OLD state: the other way round than in Bahdanau et al. 2015 (`PaperGRU`).
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.rnn = nn.GRU(input_size, hidden_size, batch_first=True)

    def advance(self, input_gates: Tensor, recurrent_gates: Tensor, state: CellState) -> HiddenState:
        input_reset, input_update, input_new = input_gates.chunk(3, dim=-1)
        recurrent_reset, recurrent_update, recurrent_new = recurrent_gates.chunk(3, dim=-1)
        reset = torch.sigmoid(input_reset + recurrent_reset)  # r
        update = torch.sigmoid(input_update + recurrent_update)  # z
        new = torch.tanh(input_new + reset * recurrent_new)  # n
        return HiddenState(blend(new, state.hidden, update))  # (1 - z) n + z h

    def unroll(self, inputs: Tensor, state: CellState, lengths: Tensor | None = None) -> tuple[Tensor, HiddenState]:
        outputs, last = self._run(inputs, state)
        if lengths is not None:
            return outputs, HiddenState(_at(outputs, lengths))
        return outputs, HiddenState(last[0])


@cells.register("lstm")
class LSTM(_Library):
    """PyTorch's LSTM: i, f, o = sigmoid(W x + U h), g = tanh(W_g x + U_g h), c' = f * c + i * g, h' = o * tanh(c'),
    each product with a bias, no peepholes."""

    state = HiddenAndCell

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.rnn = nn.LSTM(input_size, hidden_size, batch_first=True)

    def advance(self, input_gates: Tensor, recurrent_gates: Tensor, state: CellState) -> HiddenAndCell:
        assert isinstance(state, HiddenAndCell)
        i, f, g, o = (input_gates + recurrent_gates).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * state.cell + torch.sigmoid(i) * torch.tanh(g)  # c'
        return HiddenAndCell(torch.sigmoid(o) * torch.tanh(cell), cell)  # h'

    def unroll(self, inputs: Tensor, state: CellState, lengths: Tensor | None = None) -> tuple[Tensor, HiddenAndCell]:
        if lengths is not None:
            # oneDNN's LSTM has no float16.
            half = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.float16
            run = self._held if inputs.device.type == "cpu" and not half else self._packed
            return run(inputs, state, lengths)
        outputs, last = self._run(inputs, state)
        return outputs, HiddenAndCell(*last)

    def _held(self, inputs: Tensor, state: CellState, lengths: Tensor) -> tuple[Tensor, HiddenAndCell]:
        """Rows of unequal lengths in PyTorch's own loop, which tells of the cells only what they are after the last
        step: so behind a row's end its cell is held, c' = 1 * c + 0 * g, by one more input, which is 1 there and 0
        before, and weighs so much in f and i that their sigmoids are 1 and 0. On a CPU it takes half the time of
        packing, for which PyTorch has no fast kernels there."""
        behind = torch.arange(inputs.shape[1])[None, :, None] >= lengths[:, None, None]  # (B, T, 1)
        inputs = torch.cat([inputs.masked_fill(behind, 0.0), behind.to(inputs.dtype)], dim=-1)
        weight, bias = self.input_weight()
        hold = weight.new_tensor([-_SHUT, _SHUT, 0.0, 0.0]).repeat_interleave(self.hidden_size)  # of i, f, g, o
        recurrent_weight, recurrent_bias = self.recurrent_weight()
        parameters = [torch.cat([weight, hold[:, None]], dim=1), recurrent_weight, bias, recurrent_bias]
        outputs, _, cell = torch.lstm(
            inputs, _first(state), parameters, True, 1, 0.0, self.training, bidirectional=False, batch_first=True
        )
        return outputs, HiddenAndCell(_at(outputs, lengths), cell.squeeze(0))

    def _packed(self, inputs: Tensor, state: CellState, lengths: Tensor) -> tuple[Tensor, HiddenAndCell]:
        """The same by PyTorch's packed sequences."""
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.rnn(packed, _first(state))
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])
        return outputs, HiddenAndCell(*(part.squeeze(0) for part in last))


@cells.register("paper_gru")
class PaperGRU(Cell):
    """The gated unit of Bahdanau et al. 2015, appendix A.1.1 and A.2:

    z = sigmoid(W_z x + U_z s), r = sigmoid(W_r x + U_r s), s~ = tanh(W x + U (r * s)), s' = (1 - z) * s + z * s~,
    one bias each. Other than in PyTorch's GRU, z weighs the NEW state, and r comes before the product with U.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.inputs = Linear(input_size, 3 * hidden_size)  # W_z, W_r, W (and C_z, C_r, C) one above the other
        self.gates = Linear(hidden_size, 2 * hidden_size, bias=False)  # U_z, U_r
        self.candidate = Linear(hidden_size, hidden_size, bias=False)  # U

    def input_weight(self) -> tuple[Tensor, Tensor]:
        return self.inputs.weight, self.inputs.bias

    def recurrent_weight(self) -> tuple[Tensor, None]:
        return self.gates.weight, None

    def advance(self, input_gates: Tensor, recurrent_gates: Tensor, state: CellState) -> HiddenState:
        input_gate, input_candidate = input_gates.split([2 * self.hidden_size, self.hidden_size], dim=-1)
        update, reset = torch.sigmoid(input_gate + recurrent_gates).chunk(2, dim=-1)  # z, r
        candidate = torch.tanh(input_candidate + self.candidate(reset * state.hidden))  # s~
        return HiddenState(blend(state.hidden, candidate, update))  # (1 - z) s + z s~

    def unroll(self, inputs: Tensor, state: CellState, lengths: Tensor | None = None) -> tuple[Tensor, HiddenState]:
        outputs = []
        for gates in self.input_gates(inputs).unbind(1):
            state = self.advance(gates, self.recurrent_gates(state), state)
            outputs.append(state.hidden)
        stacked = torch.stack(outputs, dim=1)
        return stacked, HiddenState(stacked[:, -1] if lengths is None else _at(stacked, lengths))


def blend(first: Tensor, second: Tensor, weight: Tensor) -> Tensor:
    """(1 - weight) * first + weight * second; under mixed precision the operands may differ in type."""
    if first.dtype == second.dtype == weight.dtype:
        return torch.lerp(first, second, weight)
    return first + weight * (second - first)


def _first(state: CellState) -> Any:
    """The state before the first step as PyTorch's modules take it."""
    parts = [part.unsqueeze(0).contiguous() for part in state]
    return tuple(parts) if len(parts) > 1 else parts[0]


def _at(outputs: Tensor, lengths: Tensor) -> Tensor:
    """(B, T, H) -> (B, H): each row's output at its own last step."""
    return outputs[torch.arange(outputs.shape[0], device=outputs.device), lengths - 1]
