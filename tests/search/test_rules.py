"""Which answers are allowed: each rule and their mixtures, in beam search, greedy search and sampling alike."""

import pytest
import torch

from heedful.search import Ranking, Rules, beam, greedy, sample

from .tables import (
    END,
    PAD,
    begin,
    check,
    check_all,
    exhaustive,
    keeps,
    plain_beam,
    plain_greedy,
    random_table,
    rows,
    scripted,
    step,
)

COUNT = 7


def prefixes(*given: tuple[int, ...]) -> torch.Tensor:
    longest = max(map(len, given))
    return torch.tensor([[*prefix, *[PAD] * (longest - len(prefix))] for prefix in given])


def of(*values: int) -> torch.Tensor:
    return torch.tensor(values)


# Seven sentences; the symbols of an answer are 3, 4 and 5 (and 6 in the larger tables).
LIMITS = of(6, 6, 6, 6, 6, 6, 6)
PREFIXES = prefixes((), (4,), (3, 3, 3), (5, 4), (3, 5, 4, 3, 5), (4,), ())
RULES = {
    "limits": Rules(of(1, 2, 3, 4, 5, 6, 6)),
    "min_lengths": Rules(LIMITS, min_lengths=of(1, 2, 3, 4, 5, 6, 1)),
    "only_one_length": Rules(of(1, 2, 3, 4, 5, 6, 6), min_lengths=of(1, 2, 3, 4, 5, 6, 6)),
    "one_banned": Rules(LIMITS, banned=(4,)),
    "two_banned": Rules(LIMITS, banned=(5, 3)),
    "no_symbol_twice": Rules(LIMITS, no_repeat_ngram=1),
    "no_pair_twice": Rules(LIMITS, no_repeat_ngram=2),
    "no_triple_twice": Rules(LIMITS, no_repeat_ngram=3),
    "prefix": Rules(LIMITS, prefix=PREFIXES),
    "a_prefix_of_what_is_banned": Rules(LIMITS, banned=(3, 4), prefix=PREFIXES),
    "a_prefix_of_repetitions": Rules(LIMITS, no_repeat_ngram=2, prefix=prefixes(*[(3, 3, 3)] * 3, *[(4, 5, 4, 5)] * 4)),
    "a_prefix_to_the_limit": Rules(of(1, 2, 3, 2, 5, 6, 6), prefix=PREFIXES),
    "all": Rules(
        of(5, 6, 6, 6, 6, 4, 3), min_lengths=of(3, 2, 5, 4, 6, 3, 1), banned=(4,), no_repeat_ngram=2, prefix=PREFIXES
    ),
}
every = pytest.mark.parametrize("name", RULES)


@every
def test_a_beam_as_wide_as_the_tree_finds_all_that_the_rules_leave(name):
    """At most 364 answers that end and 729 that are cut: every one is looked at on its own."""
    table, rules = random_table(COUNT, seed=3, symbols=6), RULES[name]
    found = beam(step, *begin(table), beam_size=1100, n_best=400, rules=rules, with_weights=True)
    free = beam(step, *begin(table), beam_size=1100, n_best=400, rules=Rules(LIMITS))
    for row, hypotheses in enumerate(found):
        assert hypotheses
        check_all(hypotheses, exhaustive(table, row, rules, Ranking(), n_best=400), table, row, Ranking())
    assert sum(map(len, found)) < sum(map(len, free))  # they do forbid something


@every
@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_narrow_beam_is_the_plain_beam(name, beam_size):
    rules, ranking, sizes = RULES[name], Ranking(0.6, "gnmt"), {"beam_size": beam_size, "n_best": beam_size}
    for seed, end in ((0, -1.0), (1, 1.0), (2, 0.0)):
        table = random_table(COUNT, seed=seed, end=end)
        found = beam(step, *begin(table), **sizes, rules=rules, ranking=ranking, with_weights=True)
        for row, hypotheses in enumerate(found):
            assert hypotheses
            check_all(hypotheses, plain_beam(table, row, rules, ranking, **sizes), table, row, ranking)


