"""Step functions without a model: automata whose every step is a row of a random table; and slow, plain searches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary
from heedful.search import Hypothesis, Ranking, Rules

PAD, START, END = Vocabulary.PAD, Vocabulary.START, Vocabulary.END
SYMBOLS = 7
"""Size of the vocabulary: the end symbol, and four that an answer may hold (3 to 6)."""


POSITIONS = 5
"""Of the source, in a random table."""


class Table(NamedTuple):
    """B automata of N nodes: what a search calls memory."""

    logs: Tensor  # (B, N, Y)  log-probabilities at each node
    arrows: Tensor  # (B, N, Y) int64  the node that a symbol leads to
    weights: Tensor  # (B, N, S)  rows to be told apart; each sums to 1, and some of it is 0


class Node(NamedTuple):
    """Where each hypothesis is: what a search calls state."""

    node: Tensor  # (B, K) int64


def step(tokens: Tensor, memory: Table, state: Node) -> tuple[Tensor, Tensor, Node]:
    """Go along the arrow of the last symbol, and say what the node says."""
    assert tokens.shape == state.node.shape
    assert tokens.shape[0] == memory.logs.shape[0]
    rows = torch.arange(tokens.shape[0])[:, None]
    node = memory.arrows[rows, state.node, tokens]
    return memory.logs[rows, node], memory.weights[rows, node], Node(node)


def begin(table: Table) -> tuple[Table, Node]:
    return table, Node(torch.zeros(table.logs.shape[0], 1, dtype=torch.int64))


def random_table(
    count: int, *, seed: int = 0, nodes: int = 251, symbols: int = SYMBOLS, end: float = 0.0, sharp: float = 1.5
) -> Table:
    """`end` is added to the end symbol's logit."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, nodes, symbols, generator=generator, dtype=torch.float64) * sharp
    logits[..., END] += end
    arrows = torch.randint(nodes, (count, nodes, symbols), generator=generator)
    looks = (torch.rand(count, nodes, POSITIONS, generator=generator, dtype=torch.float64) - 0.4).clamp(min=0)
    looks[..., 0] += 0.01
    return Table(logits.log_softmax(-1), arrows, looks / looks.sum(-1, keepdim=True))


def scripted(*paths: dict[tuple[int, ...], float], symbols: int = SYMBOLS) -> Table:
    """A table in which each sentence has just these answers, each path ending in END or left open, with the given
    log-probabilities of whole paths (the last symbol of a path carries all of it)."""
    nodes = 2 + max(sum(map(len, sentence)) for sentence in paths)
    logs = torch.full((len(paths), nodes, symbols), -torch.inf, dtype=torch.float64)
    arrows = torch.full((len(paths), nodes, symbols), nodes - 1)
    for row, sentence in enumerate(paths):
        arrows[row, 0, START] = 1
        made = {(): 1}
        for path, value in sentence.items():
            for place, symbol in enumerate(path):
                here = made[path[:place]]
                logs[row, here, symbol] = 0.0
                arrows[row, here, symbol] = made.setdefault(path[: place + 1], len(made) + 1)
            logs[row, made[path[:-1]], path[-1]] = value
    return Table(logs, arrows, torch.zeros(len(paths), nodes, 1, dtype=torch.float64))


def rows(table: Table, which: Sequence[int]) -> Table:
    index = torch.tensor(which)
    return Table(*(tensor[index] for tensor in table))


class Plain(NamedTuple):
    """An answer of a plain search."""

    tokens: list[int]
    log_probability: float
    nodes: list[int]
    scores: list[float]
    finished: bool

    @property
    def symbols(self) -> list[int]:
        """Its tokens, and the end symbol where it has one."""
        return self.tokens + [END] * self.finished


EMPTY = Plain([], 0.0, [], [], False)
Better = Callable[[Plain], float]


def scoring(table: Table, row: int, ranking: Ranking) -> Better:
    """The score of an answer: the formulas of a ranking, number by number."""

    def score(answer: Plain) -> float:
        length = max(len(answer.scores), 1)
        base = (5 + length) / 6 if ranking.length_normalisation == "gnmt" else length
        total = answer.log_probability / base**ranking.length_penalty
        if ranking.coverage_penalty:
            assert ranking.words is not None
            for position, counts in enumerate(ranking.words[row].tolist()):
                looked = sum(float(table.weights[row, node, position]) for node in answer.nodes)
                if counts:
                    total += ranking.coverage_penalty * math.log(min(max(looked, 1e-9), 1.0))
        return total

    return score


def keeps(symbols: Sequence[int], rules: Rules, row: int) -> bool:
    """Whether an answer, or the beginning of one, is as the rules want it: symbol by symbol."""
    prefix = [] if rules.prefix is None else [symbol for symbol in rules.prefix[row].tolist() if symbol != PAD]
    shortest = 1 if rules.min_lengths is None else int(rules.min_lengths[row])
    size = rules.no_repeat_ngram
    for place, symbol in enumerate(symbols):
        if place < len(prefix):
            if symbol != prefix[place]:
                return False
            continue
        if symbol in rules.banned or (symbol == END and place + 1 < shortest):
            return False
        if size and any(
            symbols[start : start + size] == symbols[place - size + 1 : place + 1] for start in range(place - size + 1)
        ):
            return False
    return len(symbols) <= int(rules.max_lengths[row])


