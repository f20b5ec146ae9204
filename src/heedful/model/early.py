"""Early fusion: attention is asked before the step, and its answer is the step's input."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from heedful.attention import Attended, Attention, Memory
from heedful.attention.factor import Factor
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded
from heedful.model.fusion import FixedVector, Fusion, answered, fusions, projected, projecting_pays
from heedful.model.stack import Stack
from heedful.model.steps import Ahead, State, Steps, join


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
        return self.attention.prepare(encoded.values, encoded.mask, encoded.positions, segments=encoded.segments)

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        assert isinstance(memory, Memory)
        batch, count, _ = embeddings.shape
        shares = self.stack.first.input_gates(embeddings)  # W E y_{t-1}, all steps in one product
        ask = self.attention.asked(memory, steps=count)
        context_gates = Factor(self.stack.first.input_columns(self.embedding_size), batch=batch, steps=count)  # C
        recurrent_gates = self.stack.recurrent(batch=batch, steps=count)
        steps = []
        for embedding, share in zip(embeddings.split(1, dim=1), shares.split(1, dim=1), strict=True):
            attended = ask(state.layers[-1].hidden, steps=state.step, carry=state.carry)
            gates = share + context_gates(attended.context)  # W E y_{t-1} + C c_t
            step, state = self._step(embedding, attended, gates, state, recurrent_gates)
            steps.append(step)
        return join(steps, embeddings)

    def ahead(self, memory: Memory | FixedVector, shares: Tensor, *, hypotheses: int) -> tuple[Memory, Ahead]:
        assert isinstance(memory, Memory)
        columns = self.stack.first.input_columns(self.embedding_size)  # C
        if projecting_pays(memory, hypotheses):
            return memory.with_values(projected(memory.values, columns)), Ahead(shares)
        return memory, Ahead(shares, columns.contiguous())

    def step(
        self, embedding: Tensor, memory: Memory | FixedVector, state: State, share: Tensor | None = None
    ) -> tuple[Steps, State]:
        assert isinstance(memory, Memory)
        attended = self.attention(state.layers[-1].hidden, memory, steps=state.step, carry=state.carry)
        context, context_gates = answered(attended.context, self.context_size)  # c_t, C c_t
        gates = self._gates(embedding, share, context, state, context_gates)
        return self._step(embedding, attended._replace(context=context), gates, state, None)

    def _step(
        self,
        embedding: Tensor,
        attended: Attended,
        gates: Tensor,
        state: State,
        recurrent_gates: Sequence[Factor] | None,
    ) -> tuple[Steps, State]:
        """From c_t and alpha_t."""
        before = state.layers[-1].hidden  # s_{t-1}
        layers = self.stack.advance(gates, state.layers, recurrent_gates)
        steps = Steps(embedding, before, layers[-1].hidden, attended.context, None, attended.weighting)  # s_t
        return steps, state._replace(layers=layers, step=state.step + 1, carry=attended.carry)