@every
def test_greedy_search_and_draws_of_the_most_probable_are_the_plain_loop(name):
    rules = RULES[name]
    for seed, end in ((0, -1.0), (1, 1.0), (2, 0.0)):
        table = random_table(COUNT, seed=seed, end=end)
        found = greedy(step, *begin(table), rules=rules, with_weights=True)
        drawn = sample(step, *begin(table), seeds=range(COUNT), rules=rules, top_k=1, count=2, with_weights=True)
        for row in range(COUNT):
            for hypothesis in (*found[row], *drawn[row]):
                assert hypothesis.weights is not None
                check(hypothesis, plain_greedy(table, row, rules), table, row, Ranking())
            assert (len(found[row]), len(drawn[row])) == (1, 2)


@every
def test_whatever_is_drawn_keeps_the_rules(name):
    table, rules = random_table(COUNT, seed=5), RULES[name]
    drawn = sample(step, *begin(table), seeds=range(COUNT), rules=rules, count=100)
    for row, hypotheses in enumerate(drawn):
        different = {tuple(hypothesis.tokens) for hypothesis in hypotheses}
        for hypothesis in hypotheses:
            assert keeps(hypothesis.tokens + [END] * hypothesis.finished, rules, row)
            assert min(hypothesis.token_scores) > -100
        assert len(different) > 1 or name in ("limits", "only_one_length", "a_prefix_to_the_limit")


def test_a_prefix_is_scored_as_any_other_beginning():
    table = scripted({(3, 4, END): -0.5, (5, 5, END): -9.0})
    rules = Rules(of(9), prefix=prefixes((5,)))
    table.logs[0, 1, 5] = -2.0
    for found in (
        beam(step, *begin(table), beam_size=3, rules=rules),
        greedy(step, *begin(table), rules=rules),
        sample(step, *begin(table), seeds=[0], rules=rules),
    ):
        ((best,),) = found
        assert (best.tokens, best.token_scores) == ([5, 5], [-2.0, 0.0, -9.0])
        assert (best.log_probability, best.score) == (-11.0, pytest.approx(-11 / 3))


# Where nothing is allowed any more.


def searches(table, rules, count: int = 2):
    """Beams of 1 and 3, greedy search, draws: (name, answers)."""
    seeds = range(rules.max_lengths.shape[0])
    for size in (1, 3):
        yield f"beam {size}", beam(step, *begin(table), beam_size=size, n_best=size, rules=rules, with_weights=True)
    yield "greedy", greedy(step, *begin(table), rules=rules, with_weights=True)
    yield "sample", sample(step, *begin(table), seeds=seeds, rules=rules, count=count, with_weights=True)


def test_nothing_allowed_at_the_very_first_step_is_an_empty_answer_that_did_not_end():
    """Sentence 1 may not end yet and has no other symbol; its neighbour may end, and a third has a prefix."""
    table = random_table(3)
    rules = Rules(of(5, 5, 5), min_lengths=of(1, 2, 1), banned=(3, 4, 5, 6), prefix=prefixes((), (), (4, 4)))
    for name, found in searches(table, rules):
        ended, stuck, begun = (hypotheses[0] for hypotheses in found)
        assert (stuck.tokens, stuck.finished, stuck.token_scores) == ([], False, []), name
        assert (stuck.log_probability, stuck.score) == (0.0, 0.0), name
        assert (ended.tokens, ended.finished, len(ended.token_scores)) == ([], True, 1), name
        assert (begun.tokens, begun.finished, len(begun.token_scores)) == ([4, 4], True, 3), name


def test_an_answer_of_no_steps_has_weights_of_no_rows_alone_as_in_company():
    table, banned = random_table(2), (3, 4, 5, 6)
    for both, alone in zip(
        searches(table, Rules(of(5, 5), min_lengths=of(2, 1), banned=banned)),
        searches(rows(table, [0]), Rules(of(5), min_lengths=of(2), banned=banned)),
        strict=True,
    ):
        for found in (both[1][0][0], alone[1][0][0]):
            assert found.weights is not None, both[0]
            assert found.weights.shape == (0, table.weights.shape[-1]), both[0]


