"""The diversity penalty of Li, Monroe and Jurafsky 2016."""

import pytest
import torch

from heedful.search import Ranking, Rules, beam

from .tables import END, begin, check_all, plain_beam, random_table, scripted, step


def family():
    """A (-1.0) has children of -1.1, -1.2 and -1.25; B (-1.5) has children of -1.6 and -2.4."""
    table = scripted({(3, 3, END): 0.0, (3, 4, END): 0.0, (3, 5, END): 0.0, (4, 3, END): 0.0, (4, 4, END): 0.0})
    logs, arrows = table.logs[0], table.arrows[0]
    logs[1, 3], logs[1, 4] = -1.0, -1.5
    logs[arrows[1, 3], 3], logs[arrows[1, 3], 4], logs[arrows[1, 3], 5] = -0.1, -0.2, -0.25
    logs[arrows[1, 4], 3], logs[arrows[1, 4], 4] = -0.1, -0.9
    return table


@pytest.mark.parametrize(
    ("penalty", "beam_size", "expected"),
    [
        (0.0, 2, [[3, 3], [3, 4]]),
        (0.3, 2, [[3, 3], [3, 4]]),  # -1.1, -1.2 - 0.3 = -1.5, and -1.6 for B's best
        (0.5, 2, [[3, 3], [4, 3]]),  # -1.2 - 0.5 = -1.7 is now behind -1.6
        (0.0, 3, [[3, 3], [3, 4], [3, 5]]),
        (0.3, 3, [[3, 3], [3, 4], [4, 3]]),  # -1.25 - 0.6 = -1.85
        (0.5, 4, [[3, 3], [3, 4], [4, 3], [3, 5]]),  # -1.1, -1.6, -1.7, -2.25, and -2.4 - 0.5 = -2.9
        (0.5, 5, [[3, 3], [3, 4], [3, 5], [4, 3], [4, 4]]),  # all; ranked by what they are, without the penalty
    ],
)
def test_by_hand(penalty, beam_size, expected):
    (found,) = beam(
        step,
        *begin(family()),
        beam_size=beam_size,
        n_best=beam_size,
        rules=Rules.up_to(9),
        ranking=Ranking(0.0),
        diversity_penalty=penalty,
    )
    values = {(3, 3): -1.1, (3, 4): -1.2, (3, 5): -1.25, (4, 3): -1.6, (4, 4): -2.4}
    assert sorted(hypothesis.tokens for hypothesis in found) == sorted(expected)
    for hypothesis in found:
        assert hypothesis.score == pytest.approx(values[tuple(hypothesis.tokens)])
    scores = [hypothesis.score for hypothesis in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("penalty", [0.0, 0.2, 1.0, 5.0])
@pytest.mark.parametrize(("beam_size", "n_best"), [(2, 1), (3, 3), (7, 5)])
def test_it_is_the_plain_beam_with_a_rank_for_each_child(penalty, beam_size, n_best):
    rules = Rules(torch.arange(23) % 11 + 1, no_repeat_ngram=2)
    for ranking in (Ranking(), Ranking(0.6, "gnmt")):
        table, sizes = random_table(23, seed=beam_size), {"beam_size": beam_size, "n_best": n_best}
        found = beam(
            step, *begin(table), **sizes, rules=rules, ranking=ranking, diversity_penalty=penalty, with_weights=True
        )
        for row, hypotheses in enumerate(found):
            expected = plain_beam(table, row, rules, ranking, **sizes, diversity=penalty)
            check_all(hypotheses, expected, table, row, ranking)


def test_with_a_large_one_no_two_answers_begin_alike():
    """Each hypothesis then gives its best child before any gives a second one."""

    def firsts(penalty: float) -> list[list[int]]:
        table = random_table(29, seed=1)
        found = beam(
            step,
            *begin(table),
            beam_size=4,
            n_best=4,
            rules=Rules(torch.full((29,), 7)),
            diversity_penalty=penalty,
        )
        assert sum(map(len, found)) > 60
        return [[(*hypothesis.tokens, END)[0] for hypothesis in row] for row in found]

    assert all(len(set(row)) == len(row) for row in firsts(50.0))
    assert not all(len(set(row)) == len(row) for row in firsts(0.0))


def test_a_beam_of_one_has_nothing_to_diversify():
    table, rules = random_table(13), Rules(torch.arange(13) + 1)
    assert beam(step, *begin(table), beam_size=1, rules=rules, diversity_penalty=9.0) == beam(
        step, *begin(table), beam_size=1, rules=rules
    )
