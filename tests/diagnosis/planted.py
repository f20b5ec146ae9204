"""A model that is right by construction, and the same with one fault in it.

Letters become other letters one by one. The encoder's states are the letters alone; attention of step t is on letter
t, by a window that follows the steps and a normaliser that takes its middle; the output is of the context alone. Behind
the last letter nothing is attended to, and the end symbol is all that is left. The targets are its own answers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from heedful.attention import Normaliser, Softmax
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.vocabulary import Vocabulary
from heedful.diagnosis import Subject
from heedful.model import Model, build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe

LETTERS, SYMBOLS = "abcdefghijk", "ABCDEFGHIJKLM"
SETTINGS = PredictRecipe(beam=1)


class Middle(Normaliser):
    """Of the window of three that local_m gives around word t: word t; behind the last word nothing."""

    whole_rows = True  # it looks at where in the row a word stands

    def distribute(self, scores: Tensor) -> Tensor:
        there = scores > torch.finfo(scores.dtype).min
        first = there.to(torch.int64).argmax(-1, keepdim=True)
        # {1, 2} is the window of word 1, {n - 1, n} that of word n, {n} what is left one step later.
        of_first = (first == 0) & (there.sum(-1, keepdim=True) == 2)
        middle = torch.where(of_first, first, first + 1).clamp(max=scores.shape[-1] - 1)
        only = there.sum(-1, keepdim=True) < 2
        return torch.zeros_like(scores).scatter(-1, middle, 1.0).masked_fill(only, 0.0)


class Stuck(Middle):
    """As `Middle` up to word 8, and then on word 8 for ever."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        weights = super().forward(scores, mask)
        late = weights[..., 8:].sum(-1, keepdim=True)
        return torch.cat([weights[..., :7], weights[..., 7:8] + late, 0 * weights[..., 8:]], dim=-1)


class OnEnd(Normaliser):
    """All on the last real position, the end symbol."""

    whole_rows = True

    def distribute(self, scores: Tensor) -> Tensor:
        there = scores > torch.finfo(scores.dtype).min
        last = (there * torch.arange(1, scores.shape[-1] + 1)).argmax(-1, keepdim=True)
        return torch.zeros_like(scores).scatter(-1, last, 1.0)


class Leaky(Softmax):
    """No mask."""

    whole_rows = True

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().forward(scores, torch.ones_like(mask))


@cache
def codec() -> Codec:
    return Codec.build([Pair(LETTERS, SYMBOLS, (), 1)], target_tokens=("characters", {}))


def model(normaliser: Normaliser | None = None, *, deaf: bool = False, **options: Any) -> Model:
    """The model that is right, unless something else is asked for; `deaf` makes the output one of the state alone."""
    torch.manual_seed(5)
    found = build(
        source_vocabulary_size=len(codec().source_vocabulary),
        target_vocabulary_size=len(codec().target_vocabulary),
        **{
            "embedding_size": 7,
            "encoder_size": 13,
            "decoder_size": 17,
            "start": "zero",
            "fusion": {"name": "late", "rows": options.pop("rows", "predicted")},
            "score": "general",
            "scope": {"name": "local_m", "window": 1},
            **options,
        },
    )
    with torch.no_grad():
        for cell in found.encoder.modules():
            if isinstance(cell, torch.nn.GRU):
                hidden = cell.hidden_size
                for name, parameter in cell.named_parameters():
                    if name.startswith("weight_hh"):
                        parameter.zero_()
                    elif name.startswith("bias"):
                        parameter.zero_()[hidden : 2 * hidden] = -20.0  # z = 0: the new state is that of the letter
                    else:
                        parameter.normal_(std=1.0)
        found.encoder.embedding.weight.normal_(std=1.5)
        fusion, output = found.decoder.fusion, found.decoder.output
        width = fusion.context_size  # W_c [c; h]
        fusion.combine.weight[:, :width].normal_(std=0.7)
        fusion.combine.weight[:, width:] = 0.0
        if deaf:
            fusion.combine.weight[:, :width] = 0.0
            fusion.combine.weight[:, width:].normal_()
        output.weight.normal_(std=3.0)
        output.bias.zero_()[Vocabulary.END] = 4.0
        for never in (Vocabulary.PAD, Vocabulary.START, Vocabulary.UNKNOWN):
            output.bias[never] = -50.0
            output.weight[never] = 0.0
    attention = found.attention
    assert attention is not None
    if normaliser is not None or "scope" not in options:
        attention.normaliser = normaliser or Middle()
    return found.eval()


def sources(count: int = 60, *, shortest: int = 3, longest: int = 18) -> list[str]:
    draw = random.Random(7)
    return ["".join(draw.choices(LETTERS, k=draw.randint(shortest, longest))) for _ in range(count)]


@cache
def pairs(count: int = 60, shortest: int = 3, longest: int = 18) -> tuple[Pair, ...]:
    """Sources with what the right model makes of them."""
    texts = sources(count, shortest=shortest, longest=longest)
    asked = [Pair(text, None, (), line) for line, text in enumerate(texts, start=1)]
    answers = Predictor(model(), codec(), SETTINGS).predict(asked)
    return tuple(pair._replace(target=best.text) for pair, (best, *_) in zip(asked, answers, strict=True))


def subject(found: Model | None = None, *, of: Sequence[Pair] | None = None, batch_size: int = 13) -> Subject:
    return Subject(model() if found is None else found, codec(), SETTINGS, pairs() if of is None else of, batch_size)
