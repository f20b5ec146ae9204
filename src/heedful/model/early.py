"""Early fusion: attention is asked before the step, and its answer is the step's input."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from heedful.attention import Attention, Memory
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded
from heedful.model.fusion import FixedVector, Fusion, fusions
from heedful.model.stack import Stack
from heedful.model.steps import State, Steps, join


@fusions.register("early")
class Early(Fusion):
    """Ask first, then step: Bahdanau et al. 2015, section 3.1.

    c_t = attention(s_{t-1}), s_t = cell([y_{t-1}; c_t], s_{t-1}). With several layers the top state asks and the
    context enters the first. A row of weights belongs to the word that is predicted, y_t.
    """

    def __init__(
        self,
        attention: Attention,
        *,
        embedding_size: int,
        value_size: int,
        cell: type[Cell],
        hidden_size: int,
        layers: int,
        dropout: float = 0.0,
    ) -> None:
        stack = Stack(
            cell,
            input_size=embedding_size + value_size,
            hidden_size=hidden_size,
            layers=layers,
            dropout=dropout,
        )
        super().__init__(context_size=value_size, stack=stack)
        self.embedding_size = embedding_size
        self.attention = attention

    def prepare(self, encoded: Encoded) -> Memory:
        return self.attention.prepare(encoded.values, encoded.mask, encoded.positions)

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        shares = self.stack.first.input_gates(embeddings)  # W E y_{t-1}, all steps in one product
        weights = self._weights()
        steps = []
        for embedding, share in zip(embeddings.split(1, dim=1), shares.split(1, dim=1), strict=True):
            step, state = self._step(embedding, share, memory, state, weights)
            steps.append(step)
        return join(steps, embeddings)

    def step(self, embedding: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        share = self.stack.first.input_gates(embedding)
        return self._step(embedding, share, memory, state, self._weights())

    def _weights(self) -> tuple[Tensor | None, Tensor]:
        """W_a and C, once for all steps: parts of larger matrices, whose gradients would be padded in each step."""
        return self.attention.score.query_weight(), self.stack.first.input_columns(self.embedding_size)

    def _step(
        self,
        embedding: Tensor,
        share: Tensor,
        memory: Memory | FixedVector,
        state: State,
        weights: tuple[Tensor | None, Tensor],
    ) -> tuple[Steps, State]:
        assert isinstance(memory, Memory)
        query_weight, context_weight = weights
        top = state.layers[-1].hidden  # s_{t-1}
        attended = self.attention.attend(top, memory, state.step, query_weight)  # c_t, alpha_t
        gates = share + functional.linear(attended.context, context_weight)  # W E y_{t-1} + C c_t
        layers = self.stack.advance(gates, state.layers)  # s_t
        steps = Steps(embedding, top, layers[-1].hidden, attended.context, None, attended.weights)
        return steps, State(layers, None, state.step + 1)
