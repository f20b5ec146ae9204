"""Late fusion: attention is asked after the step, and its answer joins the step's state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from heedful.attention import Attended, Attention, Memory
from heedful.attention.factor import Factor
from heedful.attention.products import Linear, linear
from heedful.errors import RecipeError
from heedful.model.cells import Cell, blend
from heedful.model.encoder import Encoded
from heedful.model.fusion import FixedVector, Fusion, answered, fusions, projected, projecting_pays
from heedful.model.stack import Stack
from heedful.model.steps import Ahead, State, Steps, join


@fusions.register("late")
class Late(Fusion):
    """Step first, then ask: Luong et al. 2015, sections 3.1 and 3.3.

    h_t = cells(y_{t-1}), c_t = attention(h_t), then the attentional state h~_t: ``combine="concat"``:
    tanh(W_c [c_t; h_t]); ``combine="gate"``: g * tanh(W_c c_t) + (1 - g) * h_t with g = sigmoid(W_g [c_t; h_t]).
    No biases, as in the paper.

    Under ``input_feeding`` the first layer reads [y_{t-1}; h~_{t-1}] (h~_0 = 0); without it all steps run at once.

    Which word does a row of weights belong to? The paper's footnote 14 says: for a score that looks at content, the
    word just read, y_{t-1}. Models that we trained look ahead to the word they are about to write, y_t (see
    docs/architecture.md), so that is the default; the preset `luong2015` keeps to the footnote.

    Args:
        attentional_size: of h~_t; by default, and with a gate always, the size of h_t.
        rows: the word that a row of weights belongs to: "predicted" (y_t) or "input" (y_{t-1}).
    """

    default_readout = "attentional"

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
        rows: str = "predicted",
    ) -> None:
        size = attentional_size or hidden_size
        if combine not in ("concat", "gate"):
            raise RecipeError(f"late fusion combines by 'concat' or 'gate', got {combine!r}")
        if rows not in ("predicted", "input"):
            raise RecipeError(f"a row of weights belongs to the 'predicted' or the 'input' word, got {rows!r}")
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
        self.row_convention = rows
        joint = value_size + hidden_size
        self.combine = Linear(value_size if combine == "gate" else joint, size, bias=False)  # W_c
        self.gate = Linear(joint, size, bias=False) if combine == "gate" else None  # W_g

    def prepare(self, encoded: Encoded) -> Memory:
        return self.attention.prepare(encoded.values, encoded.mask, encoded.positions, segments=encoded.segments)

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        if self.input_feeding:
            return self._loop(embeddings, memory, state)
        assert isinstance(memory, Memory)
        outputs, _ = self.stack.unroll(embeddings, state.layers)  # h_1 .. h_T
        steps = state.step + torch.arange(embeddings.shape[1], device=embeddings.device)
        if self.attention.sequential:
            answered = self.attention.one_by_one(outputs, memory, steps=steps, carry=state.carry)
        else:
            answered = self.attention(outputs, memory, steps=steps)
        context, weights, _ = answered  # c_1 .. c_T
        before = self.stack.outputs_before(outputs, state.layers)
        return Steps(embeddings, before, outputs, context, self._attentional(context, outputs), weights)

    def _loop(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        assert isinstance(memory, Memory)
        batch, count, _ = embeddings.shape
        shares = self.stack.first.input_gates(embeddings)  # W E y_{t-1}, all steps in one product
        ask = self.attention.asked(memory, steps=count)
        # What h~_{t-1} is multiplied by.
        fed_gates = Factor(self.stack.first.input_columns(self.embedding_size), batch=batch, steps=count)
        recurrent_gates = self.stack.recurrent(batch=batch, steps=count)
        steps = []
        for embedding, share in zip(embeddings.split(1, dim=1), shares.split(1, dim=1), strict=True):
            assert state.fed is not None
            step, state = self._step(embedding, share + fed_gates(state.fed), state, ask, recurrent_gates)
            steps.append(step)
        return join(steps, embeddings)

    def ahead(self, memory: Memory | FixedVector, shares: Tensor, *, hypotheses: int) -> tuple[Memory, Ahead]:
        assert isinstance(memory, Memory)
        columns = self.stack.first.input_columns(self.embedding_size).contiguous() if self.input_feeding else None
        if self.gate is not None or not projecting_pays(memory, hypotheses):
            return memory, Ahead(shares, columns)
        of_context, of_hidden = self.combine.weight.tensor_split([self.context_size], dim=1)  # W_c
        values = projected(memory.values, of_context)
        return memory.with_values(values), Ahead(shares, columns, of_hidden.contiguous())

    def step(
        self, embedding: Tensor, memory: Memory | FixedVector, state: State, share: Tensor | None = None
    ) -> tuple[Steps, State]:
        if state.fed is not None:
            gates = self._gates(embedding, share, state.fed, state)
        else:
            gates = self.stack.first.input_gates(embedding) if share is None else share
        return self._step(embedding, gates, state, partial(self.attention, memory=memory), None)

    def _step(
        self,
        embedding: Tensor,
        gates: Tensor,
        state: State,
        ask: Callable[..., Attended],
        recurrent_gates: Sequence[Factor] | None,
    ) -> tuple[Steps, State]:
        layers = self.stack.advance(gates, state.layers, recurrent_gates)
        top = layers[-1].hidden  # h_t
        answer, weights, carry = ask(top, steps=state.step, carry=state.carry)  # c_t, alpha_t
        context, combined = answered(answer, self.context_size)
        if combined is None or state.ahead is None or state.ahead.hidden is None:
            attentional = self._attentional(context, top)  # h~_t
        else:  # the same, with the share of c_t in W_c [c_t; h_t] computed ahead
            attentional = torch.tanh(combined + linear(top, state.ahead.hidden))
        steps = Steps(embedding, state.layers[-1].hidden, top, context, attentional, weights)
        fed = attentional if self.input_feeding else None
        return steps, state._replace(layers=layers, fed=fed, step=state.step + 1, carry=carry)

    def _attentional(self, context: Tensor, hidden: Tensor) -> Tensor:
        both = torch.cat([context, hidden], dim=-1)
        if self.gate is None:
            return torch.tanh(self.combine(both))  # tanh(W_c [c; h])
        gate = torch.sigmoid(self.gate(both))  # g
        return blend(hidden, torch.tanh(self.combine(context)), gate)  # g tanh(W_c c) + (1 - g) h

    def _feeds(self) -> bool:
        return self.input_feeding
