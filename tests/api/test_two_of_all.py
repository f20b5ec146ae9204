"""Two sources with every tokeniser, in reverse, with tags, in documents; every option of the search, and ensembles."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from grid import covering, daily, in_turn, spanning
from heedful.data import tokenisers
from heedful.data.codec import Codec
from heedful.ensemble import Ensemble
from heedful.predictor import Predictor

from .models import LINES, SETTINGS, TARGET, close, model_for, texts_of
from .test_every_model import WAYS, check_batches, check_forced, check_greedy

SECOND = ("concat", "gate", "query")
OPTIONS: dict[str, dict[str, Any]] = {"bpe": {"vocabulary_size": 270}}

PAIRS = [
    pair._replace(
        source=" ".join([pair.source[:7], pair.source[7:]]).strip(),
        target=TARGET,
        tags=("x", "y")[: pair.line % 3],
        second=f"{LINES[-pair.line].source[:6]} {pair.line % 4}",
    )
    for pair in LINES
]
PARTS: dict[str, dict[str, Any]] = {
    "late": {"fusion": "late", "readout": "attentional", "score": "general"},
    "early": {"fusion": "early"},
    "documents": {"fusion": "early", "encoder": "hierarchical", "scope": "hierarchical"},
}
PAIRWISE = covering((tokenisers.names(), SECOND, list(PARTS)), lambda names: True)


@cache
def predictor_of(tokens: str, second: str, parts: str, target: str = "characters", turn: int = 0) -> Predictor:
    """The `turn`-th by seed, random, whose answers differ."""
    spec, label = (tokens, OPTIONS.get(tokens, {})), target == "label"
    codec = Codec.build(
        [pair._replace(target=TARGET[pair.line % len(TARGET)]) for pair in PAIRS] if label else PAIRS,
        source_tokens=spec,
        second_source_tokens=spec,
        target_tokens=(target, {}),
        reverse_source=True,
        segments=("length", {"tokens": 3}),
    )
    settings = SETTINGS.model_copy(update={"max_length": None}) if label else SETTINGS
    for seed in range(99):
        predictor = Predictor(model_for(codec, seed=seed, **PARTS[parts], second=second), codec, settings)
        found = predictor.predict(PAIRS)
        if len({texts_of(answers)[0] for answers in found}) > 3:
            if turn == 0:
                return predictor
            turn -= 1
    raise AssertionError("no model with answers that differ")


@pytest.mark.parametrize("names", daily(PAIRWISE, spanning(PAIRWISE)), ids="-".join)
def test_answers_do_not_depend_on_company_nor_on_how_they_were_found(names):
    predictor = predictor_of(*names)
    check_batches(predictor, {"n_best": 3}, sizes=(1, 7), lines=PAIRS)
    check_forced(predictor, {"n_best": 3}, lines=PAIRS)
    check_greedy(predictor, lines=PAIRS)


@pytest.mark.parametrize(("second", "name"), in_turn(SECOND, WAYS))
def test_every_option_of_the_search(second, name):
    predictor = predictor_of("characters", second, "late")
    check_batches(predictor, WAYS[name], sizes=(1, 7), lines=PAIRS)
    check_forced(predictor, WAYS[name], lines=PAIRS)


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("second", SECOND)
def test_labels(second, parts):
    predictor = predictor_of("whitespace", second, parts, "label")
    check_batches(predictor, {"n_best": 3}, sizes=(1, 7), lines=PAIRS)
    assert check_forced(predictor, {"n_best": 3}, lines=PAIRS) == 60
    check_greedy(predictor, lines=PAIRS)


@pytest.mark.parametrize("second", daily(SECOND, ["concat"]))
def test_ensembles(second):
    """Two models, of which each has a vote; and weights that are their mean, over either source."""
    one, other = (predictor_of("characters", second, "documents", turn=turn) for turn in (0, 1))
    both = Predictor(Ensemble([one.model, other.model]), one.codec, SETTINGS)  # pyright: ignore
    check_batches(both, {"n_best": 3}, sizes=(1, 7), lines=PAIRS)
    check_forced(both, {"n_best": 3}, lines=PAIRS)
    given = [pair._replace(target=TARGET) for pair in PAIRS]
    for name in ("alignment", "second_alignment"):
        parts = [[getattr(found, name) for found in predictor.force(given)] for predictor in (one, other, both)]
        for first, second_, mean in zip(*parts, strict=True):
            if mean is not None:
                close(mean.weights, (first.weights + second_.weights) / 2)


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("second", SECOND)
def test_posterior_alignments(second, parts):
    """Of the first source alone: rows sum to 1, and stand over its labels as those of attention do."""
    predictor = predictor_of("whitespace", second, parts)
    given = [pair._replace(target=TARGET) for pair in PAIRS]
    for found, usual in zip(predictor.force(given, posterior=True), predictor.force(given), strict=True):
        assert found.alignment.source == usual.alignment.source
        assert found.second_alignment is None
        close(found.alignment.weights.sum(-1), 1.0)


@pytest.mark.parametrize("second", SECOND)
def test_unknown_words_are_replaced_by_those_of_the_first_source(second):
    predictor = predictor_of("whitespace", second, "late")
    only = predictor.with_options({"banned": list(TARGET), "min_length": 2, "max_length": 3, "unknown": "replace"})
    for (answer, *_), pair in zip(only.predict(PAIRS), PAIRS, strict=True):
        assert len(answer.tokens) in (1, 2, 3)
        assert set(answer.tokens) <= set(pair.source.split())
