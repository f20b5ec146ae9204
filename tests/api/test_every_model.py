"""Through texts, in single precision, with every part of a model and every option of the search: answers do not depend
on their company, they are scored and aligned as when they are given, and a beam of one is greedy."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

import heedful
import heedful.decoding
from heedful.attention.normalisers import Normaliser, Softmax
from heedful.data.pairs import Pair
from heedful.options import ScoringOptions, option_types
from heedful.predictor import Predictor
from heedful.search import Ranking, beam
from search.models import PRODUCT, every
from training.cases import words, write_pairs

from .models import LINES, close, predictor_of, same, texts_of

# Which options may not be on together; n_best is what it is in Python.
WAYS: dict[str, dict[str, Any]] = {
    "coverage and gnmt": {
        "n_best": 5, "length_penalty": 0.6, "length_normalisation": "gnmt", "coverage_penalty": 0.4
    },
    "rules": {
        "n_best": 5, "min_length_ratio": 0.2, "max_length_ratio": 0.3, "max_length_extra": 3, "no_repeat_ngram": 2,
        "banned": ["C", "J"], "prefix": "CA", "length_penalty": 0.0,
    },
    "diversity and temperature": {"n_best": 3, "diversity_penalty": 0.8, "attention_temperature": 0.4},
    "sampling": {"n_best": 3, "sampling_temperature": 1.5, "top_p": 0.9, "seed": 7, "coverage_penalty": 0.2},
    "greedy with all": {
        "beam": 1, "min_length": 3, "no_repeat_ngram": 1, "attention_temperature": 2.0, "coverage_penalty": 0.2
    },
}  # fmt: skip
PLAIN: tuple[dict[str, Any], ...] = ({"beam": 1}, {"beam": 5, "n_best": 5})
TRAINED = words(20, seed=8, longest=9)
OF_ATTENTION = {"coverage_penalty", "attention_temperature"}


def asked(predictor: Predictor, way: dict[str, Any]) -> tuple[Predictor, int]:
    """The predictor as `way` wants it, less what the model has not, and how many answers."""
    options = {name: value for name, value in way.items() if predictor.model.has_attention or name not in OF_ATTENTION}
    n_best = options.pop("n_best", 1)
    return predictor.with_options(options, n_best=n_best), n_best


def rounding(predictor: Predictor, way: dict[str, Any]) -> float:
    """Of scores: a sparse weight that is nearly 0 is rounded absolutely, and coverage takes the logarithm of it."""
    modules = predictor.model.modules()
    sparse = any(isinstance(module, Normaliser) and not isinstance(module, Softmax) for module in modules)
    return 0.02 if sparse and "coverage_penalty" in way else 0.0


def check_batches(
    predictor: Predictor,
    way: dict[str, Any],
    *,
    sizes=(1, 2, 7, 20),
    within: float = 1e-5,
    lines: Sequence[Pair] = LINES,
) -> None:
    """Twenty texts of 1 to 29 letters, shuffled, in batches of each size, against all in one in their order."""
    chosen, n_best = asked(predictor, way)
    whole = chosen.predict(lines, n_best=n_best, batch_size=20, with_alignment=True)
    assert len({tuple(texts_of(found)) for found in whole}) > 2
    for size in sizes:
        order = random.Random(size).sample(range(20), 20)
        answers = chosen.predict([lines[n] for n in order], n_best=n_best, batch_size=size, with_alignment=True)
        for n, found in zip(order, answers, strict=True):
            assert texts_of(found) == texts_of(whole[n])
            for one, other in zip(found, whole[n], strict=True):
                same(one, other, within=within, score=rounding(predictor, way))


def telling(predictor: Predictor, ways: Sequence[dict[str, Any]], place: int) -> dict[str, Any]:
    """The first of the ways, from this place on, in which the model has more than two answers."""

    def answers(way: dict[str, Any]) -> int:
        chosen, n_best = asked(predictor, way)
        return len({tuple(texts_of(found)) for found in chosen.predict(LINES, n_best=n_best)})

    turned = (ways[(place + turn) % len(ways)] for turn in range(len(ways)))
    return next(way for way in turned if answers(way) > 2)


def check_forced(
    predictor: Predictor, way: dict[str, Any], *, within: float = 1e-5, lines: Sequence[Pair] = LINES
) -> int:
    """Every hypothesis, given as a target: the same log-probabilities, score and weights, token by token.

    Returns how many ended.
    """
    chosen, n_best = asked(predictor, way)
    answers = chosen.predict(lines, n_best=n_best, with_alignment=True)
    flat = [(line, answer) for line, found in zip(lines, answers, strict=True) for answer in found]
    scoring = {name: way[name] for name in option_types(ScoringOptions) if name in way}
    forcing, _ = asked(predictor, scoring)
    forced = forcing.force([line._replace(target=answer.text) for line, answer in flat])
    for (_, answer), given in zip(flat, forced, strict=True):
        assert given.text == answer.text
        if answer.finished:
            same(given, answer, within=within, score=rounding(predictor, way))
        else:  # cut: what it has is as in the target that ends there
            close(given.token_scores[: len(answer.tokens)], answer.token_scores, within)
            if answer.alignment is not None:
                close(given.alignment.weights[: len(answer.tokens)], answer.alignment.weights, within)
    return sum(answer.finished for _, answer in flat)


@every
def test_batches_of_any_size_in_any_order_give_the_same(number):
    """Each alone in one way, in batches of seven in the other, in turn."""
    for turn, way in enumerate(PLAIN):
        check_batches(predictor_of(number), way, sizes=(7 if (number + turn) % 2 else 1,))


@every
def test_and_so_they_do_with_other_options(number):
    """One of the ways for each model, alone or in batches, so that each way comes in both."""
    check_batches(predictor_of(number), list(WAYS.values())[number % len(WAYS)], sizes=(7 if number % 2 else 1,))


@every
def test_every_answer_is_scored_and_aligned_as_when_it_is_given(number):
    assert sum(check_forced(predictor_of(number), way) for way in (*PLAIN, *WAYS.values())) > 100


@pytest.mark.slow
@every
def test_all_sizes_of_batches(number):
    for way in PLAIN:
        check_batches(predictor_of(number), way)
    for turn in (0, 2):
        check_batches(predictor_of(number), list(WAYS.values())[(number + turn) % len(WAYS)], sizes=(1, 7))


@pytest.mark.parametrize("name", WAYS)
def test_and_when_it_is_given_in_a_file(run, tmp_path, name):
    """`heedful.score` and `heedful.align` of a trained run: what `predict` said of the same answers."""
    way = {**WAYS[name], "banned": ["C"], "prefix": "A"} if "banned" in WAYS[name] else WAYS[name]
    n_best = way.get("n_best", 1)
    found = run.predict(TRAINED, **way)
    answers = [
        (text, answer) for text, own in zip(TRAINED, found, strict=True) for answer in (own if n_best > 1 else [own])
    ]
    answers = [(text, answer) for text, answer in answers if answer.finished and answer.text]
    assert len(answers) > 10
    path = write_pairs(tmp_path / "pairs.tsv", ((text, answer.text) for text, answer in answers))
    scoring = {option: way[option] for option in option_types(ScoringOptions) if option in way}
    for given, (_, answer) in zip(heedful.score(run, path, **scoring, batch_size=3), answers, strict=True):
        same(given, answer)
    temperature = {option: value for option, value in scoring.items() if option == "attention_temperature"}
    for given, (_, answer) in zip(heedful.align(run, path, **temperature), answers, strict=True):
        close(given.weights, answer.alignment.weights)


@every
def test_a_beam_of_one_is_greedy(number):
    """20 texts for each of 15 models: the best of each step is what beam search finds too, if it is made to."""
    check_greedy(predictor_of(number))


def check_greedy(predictor: Predictor, *, lines: Sequence[Pair] = LINES) -> None:
    predictor = predictor.with_options({"beam": 1})
    greedy = predictor.predict(lines, with_alignment=True)
    calls = []

    def through_the_beam(step, memory, state, *, rules, ranking: Ranking, with_weights: bool):
        calls.append(1)
        return beam(step, memory, state, beam_size=1, rules=rules, ranking=ranking, with_weights=with_weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heedful.decoding, "greedy", through_the_beam)
        for (one,), (other,) in zip(predictor.predict(lines, with_alignment=True), greedy, strict=True):
            same(one, other)
    assert calls


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(PRODUCT), 5))
def test_combinations_of_parts(number):
    """Every fifth of cells, fusions and attentions, in every way (all are searched with in tests/search); in double
    precision, since in some of them roundings grow, and one that decides what is drawn changes all that follows."""
    predictor = predictor_of(number, of_all=True)
    predictor.model.double()
    plain, ways = ({"beam": 1}, {"n_best": 5}), list(WAYS.values())
    for way in (*plain, telling(predictor, ways, number // 5)):
        check_batches(predictor, way)
    for way in (*plain, *ways):
        check_forced(predictor, way)
