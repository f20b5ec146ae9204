"""Sampling: draws follow the distribution that was asked for, and are nobody else's."""

import math

import pytest
import torch

from heedful.errors import RecipeError
from heedful.search import Ranking, Rules, sample

from .tables import EMPTY as NOTHING
from .tables import END, SYMBOLS, begin, check, grow, random_table, rows, scoring, step


def distribution(
    logs: list[float], *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> dict[int, float]:
    """Symbol -> probability: the k best, at a temperature, of them the fewest that have p together."""
    best = sorted((symbol for symbol in range(len(logs)) if symbol >= END), key=lambda symbol: -logs[symbol])[:top_k]
    powers = [math.exp(logs[symbol] / temperature) for symbol in best]
    shares = [power / sum(powers) for power in powers]
    count = len(best) if top_p is None else 1
    while top_p is not None and count < len(best) and sum(shares[:count]) < top_p:
        count += 1
    return {symbol: share / sum(shares[:count]) for symbol, share in zip(best[:count], shares, strict=False)}


def chi_square(counts: dict, expected: dict) -> float:
    """Of counts against expected counts; whatever is not expected may not come at all."""
    assert set(counts) <= set(expected)
    return sum((counts.get(key, 0) - wanted) ** 2 / wanted for key, wanted in expected.items())


WAYS = [
    {},
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"top_k": 2},
    {"top_k": 99},
    {"top_p": 0.6},
    {"top_p": 0.9},
    {"top_p": 1.0},
    {"temperature": 2.0, "top_p": 0.7},
    {"temperature": 0.7, "top_k": 3, "top_p": 0.8},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_first_symbols_follow_the_distribution(way):
    """4,000 draws for each of 3 sentences; chi-square of 4 degrees of freedom is above 30 once in 200,000 times."""
    table = random_table(3, seed=8, sharp=1.0)
    found = sample(step, *begin(table), seeds=[5, 6, 7], rules=Rules.up_to(1, 1, 1), count=4000, **way)
    for row, hypotheses in enumerate(found):
        node = int(table.arrows[row, 0, 1])
        wanted = distribution(table.logs[row, node].tolist(), **way)
        counts: dict[int, int] = {}
        for hypothesis in hypotheses:
            symbol = (*hypothesis.tokens, END)[0]
            counts[symbol] = counts.get(symbol, 0) + 1
        assert sum(counts.values()) == 4000
        assert chi_square(counts, {symbol: 4000 * share for symbol, share in wanted.items()}) < 30


def test_each_step_is_drawn_anew():
    """Whole answers of two symbols: 21 of them, each as often as the product of its steps says."""
    table = random_table(1, seed=9, sharp=0.7)
    (found,) = sample(step, *begin(table), seeds=[3], rules=Rules.up_to(2), count=8000)
    paths = grow(table, 0, NOTHING)
    paths = [path for path in paths if path.finished] + [
        path for first in paths if not first.finished for path in grow(table, 0, first)
    ]
    # Their probabilities, padding and the start symbol taken out of each step.
    shares = {}
    for path in paths:
        probability = math.exp(path.log_probability)
        for node in path.nodes:
            probability /= 1 - float(table.logs[0, node, :2].exp().sum())
        shares[tuple(path.symbols)] = probability
    assert sum(shares.values()) == pytest.approx(1)
    counts: dict[tuple[int, ...], int] = {}
    for hypothesis in found:
        key = (*hypothesis.tokens, *[END] * hypothesis.finished)
        counts[key] = counts.get(key, 0) + 1
    assert chi_square(counts, {key: 8000 * share for key, share in shares.items()}) < 60  # 20 degrees of freedom


def test_sentences_with_neighbouring_seeds_draw_independently():
    table = random_table(1, seed=10, sharp=1.0)
    many = rows(table, [0] * 3000)
    found = sample(step, *begin(many), seeds=range(3000), rules=Rules(torch.ones(3000).long()))
    counts: dict[int, int] = {}
    for (hypothesis,) in found:
        symbol = (*hypothesis.tokens, END)[0]
        counts[symbol] = counts.get(symbol, 0) + 1
    wanted = distribution(table.logs[0, int(table.arrows[0, 0, 1])].tolist())
    assert chi_square(counts, {symbol: 3000 * share for symbol, share in wanted.items()}) < 30


@pytest.mark.parametrize(
    ("way", "support"),
    [
        ({"top_p": 0.001}, {3}),
        ({"top_p": 0.49}, {3}),
        ({"top_p": 0.51}, {3, 4}),
        ({"top_p": 0.69}, {3, 4}),
        ({"top_p": 0.71}, {3, 4, 5}),
        ({"top_p": 0.96}, {3, 4, 5, 6, END}),
        ({"top_p": 1.0}, {3, 4, 5, 6, END}),
        ({"top_k": 1}, {3}),
        ({"top_k": 3}, {3, 4, 5}),
        ({"top_k": 3, "top_p": 0.9}, {3, 4, 5}),  # of the three, 0.5 / 0.85, 0.2 / 0.85 and 0.15 / 0.85
        ({"top_k": 3, "top_p": 0.8}, {3, 4}),
        ({"temperature": 0.5, "top_p": 0.75}, {3}),  # squares: 0.25 of 0.325
        ({"temperature": 0.5, "top_p": 0.78}, {3, 4}),
        ({"temperature": 0.001}, {3}),
    ],
    ids=str,
)
def test_who_may_be_drawn_by_hand(way, support):
    """0.5, 0.2, 0.15, 0.1 and 0.05."""
    table = random_table(1)
    table.logs[:] = torch.tensor([0.0, 0.0, 0.05, 0.5, 0.2, 0.15, 0.1], dtype=torch.float64).log()
    (found,) = sample(step, *begin(table), seeds=[1], rules=Rules.up_to(1), count=500, **way)
    assert {(*hypothesis.tokens, END)[0] for hypothesis in found} == support


def test_scores_are_the_models_own_however_it_was_drawn():
    table, ranking = random_table(7, seed=11), Ranking(0.6, "gnmt")
    rules = Rules(torch.arange(7) + 3)
    for way in WAYS:
        found = sample(
            step, *begin(table), seeds=range(7), rules=rules, ranking=ranking, count=3, with_weights=True, **way
        )
        for row, hypotheses in enumerate(found):
            for hypothesis in hypotheses:
                answer = NOTHING
                for symbol in hypothesis.tokens + [END] * hypothesis.finished:
                    (answer,) = (more for more in grow(table, row, answer) if more.symbols[-1] == symbol)
                check(hypothesis, answer, table, row, ranking)
                assert hypothesis.finished or len(hypothesis.tokens) == row + 3
            scores = [hypothesis.score for hypothesis in hypotheses]
            assert scores == sorted(scores, reverse=True)
            assert scoring(table, row, ranking)(answer) == pytest.approx(scores[-1])


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_draws_depend_on_the_seed_alone(size):
    """Batches of any size, in any order, and neighbours with other limits."""
    table, lengths = random_table(20, seed=12, end=-1.0), torch.arange(20) + 1

    def run(part):
        return sample(
            step,
            *begin(rows(table, part)),
            seeds=[100 + row for row in part],
            rules=Rules(lengths[part]),
            count=3,
            top_p=0.9,
            with_weights=True,
        )

    whole = run(list(range(20)))
    order = torch.randperm(20, generator=torch.Generator().manual_seed(size)).tolist()
    for start in range(0, 20, size):
        part = order[start : start + size]
        for row, hypotheses in zip(part, run(part), strict=True):
            assert [found[:4] for found in hypotheses] == [found[:4] for found in whole[row]]
            assert all(torch.equal(a.weights, b.weights) for a, b in zip(hypotheses, whole[row], strict=True))


def test_a_longer_limit_goes_on_with_the_same_draws():
    table = random_table(5, seed=13, end=-12.0)
    limits = (1, 3, 7, 8, 15, 16, 17, 33, 63, 64, 65, 129, 150)
    found = [sample(step, *begin(table), seeds=range(5), rules=Rules(torch.full((5,), limit))) for limit in limits]
    longest = [hypotheses[0].tokens for hypotheses in found[-1]]
    assert min(map(len, longest)) > 129
    for limit, answers in zip(limits, found, strict=True):
        assert [hypotheses[0].tokens for hypotheses in answers] == [tokens[:limit] for tokens in longest]


def test_other_seeds_draw_otherwise_and_the_same_seed_the_same():
    table, rules = random_table(1, seed=14, end=-2.0), Rules.up_to(9)
    drawn = [sample(step, *begin(table), seeds=[seed], rules=rules)[0][0].tokens for seed in (*range(20), 2**63 - 1)]
    again = [sample(step, *begin(table), seeds=[seed], rules=rules)[0][0].tokens for seed in (*range(20), 2**63 - 1)]
    assert drawn == again
    assert len(set(map(tuple, drawn))) > 15


def test_several_answers_may_be_the_same_and_are_never_fewer():
    table = random_table(3, seed=15, end=3.0)
    found = sample(step, *begin(table), seeds=[1, 2, 3], rules=Rules.up_to(5, 5, 5), count=30)
    assert [len(hypotheses) for hypotheses in found] == [30, 30, 30]
    different = [len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) for hypotheses in found]
    assert all(1 < count < 30 for count in different)


