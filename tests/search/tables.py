"""Step functions without a model: automata whose every step is a row of a random table; and slow, plain searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary
from heedful.search import Hypothesis

START, END = Vocabulary.START, Vocabulary.END
SYMBOLS = 7
"""Size of the vocabulary: the end symbol, and four that an answer may hold (3 to 6)."""


class Table(NamedTuple):
    """B automata of N nodes: what a search calls memory."""

    logs: Tensor  # (B, N, Y)  log-probabilities at each node
    arrows: Tensor  # (B, N, Y) int64  the node that a symbol leads to
    weights: Tensor  # (B, N, S)  rows to be told apart


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
    return Table(
        logits.log_softmax(-1),
        torch.randint(nodes, (count, nodes, symbols), generator=generator),
        torch.rand(count, nodes, 3, generator=generator, dtype=torch.float64),
    )


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

    def score(self, penalty: float) -> float:
        return self.log_probability / len(self.scores) ** penalty


def grow(table: Table, row: int, answer: Plain) -> list[Plain]:
    """All continuations by one symbol, the forbidden and the impossible left out."""
    logs, arrows = table.logs[row], table.arrows[row]
    node = int(arrows[answer.nodes[-1], answer.tokens[-1]]) if answer.tokens else int(arrows[0, START])
    found = []
    for symbol, value in enumerate(logs[node].tolist()):
        if symbol in (Vocabulary.PAD, START) or value == -math.inf:
            continue
        ended = symbol == END
        found.append(
            Plain(
                answer.tokens if ended else [*answer.tokens, symbol],
                answer.log_probability + value,
                [*answer.nodes, node],
                [*answer.scores, value],
                ended,
            )
        )
    return found


EMPTY = Plain([], 0.0, [], [], False)


def ranked(ended: list[Plain], cut: list[Plain], n_best: int, penalty: float) -> list[Plain]:
    """The best that ended; the best that were cut only if none ended."""
    return sorted(ended or cut, key=lambda answer: -answer.score(penalty))[:n_best]


def exhaustive(table: Table, row: int, limit: int, *, n_best: int, penalty: float) -> list[Plain]:
    """Every answer within the limit, ranked."""
    ended, going = [], [EMPTY]
    for _ in range(limit):
        grown = [answer for before in going for answer in grow(table, row, before)]
        ended += [answer for answer in grown if answer.finished]
        going = [answer for answer in grown if not answer.finished]
    return ranked(ended, going, n_best, penalty)


def plain_beam(table: Table, row: int, limit: int, *, beam_size: int, n_best: int, penalty: float) -> list[Plain]:
    """Beam search of one sentence, with lists, to the limit: an end takes its place in the beam with it."""
    ended, going = [], [EMPTY]
    for _ in range(limit):
        grown = [answer for before in going for answer in grow(table, row, before)]
        kept = sorted(grown, key=lambda answer: -answer.log_probability)[: beam_size - len(ended)]
        ended += [answer for answer in kept if answer.finished]
        going = [answer for answer in kept if not answer.finished]
    return ranked(ended, going, n_best, penalty)


def plain_greedy(table: Table, row: int, limit: int) -> Plain:
    answer = EMPTY
    while len(answer.scores) < limit and not answer.finished:
        answer = max(grow(table, row, answer), key=lambda grown: grown.log_probability)
    return answer


def check(found: Hypothesis, expected: Plain, table: Table, row: int, penalty: float) -> None:
    """The whole hypothesis, with its weights if it has them."""
    assert found.tokens == expected.tokens
    assert found.finished == expected.finished
    assert abs(found.log_probability - expected.log_probability) < 1e-5
    assert abs(found.score - expected.score(penalty)) < 1e-5
    assert len(found.token_scores) == len(expected.scores) == len(found.tokens) + found.finished
    assert all(abs(a - b) < 1e-5 for a, b in zip(found.token_scores, expected.scores, strict=True))
    if found.weights is not None:
        assert torch.equal(found.weights, table.weights[row, expected.nodes])
