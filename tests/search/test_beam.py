"""Beam search against plain searches of the same tables."""

import itertools

import pytest
import torch

from heedful.search import Ranking, Rules, beam

from .tables import SYMBOLS, begin, check_all, exhaustive, plain_beam, random_table, step

PENALTIES = (0.0, 0.5, 1.0, 2.0)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_beam_as_wide_as_the_tree_finds_what_brute_force_finds(limit, penalty):
    """Four symbols and the end: at most 1 + 4 + 16 + 64 = 85 answers, and 256 that are cut."""
    table, rules, ranking = random_table(5, seed=limit), Rules(torch.full((5,), limit)), Ranking(penalty)
    found = beam(step, *begin(table), beam_size=400, n_best=100, rules=rules, ranking=ranking, with_weights=True)
    for row, hypotheses in enumerate(found):
        expected = exhaustive(table, row, rules, ranking, n_best=100)
        assert len(expected) == sum(4**length for length in range(limit))
        assert all(hypothesis.weights is not None for hypothesis in hypotheses)
        check_all(hypotheses, expected, table, row, ranking)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("beam_size", "n_best"), [(1, 1), (2, 1), (2, 2), (3, 2), (5, 1), (5, 5), (11, 7)])
def test_a_narrow_beam_is_the_plain_beam(beam_size, n_best, penalty):
    """Sentence by sentence, to the limit, with lists: so early stopping, leaving, and re-ordering change nothing."""
    rules, ranking, sizes = (
        Rules(torch.arange(23) % 11 + 1),
        Ranking(penalty),
        {"beam_size": beam_size, "n_best": n_best},
    )
    for seed, end in itertools.product(range(2), (-1.0, 1.0)):
        table = random_table(23, seed=seed, end=end)
        found = beam(step, *begin(table), **sizes, rules=rules, ranking=ranking, with_weights=True)
        assert len(found) == 23
        for row, hypotheses in enumerate(found):
            assert all(hypothesis.weights is not None for hypothesis in hypotheses)
            check_all(hypotheses, plain_beam(table, row, rules, ranking, **sizes), table, row, ranking)


@pytest.fixture(scope="module")
def many():
    """5-best of 53 sentences, and their 1-best."""
    table = random_table(53, seed=7, end=-0.5)
    limits = torch.arange(53) % 13 + 1
    return [beam(step, *begin(table), beam_size=5, n_best=n, rules=Rules(limits)) for n in (5, 1)]


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


@pytest.mark.parametrize("symbols", [4, 6])
def test_a_beam_wider_than_the_vocabulary(symbols):
    table = random_table(5, symbols=symbols)
    rules, ranking, sizes = Rules(torch.full((5,), 3)), Ranking(0.0), {"beam_size": 50, "n_best": 50}
    for row, hypotheses in enumerate(beam(step, *begin(table), **sizes, rules=rules, ranking=ranking)):
        assert len(hypotheses) == 1 + (symbols - 3) + (symbols - 3) ** 2
        check_all(hypotheses, plain_beam(table, row, rules, ranking, **sizes), table, row, ranking)


def test_padding_and_start_are_never_an_answer_however_probable():
    table = random_table(11, seed=5)
    table.logs[..., :2] = -0.01
    rules, sizes = Rules(torch.full((11,), 5)), {"beam_size": 7, "n_best": 7}
    for row, hypotheses in enumerate(beam(step, *begin(table), **sizes, rules=rules)):
        assert hypotheses
        assert not any({0, 1} & set(hypothesis.tokens) for hypothesis in hypotheses)
        check_all(hypotheses, plain_beam(table, row, rules, Ranking(), **sizes), table, row, Ranking())


def test_impossible_symbols_are_never_in_an_answer():
    """Only the end and one more symbol are possible at each node: a beam of 7 has places to spare."""
    table = random_table(11, seed=6)
    generator = torch.Generator().manual_seed(0)
    allowed = torch.randint(3, SYMBOLS, (11, 251, 1), generator=generator)
    possible = torch.zeros(11, 251, SYMBOLS, dtype=torch.bool).scatter(2, allowed, True)
    possible[..., 2] = True
    table.logs[~possible] = -torch.inf
    rules, ranking = Rules(torch.full((11,), 4)), Ranking(0.0)
    for row, hypotheses in enumerate(beam(step, *begin(table), beam_size=7, n_best=7, rules=rules, ranking=ranking)):
        assert all(hypothesis.log_probability > -100 for hypothesis in hypotheses)
        assert len(hypotheses) == 4
        check_all(hypotheses, exhaustive(table, row, rules, ranking, n_best=7), table, row, ranking)