def test_the_global_random_state_is_neither_changed_nor_read():
    table, rules = random_table(5), Rules.up_to(5, 5, 5, 5, 5)
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = sample(step, *begin(table), seeds=range(5), rules=rules, count=3)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert sample(step, *begin(table), seeds=range(5), rules=rules, count=3) == first


def test_padding_and_start_are_never_drawn():
    table = random_table(11, seed=2)
    table.logs[..., :2] = -0.01
    for hypotheses in sample(
        step, *begin(table), seeds=range(11), rules=Rules(torch.full((11,), 9)), count=9, temperature=5.0
    ):
        assert not any({0, 1} & set(hypothesis.tokens) for hypothesis in hypotheses)


def test_the_impossible_is_never_drawn():
    """One symbol is possible at each node, in a place of its own; draws of 0 and of nearly 1 find it too."""
    table = random_table(200, seed=3)
    only = torch.randint(3, SYMBOLS, (200, 251, 1), generator=torch.Generator().manual_seed(0))
    table.logs.fill_(-torch.inf).scatter_(2, only, 0.0)
    for hypotheses in sample(step, *begin(table), seeds=range(200), rules=Rules(torch.full((200,), 5)), count=5):
        assert all(hypothesis.token_scores == [0.0] * 5 for hypothesis in hypotheses)


@pytest.mark.parametrize(
    "way",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"top_p": -0.5},
        {"top_p": math.nan},
        {"count": 0},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(way):
    with pytest.raises(RecipeError, match="sampling needs a temperature above 0, top_k of at least 1, top_p above 0"):
        sample(step, *begin(random_table(1)), seeds=[1], rules=Rules.up_to(5), **way)


def test_no_sentences():
    def never(tokens, memory, state):
        raise AssertionError("nothing may be decoded")

    rules = Rules(torch.zeros(0, dtype=torch.int64))
    assert sample(never, *begin(random_table(0)), seeds=[], rules=rules, count=2) == []