def grow(table: Table, row: int, answer: Plain) -> list[Plain]:
    """All possible continuations by one symbol; padding and the start symbol are never one."""
    logs, arrows = table.logs[row], table.arrows[row]
    node = int(arrows[answer.nodes[-1], answer.tokens[-1]]) if answer.tokens else int(arrows[0, START])
    return [
        Plain(
            answer.tokens if symbol == END else [*answer.tokens, symbol],
            answer.log_probability + value,
            [*answer.nodes, node],
            [*answer.scores, value],
            symbol == END,
        )
        for symbol, value in enumerate(logs[node].tolist())
        if value > -math.inf and symbol not in (PAD, START)
    ]


def ranked(ended: list[Plain], cut: list[Plain], n_best: int, score: Better) -> list[Plain]:
    """The best that ended; the best that were cut only if none ended."""
    return sorted(ended or cut, key=lambda answer: -score(answer))[:n_best]


def exhaustive(table: Table, row: int, rules: Rules, ranking: Ranking, *, n_best: int) -> list[Plain]:
    """Every answer there is within the limit, those that break a rule thrown out at the very end, ranked.

    What did not end is an answer too if it is as long as the limit, or if nothing may follow it.
    """
    score, limit = scoring(table, row, ranking), int(rules.max_lengths[row])
    ended, cut, going = [], [], [EMPTY]
    for length in range(limit + 1):
        kept = [answer for answer in going if keeps(answer.symbols, rules, row)]
        open = [answer for answer in going if not answer.finished and length < limit]
        going = [more for answer in open for more in grow(table, row, answer)]
        ways = {tuple(more.symbols[:-1]) for more in going if keeps(more.symbols, rules, row)}
        ended += [answer for answer in kept if answer.finished]
        cut += [a for a in kept if not a.finished and (length == limit or tuple(a.symbols) not in ways)]
    return ranked(ended, cut, n_best, score)


def plain_beam(
    table: Table,
    row: int,
    rules: Rules,
    ranking: Ranking,
    *,
    beam_size: int,
    n_best: int,
    diversity: float = 0.0,
) -> list[Plain]:
    """Beam search of one sentence, with lists, to the limit: an end takes its place in the beam with it.

    A hypothesis that cannot go on is cut as it is. `diversity` is taken off the r-th best child r times.
    """
    score = scoring(table, row, ranking)
    ended, cut, going = [], [], [EMPTY]
    for _ in range(int(rules.max_lengths[row])):
        children: list[tuple[float, Plain]] = []
        for before in going:
            own = [child for child in grow(table, row, before) if keeps(child.symbols, rules, row)]
            own.sort(key=lambda child: -child.log_probability)
            cut += [] if own else [before]
            children += [(child.log_probability - diversity * rank, child) for rank, child in enumerate(own)]
        children.sort(key=lambda pair: -pair[0])
        kept = [child for _, child in children[: beam_size - len(ended)]]
        ended += [answer for answer in kept if answer.finished]
        going = [answer for answer in kept if not answer.finished]
    return ranked(ended, cut + going, n_best, score)


def plain_greedy(table: Table, row: int, rules: Rules) -> Plain:
    """The best continuation, again and again, until the end, the limit, or nothing that is allowed."""
    answer = EMPTY
    while len(answer.scores) < int(rules.max_lengths[row]) and not answer.finished:
        children = [child for child in grow(table, row, answer) if keeps(child.symbols, rules, row)]
        if not children:
            break
        answer = max(children, key=lambda child: child.log_probability)
    return answer


def check(found: Hypothesis, expected: Plain, table: Table, row: int, ranking: Ranking) -> None:
    """The whole hypothesis, with its weights if it has them."""
    assert found.tokens == expected.tokens
    assert found.finished == expected.finished
    assert abs(found.log_probability - expected.log_probability) < 1e-5
    assert abs(found.score - scoring(table, row, ranking)(expected)) < 1e-5
    assert len(found.token_scores) == len(expected.scores) == len(found.tokens) + found.finished
    assert all(abs(a - b) < 1e-5 for a, b in zip(found.token_scores, expected.scores, strict=True))
    if found.weights is not None:
        assert torch.equal(found.weights, table.weights[row, expected.nodes])


def check_all(found: Sequence[Hypothesis], expected: Sequence[Plain], table: Table, row: int, ranking: Ranking) -> None:
    """An n-best list: neither more nor fewer, in this order."""
    assert [hypothesis.tokens for hypothesis in found] == [answer.tokens for answer in expected]
    for hypothesis, wanted in zip(found, expected, strict=True):
        check(hypothesis, wanted, table, row, ranking)
