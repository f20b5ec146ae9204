"""Fusion: when the question is asked, and where the answer goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from heedful.attention import Memory
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded
from heedful.model.stack import LayerStates, Stack
from heedful.model.steps import State, Steps
from heedful.registry import Registry

fusions: Registry[Fusion] = Registry("fusion")


class Fusion(nn.Module, ABC):
    """Recurrent layers and how they use the source. ``unroll`` equals repeated ``step``.

    Sizes that other parts read: `context_size` (C, of c_t) and `attentional_size` (of h~_t; None = there is none).
    """

    row_convention = "predicted"  # the word that a row of weights belongs to; "input" = y_{t-1}
    attentional_size: int | None = None
    default_readout = "state_context"

    def __init__(self, *, context_size: int, stack: Stack) -> None:
        super().__init__()
        self.context_size = context_size
        self.stack = stack

    @abstractmethod
    def prepare(self, encoded: Encoded) -> Memory | FixedVector:
        """All that can be computed before the first step: once a sentence."""

    def initial(self, layers: LayerStates, memory: Memory | FixedVector) -> State:
        """The state before the first step, from the layers' start."""
        hidden = layers[0].hidden
        step = torch.zeros(hidden.shape[:2], dtype=torch.int64, device=hidden.device)
        fed = None if not self._feeds() else hidden.new_zeros(*hidden.shape[:2], self.attentional_size or 0)
        attention = getattr(self, "attention", None)
        return State(layers, fed, step, None if attention is None else attention.begin(memory))

    @abstractmethod
    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        """All steps of teacher forcing: embeddings (B, T, E), a state of K = 1."""

    @abstractmethod
    def step(self, embedding: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        """One step of K hypotheses a sentence: embedding (B, K, E), a state of (B, K, ...)."""

    def _feeds(self) -> bool:
        return False


class FixedVector(NamedTuple):
    """The memory of a model without attention."""

    vector: Tensor  # (B, 1, V)


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

    def step(self, embedding: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        contexts = self._contexts(embedding, memory)
        gates = self.stack.first.input_gates(torch.cat([embedding, contexts], dim=-1))
        layers = self.stack.advance(gates, state.layers)
        steps = Steps(embedding, state.layers[-1].hidden, layers[-1].hidden, contexts)
        return steps, State(layers, None, state.step + 1)

    @staticmethod
    def _contexts(embeddings: Tensor, memory: Memory | FixedVector) -> Tensor:
        assert isinstance(memory, FixedVector)
        return memory.vector.expand(-1, embeddings.shape[1], -1)
