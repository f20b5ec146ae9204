"""The Transformer's decoder as a fusion: the target's own words are asked first, then the source."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from heedful.attention import Attention, Causal, Memory, MultiHead
from heedful.attention.products import Linear
from heedful.model.blocks import Inputs, Layer, Residual
from heedful.model.encoder import Encoded
from heedful.model.fusion import FixedVector, Fusion, fusions
from heedful.model.stack import LayerStates
from heedful.model.steps import State, Steps


class Past(NamedTuple):
    """What a layer keeps of the words before, t of them in n heads of size d."""

    values: Tensor  # (B, K, n, t, d)
    keys: Tensor  # (B, K, n, t, d)


@fusions.register("transformer")
class Transformer(Fusion):
    """L layers that ask the target's words before, the last of which then asks the source: Vaswani et al. 2017.

    x_t = E y_{t-1} with the position t; in each layer x_t = x_t + MultiHead(x_t, x_1 .. x_t) under the scope `Causal`;
    in the last layer c_t = attention(x_t) of the source, x_t = x_t + W_c c_t; after each x_t = x_t + W_2 max(0, W_1 x_t
    + b_1) + b_2; all with layer norm before or after. s_t is x_t in the end; what the model knows is in it, so the
    readout is of s_t alone. There is no recurrence, hence no start and no cell.

    The source is asked by the model's attention: any score, scope and normaliser, in as many heads as ``model.heads``.
    W_c leads from the context to the layer, where the attention's own W_o does not.

    Differs from the paper in: every layer of the paper's asks the source, here it is the last (with one layer, they are
    the same), so that a step has one row of weights, and nothing goes past the attention that is looked at. Layer
    norm is before by default; projections into heads have no biases (as printed).

    Args:
        heads: of the attention to the target's words; they must divide H, the decoder's size; by default
            4, or 2 or 1 if these do.
        feed_forward_size: F; by default 4 H.
        positions: "sinusoidal" or "learned".
        max_positions: the last position that has a learned vector.
        norm: "before" or "after".
    """

    default_readout = "state"

    def __init__(
        self,
        attention: Attention | MultiHead,
        *,
        embedding_size: int,
        value_size: int,
        hidden_size: int,
        layers: int,
        dropout: float = 0.0,
        heads: int | None = None,
        feed_forward_size: int | None = None,
        positions: str = "sinusoidal",
        max_positions: int = 1000,
        norm: str = "before",
    ) -> None:
        super().__init__(context_size=value_size)
        self.attention = attention
        self.inputs = Inputs(
            embedding_size,
            hidden_size,
            scale=math.sqrt(embedding_size),
            positions=positions,
            max_positions=max_positions,
            dropout=dropout,
        )
        self.blocks = nn.ModuleList(
            Layer(hidden_size, heads, feed_forward_size, scope=Causal(), norm=norm, dropout=dropout)
            for _ in range(layers)
        )
        self.own_weights = self.blocks[0].attention.heads  # pyright: ignore
        self.around_source = Residual(hidden_size, norm=norm, dropout=dropout)
        projected = attention.heads > 1 and value_size == hidden_size
        self.combine = nn.Identity() if projected else Linear(value_size, hidden_size, bias=False)  # W_c
        self.norm = nn.LayerNorm(hidden_size) if norm == "before" else nn.Identity()

    def prepare(self, encoded: Encoded) -> Memory:
        return self.attention.prepare(encoded.values, encoded.mask, encoded.positions, segments=encoded.segments)

    def initial(self, layers: LayerStates, memory: Memory | FixedVector) -> State:
        """No words so far; `layers` is empty."""
        assert isinstance(memory, Memory)
        batch, asks = memory.mask.shape[0], self.blocks[0].attention
        none = memory.values.new_zeros(batch, 1, asks.heads, 0, asks.score.query_size)  # pyright: ignore
        step = torch.zeros((batch, 1), dtype=torch.int64, device=none.device)
        return State(tuple(Past(none, none) for _ in self.blocks), None, step, self.attention.begin(memory))

    def shares(self, embeddings: Tensor) -> Tensor:
        return self.inputs.projected(embeddings)

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        words = self.shares(embeddings).unsqueeze(1)
        return self._run(embeddings, words, memory, state, carry=None)[0]

    def step(
        self, embedding: Tensor, memory: Memory | FixedVector, state: State, share: Tensor | None = None
    ) -> tuple[Steps, State]:
        words = (self.shares(embedding) if share is None else share).unsqueeze(2)
        return self._run(embedding, words, memory, state, carry=state.carry)

    def _run(
        self, embeddings: Tensor, words: Tensor, memory: Memory | FixedVector, state: State, *, carry: Any
    ) -> tuple[Steps, State]:
        """The next T words of each of K texts a sentence, (B, K, T, H), where one of K and T is 1."""
        assert isinstance(memory, Memory)
        x, pasts = self._ask_words(words, state)
        query, steps = self.around_source.read(x).flatten(1, 2), self._steps(words, state)
        context, weights, carry = self.attention(query, memory, steps=steps.flatten(1), carry=carry)  # c_t, alpha_t
        x = self.around_source.add(x, self.combine(context).view_as(x))
        top: Any = self.blocks[-1]
        states = self.norm(top.think(x)).flatten(1, 2)  # s_t
        found = Steps(embeddings, None, states, context, None, weights)
        return found, state._replace(layers=pasts, step=state.step + words.shape[2], carry=carry)

    def query(self, embedding: Tensor, state: State) -> Tensor:
        """What `step` asks the source with, (B, K, H)."""
        x, _ = self._ask_words(self.shares(embedding).unsqueeze(2), state)
        return self.around_source.read(x).flatten(1, 2)

    @staticmethod
    def _steps(words: Tensor, state: State) -> Tensor:
        """(B, K, T), each word's place in the target from 0."""
        return state.step.unsqueeze(-1) + torch.arange(words.shape[2], device=words.device)

    def _ask_words(self, words: Tensor, state: State) -> tuple[Tensor, tuple[Past, ...]]:
        """All that comes before the source is asked: x (B, K, T, H), and what each layer keeps of all words so far."""
        x, pasts = self.inputs.placed(words, self._steps(words, state) + 1), []
        for block, past in zip(self.blocks, state.layers, strict=True):
            if pasts:
                x = self.blocks[len(pasts) - 1].think(x)  # pyright: ignore[reportCallIssue]
            x, past = _ask_words(block, x, past)  # pyright: ignore[reportArgumentType]
            pasts.append(past)
        return x, tuple(pasts)


def _ask_words(block: Layer, x: Tensor, past: Past) -> tuple[Tensor, Past]:
    """x (B, K, T, H): each asks itself and the words before it, t in the past and those of x."""
    read = block.around_attention.read(x).flatten(0, 1)
    new = block.attention.prepare(read)  # (B K, n, T, .)
    values, keys = (
        torch.cat([old.flatten(0, 1), own], dim=2) if old.shape[3] else own
        for old, own in ((past.values, new.values), (past.keys, new.keys))
    )
    places = torch.arange(1, values.shape[2] + 1, device=x.device).expand(values.shape[:3])
    memory = Memory(values, keys, places > 0, places, places[..., -1])
    steps = places[:1, 0, values.shape[2] - x.shape[2] :] - 1
    heard = block.attention(read, memory, steps=steps).context
    kept = Past(*(part.unflatten(0, x.shape[:2]) for part in (values, keys)))
    return block.around_attention.add(x, heard.view_as(x)), kept
