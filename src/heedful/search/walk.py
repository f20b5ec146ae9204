"""Greedy search and sampling: each hypothesis goes its own way, and none is compared with another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError
from heedful.search.hypothesis import Hypothesis, StepFunction, keep, reorder
from heedful.search.ranking import Ranking
from heedful.search.records import add
from heedful.search.rules import Rules
from heedful.tensors import Sparse, dense, precise

_Choose = Callable[[Tensor, Tensor, int], Tensor]
"""(log-probabilities (B, K, Y), the sentence in each row (B), time) -> symbols (B, K)."""


def greedy(
    step: StepFunction,
    memory: Any,
    state: Any,
    *,
    rules: Rules,
    ranking: Ranking | None = None,
    with_weights: bool = False,
) -> list[list[Hypothesis]]:
    """The most probable symbol at every step: one hypothesis for each sentence, the first of equals.

    None is returned for a sentence whose log-probabilities are not numbers.

    Args:
        step: the step function.
        memory: as it takes it, for B sentences.
        state: its first state, (B, 1, ...).
        rules: which answers are allowed.
        ranking: what the scores are; by default the mean log-probability.
        with_weights: whether to keep the attention weights.
    """

    def best(logs: Tensor, origin: Tensor, time: int) -> Tensor:
        return logs.argmax(-1)

    return _walk(step, memory, state, best, 1, rules, ranking or Ranking(), with_weights)


def sample(
    step: StepFunction,
    memory: Any,
    state: Any,
    *,
    seeds: Sequence[int],
    rules: Rules,
    ranking: Ranking | None = None,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    count: int = 1,
    with_weights: bool = False,
) -> list[list[Hypothesis]]:
    """`count` answers to each sentence, each drawn symbol by symbol; best score first. The same may come twice.

    A sentence's draws depend on its seed alone, not on its neighbours, nor on any global random state.

    Args:
        step: the step function.
        memory: as it takes it, for B sentences.
        state: its first state, (B, 1, ...).
        seeds: one for each sentence.
        rules: which answers are allowed.
        ranking: what the scores are; of the model's own probabilities, whatever the next three say.
        temperature: draws are from softmax(log p / temperature): below 1 nearer to greedy.
        top_k: draw from the k most probable symbols only.
        top_p: draw from the fewest symbols that have this probability together, at the temperature (the nucleus of
            Holtzman et al. 2020).
        count: how many to draw.
        with_weights: whether to keep the attention weights.

    Raises:
        RecipeError: a number is out of its range.
    """
    if not (temperature > 0 and count > 0 and (top_k is None or top_k > 0) and (top_p is None or 0 < top_p <= 1)):
        raise RecipeError(
            "sampling needs a temperature above 0, top_k of at least 1, top_p above 0 and up to 1, and at least 1 "
            f"answer; got {temperature}, {top_k}, {top_p}, {count}"
        )
    if len(seeds) != rules.max_lengths.shape[0]:
        raise RecipeError(f"expected a seed for each of {rules.max_lengths.shape[0]} sentences, got {len(seeds)}")
    draws = _Draws(seeds, count, rules.max_lengths.device)

    def draw(logs: Tensor, origin: Tensor, time: int) -> Tensor:
        return _draw(logs, draws(origin, time), temperature, top_k, top_p)

    answers = _walk(step, memory, state, draw, count, rules, ranking or Ranking(), with_weights)
    return [sorted(found, key=lambda hypothesis: -hypothesis.score) for found in answers]


class _Draws:
    """Numbers in [0, 1), a sentence's from a generator of its own, some steps ahead at a time."""

    AHEAD = 64

    def __init__(self, seeds: Sequence[int], count: int, device: torch.device) -> None:
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self.count, self.device = count, device

    def __call__(self, origin: Tensor, time: int) -> Tensor:
        """(rows, K) for the sentences that are still there."""
        if time % self.AHEAD == 0:
            drawn = torch.zeros(len(self.generators), self.AHEAD, self.count, dtype=torch.float64)
            for sentence in origin.tolist():
                torch.rand(self.AHEAD, self.count, generator=self.generators[sentence], out=drawn[sentence])
            self.drawn = drawn.to(precise(self.device)).to(self.device)
        return self.drawn[origin, time % self.AHEAD]


