"""What a score is, by hand and by a plain loop; and that stopping early never changes which answers are best."""

import math

import pytest
import torch

from heedful.errors import RecipeError
from heedful.search import Ranking, Rules, beam, greedy, sample
from heedful.search.ranking import COVERAGE_FLOOR

from .tables import (
    END,
    POSITIONS,
    begin,
    check,
    check_all,
    exhaustive,
    plain_beam,
    plain_greedy,
    random_table,
    scoring,
    scripted,
    step,
)

LONG, SHORT = (4, 4, 4, 4, 4, END), (3, 3, END)


@pytest.mark.parametrize(
    ("normalisation", "penalty", "expected"),
    [
        # log P = -6, four symbols: 4 ** alpha, or ((5 + 4) / 6) ** alpha = 1.5 ** alpha
        ("power", 0.0, -6.0),
        ("power", 0.6, -2.611651),
        ("power", 1.0, -1.5),
        ("power", 2.0, -0.375),
        ("gnmt", 0.0, -6.0),
        ("gnmt", 0.6, -4.704316),
        ("gnmt", 1.0, -4.0),
        ("gnmt", 2.0, -2.666667),
    ],
)
def test_length_normalisation_by_hand(normalisation, penalty, expected):
    table, rules, ranking = scripted({(3, 4, 5, END): -6.0}), Rules.up_to(9), Ranking(penalty, normalisation)
    for ((found,),) in (
        beam(step, *begin(table), beam_size=3, rules=rules, ranking=ranking),
        greedy(step, *begin(table), rules=rules, ranking=ranking),
        sample(step, *begin(table), seeds=[1], rules=rules, ranking=ranking),
    ):
        assert found.score == pytest.approx(expected, abs=1e-6)
        assert found.log_probability == -6.0


@pytest.mark.parametrize(
    ("ranking", "short", "long"),
    [
        (Ranking(0.0), -3.0, -3.6),
        (Ranking(1.0), -1.0, -0.6),
        (Ranking(0.0, "gnmt"), -3.0, -3.6),
        (Ranking(1.0, "gnmt"), -3.0 / (8 / 6), -3.6 / (11 / 6)),
        (Ranking(0.3, "gnmt"), -3.0 / (8 / 6) ** 0.3, -3.6 / (11 / 6) ** 0.3),
    ],
)
def test_each_hypothesis_is_measured_by_its_own_length(ranking, short, long):
    """-3.0 at length 3 against -3.6 at length 6; GNMT's formula changes its mind between alpha 0.3 and 1."""
    table = scripted({SHORT: -3.0, LONG: -3.6})
    (found,) = beam(step, *begin(table), beam_size=5, n_best=2, rules=Rules.up_to(9), ranking=ranking)
    assert [hypothesis.score for hypothesis in found] == pytest.approx(sorted((short, long), reverse=True))
    assert found[0].tokens == list(SHORT[:-1] if short > long else LONG[:-1])
    assert (short > long) == (ranking.length_penalty < 1)


