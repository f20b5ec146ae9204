"""Several models as one: each step is the mean of theirs, by hand, in both senses of the word."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from heedful.data.vocabulary import Vocabulary
from heedful.ensemble import Ensemble
from heedful.errors import RecipeError
from heedful.search import Rules, beam

from .cases import FUSIONS, batch_of, close, make, random_batch, rows_of

AVERAGES = ("probabilities", "log_probabilities")
both = pytest.mark.parametrize("average", AVERAGES)

MEMBERS: list[dict[str, Any]] = [
    {**FUSIONS["early"], "cell": "lstm", "decoder_layers": 2},
    {**FUSIONS["late_feeding"], "cell": "gru", "score": "general", "scope": "local_p", "decoder_size": 13},
    {**FUSIONS["none"], "cell": "paper_gru", "embedding_size": 3},
]
"""Models of other sizes and kinds, over the same symbols."""


def members(*which: int, scale: float = 0.7) -> list:
    return [make(**MEMBERS[number], seed=number, scale=scale) for number in which]


def mean_by_hand(rows: list[list[float]], average: str) -> list[float]:
    """Log-probabilities of each member -> those of all, one symbol after the other."""
    if average == "probabilities":
        return [math.log(sum(map(math.exp, column)) / len(column)) for column in zip(*rows, strict=True)]
    means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    whole = math.log(sum(map(math.exp, means)))
    return [value - whole for value in means]


@both
@pytest.mark.parametrize("number", range(len(MEMBERS)))
def test_one_model_twice_is_that_model(number, average):
    (model,) = members(number)
    twice, batch = Ensemble([model, model], average=average), random_batch()
    for one, other in zip(twice.force(batch), model.force(batch), strict=True):
        close(one, other)
    found, wanted = (search(either, batch) for either in (twice, model))
    assert [[answer.tokens for answer in row] for row in found] == [[answer.tokens for answer in row] for row in wanted]
    for row, others in zip(found, wanted, strict=True):
        for answer, other in zip(row, others, strict=True):
            assert answer.token_scores == pytest.approx(other.token_scores, abs=1e-9)
            assert answer.score == pytest.approx(other.score, abs=1e-9)
            close(answer.weights, other.weights)


def search(model, batch, *, n_best: int = 4):
    source = batch.sources[0]
    with torch.no_grad():
        memory, state = model.begin(source)
    rules = Rules(torch.full((source.tokens.shape[0],), 7))
    return beam(model.step, memory, state, beam_size=4, n_best=n_best, rules=rules, with_weights=True)


@both
@pytest.mark.parametrize("which", [(0, 1), (0, 2), (0, 1, 2)])
def test_every_step_is_the_mean_of_theirs_by_hand(which, average):
    """Along an answer of the ensemble: each member goes its own way with the same symbols."""
    models = members(*which)
    ensemble = Ensemble(models, average=average)
    source = batch_of(rows_of((6,), 29, seed=3), [[2]])
    (answers,) = search(ensemble, source)
    assert len(answers) > 1
    with torch.no_grad():
        for answer in answers:
            begun = [model.begin(source.sources[0]) for model in models]
            states = [state for _, state in begun]
            last = Vocabulary.START
            for place, symbol in enumerate(answer.tokens + [Vocabulary.END] * answer.finished):
                rows, weights = [], []
                for number, (model, (memory, _)) in enumerate(zip(models, begun, strict=True)):
                    logs, looked, states[number] = model.step(torch.tensor([[last]]), memory, states[number])
                    rows.append(logs[0, 0].tolist())
                    weights += [] if looked is None else [looked[0, 0]]
                logs = mean_by_hand(rows, average)
                assert math.fsum(map(math.exp, logs)) == pytest.approx(1)
                assert answer.token_scores[place] == pytest.approx(logs[symbol], abs=1e-9)
                assert answer.weights is not None
                close(answer.weights[place], sum(weights) / len(weights))
                last = symbol


@both
def test_the_two_averages_differ_and_so_do_the_members(average):
    models, batch = members(0, 1), random_batch()
    ours, _ = Ensemble(models, average=average).force(batch)
    other, _ = Ensemble(models, average=next(name for name in AVERAGES if name != average)).force(batch)
    for one in (other, *(model.force(batch)[0] for model in models)):
        assert (ours - one).abs().max() > 0.01


@both
@pytest.mark.parametrize("which", [(0, 1), (2, 0), (0, 1, 2), (2, 2)])
def test_forced_decoding_is_what_search_reports(which, average):
    ensemble = Ensemble(members(*which), average=average)
    source = rows_of((5, 2, 7), 29, seed=4)
    for row, answers in zip(source, search(ensemble, batch_of(source, [[2]] * 3)), strict=True):
        targets = [answer.tokens + [Vocabulary.END] * answer.finished for answer in answers]
        with torch.no_grad():
            logs, weights = ensemble.force(batch_of([row] * len(targets), targets))
        for place, (answer, target) in enumerate(zip(answers, targets, strict=True)):
            assert answer.token_scores == pytest.approx(logs[place, : len(target)].tolist(), abs=1e-9)
            assert (answer.weights is None) == (weights is None) == (which == (2, 2))
            if weights is not None and answer.weights is not None:
                close(answer.weights[:, : len(row)], weights[place, : len(target)])


def test_the_weights_are_those_of_the_members_that_look():
    """Of "none" and "early", early's own; of two that look, the mean."""
    early, late, none = members(0, 1, 2)
    batch = random_batch()
    close(Ensemble([none, early]).force(batch)[1], early.force(batch)[1])
    mean = (early.force(batch)[1] + late.force(batch)[1]) / 2
    close(Ensemble([early, none, late]).force(batch)[1], mean)
    assert Ensemble([none, none]).force(batch)[1] is None
    assert [Ensemble(some).has_attention for some in ([none, early], [none, none])] == [True, False]