def _draw(logs: Tensor, draws: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """One symbol for each hypothesis, by the inverse of the cumulative distribution."""
    logs, symbols = logs.sort(dim=-1, descending=True, stable=True)
    logs, symbols = logs[..., :top_k], symbols[..., :top_k]
    wide = logs.to(precise(logs.device))
    shares = torch.softmax((wide - wide[..., :1]) / temperature, dim=-1)
    if top_p is not None:
        shares = shares * (shares.cumsum(-1) - shares < top_p)  # those before have less than top_p together
    sums = shares.cumsum(-1)
    place = (sums <= draws[..., None] * sums[..., -1:]).sum(-1, keepdim=True)
    # Rounding must not lead to a symbol of no probability.
    place = torch.minimum(place, (shares > 0).sum(-1, keepdim=True) - 1).clamp(min=0)
    return symbols.gather(-1, place).squeeze(-1)


class _Walk(NamedTuple):
    """What changes from step to step: a row for each sentence still going, K hypotheses in each."""

    origin: Tensor  # (rows) the sentence
    rules: Rules
    tokens: Tensor  # (rows, K) the last symbols
    open: Tensor  # (rows, K) bool: neither ended nor cut
    history: Tensor | None  # (rows, K, time) all symbols, where a rule looks at them


class _Record(NamedTuple):
    """What one step leaves, of the sentences that were there."""

    origin: Tensor  # (rows)
    written: Tensor  # (rows, K) bool: whether the symbol belongs to the hypothesis
    tokens: Tensor  # (rows, K)
    logs: Tensor  # (rows, K)
    weights: Tensor | Sparse | None  # (rows, K, S)


class _Found(NamedTuple):
    """All hypotheses, put together."""

    lengths: Tensor  # (B, K)
    tokens: Tensor  # (B, K, T)
    logs: Tensor  # (B, K, T), 0 behind the end
    totals: Tensor  # (B, K), summed in the order of the steps, whatever the longest answer in the batch
    weights: Tensor | None  # (B, K, T, S), 0 behind the end; where they are wanted
    coverage: Tensor | None  # (B, K, S), their sum over T; where the ranking looks at it


def _walk(
    step: StepFunction,
    memory: Any,
    state: Any,
    choose: _Choose,
    count: int,
    rules: Rules,
    ranking: Ranking,
    with_weights: bool,
) -> list[list[Hypothesis]]:
    ranking.check()
    sentences, device = rules.max_lengths.shape[0], rules.max_lengths.device
    shape = (sentences, count)
    records: list[_Record] = []
    covered = None
    with torch.inference_mode():
        state = reorder(state, torch.zeros(shape, dtype=torch.int64, device=device))
        walk = _Walk(
            origin=torch.arange(sentences, device=device),
            rules=rules,
            tokens=torch.full(shape, Vocabulary.START, device=device),
            open=torch.ones(shape, dtype=torch.bool, device=device),
            history=torch.zeros((*shape, 0), dtype=torch.int64, device=device) if rules.no_repeat_ngram else None,
        )
        while walk.origin.numel():
            logs, weights, state = step(walk.tokens, memory, state)
            walk = _advance(walk, logs, weights if with_weights else None, choose, records)
            if ranking.coverage_penalty and weights is not None:
                rows = dense(weights) * records[-1].written.unsqueeze(-1)
                covered = rows.new_zeros(*shape, rows.shape[-1]) if covered is None else covered
                covered[records[-1].origin] += rows
            going = walk.open.any(1)
            if not bool(going.all()):
                memory, state, walk = keep(memory, going), keep(state, going), keep(walk, going)
        found = _gather(records, sentences, count, device)._replace(coverage=covered)
        return _hypotheses(found, ranking)


def _advance(
    walk: _Walk, logs: Tensor, weights: Tensor | Sparse | None, choose: _Choose, records: list[_Record]
) -> _Walk:
    """Choose the symbols and write them down."""
    time = len(records)
    allowed = walk.rules.forbid(logs, time, walk.history)
    tokens = choose(allowed, walk.origin, time)
    values = allowed.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    written = walk.open & (values != -torch.inf)  # where no symbol is allowed, the hypothesis is cut before this step
    add(records, _Record(walk.origin, written, tokens, values, weights))
    return walk._replace(
        tokens=tokens,
        open=written & (tokens != Vocabulary.END) & (walk.rules.max_lengths > time + 1)[:, None],
        history=None if walk.history is None else torch.cat([walk.history, tokens.unsqueeze(-1)], dim=-1),
    )


def _gather(records: Sequence[_Record], sentences: int, count: int, device: torch.device) -> _Found:
    shape = (sentences, count, len(records))
    tokens = torch.full(shape, Vocabulary.PAD, device=device)
    logs = torch.zeros(shape, dtype=precise(device), device=device)
    lengths = torch.zeros(shape[:2], dtype=torch.int64, device=device)
    totals = torch.zeros(shape[:2], dtype=precise(device), device=device)
    weights = None
    for time, record in enumerate(records):
        values = record.logs.to(logs.dtype).masked_fill(~record.written, 0.0)
        tokens[record.origin, :, time] = record.tokens
        logs[record.origin, :, time] = values
        totals[record.origin] += values
        lengths[record.origin] += record.written
        if record.weights is not None:
            rows = dense(record.weights)
            if weights is None:
                weights = rows.new_zeros(*shape, rows.shape[-1])
            weights[record.origin, :, time] = rows * record.written.unsqueeze(-1)
    return _Found(lengths, tokens, logs, totals, weights, None)


def _hypotheses(found: _Found, ranking: Ranking) -> list[list[Hypothesis]]:
    """All that were found, but those whose log-probability is not a number."""
    words = None if ranking.words is None else ranking.words[:, None]
    scores = ranking.score(found.totals, found.lengths, found.coverage, words)
    weights = None if found.weights is None else found.weights.cpu()
    answers: list[list[Hypothesis]] = [[] for _ in found.tokens]
    width = found.tokens.shape[1]
    rows = zip(
        found.tokens.flatten(0, 1).tolist(),
        found.logs.flatten(0, 1).tolist(),
        found.lengths.flatten().tolist(),
        scores.flatten().tolist(),
        found.totals.flatten().tolist(),
        strict=True,
    )
    for index, (ids, logs, length, score, total) in enumerate(rows):
        if total != total:
            continue
        sentence, place = divmod(index, width)
        finished = length > 0 and ids[length - 1] == Vocabulary.END
        answers[sentence].append(
            Hypothesis(
                tokens=ids[: length - finished],
                score=score,
                log_probability=total,
                token_scores=logs[:length],
                weights=None if weights is None else weights[sentence, place, :length],
                finished=finished,
            )
        )
    return answers
