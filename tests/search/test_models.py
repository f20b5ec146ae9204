"""Search over real models, in double precision: its scores and weights are those of forced decoding, alone and in any
batch. The same through texts, in single precision and with all options, is in tests/api/test_every_model.py."""

import math
from functools import cache

import pytest
import torch

from heedful.attention import normalisers, scopes, scores
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from heedful.model.cells import cells
from heedful.model.encoder import encoders
from heedful.model.fusion import fusions
from heedful.model.readout import readouts
from heedful.model.start import starts
from heedful.search import Hypothesis, Rules, beam, greedy
from model.cases import SIZES, batch_of, listen, make, name_of, rows_of

from .models import CONFIGURATIONS, PRODUCT, every

SOURCES = rows_of([1 + (7 * n) % 30 for n in range(20)], SIZES["source_vocabulary_size"], seed=1)
DIFFERENT = [[5, 2], SOURCES[4]]  # of 2 and of 29
LIMIT = 11
TOLERANCE = 1e-5
"""Large random weights may make ten times as much of a difference at each step: 1e-16 can become 1e-7."""


@cache
def model_of(number: int, *, of_all: bool = False) -> Model:
    """The first model of configuration `number`, by seed, whose answers differ in words and lengths.

    Many a model with random weights says the same to all, and a test on it would be empty.
    """
    for seed in range(50):
        model = make(**(PRODUCT if of_all else CONFIGURATIONS)[number], seed=seed, scale=1.0)
        with torch.no_grad():
            model.decoder.output.weight.mul_(2.0)
            model.decoder.output.bias[Vocabulary.END] += 1.0
        listen(model)
        found = search(model, SOURCES)
        answers = {tuple(hypothesis.tokens) for hypotheses in found for hypothesis in hypotheses}
        best = {tuple(hypotheses[0].tokens) for hypotheses in found}
        short, long = (hypotheses[0].tokens for hypotheses in search(model, DIFFERENT))
        if len(answers) > 30 and len(set(map(len, answers))) > 4 and len(best) > 5 and short != long:
            return model
    raise AssertionError("no model with answers that differ")


def search(model, sources, *, beam_size: int = 5, n_best: int = 5, limit: int = LIMIT) -> list[list[Hypothesis]]:
    source = batch_of(sources, [[2]] * len(sources)).sources[0]
    with torch.no_grad():
        memory, state = model.begin(source)
    limits = torch.full((len(sources),), limit)
    return beam(model.step, memory, state, beam_size=beam_size, n_best=n_best, rules=Rules(limits), with_weights=True)


def symbols(hypothesis: Hypothesis) -> list[int]:
    """With its end symbol, if it has one."""
    return hypothesis.tokens + [Vocabulary.END] * hypothesis.finished


def check_forced(model, source: list[int], hypotheses: list[Hypothesis]) -> None:
    """Token scores, their sum, and attention are those of forced decoding of the same symbols."""
    with torch.no_grad():
        logs, weights = model.force(batch_of([source] * len(hypotheses), [symbols(h) for h in hypotheses]))
    for row, hypothesis in enumerate(hypotheses):
        length = len(symbols(hypothesis))
        assert hypothesis.finished or length == LIMIT
        assert hypothesis.token_scores == pytest.approx(logs[row, :length].tolist(), abs=TOLERANCE)
        assert hypothesis.log_probability == pytest.approx(logs[row].sum().item(), abs=TOLERANCE)
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / length, abs=TOLERANCE)
        assert (hypothesis.weights is None) == (weights is None)
        if weights is not None and hypothesis.weights is not None:
            assert hypothesis.weights.shape[0] == length
            own, padding = hypothesis.weights.split([len(source), hypothesis.weights.shape[1] - len(source)], dim=1)
            torch.testing.assert_close(own, weights[row, :length], rtol=0, atol=TOLERANCE)
            assert not padding.any()


def check_scores(model: Model) -> None:
    """Beam 5 and its forced scores."""
    for source, hypotheses in zip(SOURCES, search(model, SOURCES[:7]), strict=False):
        check_forced(model, source, hypotheses)


