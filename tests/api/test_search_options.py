"""Options of the search: what makes no sense is refused at once, and what is said reaches the search."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import heedful
import heedful.decoding
from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.decoding import Decoding
from heedful.errors import HeedfulError, RecipeError
from heedful.options import ScoringOptions, option_types
from heedful.recipes import PredictRecipe
from training.cases import words

from .samples import SAMPLES, edited

WORDS = words(20, seed=8, longest=30)
SCORING = set(option_types(ScoringOptions))


def test_there_is_a_sample_of_every_option():
    assert set(SAMPLES) == set(option_types())


# What is refused.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bem": 3}, "unknown option 'bem'; did you mean 'beam'?"),
        ({"max_lenght": 3}, "unknown option 'max_lenght'; did you mean 'max_length'?"),
        ({"temperature": 0.5}, "there are two temperatures: sampling_temperature, .* and attention_temperature"),
        ({"beam": 3, "sampling_temperature": 1.0}, "searched for with a beam or drawn at a sampling_temperature"),
        ({"top_k": 3}, "top_k and top_p need a sampling_temperature"),
        ({"top_p": 0.5}, "top_k and top_p need a sampling_temperature"),
        ({"beam": 3, "top_p": 0.5}, "top_k and top_p need a sampling_temperature"),
        ({"min_length": 7, "max_length": 6}, "min_length 7 is above max_length 6"),
        ({"dictionary": "d.tsv", "unknown": "avoid"}, "a dictionary is for unknown tokens that are replaced, got"),
        ({"dictionary": "nowhere.tsv"}, "nowhere.tsv"),
        ({"diversity_penalty": 0.5, "beam": 1}, "a diversity_penalty needs a beam of more than 1"),
        ({"diversity_penalty": 0.5, "sampling_temperature": 1.0}, "a diversity_penalty needs a beam of more than 1"),
        ({"n_best": 0}, "n_best must be a whole number of at least 1 and at most 10000, got 0"),
        ({"n_best": 2.5}, "n_best must be a whole number of at least 1 and at most 10000, got 2.5"),
        ({"batch_size": "many"}, "batch_size must be a whole number of at least 1 and at most 10000, got 'many'"),
        ({"prefix": "A x B"}, "prefix: the target vocabulary has no token 'x'"),
        ({"banned": ["A", "AA"]}, "banned: the target vocabulary has no token 'AA'; did you mean 'A'?"),
        ({"banned": ["A B"]}, "banned: expected single target tokens, got 'A B', which is 2 tokens"),
        ({"banned": [""]}, "banned: expected single target tokens, got '', which is 0 tokens"),
        ({"prefix": "A B C", "max_length": 3}, "max_length 3 leaves no room for a prefix of 3 tokens and an end"),
        ({"length_normalisation": "median"}, "length_normalisation"),
        ({"unknown": "forget"}, "unknown"),
        ({"top_p": 1.01, "sampling_temperature": 1.0}, "top_p"),
        ({"beam": 2.0}, "beam"),
        ({"beam": "5"}, "beam"),
        ({"beam": True}, "beam"),
        ({"banned": "AB"}, "banned"),
        ({"prefix": ["A"]}, "prefix"),
    ],
    ids=str,
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_answered(run, monkeypatch, options, message):
    monkeypatch.setattr(Decoding, "search", None)  # nobody may call it
    for texts in (WORDS, []):
        with pytest.raises(HeedfulError, match=message):
            run.predict(texts, **options)
    if "n_best" not in options:
        with pytest.raises(HeedfulError, match=message):
            heedful.evaluate(run, "copy:dev", **options)


NUMBERS = [name for name, (kind, _) in option_types().items() if kind in (int | None, float | None)]
TOO_LOW = dict.fromkeys(NUMBERS, -1) | {"beam": 0, "min_length": 0, "max_length": 0, "max_length_extra": 0}
TOO_LOW |= {
    "max_length_ratio": 0.0,
    "sampling_temperature": 0.0,
    "attention_temperature": 0.0,
    "top_k": 0,
    "top_p": 0.0,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_range(run, name):
    whole = option_types()[name][0] == int | None
    for value in (TOO_LOW[name], *((2**63,) if whole else (math.nan, math.inf, -math.inf))):
        if (name, value) == ("no_repeat_ngram", 2**63):  # no answer is so long
            continue
        given = {"sampling_temperature": 1.0} if name in ("top_k", "top_p") else {}
        for texts in (["abc"], []):
            with pytest.raises(RecipeError, match=name):
                run.predict(texts, **{**given, name: value})


def test_scoring_takes_the_options_of_scores_alone(run, pairs):
    for name, (value, _) in SAMPLES.items():
        if name in SCORING:
            heedful.score(run, pairs, **value)
        else:
            with pytest.raises(RecipeError, match=f"unknown option '{name}'"):
                heedful.score(run, pairs, **{name: value[name]})
    with pytest.raises(RecipeError, match="there is an attention_temperature"):
        heedful.score(run, pairs, temperature=1.0)  # type: ignore[call-arg]


def test_more_answers_than_the_beam_holds(run):
    with pytest.raises(HeedfulError, match="n_best 4 needs a beam of at least 4, got beam 3"):
        run.predict(["abc"], n_best=4, beam=3)
    assert len(run.predict(["abc"], n_best=9)[0]) > 5  # no beam was asked for: it is as wide as it must be
    assert len(run.predict(["abc"], n_best=9, sampling_temperature=1.0)[0]) == 9


# What reaches the search.


@pytest.fixture
def searched(monkeypatch):
    """The arguments of each search."""
    calls: list[dict[str, Any]] = []
    for name in ("beam", "greedy", "sample"):
        original = getattr(heedful.decoding, name)

        def spy(*arguments, name=name, original=original, **options):
            calls.append({"search": name, **options})
            return original(*arguments, **options)

        monkeypatch.setattr(heedful.decoding, name, spy)
    return calls


def test_each_option_is_in_the_search(run, searched):
    ids = run.codec.target_vocabulary.ids
    dictionary = {"unknown": "replace"}

    def call(**options) -> dict[str, Any]:
        searched.clear()
        run.predict(["abcd"], **options)
        return searched[0]

    assert (call()["search"], call()["beam_size"], call()["n_best"]) == ("beam", 5, 1)
    assert call(beam=1)["search"] == "greedy"
    assert call(beam=9)["beam_size"] == 9
    assert call(n_best=3)["n_best"] == 3
    assert call(diversity_penalty=0.3)["diversity_penalty"] == 0.3
    ranking = call(length_penalty=0.5, length_normalisation="gnmt", coverage_penalty=0.2)["ranking"]
    assert ranking[:3] == (0.5, "gnmt", 0.2)
    assert call(beam=1, coverage_penalty=0.2)["ranking"].coverage_penalty == 0.2
    assert call(banned=["A", "B"])["rules"].banned == tuple(ids(["A", "B"]))
    assert call(unknown="avoid", banned=["A"])["rules"].banned == (*ids(["A"]), 3)
    assert call(**dictionary)["rules"].banned == ()
    assert call(no_repeat_ngram=2)["rules"].no_repeat_ngram == 2
    assert call(prefix="B A")["rules"].prefix.tolist() == [ids(["B", "A"])]
    drawn = call(sampling_temperature=0.7, top_k=4, top_p=0.9, n_best=6)
    assert [drawn[name] for name in ("search", "temperature", "top_k", "top_p", "count")] == ["sample", 0.7, 4, 0.9, 6]
    assert (
        drawn["seeds"]
        == call(sampling_temperature=0.7, seed=1)["seeds"]
        != call(sampling_temperature=1, seed=2)["seeds"]
    )
    assert call(with_alignment=False)["with_weights"] is False
    assert call(with_alignment=False, **dictionary)["with_weights"] is True


@pytest.mark.parametrize(
    ("options", "shortest", "longest"),
    [
        # sources of 1, 4 and 10 letters; with their end symbol and a tag 3, 6 and 12
        ({}, [1, 1, 1], [29, 38, 56]),
        ({"max_length_ratio": 0.5, "max_length_extra": 2}, [1, 1, 1], [3, 5, 8]),
        ({"max_length_ratio": 1.25, "max_length_extra": 1}, [1, 1, 1], [4, 8, 16]),
        ({"max_length": 30}, [1, 1, 1], [29, 30, 30]),
        ({"max_length": 1}, [1, 1, 1], [1, 1, 1]),
        ({"min_length": 4}, [4, 4, 4], [29, 38, 56]),
        ({"min_length_ratio": 0.4}, [2, 3, 5], [29, 38, 56]),
        ({"min_length_ratio": 0.4, "min_length": 3}, [3, 3, 5], [29, 38, 56]),
        ({"min_length_ratio": 2.0, "max_length": 9}, [6, 9, 9], [9, 9, 9]),
        ({"prefix": "AAAA", "max_length_ratio": 0.1, "max_length_extra": 1}, [1, 1, 1], [5, 5, 5]),
        ({"prefix": "A", "max_length_ratio": 0.5, "max_length_extra": 2}, [1, 1, 1], [3, 5, 8]),
    ],
    ids=str,
)
def test_lengths_by_hand(options, shortest, longest):
    codec = Codec.build([Pair("abc", "AB", ("X",), 1)], target_tokens=("characters", {}))
    examples = [Example(codec.encode_source(text, ("X",)), None, 0) for text in ("a", "abca", "abcabcabca")]
    rules = Decoding.of(PredictRecipe(**options), codec, normalisation="NFC").rules(collate(examples).sources[0])
    assert rules.min_lengths is not None
    assert rules.min_lengths.tolist() == shortest
    assert rules.max_lengths.tolist() == longest


def test_coverage_is_of_words_alone():
    """Neither the tag nor the end symbol nor padding need be looked at."""
    codec = Codec.build([Pair("abc", "AB", ("X",), 1)])
    source = collate([Example(codec.encode_source(text, ("X",)), None, 0) for text in ("abc", "a")]).sources[0]
    words = Decoding.of(PredictRecipe(), codec, normalisation="NFC").ranking(source).words
    assert words is not None
    assert words.tolist() == [[False, True, True, True, False], [False, True, False, False, False]]


def test_texts_in_options_are_brought_into_the_runs_form(run):
    """A prefix and a banned token, with the accent apart."""
    codec = Codec.build([Pair("a", "é A", (), 1)], target_tokens=("whitespace", {}))
    settings = PredictRecipe(prefix="e\u0301", banned=["e\u0301"])
    decoding = Decoding.of(settings, codec, normalisation="NFC")
    assert decoding.prefix == decoding.banned == tuple(codec.target_vocabulary.ids(["é"]))
    with pytest.raises(RecipeError, match="prefix: the target vocabulary has no token"):
        Decoding.of(settings, codec, normalisation="none")


# Recipes and calls.


def texts(run, **options) -> list[tuple[str, float]]:
    return [(answer.text, answer.score) for answer in run.predict(WORDS, **options)]


def test_the_recipe_has_the_defaults_and_a_call_goes_before_it(run, folder, tmp_path):
    usual = {"beam": 3, "no_repeat_ngram": 2, "length_penalty": 0.0, "prefix": "B", "banned": ["A"], "min_length": 4}
    other = heedful.load(edited(folder, tmp_path / "run", **usual))
    assert texts(other) == texts(run, **usual) != texts(run)
    assert texts(other, prefix="", banned=[]) == texts(run, **{**usual, "prefix": "", "banned": []})
    assert texts(other, beam=1) == texts(run, **{**usual, "beam": 1})
    assert texts(other, beam=None, prefix=None) == texts(other)  # nothing said


def test_a_recipe_that_draws_answers(run, folder, tmp_path):
    drawing = heedful.load(edited(folder, tmp_path / "run", sampling_temperature=1.5, top_k=5, seed=3))
    assert texts(drawing) == texts(run, sampling_temperature=1.5, top_k=5, seed=3)
    assert texts(drawing, seed=4) == texts(run, sampling_temperature=1.5, top_k=5, seed=4) != texts(drawing)
    assert texts(drawing, beam=5) == texts(run)  # a beam that is asked for is a search
    assert texts(drawing, beam=1) == texts(run, beam=1)


def test_a_recipe_that_does_not_fit_is_refused_when_it_is_loaded(folder, tmp_path):
    for number, (settings, message) in enumerate(
        [
            ({"prefix": "x"}, "prefix: the target vocabulary has no token 'x'"),
            ({"min_length": 9, "max_length": 3}, "min_length 9 is above max_length 3"),
            ({"top_k": 3}, "top_k and top_p need a sampling_temperature"),
        ]
    ):
        with pytest.raises(HeedfulError, match=message):
            heedful.load(edited(folder, tmp_path / str(number), **settings))


# What stays as it was.


def test_another_attention_temperature_leaves_the_run_as_it_was(run, pairs):
    before, aligned = run.predict(WORDS), heedful.align(run, pairs)
    model, settings = run.predictor.model, run.predictor.settings
    sharp, flat = (heedful.align(run, pairs, attention_temperature=value) for value in (0.1, 10.0))
    for sharper, usual, flatter in zip(sharp, aligned, flat, strict=True):
        assert (sharper.weights.max(1) >= usual.weights.max(1) - 1e-6).all()
        assert (usual.weights.max(1) >= flatter.weights.max(1) - 1e-6).all()
        assert sharper.weights.sum(1) == pytest.approx(1.0, abs=1e-5)
    assert max(a.weights.max() for a in flat) < 0.9 < min(a.weights.max() for a in sharp)
    assert texts(run, attention_temperature=0.1) != texts(run)
    assert run.predict(WORDS) == before
    assert heedful.align(run, pairs) == aligned
    assert run.predictor.model is model
    assert run.predictor.settings is settings
    assert texts(run, attention_temperature=1.0) == texts(run)  # softmax is at 1


def test_threads_with_options_of_their_own(run, pairs):
    """At the same time, over and over: none sees the temperature, the prefix or the draws of another."""
    ways: list[dict[str, Any]] = [
        {"attention_temperature": 0.1}, {"attention_temperature": 10.0}, {"prefix": "B"}, {"beam": 1, "banned": ["A"]},
        {"sampling_temperature": 2.0}, {"sampling_temperature": 2.0, "seed": 2}, {"coverage_penalty": 2.0}, {},
    ]  # fmt: skip
    alone = [run.predict(WORDS, **way) for way in ways]
    assert len({tuple(answer.text for answer in answers) for answers in alone}) >= 6
    with ThreadPoolExecutor(4) as pool:
        for number, answers in pool.map(lambda n: (n, run.predict(WORDS, **ways[n])), [*range(len(ways))] * 3):
            assert answers == alone[number]


def test_a_diversity_penalty_needs_a_beam(run):
    assert len(run.predict(["abc"], n_best=3, beam=3, diversity_penalty=0.5)[0]) > 1
    for options in ({"beam": 1}, {"sampling_temperature": 1.0}):
        with pytest.raises(RecipeError, match="a diversity_penalty needs a beam of more than 1"):
            run.predict(["abc"], diversity_penalty=0.5, **options)


def test_ratios_are_the_decimals_that_they_are_written_as(run):
    """A source of 100 symbols with its end: 0.29 of it and 1 are 30, and 0.07 are 7, though not in binary."""
    source = collate([Example(run.codec.encode_source("a" * 99), None, 0)]).sources[0]
    options = {"max_length_ratio": 0.29, "max_length_extra": 1, "min_length_ratio": 0.07}
    rules = run.predictor.with_options(options).decoding.rules(source)
    assert (rules.max_lengths.tolist(), rules.min_lengths.tolist()) == ([30], [7])