def test_a_hypothesis_that_cannot_go_on_is_cut_where_it_stands():
    """4 4 has no continuation but the end, which may not come yet; 3 has one."""
    table = scripted({(4, 4, END): -0.1}, {(3, 3, 3, 3, END): -0.2})
    rules = Rules(of(9, 9), min_lengths=of(5, 5))
    for name, found in searches(table, rules):
        assert [(best.tokens, best.finished) for best, *_ in found] == [([4, 4], False), ([3, 3, 3, 3], True)], name
        assert found[0][0].token_scores == [0.0, 0.0], name
        assert found[0][0].weights is not None, name
        assert found[0][0].weights.shape == (2, 1), name


def test_all_that_cannot_go_on_are_answers():
    """Whenever they were cut, and beside what is cut at the limit."""
    table = scripted({(3, 3): -0.7, (4,): -0.2, (5, 5, 5): -0.9, (6, 6, 6, 6): -0.8})
    for n_best in (1, 3, 4):
        (found,) = beam(step, *begin(table), beam_size=5, n_best=n_best, rules=Rules(of(4)), ranking=Ranking(0.0))
        expected = [([4], -0.2), ([3, 3], -0.7), ([6, 6, 6, 6], -0.8), ([5, 5, 5], -0.9)][:n_best]
        assert [(best.tokens, best.log_probability) for best in found] == expected
        assert not any(best.finished for best in found)


def test_of_several_that_cannot_go_on_the_best_is_by_its_score():
    """Coverage makes the less probable one the better."""
    table = scripted({(3, 3): -0.2, (4, 4): -0.7})
    weights = torch.zeros(1, table.logs.shape[1], 1, dtype=torch.float64)
    weights[0, table.arrows[0, 1, 4]] = 1.0
    ranking = Ranking(1.0, "power", 0.3, torch.ones(1, 1, dtype=torch.bool))
    ((found,),) = beam(step, *begin(table._replace(weights=weights)), beam_size=3, rules=Rules(of(9)), ranking=ranking)
    assert (found.tokens, found.finished) == ([4, 4], False)
    assert found.score == pytest.approx(-0.35)


def test_one_that_cannot_go_on_does_not_hide_one_that_can():
    table = scripted({(3, 3): -0.1, (4, 4, 4, END): -5.0})
    for size in (2, 3):
        (found,) = beam(step, *begin(table), beam_size=size, n_best=size, rules=Rules(of(9)))
        assert [(best.tokens, best.finished) for best in found] == [([4, 4, 4], True)]


def test_what_ended_is_returned_rather_than_what_cannot_go_on():
    table = scripted({(3, END): -5.0, (4, 4): -0.1})
    (found,) = beam(step, *begin(table), beam_size=3, n_best=3, rules=Rules(of(9)))
    assert [(best.tokens, best.finished) for best in found] == [([3], True)]


def test_a_prefix_that_the_model_finds_impossible_is_cut_before_it():
    table = scripted({(3, 4, END): -0.5})
    for name, found in searches(table, Rules(of(9), prefix=prefixes((3, 6)))):
        assert [(best.tokens, best.finished) for best in found[0][:1]] == [([3], False)], name


@pytest.mark.parametrize("first", [0, 1, 3])
def test_numbers_that_are_none_give_no_answer_and_leave_the_neighbours_alone(first):
    """From symbol `first` on; no answer may end before."""
    table, rules = random_table(3, seed=2, end=-1.0), Rules(of(7, 7, 7), min_lengths=of(5, 5, 5))
    whole = dict(searches(table, rules))

    def broken(tokens, memory, state):
        logs, weights, state = step(tokens, memory, state)
        calls.append(1)
        bad = memory.weights[:, 0, 0] == table.weights[1, 0, 0]
        return torch.where((bad & (len(calls) > first))[:, None, None], torch.nan, logs), weights, state

    for name in whole:
        calls: list[int] = []
        size = {"beam 1": 1, "beam 3": 3}.get(name)
        if size:
            found = beam(broken, *begin(table), beam_size=size, n_best=size, rules=rules, with_weights=True)
        elif name == "greedy":
            found = greedy(broken, *begin(table), rules=rules, with_weights=True)
        else:
            found = sample(broken, *begin(table), seeds=range(3), rules=rules, count=2, with_weights=True)
        assert found[1] == [], name
        for row in (0, 2):
            assert [one[:4] for one in found[row]] == [one[:4] for one in whole[name][row]], name
            assert found[row]