def rows_are(name: str):
    return make(fusion={"name": "late", "rows": name}, readout="attentional")


def test_rows_that_belong_to_other_words_are_refused():
    (none,) = members(2)
    with pytest.raises(RecipeError, match=r"some of these models have model\.fusion\.rows = 'predicted' and some '"):
        Ensemble([rows_are("predicted"), none, rows_are("input")])
    for name in ("predicted", "input"):
        assert Ensemble([none, rows_are(name), rows_are(name)]).row_convention == name  # none has no rows to differ
    assert Ensemble([none, none]).row_convention == none.row_convention


def test_an_average_that_does_not_exist_is_refused():
    with pytest.raises(RecipeError, match="an ensemble averages 'probabilities' or 'log_probabilities', got 'median'"):
        Ensemble(members(0, 1), average="median")  # type: ignore[arg-type]


@both
def test_another_attention_temperature_is_that_of_each_member(average):
    """Those without attention stay as they are; so do the models that it was made of."""
    models, batch = members(0, 1, 2), random_batch()
    ensemble = Ensemble(models, average=average)
    before = ensemble.force(batch)
    cooled = ensemble.at_attention_temperature(0.3)
    assert cooled.average == average
    each = [*(model.at_attention_temperature(0.3) for model in models[:2]), models[2]]
    for one, other in zip(cooled.force(batch), Ensemble(each, average=average).force(batch), strict=True):
        assert torch.equal(one, other)
    assert (cooled.force(batch)[1] - before[1]).abs().max() > 0.01
    for one, other in zip(ensemble.force(batch), before, strict=True):
        assert torch.equal(one, other)


@both
def test_what_one_member_finds_impossible(average):
    """By the arithmetic mean the others decide; by the geometric mean it stays impossible. Never NaN."""
    models, batch = members(0, 1), random_batch()
    with torch.no_grad():
        models[0].decoder.output.bias[5] = -torch.inf
        logs, _ = models[1].distributions(batch)
        memory, state = (ensemble := Ensemble(models, average=average)).begin(batch.sources[0])
        first, _, _ = ensemble.step(torch.full((3, 1), Vocabulary.START), memory, state)
    assert not first.isnan().any()
    if average == "probabilities":
        close(first[:, 0, 5], logs[:, 0, 5] - math.log(2))
    else:
        assert (first[:, 0, 5] == -torch.inf).all()
