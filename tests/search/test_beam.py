"""Beam search against plain searches of the same tables."""

import itertools
import sys

import pytest
import torch

from heedful.search import beam

from .tables import SYMBOLS, begin, check, exhaustive, plain_beam, random_table, step

PENALTIES = (0.0, 0.5, 1.0, 2.0)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_beam_as_wide_as_the_tree_finds_what_brute_force_finds(limit, penalty):
    """Four symbols and the end: at most 1 + 4 + 16 + 64 = 85 answers, and 256 that are cut."""
    table, count = random_table(5, seed=limit), 5
    found = beam(
        step,
        *begin(table),
        beam_size=400,
        n_best=100,
        max_lengths=torch.full((count,), limit),
        length_penalty=penalty,
        with_weights=True,
    )
    for row in range(count):
        expected = exhaustive(table, row, limit, n_best=100, penalty=penalty)
        assert len(found[row]) == len(expected) == sum(4**length for length in range(limit))
        for hypothesis, wanted in zip(found[row], expected, strict=True):
            check(hypothesis, wanted, table, row, penalty)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("beam_size", "n_best"), [(1, 1), (2, 1), (2, 2), (3, 2), (5, 1), (5, 5), (11, 7)])
def test_a_narrow_beam_is_the_plain_beam(beam_size, n_best, penalty):
    """Sentence by sentence, to the limit, with lists: so early stopping, leaving, and re-ordering change nothing."""
    for seed, end in itertools.product(range(2), (-1.0, 1.0)):
        table = random_table(23, seed=seed, end=end)
        limits = [1 + row % 11 for row in range(23)]
        found = beam(
            step,
            *begin(table),
            beam_size=beam_size,
            n_best=n_best,
            max_lengths=torch.tensor(limits),
            length_penalty=penalty,
            with_weights=True,
        )
        assert len(found) == 23
        for row, limit in enumerate(limits):
            expected = plain_beam(table, row, limit, beam_size=beam_size, n_best=n_best, penalty=penalty)
            assert len(found[row]) == len(expected)
            for hypothesis, wanted in zip(found[row], expected, strict=True):
                assert hypothesis.weights is not None
                check(hypothesis, wanted, table, row, penalty)


@pytest.fixture(scope="module")
def many():
    """5-best of 53 sentences, and their 1-best."""
    table = random_table(53, seed=7, end=-0.5)
    limits = torch.arange(53) % 13 + 1
    return [beam(step, *begin(table), beam_size=5, n_best=n, max_lengths=limits) for n in (5, 1)]


def test_the_n_best_differ_and_are_sorted(many):
    for row in many[0]:
        assert len({tuple(hypothesis.tokens) for hypothesis in row}) == len(row)
        scores = [hypothesis.score for hypothesis in row]
        assert scores == sorted(scores, reverse=True)
    assert max(map(len, many[0])) == 5


def test_the_best_does_not_depend_on_how_many_are_asked_for(many):
    for five, (best,) in zip(*many, strict=True):
        assert five[0][:4] == best[:4]


def test_token_scores_add_up_and_the_score_is_their_sum_by_length(many):
    for hypothesis in itertools.chain.from_iterable(many[0]):
        assert sum(hypothesis.token_scores) == pytest.approx(hypothesis.log_probability, abs=1e-5)
        length = len(hypothesis.tokens) + hypothesis.finished
        assert hypothesis.score == pytest.approx(hypothesis.log_probability / length, abs=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_early_stopping_never_changes_the_answers(penalty, monkeypatch):
    table = random_table(101, seed=11, end=0.5)
    limits = torch.arange(101) % 17 + 1
    calls = []

    def counted(tokens, memory, state):
        calls[-1] += tokens.shape[0]
        return step(tokens, memory, state)

    def run(n_best):
        calls.append(0)
        return beam(counted, *begin(table), beam_size=7, n_best=n_best, max_lengths=limits, length_penalty=penalty)

    early = [run(n) for n in (1, 3)]

    def to_the_end(self):
        return self.totals.isfinite().any(1)

    monkeypatch.setattr(sys.modules["heedful.search.beam"]._Run, "_going", to_the_end)
    late = [run(n) for n in (1, 3)]
    assert early == late
    assert calls[0] < calls[2] == calls[3]  # and it does stop earlier, the more so the fewer are asked for
    assert calls[0] <= calls[1] <= calls[3]


@pytest.mark.parametrize("symbols", [4, 6])
def test_a_beam_wider_than_the_vocabulary(symbols):
    table = random_table(5, symbols=symbols)
    found = beam(step, *begin(table), beam_size=50, n_best=50, max_lengths=torch.full((5,), 3), length_penalty=0.0)
    for row in range(5):
        expected = plain_beam(table, row, 3, beam_size=50, n_best=50, penalty=0.0)
        assert len(found[row]) == len(expected) == 1 + (symbols - 3) + (symbols - 3) ** 2
        for hypothesis, wanted in zip(found[row], expected, strict=True):
            check(hypothesis, wanted, table, row, 0.0)


def test_padding_and_start_are_never_an_answer_however_probable():
    table = random_table(11, seed=5)
    table.logs[..., :2] = -0.01
    found = beam(step, *begin(table), beam_size=7, n_best=7, max_lengths=torch.full((11,), 5))
    for row, hypotheses in enumerate(found):
        assert hypotheses
        for hypothesis, wanted in zip(
            hypotheses, plain_beam(table, row, 5, beam_size=7, n_best=7, penalty=1.0), strict=True
        ):
            assert not {0, 1} & set(hypothesis.tokens)
            check(hypothesis, wanted, table, row, 1.0)


def test_impossible_symbols_are_never_in_an_answer():
    """Only the end and one more symbol are possible at each node: a beam of 7 has places to spare."""
    table = random_table(11, seed=6)
    generator = torch.Generator().manual_seed(0)
    allowed = torch.randint(3, SYMBOLS, (11, 251, 1), generator=generator)
    possible = torch.zeros(11, 251, SYMBOLS, dtype=torch.bool).scatter(2, allowed, True)
    possible[..., 2] = True
    table.logs[~possible] = -torch.inf
    found = beam(step, *begin(table), beam_size=7, n_best=7, max_lengths=torch.full((11,), 4), length_penalty=0.0)
    for row, hypotheses in enumerate(found):
        assert [len(hypothesis.tokens) for hypothesis in hypotheses] != []
        assert all(hypothesis.log_probability > -100 for hypothesis in hypotheses)
        expected = exhaustive(table, row, 4, n_best=7, penalty=0.0)
        assert len(expected) == 4
        for hypothesis, wanted in zip(hypotheses, expected, strict=True):
            check(hypothesis, wanted, table, row, 0.0)
