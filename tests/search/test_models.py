"""Search over real models: its answers, scores and weights are those of forced decoding, alone and in any batch."""

import math
from functools import cache

import pytest
import torch

from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from heedful.search import Hypothesis, beam, greedy
from model.cases import FUSIONS, SIZES, batch_of, make, rows_of

CONFIGURATIONS = [
    {**FUSIONS["none"], "cell": "gru", "decoder_layers": 1},
    {**FUSIONS["none"], "cell": "lstm", "decoder_layers": 3, "bidirectional": False},
    {**FUSIONS["none_start_only"], "cell": "paper_gru", "decoder_layers": 2, "encoder_layers": 2},
    {**FUSIONS["early"], "cell": "paper_gru", "start": "backward_first", "readout": "maxout"},
    {**FUSIONS["early"], "cell": "lstm", "decoder_layers": 2, "score": "general", "scope": "local_m"},
    {**FUSIONS["early"], "cell": "gru", "decoder_layers": 3, "score": "location", "normaliser": "entmax15"},
    {**FUSIONS["early"], "cell": "lstm", "decoder_layers": 3, "score": "concat", "scope": "local_p"},
    {**FUSIONS["late"], "cell": "gru", "decoder_layers": 2, "score": "additive", "normaliser": "sparsemax"},
    {**FUSIONS["late"], "cell": "paper_gru", "score": {"name": "location", "max_positions": 5}},
    {**FUSIONS["late_feeding"], "cell": "lstm", "decoder_layers": 3, "score": "general", "scope": "local_p"},
    {**FUSIONS["late_feeding"], "cell": "gru", "decoder_layers": 2, "score": "concat", "scope": "local_m"},
    {**FUSIONS["late_gate"], "cell": "lstm", "decoder_layers": 2, "score": "scaled_dot", "decoder_size": 14},
    {**FUSIONS["late_gate_feeding"], "cell": "paper_gru", "score": "dot", "decoder_size": 14, "tied_embeddings": True},
    {**FUSIONS["late_wide"], "cell": "lstm", "decoder_layers": 3, "start": "learned_mean", "zero_start": True},
]
NAMES = [f"{n}-{options['cell']}-{options.get('decoder_layers', 1)}" for n, options in enumerate(CONFIGURATIONS)]
every = pytest.mark.parametrize("number", range(len(CONFIGURATIONS)), ids=NAMES)
SOURCES = rows_of([1 + (7 * n) % 30 for n in range(20)], SIZES["source_vocabulary_size"], seed=1)
DIFFERENT = [[5, 2], SOURCES[4]]  # of 2 and of 29
LIMIT = 11


@cache
def model_of(number: int) -> Model:
    """The first model of configuration `number`, by seed, whose answers differ in words and lengths.

    Many a model with random weights says the same to all, and a test on it would be empty.
    """
    for seed in range(20):
        model = make(**CONFIGURATIONS[number], seed=seed, scale=1.0)
        with torch.no_grad():
            model.decoder.output.weight.mul_(2.0)
            model.decoder.output.bias[Vocabulary.END] += 1.0
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
    return beam(model.step, memory, state, beam_size=beam_size, n_best=n_best, max_lengths=limits, with_weights=True)


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
        assert hypothesis.token_scores == pytest.approx(logs[row, :length].tolist(), abs=1e-5)
        assert hypothesis.log_probability == pytest.approx(logs[row].sum().item(), abs=1e-5 * length)
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / length, abs=1e-6)
        assert (hypothesis.weights is None) == (weights is None)
        if weights is not None and hypothesis.weights is not None:
            assert hypothesis.weights.shape[0] == length
            own, padding = hypothesis.weights.split([len(source), hypothesis.weights.shape[1] - len(source)], dim=1)
            torch.testing.assert_close(own, weights[row, :length], rtol=0, atol=1e-9)
            assert not padding.any()


@every
def test_every_hypothesis_has_its_forced_score_and_its_forced_weights(number):
    model = model_of(number)
    found = search(model, SOURCES[:7])
    for source, hypotheses in zip(SOURCES, found, strict=False):
        check_forced(model, source, hypotheses)


def same(found: list[Hypothesis], wanted: list[Hypothesis], width: int) -> None:
    assert [(one.tokens, one.finished) for one in found] == [(other.tokens, other.finished) for other in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert one.token_scores == pytest.approx(other.token_scores, abs=1e-5)
        if one.weights is not None and other.weights is not None:
            torch.testing.assert_close(one.weights[:, :width], other.weights[:, :width], rtol=0, atol=1e-9)


@pytest.mark.parametrize("beam_size", [1, 5])
@every
def test_batches_of_any_size_in_any_order_give_the_same(number, beam_size):
    model = model_of(number)
    whole = search(model, SOURCES, beam_size=beam_size, n_best=beam_size)
    for size in (1, 2, 7):
        order = torch.randperm(20, generator=torch.Generator().manual_seed(size)).tolist()
        for start in range(0, 20, size):
            part = order[start : start + size]
            found = search(model, [SOURCES[n] for n in part], beam_size=beam_size, n_best=beam_size)
            for n, hypotheses in zip(part, found, strict=True):
                same(hypotheses, whole[n], len(SOURCES[n]))


@every
def test_two_very_different_sources_and_a_beam_of_3_are_each_alone(number):
    model = model_of(number)
    together = search(model, DIFFERENT, beam_size=3, n_best=3)
    for source, hypotheses in zip(DIFFERENT, together, strict=True):
        (alone,) = search(model, [source], beam_size=3, n_best=3)
        same(hypotheses, alone, len(source))


@every
def test_a_beam_of_one_is_greedy(number):
    model = model_of(number)
    source = batch_of(SOURCES, [[2]] * 20).sources[0]
    with torch.no_grad():
        memory, state = model.begin(source)
    single = greedy(model.step, memory, state, max_lengths=torch.full((20,), LIMIT), with_weights=True)
    for hypothesis, found in zip(single, search(model, SOURCES, beam_size=1, n_best=1), strict=True):
        same([hypothesis], found, source.tokens.shape[1])
    check_forced(model, SOURCES[3], single[3:4])


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
@pytest.mark.parametrize("seed", range(5))
@every
def test_forced_scores_of_long_answers_in_wide_beams(number, seed):
    model = make(**CONFIGURATIONS[number], seed=seed, scale=0.9)
    for sources in (SOURCES[:7], SOURCES[7:]):
        for source, hypotheses in zip(sources, search(model, sources, beam_size=11, n_best=11), strict=True):
            check_forced(model, source, hypotheses)
