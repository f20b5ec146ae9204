"""The usual loop: attention decoders as most tutorials write them, one step of everything at a time.

At every step the decoder's state is repeated for all source positions, joined to the source states and multiplied by
the whole matrix of the score; the embedding is joined to the context and goes through a GRUCell or an LSTMCell; the
step ends in its own logits. Nothing is computed ahead. Other tutorials add a product with the state to one with the
source states, which saves up to a third of the score's products: that is `ApartAttention`.

This is the yardstick of `train_step`, not part of heedful: the mathematics, and the weights (`adopt`), are those of
heedful's model of the same sizes.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.data.batches import Batch
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from steps.shapes import Shape


class ConcatAttention(nn.Module):
    """softmax(v . tanh(W [h; s])): Bahdanau's additive score, or Luong's concat."""

    def __init__(self, hidden_size: int, value_size: int) -> None:
        super().__init__()
        self.energy = nn.Linear(hidden_size + value_size, hidden_size, bias=False)
        self.v = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, hidden: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        scores = self.v(torch.tanh(self.terms(hidden, values))).squeeze(2).masked_fill(~mask, -1e10)
        return torch.softmax(scores, dim=1)

    def terms(self, hidden: Tensor, values: Tensor) -> Tensor:
        repeated = hidden.unsqueeze(1).repeat(1, values.shape[1], 1)  # (B, S, H)
        return self.energy(torch.cat((repeated, values), dim=2))


class ApartAttention(ConcatAttention):
    """The same as softmax(v . tanh(W_1 h + W_2 s)): the state is multiplied once, not for each source position."""

    def terms(self, hidden: Tensor, values: Tensor) -> Tensor:
        of_hidden, of_values = self.energy.weight.split((hidden.shape[1], values.shape[2]), dim=1)
        return functional.linear(hidden, of_hidden).unsqueeze(1) + functional.linear(values, of_values)


class GeneralAttention(nn.Module):
    """softmax(h . W s): Luong's general."""

    def __init__(self, hidden_size: int, value_size: int) -> None:
        super().__init__()
        self.energy = nn.Linear(value_size, hidden_size, bias=False)

    def forward(self, hidden: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        energy = self.energy(values)  # (B, S, H)
        scores = torch.bmm(energy, hidden.unsqueeze(2)).squeeze(2).masked_fill(~mask, -1e10)
        return torch.softmax(scores, dim=1)


class UsualDecoder(nn.Module):
    """What the two decoders have in common: the start, and the loop over the target."""

    def __init__(self, shape: Shape, cell: str, *, fed_size: int) -> None:
        super().__init__()
        self.lstm = cell == "lstm"
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.start = nn.ModuleList(nn.Linear(shape.values, shape.hidden) for _ in range(1 + self.lstm))
        self.cell = (nn.LSTMCell if self.lstm else nn.GRUCell)(shape.hidden + fed_size, shape.hidden)

    def forward(self, values: Tensor, last: list[Tensor], mask: Tensor, inputs: Tensor) -> Tensor:
        """Source states (B, S, 2 H), the encoder's last states, mask (B, S), input words (B, T) -> logits (B, T, V)."""
        state = tuple(torch.tanh(start(part)) for start, part in zip(self.start, last, strict=True))
        fed = torch.zeros_like(state[0])
        outputs = []
        for t in range(inputs.shape[1]):
            embedded = self.embedding(inputs[:, t])
            logits, state, fed = self.step(embedded, state, fed, values, mask)
            outputs.append(logits)
        return torch.stack(outputs, dim=1)

    def advance(self, inputs: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self.cell(inputs, state) if self.lstm else (self.cell(inputs, state[0]),)


class UsualEarly(UsualDecoder):
    """Attention, then the cell on [embedding; context], then logits from [state; context]: Bahdanau et al."""

    def __init__(self, shape: Shape, cell: str, *, score: type[nn.Module]) -> None:
        super().__init__(shape, cell, fed_size=shape.values)
        self.attention = score(shape.hidden, shape.values)
        self.out = nn.Linear(shape.hidden + shape.values, shape.vocabulary)

    def step(self, embedded: Tensor, state: tuple[Tensor, ...], fed: Tensor, values: Tensor, mask: Tensor):
        weights = self.attention(state[0], values, mask)
        context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
        state = self.advance(torch.cat((embedded, context), dim=1), state)
        return self.out(torch.cat((state[0], context), dim=1)), state, fed


class UsualLate(UsualDecoder):
    """The cell, then attention, then logits from tanh(W_c [context; state]), which may be fed to the next step: Luong
    et al."""

    def __init__(self, shape: Shape, cell: str, *, score: type[nn.Module], input_feeding: bool) -> None:
        super().__init__(shape, cell, fed_size=shape.hidden if input_feeding else 0)
        self.input_feeding = input_feeding
        self.attention = score(shape.hidden, shape.values)
        self.concat = nn.Linear(shape.values + shape.hidden, shape.hidden, bias=False)
        self.out = nn.Linear(shape.hidden, shape.vocabulary)

    def step(self, embedded: Tensor, state: tuple[Tensor, ...], fed: Tensor, values: Tensor, mask: Tensor):
        state = self.advance(torch.cat((embedded, fed), dim=1) if self.input_feeding else embedded, state)
        weights = self.attention(state[0], values, mask)
        context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
        attentional = torch.tanh(self.concat(torch.cat((context, state[0]), dim=1)))
        return self.out(attentional), state, attentional


class Usual(nn.Module):
    """One of the decoders with given source states, and the loss."""

    def __init__(self, shape: Shape, fusion: str, cell: str, *, apart: bool = False) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.empty(shape.batch, shape.source, shape.values))
        self.last = nn.ParameterList(torch.empty(shape.batch, shape.values) for _ in range(1 + (cell == "lstm")))
        score = ApartAttention if apart else ConcatAttention
        if fusion == "early":
            self.decoder = UsualEarly(shape, cell, score=score)
        elif fusion == "late-feeding":
            self.decoder = UsualLate(shape, cell, score=score, input_feeding=True)
        else:
            self.decoder = UsualLate(shape, cell, score=GeneralAttention, input_feeding=False)

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of a real target token."""
        target = batch.target.tokens
        inputs = torch.cat((torch.full_like(target[:, :1], Vocabulary.START), target[:, :-1]), dim=1)
        logits = self.decoder(self.values, list(self.last), batch.sources[0].mask, inputs)
        return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=Vocabulary.PAD)


def adopt(model: Model, shape: Shape, fusion: str, cell: str, *, apart: bool = False) -> Usual:
    """The usual loop with the weights, and over the source states, of heedful's `model`."""
    usual = Usual(shape, fusion, cell, apart=apart).to(model.decoder.embedding.weight.dtype)
    theirs = dict(model.named_parameters())
    with torch.no_grad():
        for name, parameter in usual.named_parameters():
            parameter.copy_(same(name, theirs).reshape(parameter.shape))
    return usual


def same(name: str, theirs: dict[str, Tensor]) -> Tensor:
    """What heedful has for the usual loop's parameter `name`, from a table of its parameters, or of their gradients."""
    place = next(each for each in _PLACES if name == each or name.startswith(f"{each}."))
    rest = name[len(place) :] + ("_l0" if place == "decoder.cell" else "")  # heedful's cell is layer 0 of a stack
    return torch.cat([theirs[each + rest] for each in _PLACES[place] if each + rest in theirs], dim=-1)


_SCORE = "decoder.fusion.attention.score"
_PLACES = {
    "values": ["encoder.values"],
    "last": ["encoder.last"],
    "decoder.embedding": ["decoder.embedding"],
    "decoder.start": ["decoder.start.projections"],
    "decoder.cell": ["decoder.fusion.stack.cells.0.rnn"],
    # The additive score has W_a and U_a apart, concat has both in one, general has one only.
    "decoder.attention.energy": [f"{_SCORE}.{each}" for each in ("query_projection", "key_projection", "projection")],
    "decoder.attention.v.weight": [f"{_SCORE}.v"],
    "decoder.concat": ["decoder.fusion.combine"],
    "decoder.out": ["decoder.output"],
}
