"""Where the decoder starts: its layers' states before the first step.

For an LSTM, cells are started in the same way as hidden states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from heedful.attention.products import Linear
from heedful.errors import SizeError
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded, Encoder
from heedful.model.stack import LayerStates
from heedful.registry import Registry

starts: Registry[Start] = Registry("start")

_NO_LAST = (
    "start {!r} needs an encoder whose layers have a last state, and this one's have none; 'learned_mean' takes any"
)


class Start(nn.Module, ABC):
    """Makes the decoder's first states from the encoder's.

    Args:
        encoder: whose states it starts from (only its sizes are read).
        cell: the class of the decoder's layers.
        hidden_size: H', of the decoder's layers.
        layers: the number of the decoder's layers.
    """

    def __init__(self, encoder: Encoder, *, cell: type[Cell], hidden_size: int, layers: int) -> None:
        super().__init__()
        self.state = cell.state
        self.hidden_size = hidden_size
        self.layers = layers

    @abstractmethod
    def forward(self, encoded: Encoded) -> LayerStates:
        """One state of (B, 1, H') per decoder layer."""

    def _each(self, make: Callable[[int, int], Tensor]) -> LayerStates:
        """``make(layer, part)`` -> (B, H') for each layer and each part of its state."""
        parts = range(len(self.state._fields))
        return tuple(self.state(*(make(layer, part).unsqueeze(1) for part in parts)) for layer in range(self.layers))

    def _projections(self, size: int) -> nn.ModuleList:
        """One matrix per layer and part of its state."""
        return nn.ModuleList(Linear(size, self.hidden_size) for _ in range(self.layers) for _ in self.state._fields)

    def _project(self, projections: nn.ModuleList, source: Callable[[int], Tensor]) -> LayerStates:
        """tanh(W source(part) + b), with its own W for each layer and part."""
        width = len(self.state._fields)
        return self._each(lambda layer, part: torch.tanh(projections[layer * width + part](source(part))))


@starts.register("zero")
class Zero(Start):
    """All zeros."""

    def forward(self, encoded: Encoded) -> LayerStates:
        return self._each(lambda layer, part: encoded.values.new_zeros(encoded.values.shape[0], self.hidden_size))


@starts.register("last")
class Last(Start):
    """Each layer starts at the last state of the encoder's layer of the same number: Luong et al. 2015, and Sutskever
    et al. 2014. Of a bidirectional encoder, the two directions' last states side by side.

    Raises:
        SizeError: the encoder's layers, sizes or kind of cell are not the decoder's.
    """

    def __init__(self, encoder: Encoder, *, cell: type[Cell], hidden_size: int, layers: int) -> None:
        super().__init__(encoder, cell=cell, hidden_size=hidden_size, layers=layers)
        if encoder.state is None:
            raise SizeError(_NO_LAST.format("last"))
        got = (encoder.layers, encoder.value_size, encoder.state)
        if got != (layers, hidden_size, cell.state):
            raise SizeError(
                f"start 'last' needs an encoder like the decoder, {layers} layers of {hidden_size} with "
                f"{'+'.join(cell.state._fields)}; got {got[0]} layers of {got[1]} with {'+'.join(got[2]._fields)}; "
                "'learned_last' takes any"
            )

    def forward(self, encoded: Encoded) -> LayerStates:
        return self._each(lambda layer, part: encoded.last[layer][part])


@starts.register("mean")
class Mean(Start):
    """Every layer starts at the mean of the real source states (an LSTM's cells too).

    Raises:
        SizeError: a source state is not of the decoder's size.
    """

    def __init__(self, encoder: Encoder, *, cell: type[Cell], hidden_size: int, layers: int) -> None:
        super().__init__(encoder, cell=cell, hidden_size=hidden_size, layers=layers)
        if encoder.value_size != hidden_size:
            raise SizeError(
                f"start 'mean' needs source states of the decoder's size {hidden_size}, got {encoder.value_size}; "
                "'learned_mean' takes any"
            )

    def forward(self, encoded: Encoded) -> LayerStates:
        mean = masked_mean(encoded)
        return self._each(lambda layer, part: mean)


@starts.register("learned_last")
class LearnedLast(Start):
    """tanh(W h + b) of the top encoder layer's last state, with its own W for each decoder layer (an LSTM's cells:
    of the encoder's cell where it has one)."""

    def __init__(self, encoder: Encoder, *, cell: type[Cell], hidden_size: int, layers: int) -> None:
        super().__init__(encoder, cell=cell, hidden_size=hidden_size, layers=layers)
        if encoder.state is None:
            raise SizeError(_NO_LAST.format("learned_last"))
        self.projections = self._projections(encoder.value_size)

    def forward(self, encoded: Encoded) -> LayerStates:
        top = encoded.last[-1]
        return self._project(self.projections, lambda part: top[min(part, len(top) - 1)])


@starts.register("learned_mean")
class LearnedMean(Start):
    """tanh(W h + b) of the mean of the real source states, with its own W for each decoder layer and part."""

    def __init__(self, encoder: Encoder, *, cell: type[Cell], hidden_size: int, layers: int) -> None:
        super().__init__(encoder, cell=cell, hidden_size=hidden_size, layers=layers)
        self.projections = self._projections(encoder.value_size)

    def forward(self, encoded: Encoded) -> LayerStates:
        mean = masked_mean(encoded)
        return self._project(self.projections, lambda part: mean)


@starts.register("backward_first")
class BackwardFirst(Start):
    """s_0 = tanh(W_s h_1 + b_s) of the top layer's BACKWARD state at the first source symbol: Bahdanau et al. 2015,
    appendix A.2.2. That state has read the whole source from its end.

    Raises:
        SizeError: the encoder has no backward direction.
    """

    def __init__(self, encoder: Encoder, *, cell: type[Cell], hidden_size: int, layers: int) -> None:
        super().__init__(encoder, cell=cell, hidden_size=hidden_size, layers=layers)
        if not encoder.bidirectional:
            raise SizeError("start 'backward_first' needs an encoder that reads backward too, and this one does not")
        self.projections = self._projections(encoder.hidden_size)  # W_s

    def forward(self, encoded: Encoded) -> LayerStates:
        backward = encoded.values[:, 0, encoded.values.shape[2] // 2 :]  # the backward state at word 1
        return self._project(self.projections, lambda part: backward)


def masked_mean(encoded: Encoded) -> Tensor:
    """(B, S, V) -> (B, V): the mean over real positions; zeros if there are none."""
    real = encoded.mask.unsqueeze(-1)
    return encoded.values.masked_fill(~real, 0.0).sum(1) / real.sum(1).clamp(min=1)