COVERAGE = {
    # rows of attention of the three steps, the end's among them; what log min(sum, 1) is in all, over two words
    "all of it": (((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), 0.0),
    "more counts as all": (((1.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.5, 0.0)), 0.0),
    "a quarter of one": (((0.75, 0.25, 0.0), (0.5, 0.0, 0.5), (0.0, 0.0, 1.0)), math.log(0.25)),
    "parts of both": (((0.1, 0.2, 0.7), (0.1, 0.1, 0.8), (0.1, 0.2, 0.7)), math.log(0.3) + math.log(0.5)),
    "one of them never": (((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), math.log(COVERAGE_FLOOR)),
}


@pytest.mark.parametrize("name", COVERAGE)
def test_the_coverage_penalty_by_hand(name):
    """beta 0.2, of a score without length normalisation; the third position is no word and does not count."""
    weights, missed = COVERAGE[name]
    table = scripted({(3, 4, END): -6.0})
    table = table._replace(weights=torch.zeros(1, table.logs.shape[1], 3, dtype=torch.float64))
    table.weights[0, 1:4] = torch.tensor(weights, dtype=torch.float64)  # the nodes of the path, in order
    ranking = Ranking(0.0, "power", 0.2, torch.tensor([[True, True, False]]))
    for ((found,),) in (
        beam(step, *begin(table), beam_size=3, rules=Rules.up_to(9), ranking=ranking),
        greedy(step, *begin(table), rules=Rules.up_to(9), ranking=ranking),
        sample(step, *begin(table), seeds=[1], rules=Rules.up_to(9), ranking=ranking),
    ):
        assert found.score == pytest.approx(-6.0 + 0.2 * missed, abs=1e-6)
        assert found.log_probability == -6.0
        assert found.weights is None  # they were looked at, not asked for


def words(count: int) -> torch.Tensor:
    """Sentences of 1 to 4 words in 5 positions, a tag or nothing before them."""
    places = torch.arange(POSITIONS)
    first = torch.arange(count)[:, None] % 2
    return (places >= first) & (places < first + 1 + torch.arange(count)[:, None] % 4)


def rankings(count: int) -> list[Ranking]:
    """Every normalisation, without and with coverage."""
    lengths = [(0.0, "power"), (0.6, "power"), (1.0, "power"), (2.0, "power"), (0.6, "gnmt"), (2.0, "gnmt")]
    return [
        Ranking(penalty, normalisation, beta, words(count))
        for penalty, normalisation in lengths
        for beta in (0.0, 0.3, 1.5)
    ]


NAMES = [f"{ranking[1]}-{ranking[0]}-{ranking[2]}" for ranking in rankings(1)]
every = pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)


@every
def test_a_beam_as_wide_as_the_tree_ranks_as_brute_force_does(number):
    """All 85 answers of at most 4 symbols, in the order of their scores."""
    table, rules, ranking = random_table(5, seed=4), Rules(torch.full((5,), 4)), rankings(5)[number]
    for row, hypotheses in enumerate(
        beam(step, *begin(table), beam_size=400, n_best=85, rules=rules, ranking=ranking, with_weights=True)
    ):
        assert len(hypotheses) == 85
        check_all(hypotheses, exhaustive(table, row, rules, ranking, n_best=85), table, row, ranking)


@every
def test_greedy_answers_and_draws_have_the_same_scores(number):
    table, rules, ranking = random_table(11, seed=6), Rules(torch.arange(11) + 1), rankings(11)[number]
    found = greedy(step, *begin(table), rules=rules, ranking=ranking)
    drawn = sample(step, *begin(table), seeds=range(11), rules=rules, ranking=ranking, count=5, with_weights=True)
    for row in range(11):
        check(found[row][0], plain_greedy(table, row, rules), table, row, ranking)
        score, scores = scoring(table, row, ranking), [hypothesis.score for hypothesis in drawn[row]]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in drawn[row]:
            answers = exhaustive(table, row, Rules(rules.max_lengths.clamp(max=3)), ranking, n_best=999)
            same = [answer for answer in answers if answer.tokens == hypothesis.tokens and answer.finished]
            assert all(hypothesis.score == pytest.approx(score(answer), abs=1e-6) for answer in same)


@every
def test_early_stopping_never_changes_the_answers(number):
    """The plain beam never stops early. The fewer answers are asked for, the fewer steps are taken."""
    table, rules, ranking = random_table(31, seed=11, end=0.5), Rules(torch.arange(31) % 17 + 1), rankings(31)[number]
    calls: list[int] = []

    def counted(tokens, memory, state):
        calls[-1] += tokens.shape[0]
        return step(tokens, memory, state)

    expected = [plain_beam(table, row, rules, ranking, beam_size=7, n_best=7) for row in range(31)]
    for n_best in (1, 3, 7):
        calls.append(0)
        found = beam(counted, *begin(table), beam_size=7, n_best=n_best, rules=rules, ranking=ranking)
        for row, hypotheses in enumerate(found):
            check_all(hypotheses, expected[row][:n_best], table, row, ranking)
    assert calls[0] < calls[2] or ranking.coverage_penalty  # which hides how near a hypothesis is to the best
    assert calls[0] <= calls[1] <= calls[2]


@pytest.mark.parametrize(("first", "steps"), [(-0.9, 2), (-0.6, 9)])
def test_with_gnmt_it_stops_as_soon_as_nothing_can_overtake(first, steps):
    """-0.4 / (7 / 6) = -0.343 has ended; -0.9 / (14 / 6) = -0.386 is the most for one, -0.257 for the other."""
    calls = []

    def counted(tokens, memory, state):
        calls.append(tokens.shape[0])
        return step(tokens, memory, state)

    table = scripted({(3, END): -0.4, (4,) * 9: 0.0})
    table.logs[0, 1, 4] = first
    ((best,),) = beam(counted, *begin(table), beam_size=2, rules=Rules.up_to(9), ranking=Ranking(1.0, "gnmt"))
    assert best.tokens == [3]
    assert len(calls) == steps


def test_coverage_decides_between_answers():
    """The more probable one looks at a word only."""
    table = scripted({(3, END): -1.0, (4, END): -1.5})
    table = table._replace(weights=torch.zeros(1, table.logs.shape[1], 2, dtype=torch.float64))
    table.weights[0, 1:] = torch.tensor([0.5, 0.0])
    table.weights[0, int(table.arrows[0, 1, 4])] = torch.tensor([0.5, 1.0])
    for beta, wanted in ((0.0, [3]), (0.1, [4])):
        ranking = Ranking(1.0, "power", beta, torch.ones(1, 2, dtype=torch.bool))
        ((best,),) = beam(step, *begin(table), beam_size=2, rules=Rules.up_to(9), ranking=ranking)
        assert best.tokens == wanted


def test_a_negative_penalty_is_refused():
    table = random_table(1)
    for ranking in (Ranking(-0.5), Ranking(1.0, "gnmt", -0.1, words(1))):
        with pytest.raises(RecipeError, match="penalties must be 0 or more, got"):
            beam(step, *begin(table), beam_size=2, rules=Rules.up_to(5), ranking=ranking)
