"""Random tables, rules, rankings and sizes: search is the plain search, whatever they are."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.search import Ranking, Rules, beam, greedy, sample

from .tables import (
    END,
    PAD,
    POSITIONS,
    Table,
    begin,
    check,
    check_all,
    exhaustive,
    keeps,
    plain_beam,
    plain_greedy,
    random_table,
    step,
)

SLOW = os.environ.get("SLOW") in ("1", "new")
LONGEST = 6
NODES = 3907  # a tree of five symbols and that depth has 3,906


class Case(NamedTuple):
    """A problem; shown by the numbers that it was made of."""

    table: Table
    rules: Rules
    ranking: Ranking
    made_of: dict

    def __repr__(self) -> str:
        return f"{self.made_of} {self.rules} {self.ranking}"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """1 to 4 sentences over 1 to 5 symbols beside the end, of which some are impossible."""
    count, symbols = draw(st.integers(1, 4)), draw(st.integers(4, 8))
    seed, impossible = draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.0, 0.2, 0.6]))
    shape = {
        "count": count,
        "seed": seed,
        "symbols": symbols,
        "end": draw(st.sampled_from([-3.0, -1.0, 0.0, 1.0])),
        "sharp": draw(st.sampled_from([0.3, 1.0, 3.0])),
    }
    table = random_table(nodes=NODES, **shape)
    # Every beginning has a node of its own, so that no two answers are equal to the last bit.
    children = torch.arange(NODES)[:, None] * (symbols - 3) + torch.arange(symbols) - END
    children[:, : END + 1] = 0
    table.arrows.copy_(children % NODES)
    generator = torch.Generator().manual_seed(seed)
    table.logs[torch.rand(table.logs.shape, generator=generator) < impossible] = -torch.inf

    def each(value: st.SearchStrategy) -> list:
        return draw(st.lists(value, min_size=count, max_size=count))

    word, prefix = st.integers(END + 1, symbols - 1), None
    if draw(st.booleans()):
        given = each(st.lists(word, max_size=4))
        width = max(1, *map(len, given), 1)
        prefix = torch.tensor([row + [PAD] * (width - len(row)) for row in given])
    rules = Rules(
        max_lengths=torch.tensor(each(st.integers(1, LONGEST))),
        min_lengths=torch.tensor(each(st.integers(1, LONGEST))) if draw(st.booleans()) else None,
        banned=tuple(draw(st.lists(word, max_size=2, unique=True))),
        no_repeat_ngram=draw(st.integers(0, 3)),
        prefix=prefix,
    )
    ranking = Ranking(
        draw(st.sampled_from([0.0, 0.3, 1.0, 2.5])),
        draw(st.sampled_from(["power", "gnmt"])),
        draw(st.sampled_from([0.0, 0.0, 0.2, 2.0])),
        torch.tensor(each(st.lists(st.booleans(), min_size=POSITIONS, max_size=POSITIONS))),
    )
    return Case(table, rules, ranking, {**shape, "impossible": impossible})


@settings(max_examples=3000 if SLOW else 100)
@given(st.data())
def test_beam_search_is_the_plain_beam(data):
    table, rules, ranking, _ = data.draw(cases())
    beam_size = data.draw(st.integers(1, 8))
    sizes = {"beam_size": beam_size, "n_best": data.draw(st.integers(1, beam_size))}
    diversity = data.draw(st.sampled_from([0.0, 0.0, 0.4, 9.0]))
    found = beam(
        step, *begin(table), **sizes, rules=rules, ranking=ranking, diversity_penalty=diversity, with_weights=True
    )
    for row, hypotheses in enumerate(found):
        expected = plain_beam(table, row, rules, ranking, **sizes, diversity=diversity)
        check_all(hypotheses, expected, table, row, ranking)


@settings(max_examples=1000 if SLOW else 20)
@given(st.data())
def test_a_beam_as_wide_as_the_tree_is_brute_force(data):
    table, rules, ranking, _ = data.draw(cases())
    rules = rules._replace(max_lengths=rules.max_lengths.clamp(max=4))
    found = beam(step, *begin(table), beam_size=800, n_best=300, rules=rules, ranking=ranking, with_weights=True)
    for row, hypotheses in enumerate(found):
        check_all(hypotheses, exhaustive(table, row, rules, ranking, n_best=300), table, row, ranking)


@settings(max_examples=3000 if SLOW else 100)
@given(st.data())
def test_greedy_search_is_the_plain_loop_and_a_beam_of_one(data):
    table, rules, ranking, _ = data.draw(cases())
    found = greedy(step, *begin(table), rules=rules, ranking=ranking, with_weights=True)
    single = beam(step, *begin(table), beam_size=1, rules=rules, ranking=ranking, with_weights=True)
    for row in range(table.logs.shape[0]):
        for (hypothesis,) in (found[row], single[row]):
            check(hypothesis, plain_greedy(table, row, rules), table, row, ranking)


@settings(max_examples=3000 if SLOW else 100)
@given(st.data())
def test_what_is_drawn_is_possible_and_allowed(data):
    table, rules, ranking, _ = data.draw(cases())
    count = data.draw(st.integers(1, 5))
    seeds = data.draw(st.lists(st.integers(0, 2**63 - 1), min_size=len(table.logs), max_size=len(table.logs)))
    way = {
        "temperature": data.draw(st.sampled_from([1e-300, 0.1, 1.0, 10.0, 1e300])),
        "top_k": data.draw(st.sampled_from([None, 1, 3, 99])),
        "top_p": data.draw(st.sampled_from([None, 1e-300, 0.5, 1.0])),
    }
    found = sample(step, *begin(table), seeds=seeds, rules=rules, ranking=ranking, count=count, **way)
    for row, hypotheses in enumerate(found):
        assert len(hypotheses) == count
        likely = plain_greedy(table, row, rules)
        for hypothesis in hypotheses:
            assert keeps(hypothesis.tokens + [END] * hypothesis.finished, rules, row)
            assert all(value > -torch.inf for value in hypothesis.token_scores)
            assert hypothesis.log_probability == sum(hypothesis.token_scores)
            if way["top_k"] == 1 or 1e-300 in (way["temperature"], way["top_p"]):
                check(hypothesis, likely, table, row, ranking)
