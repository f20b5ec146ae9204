"""Fusion: when the question is asked, and where the answer goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.attention import Attention, Memory
from heedful.errors import RecipeError
from heedful.model.cells import Cell
from heedful.model.encoder import Encoded
from heedful.model.stack import LayerStates, Stack
from heedful.model.steps import State, Steps, join
from heedful.registry import Registry

fusions: Registry[Fusion] = Registry("fusion")


class Fusion(nn.Module, ABC):
    """Recurrent layers and how they use the source. ``unroll`` equals repeated ``step``.

    Sizes that other parts read: `context_size` (C, of c_t) and `attentional_size` (of h~_t; None = there is none).
    """

    row_convention = "predicted"  # the word that a row of weights belongs to; "input" = y_{t-1}
    attentional_size: int | None = None

    def __init__(self, *, context_size: int, stack: Stack) -> None:
        super().__init__()
        self.context_size = context_size
        self.stack = stack

    @abstractmethod
    def prepare(self, encoded: Encoded) -> Memory | FixedVector:
        """All that can be computed before the first step: once a sentence."""

    def initial(self, layers: LayerStates) -> State:
        """The state before the first step, from the layers' start."""
        hidden = layers[0].hidden
        step = torch.zeros(hidden.shape[:2], dtype=torch.int64, device=hidden.device)
        fed = None if not self._feeds() else hidden.new_zeros(*hidden.shape[:2], self.attentional_size or 0)
        return State(layers, fed, step)

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
        product = self._product()
        steps = []
        for embedding, share in zip(embeddings.split(1, dim=1), shares.split(1, dim=1), strict=True):
            step, state = self._step(embedding, share, memory, state, product)
            steps.append(step)
        return join(steps)

    def step(self, embedding: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        share = self.stack.first.input_gates(embedding)
        return self._step(embedding, share, memory, state, self._product())

    def _product(self) -> tuple[Tensor, Tensor | None, int]:
        """[W_a; U], what the top state is multiplied by, as one matrix; its bias; the rows of W_a."""
        weight, bias = self.stack.top.recurrent_weight()
        query_weight = self.attention.score.query_weight()
        if query_weight is None:
            return weight, bias, 0
        rows = query_weight.shape[0]
        bias = None if bias is None else functional.pad(bias, (rows, 0))
        return torch.cat([query_weight, weight]), bias, rows

    def _step(
        self,
        embedding: Tensor,
        share: Tensor,
        memory: Memory | FixedVector,
        state: State,
        product: tuple[Tensor, Tensor | None, int],
    ) -> tuple[Steps, State]:
        assert isinstance(memory, Memory)
        weight, bias, rows = product
        top = state.layers[-1].hidden  # s_{t-1}
        both = functional.linear(top, weight, bias)  # [W_a; U] s_{t-1}
        queries = both[..., :rows] if rows else top
        context, weights = self.attention.attend(top, queries, memory, state.step)  # c_t, alpha_t
        gates = share + self.stack.first.input_gates(context, start=self.embedding_size, bias=False)  # + C c_t
        layers = self.stack.advance(gates, state.layers, both[..., rows:])  # s_t
        steps = Steps(embedding, top, layers[-1].hidden, context, None, weights)
        return steps, State(layers, None, state.step + 1)


@fusions.register("late")
class Late(Fusion):
    """Step first, then ask: Luong et al. 2015, sections 3.1 and 3.3.

    h_t = cells(y_{t-1}), c_t = attention(h_t), then the attentional state h~_t: ``combine="concat"``:
    tanh(W_c [c_t; h_t]); ``combine="gate"``: g * tanh(W_c c_t) + (1 - g) * h_t with g = sigmoid(W_g [c_t; h_t]).
    No biases, as in the paper.

    Under ``input_feeding`` the first layer reads [y_{t-1}; h~_{t-1}] (h~_0 = 0); without it all steps run at once.
    By the paper's footnote 14 a row of weights belongs to the word just read, y_{t-1}, if the score looks at content.

    Args:
        attentional_size: of h~_t; by default, and with a gate always, the size of h_t.
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
        combine: str = "concat",
        input_feeding: bool = False,
        attentional_size: int | None = None,
    ) -> None:
        size = attentional_size or hidden_size
        if combine not in ("concat", "gate"):
            raise RecipeError(f"late fusion combines by 'concat' or 'gate', got {combine!r}")
        if combine == "gate" and size != hidden_size:
            raise RecipeError(f"a gate needs attentional_size {hidden_size}, the decoder's size, got {size}")
        stack = Stack(
            cell,
            input_size=embedding_size + (size if input_feeding else 0),
            hidden_size=hidden_size,
            layers=layers,
            dropout=dropout,
        )
        super().__init__(context_size=value_size, stack=stack)
        self.embedding_size = embedding_size
        self.attentional_size = size
        self.input_feeding = input_feeding
        self.attention = attention
        self.row_convention = "input" if attention.score.content_based else "predicted"
        joint = value_size + hidden_size
        self.combine = nn.Linear(value_size if combine == "gate" else joint, size, bias=False)  # W_c
        self.gate = nn.Linear(joint, size, bias=False) if combine == "gate" else None  # W_g

    def prepare(self, encoded: Encoded) -> Memory:
        return self.attention.prepare(encoded.values, encoded.mask, encoded.positions)

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        if self.input_feeding:
            return self._loop(embeddings, memory, state)
        assert isinstance(memory, Memory)
        outputs, _ = self.stack.unroll(embeddings, state.layers)  # h_1 .. h_T
        steps = state.step + torch.arange(embeddings.shape[1], device=embeddings.device)
        context, weights = self.attention(outputs, memory, steps=steps)  # c_1 .. c_T
        before = self.stack.outputs_before(outputs, state.layers)
        return Steps(embeddings, before, outputs, context, self._attentional(context, outputs), weights)

    def _loop(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        shares = self.stack.first.input_gates(embeddings)  # W E y_{t-1}, all steps in one product
        steps = []
        for embedding, share in zip(embeddings.split(1, dim=1), shares.split(1, dim=1), strict=True):
            step, state = self._step(embedding, share, memory, state)
            steps.append(step)
        return join(steps)

    def step(self, embedding: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        return self._step(embedding, self.stack.first.input_gates(embedding), memory, state)

    def _step(
        self, embedding: Tensor, gates: Tensor, memory: Memory | FixedVector, state: State
    ) -> tuple[Steps, State]:
        assert isinstance(memory, Memory)
        if state.fed is not None:
            gates = gates + self.stack.first.input_gates(state.fed, start=self.embedding_size, bias=False)
        layers = self.stack.advance(gates, state.layers)
        top = layers[-1].hidden  # h_t
        context, weights = self.attention(top, memory, steps=state.step)  # c_t, alpha_t
        attentional = self._attentional(context, top)  # h~_t
        steps = Steps(embedding, state.layers[-1].hidden, top, context, attentional, weights)
        return steps, State(layers, attentional if self.input_feeding else None, state.step + 1)

    def _attentional(self, context: Tensor, hidden: Tensor) -> Tensor:
        both = torch.cat([context, hidden], dim=-1)
        if self.gate is None:
            return torch.tanh(self.combine(both))  # tanh(W_c [c; h])
        gate = torch.sigmoid(self.gate(both))  # g
        return torch.lerp(hidden, torch.tanh(self.combine(context)), gate)  # g tanh(W_c c) + (1 - g) h

    def _feeds(self) -> bool:
        return self.input_feeding