def same(found: list[Hypothesis], wanted: list[Hypothesis], width: int) -> None:
    assert [(one.tokens, one.finished) for one in found] == [(other.tokens, other.finished) for other in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.score == pytest.approx(other.score, abs=TOLERANCE)
        assert one.token_scores == pytest.approx(other.token_scores, abs=TOLERANCE)
        if one.weights is not None and other.weights is not None:
            torch.testing.assert_close(one.weights[:, :width], other.weights[:, :width], rtol=0, atol=TOLERANCE)


def check_batches(model: Model, beam_size: int, sizes: tuple[int, ...]) -> None:
    """Batches of these sizes, shuffled, against one of all twenty."""
    whole = search(model, SOURCES, beam_size=beam_size, n_best=beam_size)
    for size in sizes:
        order = torch.randperm(20, generator=torch.Generator().manual_seed(size)).tolist()
        for start in range(0, 20, size):
            part = order[start : start + size]
            found = search(model, [SOURCES[n] for n in part], beam_size=beam_size, n_best=beam_size)
            for n, hypotheses in zip(part, found, strict=True):
                same(hypotheses, whole[n], len(SOURCES[n]))


def check_greedy(model: Model) -> None:
    """Against a beam of one, and of a few the forced scores."""
    source = batch_of(SOURCES, [[2]] * 20).sources[0]
    with torch.no_grad():
        memory, state = model.begin(source)
    single = greedy(model.step, memory, state, rules=Rules(torch.full((20,), LIMIT)), with_weights=True)
    for hypothesis, found in zip(single, search(model, SOURCES, beam_size=1, n_best=1), strict=True):
        same(hypothesis, found, source.tokens.shape[1])
    for number in range(0, 20, 6):
        check_forced(model, SOURCES[number], single[number])


def test_the_selection_has_every_part():
    """One that is new must be in it too."""
    there = {type(module) for options in CONFIGURATIONS for module in make(**options).modules()}
    for registry in (cells, encoders, fusions, scores, scopes, normalisers, starts, readouts):
        assert {name for name in registry.names() if registry[name] not in there} == set(), registry.kind


@every
def test_every_hypothesis_has_its_forced_score_and_its_forced_weights(number):
    check_scores(model_of(number))


@every
def test_batches_of_seven_in_any_order_give_the_same(number):
    check_batches(model_of(number), 5, (7,))


@every
def test_two_very_different_sources_and_a_beam_of_3_are_each_alone(number):
    model = model_of(number)
    together = search(model, DIFFERENT, beam_size=3, n_best=3)
    for source, hypotheses in zip(DIFFERENT, together, strict=True):
        (alone,) = search(model, [source], beam_size=3, n_best=3)
        same(hypotheses, alone, len(source))


@every
def test_a_beam_of_one_is_greedy(number):
    check_greedy(model_of(number))


def test_a_word_alone_and_beside_a_long_sentence():
    """In a batch, one word is not lost behind the padding of thirty."""
    model = model_of(3)
    for hypothesis, wanted in zip(*(search(model, part)[0] for part in ([[7], SOURCES[4]], [[7]])), strict=True):
        same([hypothesis], [wanted], 1)


def test_a_beam_wider_than_the_vocabulary_on_an_untrained_model():
    """At most 20 first words and as many seconds to each: all of the tree of depth 2."""
    model = make(fusion="early", scale=0.1)
    (found,) = search(model, SOURCES[:1], beam_size=500, n_best=500, limit=2)
    assert len(found) == 1 + 20
    assert sum(math.exp(hypothesis.log_probability) for hypothesis in found) < 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(PRODUCT), 2), ids=map(name_of, PRODUCT[::2]))
def test_every_combination_of_parts(number):
    """Every attention in every fusion, with one or two of three cells: forced scores, batches of every size, greedy
    search."""
    model = model_of(number, of_all=True)
    check_scores(model)
    check_greedy(model)
    for beam_size in (1, 5):
        check_batches(model, beam_size, (1, 2, 7))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@every
def test_forced_scores_of_long_answers_in_wide_beams(number, seed):
    model = make(**CONFIGURATIONS[number], seed=seed, scale=0.9)
    for sources in (SOURCES[:7], SOURCES[7:]):
        for source, hypotheses in zip(sources, search(model, sources, beam_size=11, n_best=11), strict=True):
            check_forced(model, source, hypotheses)
