"""Fusion: when the question is asked, and where the answer goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from heedful.attention import Memory
from heedful.attention.products import linear
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded
from heedful.model.stack import LayerStates, Stack
from heedful.model.steps import Ahead, State, Steps
from heedful.registry import Registry

fusions: Registry[Fusion] = Registry("fusion")


class Fusion(nn.Module, ABC):
    """The decoder's layers and how they use the source. ``unroll`` equals repeated ``step``.

    Sizes that other parts read: `context_size` (C, of c_t) and `attentional_size` (of h~_t; None = there is none).

    Args:
        context_size: C.
        stack: the recurrent layers; None where there are none, in which case `initial` is the fusion's own.
    """

    row_convention = "predicted"  # the word that a row of weights belongs to; "input" = y_{t-1}
    own_weights = 0  # tensors of (B, T, T) that `unroll` makes at least
    attentional_size: int | None = None
    default_readout = "state_context"

    stack: Stack

    def __init__(self, *, context_size: int, stack: Stack | None = None) -> None:
        super().__init__()
        self.context_size = context_size
        self.recurrent = stack is not None  # has layers with a state before each step, which a start makes at first
        if stack is not None:
            self.stack = stack

    @abstractmethod
    def prepare(self, encoded: Encoded) -> Memory | FixedVector:
        """All that can be computed before the first step: once a sentence."""

    def initial(self, layers: LayerStates, memory: Memory | FixedVector) -> State:
        """The state before the first step, from the layers' start; () where the fusion is not recurrent."""
        hidden = layers[0].hidden
        step = torch.zeros(hidden.shape[:2], dtype=torch.int64, device=hidden.device)
        fed = None if not self._feeds() else hidden.new_zeros(*hidden.shape[:2], self.attentional_size or 0)
        attention = getattr(self, "attention", None)
        return State(layers, fed, step, None if attention is None else attention.begin(memory))

    @abstractmethod
    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        """All steps of teacher forcing: embeddings (B, T, E), a state of K = 1."""

    @abstractmethod
    def step(
        self, embedding: Tensor, memory: Memory | FixedVector, state: State, share: Tensor | None = None
    ) -> tuple[Steps, State]:
        """One step of K hypotheses a sentence: embedding (B, K, E), a state of (B, K, ...).

        `share` (B, K, G), what `shares` makes of y_{t-1}, is given where the state has what a search computed ahead.
        """

    def shares(self, embeddings: Tensor) -> Tensor:
        """What `step` takes of its words alone, (..., E) -> (..., G)."""
        return self.stack.first.input_gates(embeddings)  # W E y + b

    def ahead(self, memory: Memory | FixedVector, shares: Tensor, *, hypotheses: int) -> tuple[Any, Ahead]:
        """For a search over so many hypotheses a sentence: the memory, and all that `step` can have before its first
        call; `shares` (Y, G) are those of all symbols."""
        return memory, Ahead(shares)

    def _gates(
        self, embedding: Tensor, share: Tensor | None, read: Tensor, state: State, ready: Tensor | None = None
    ) -> Tensor:
        """The first layer's input gates, W E y_{t-1} + b + C c, where it reads c too; `ready` is C c if it is known."""
        if share is None or state.ahead is None:
            return self.stack.first.input_gates(torch.cat([embedding, read], dim=-1))
        return share + (linear(read, _there(state.ahead.columns)) if ready is None else ready)

    def _feeds(self) -> bool:
        return False


class FixedVector(NamedTuple):
    """The memory of a model without attention."""

    vector: Tensor  # (B, 1, V)


def projected(values: Tensor, weight: Tensor) -> Tensor:
    """[h_j; W h_j], so that attention answers [c_t; W c_t]: by linearity W sum_j a_j h_j = sum_j a_j (W h_j)."""
    return torch.cat([values, linear(values, weight)], dim=-1)


def projecting_pays(memory: Memory, hypotheses: int) -> bool:
    """Whether W h_j of all positions takes less time than W c_t of all hypotheses and steps: as measured, where there
    are several hypotheses and few positions, and no windows, for which whole rows would be copied."""
    *_, positions, size = memory.values.shape
    # Heads have another matrix in between, and of two memories the first is not all of c.
    plain = memory.places is None and memory.values.dim() == 3 and memory.second is None
    return hypotheses > 1 and 12 * positions <= size and plain


def answered(answer: Tensor, size: int) -> tuple[Tensor, Tensor | None]:
    """c_t, which has so many numbers, and W c_t where the values are `projected`."""
    if answer.shape[-1] == size:
        return answer, None
    return answer[..., :size], answer[..., size:]


def _there(part: Tensor | None) -> Tensor:
    assert part is not None
    return part


@fusions.register("none")
class NoAttention(Fusion):
    """The fixed vector that attention replaced: c = the encoder's last state, the same at every step.

    s_t = cell([y_{t-1}; c], s_{t-1}): Cho et al. 2014; the RNNencdec of Bahdanau et al. 2015. With
    ``every_step=False`` the decoder sees c in its start alone: Sutskever et al. 2014.
    """

    def __init__(
        self,
        *,
        embedding_size: int,
        value_size: int,
        cell: type[Cell],
        hidden_size: int,
        layers: int,
        dropout: float = 0.0,
        every_step: bool = True,
    ) -> None:
        context_size = value_size if every_step else 0
        stack = Stack(
            cell,
            input_size=embedding_size + context_size,
            hidden_size=hidden_size,
            layers=layers,
            dropout=dropout,
        )
        super().__init__(context_size=context_size, stack=stack)

    def prepare(self, encoded: Encoded) -> FixedVector:
        return FixedVector(encoded.last[-1].hidden[:, None, : self.context_size])  # c = h_Tx, or nothing

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        contexts = self._contexts(embeddings, memory)
        outputs, _ = self.stack.unroll(torch.cat([embeddings, contexts], dim=-1), state.layers)
        return Steps(embeddings, self.stack.outputs_before(outputs, state.layers), outputs, contexts)

    def ahead(self, memory: Memory | FixedVector, shares: Tensor, *, hypotheses: int) -> tuple[FixedVector, Ahead]:
        assert isinstance(memory, FixedVector)
        columns = self.stack.first.input_columns(self.stack.first.input_size - self.context_size)  # C
        return FixedVector(projected(memory.vector, columns)), Ahead(shares)

    def step(
        self, embedding: Tensor, memory: Memory | FixedVector, state: State, share: Tensor | None = None
    ) -> tuple[Steps, State]:
        contexts, context_gates = answered(self._contexts(embedding, memory), self.context_size)  # c, C c
        gates = self._gates(embedding, share, contexts, state, context_gates)
        layers = self.stack.advance(gates, state.layers)
        steps = Steps(embedding, state.layers[-1].hidden, layers[-1].hidden, contexts)
        return steps, state._replace(layers=layers, step=state.step + 1)

    @staticmethod
    def _contexts(embeddings: Tensor, memory: Memory | FixedVector) -> Tensor:
        assert isinstance(memory, FixedVector)
        return memory.vector.expand(-1, embeddings.shape[1], -1)
