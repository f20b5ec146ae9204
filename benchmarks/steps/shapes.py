"""The sizes and the models that are measured: heedful's decoder over source states that are given, not encoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from heedful.data.batches import Batch, Sequences
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model, build
from heedful.model.encoder import Encoded


@dataclass(frozen=True)
class Shape:
    """B sentences of S source and T target positions, all real; H of the cell, E and A are H, source states are 2 H."""

    batch: int  # B
    source: int  # S
    target: int  # T
    hidden: int  # H = E = A
    vocabulary: int  # V, of the target

    @property
    def values(self) -> int:
        """The size of a source state, as a bidirectional encoder of H per direction makes them."""
        return 2 * self.hidden

    def __str__(self) -> str:
        return f"B{self.batch} S{self.source} T{self.target} H{self.hidden} V{self.vocabulary}"


SHAPES = {
    "short": Shape(128, 10, 9, 256, 45),
    "translation": Shape(64, 30, 30, 512, 4000),
    "long": Shape(8, 200, 200, 256, 45),
    "longest": Shape(8, 1000, 1000, 256, 45),
}
"""The usual loop cannot be run at the last one: see `train_step`."""

FUSIONS: dict[str, dict[str, Any]] = {
    "early": {"fusion": "early", "score": "additive"},
    "late": {"fusion": "late", "score": "general"},
    "late-feeding": {"fusion": {"name": "late", "input_feeding": True}, "score": "concat"},
}
"""Bahdanau's order with the additive score; Luong's with general, no input feeding; and with concat, input feeding."""

CELLS = ("gru", "lstm")

_WORD = 4  # the only source symbol


class Given(nn.Module):
    """Stands where a model's encoder does: the source states are what they are. They are parameters, so that they get
    gradients, as an encoder needs them."""

    segmented = False

    def __init__(self, state: type[Any], values: Tensor, last: list[Tensor]) -> None:
        super().__init__()
        self.state = state
        self.values = nn.Parameter(values)  # (B, S, 2 H)
        self.last = nn.ParameterList(last)  # the encoder's last hidden states, and cells of an LSTM, (B, 2 H)

    def forward(self, tokens: Tensor, mask: Tensor, positions: Tensor) -> Encoded:
        return Encoded(self.values, mask, positions, (self.state(*self.last),))


def make(
    shape: Shape,
    fusion: str,
    cell: str,
    *,
    encoder: bool = False,
    scope: dict[str, Any] | None = None,
    score: str | None = None,
    seed: int = 1,
) -> Model:
    """heedful's model of these sizes, without dropout; random source states stand where the encoder would, unless
    `encoder` asks for it. `scope` is global, `score` that of the fusion, unless it is said."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = build(
            source_vocabulary_size=_WORD + 1,
            target_vocabulary_size=shape.vocabulary,
            embedding_size=shape.hidden,
            cell=cell,
            encoder_size=shape.hidden,
            decoder_size=shape.hidden,
            scope=scope or "global",
            **{**FUSIONS[fusion], **({"score": score} if score else {})},
        )
        if not encoder:
            state = model.encoder.state
            last = [torch.rand(shape.batch, shape.values) * 2 - 1 for _ in state._fields]
            model.encoder = Given(state, torch.rand(shape.batch, shape.source, shape.values) * 2 - 1, last)
    return model


def batch_of(shape: Shape, *, ragged: bool = False, seed: int = 2) -> Batch:
    """Random target symbols, each sentence as long as the shape says, or, if `ragged`, all but the first shorter."""
    draw = torch.Generator().manual_seed(seed)
    source = torch.full((shape.batch,), shape.source)
    target = torch.full((shape.batch,), shape.target)
    if ragged:
        source[1:] = torch.randint(1, shape.source, (shape.batch - 1,), generator=draw)
        target[1:] = torch.randint(1, shape.target, (shape.batch - 1,), generator=draw)
    tokens = torch.randint(Vocabulary.UNKNOWN, shape.vocabulary, (shape.batch, shape.target), generator=draw)
    return Batch(
        (_sequences(torch.full((shape.batch, shape.source), _WORD), source),),
        _sequences(tokens.scatter(1, target[:, None] - 1, Vocabulary.END), target),
        tuple(range(shape.batch)),
    )


def _sequences(tokens: Tensor, lengths: Tensor) -> Sequences:
    places = torch.arange(1, tokens.shape[1] + 1).expand_as(tokens)
    mask = places <= lengths[:, None]
    return Sequences(tokens.masked_fill(~mask, Vocabulary.PAD), mask, places * mask)
