"""Tiny models with random weights behind a `Predictor`: texts of letters in, texts of capital letters out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from heedful.answers import Prediction
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe
from model.cases import listen, make
from search.models import CONFIGURATIONS, PRODUCT

SOURCE, TARGET = "abcdefghijklmno", "ABCDEFGHIJK"
TEXTS = [
    "".join(SOURCE[(place * place + 5 * number + place // 4) % len(SOURCE)] for place in range(1 + (7 * number) % 30))
    for number in range(20)
]
"""Of 1 to 29 letters, no two alike."""
LINES = [Pair(text, None, (), line) for line, text in enumerate(TEXTS, start=1)]
SETTINGS = PredictRecipe(max_length=11)


def codec_of(*, source: str = SOURCE, target: str = TARGET, **options: Any) -> Codec:
    """Letters to letters, each a token."""
    return Codec.build(
        [Pair(source, target, (), 1)],
        target_tokens=options.pop("target_tokens", ("characters", {})),
        segments=("length", {"tokens": 3}),
        **options,
    )


def model_for(codec: Codec, *, seed: int = 0, **options: Any) -> Model:
    """In single precision, as runs are.

    What comes in and what goes out is large, what goes round is small: so answers differ, and roundings do not grow.
    """
    second = codec.second_vocabulary
    model = make(
        **{
            **options,
            **({} if second is None else {"second_vocabulary_size": len(second)}),
            "source_vocabulary_size": len(codec.source_vocabulary),
            "target_vocabulary_size": len(codec.target_vocabulary),
        },
        seed=seed,
        scale=0.35,
    ).float()
    with torch.no_grad():
        readers = [model.encoder] if model.second is None else [model.encoder, model.second]
        for part in (*(reader.embedding for reader in readers), model.decoder.embedding, model.decoder.output):
            part.weight.mul_(4.0)
        model.decoder.output.bias[Vocabulary.END] += 1.0
        model.decoder.output.bias[Vocabulary.UNKNOWN] -= 2.0
    listen(model)
    return model


@cache
def predictor_of(number: int, *, of_all: bool = False) -> Predictor:
    """The first of its configuration, by seed, whose answers differ in letters and lengths.

    Attention to the first few letters alone cannot make many answers: some of the product must do with fewer.
    """
    options, codec = (PRODUCT if of_all else CONFIGURATIONS)[number], codec_of()
    for seed in range(99):
        predictor = Predictor(model_for(codec, seed=seed, **options), codec, SETTINGS)
        if all(vary(predictor, beam, 4 if of_all else 7) for beam in (1, 5)):
            return predictor
    raise AssertionError("no model with answers that differ")


def vary(predictor: Predictor, beam: int, least: int) -> bool:
    answers = [best for best, *_ in predictor.with_options({"beam": beam}).predict(LINES)]
    texts = set(texts_of(answers))
    lengths = set(map(len, texts))
    return len(texts) >= least and len(lengths) > least // 2 and sum(answer.finished for answer in answers) >= least


def same(found: Prediction, wanted: Prediction, *, within: float = 1e-5, score: float = 0.0) -> None:
    """The same answer: text and tokens exactly, numbers within 1e-5 or what is said; the score may be off by more."""
    assert (found.text, found.tokens, found.finished) == (wanted.text, wanted.tokens, wanted.finished)
    close(found.score, wanted.score, max(within, score))
    close(found.log_probability, wanted.log_probability, within * max(1, len(found.token_scores)))  # their sum
    close(found.token_scores, wanted.token_scores, within)
    for name in ("alignment", "second_alignment"):
        own, its = getattr(found, name), getattr(wanted, name)
        assert (own is None) == (its is None)
        if own is not None:
            assert (own.source, own.target) == (its.source, its.target)
            close(own.weights, its.weights, within)


def close(found: Any, wanted: Any, within: float = 1e-5) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=within)


def texts_of(answers: Sequence[Prediction]) -> list[str]:
    return [answer.text for answer in answers]
