"""Beam search: batched over sentences and hypotheses, all on tensors.

At each step the K best continuations of a sentence's open hypotheses are kept. Those that end leave the beam for
good and take their place in it with them, so that at most `beam_size` hypotheses are ever finished and a beam of 1
is greedy search (as in Bahdanau et al.'s own code). A sentence is done when its places are used up, or when no open
hypothesis can overtake its n best: this never changes the answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError
from heedful.search.hypothesis import Hypothesis, StepFunction, keep, reorder
from heedful.search.ranking import Ranking
from heedful.search.readback import Ends, Record, read_back
from heedful.search.records import add
from heedful.search.rules import Rules
from heedful.tensors import Sparse, dense, precise


def beam(
    step: StepFunction,
    memory: Any,
    state: Any,
    *,
    beam_size: int,
    rules: Rules,
    ranking: Ranking | None = None,
    n_best: int = 1,
    diversity_penalty: float = 0.0,
    with_weights: bool = False,
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first, all different; fewer if fewer were found.

    Those that did not end within the limit are returned only for a sentence in which none did; none at all is
    returned for one whose log-probabilities are not numbers.

    Args:
        step: the step function.
        memory: as it takes it, for B sentences.
        state: its first state, (B, 1, ...).
        beam_size: K; may be wider than the vocabulary.
        rules: which answers are allowed.
        ranking: which are better; by default those with the higher mean log-probability.
        n_best: how many to return, at most K.
        diversity_penalty: gamma of Li, Monroe and Jurafsky 2016: when the K best are chosen, the r-th best continuation
            of one and the same hypothesis, r from 0, counts gamma r less. Scores are not changed by it.
        with_weights: whether to keep the attention weights of every hypothesis.

    Raises:
        RecipeError: a size is below 1, n_best is above beam_size, or a penalty of the ranking is negative.
    """
    if beam_size < 1 or not 1 <= n_best <= beam_size:
        raise RecipeError(f"n_best must be from 1 to beam, got n_best {n_best} and beam {beam_size}")
    ranking = ranking or Ranking()
    ranking.check()
    with torch.inference_mode():
        run = _Run(beam_size, rules, ranking, n_best, diversity_penalty, with_weights)
        run.search(step, memory, state)
        return read_back(run.records, run.ends, count=rules.max_lengths.shape[0], n_best=n_best)


class _Beam(NamedTuple):
    """What changes from step to step: a row for each sentence still going, K places in each."""

    origin: Tensor  # (rows) the sentence
    rules: Rules
    words: Tensor | None  # (rows, S) positions that coverage counts
    open: Tensor  # (rows) places not yet taken by an end
    best: Tensor  # (rows, n_best) scores of the best ended ones
    totals: Tensor  # (rows, K) log-probability so far, in double precision; -inf = closed
    tokens: Tensor  # (rows, K) the last symbols
    history: Tensor | None  # (rows, K, time) all symbols, where a rule looks at them
    coverage: Tensor | None  # (rows, K, S) attention so far, where the ranking looks at it


class _Run:
    """One search."""

    def __init__(
        self,
        beam_size: int,
        rules: Rules,
        ranking: Ranking,
        n_best: int,
        diversity_penalty: float,
        with_weights: bool,
    ) -> None:
        self.beam_size, self.ranking, self.n_best = beam_size, ranking, n_best
        self.diversity_penalty, self.with_weights = diversity_penalty, with_weights
        count, device = rules.max_lengths.shape[0], rules.max_lengths.device
        self.count = count
        words = ranking.words if ranking.coverage_penalty else None
        self.beam = _Beam(
            origin=torch.arange(count, device=device),
            rules=rules,
            words=words,
            open=torch.full((count,), beam_size, device=device),
            best=torch.full((count, n_best), -torch.inf, dtype=precise(device), device=device),
            totals=torch.zeros((count, 1), dtype=precise(device), device=device),
            tokens=torch.full((count, 1), Vocabulary.START, device=device),
            history=torch.zeros((count, 1, 0), dtype=torch.int64, device=device) if rules.no_repeat_ngram else None,
            coverage=None if words is None else torch.zeros((count, 1, words.shape[1]), device=device),
        )
        self.records: list[Record] = []
        self.ends: list[Ends] = []

    def search(self, step: StepFunction, memory: Any, state: Any) -> None:
        time = 0
        while self.beam.origin.numel():
            logs, weights, state = step(self.beam.tokens, memory, state)
            parents = self._advance(logs, weights, time)
            going = self._going()
            if not bool(going.all()):
                memory, state, parents = keep(memory, going), keep(state, going), keep(parents, going)
                self.beam = keep(self.beam, going)
            state = reorder(state, parents)
            time += 1

    def _advance(self, logs: Tensor, weights: Tensor | Sparse | None, time: int) -> Tensor:
        """Choose the continuations, take out those that end; returns where each came from."""
        before = self.beam
        allowed = before.rules.forbid(logs, time, before.history)
        # At most K of one parent's can be among the K best of all.
        values, symbols = _best(allowed, min(self.beam_size, logs.shape[-1]))  # (rows, K before, k)
        # What cannot go on is cut where it stands: it ended with the step before.
        self._leave(before.totals.isfinite() & (values[..., 0] == -torch.inf), None, time - 1)
        totals, parents, tokens = self._choose(values, symbols)
        rank = torch.arange(totals.shape[1], device=totals.device)
        valid = totals.isfinite() & (rank < before.open[:, None])
        finished = valid & (tokens == Vocabulary.END)
        leaving = valid & (finished | (before.rules.max_lengths[:, None] <= time + 1))
        self.beam = before._replace(
            open=before.open - finished.sum(1),
            totals=totals,
            tokens=tokens,
            history=_longer(before.history, parents, tokens),
            coverage=self._cover(weights, parents),
        )
        self._leave(leaving, finished, time)
        self.beam = self.beam._replace(totals=totals.masked_fill(~valid | leaving, -torch.inf))
        row = torch.full((self.count,), -1, device=totals.device)
        row[before.origin] = torch.arange(before.origin.numel(), device=totals.device)
        chosen = logs.flatten(1).gather(1, parents * logs.shape[-1] + tokens)
        add(self.records, Record(row, parents, tokens, chosen, weights if self.with_weights else None))
        return parents

    def _choose(self, values: Tensor, symbols: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The K best of each parent's best continuations (rows, K before, k): totals, parents and tokens (rows, K)."""
        candidates = self.beam.totals.unsqueeze(-1) + values
        ranks = torch.arange(values.shape[-1], device=values.device)
        # Of a beam whose places are all taken but two, two are enough.
        width = min(int(self.beam.open.max()), candidates[0].numel())
        _, index = _best((candidates - self.diversity_penalty * ranks).flatten(1), width)
        parents = index // values.shape[-1]
        return candidates.flatten(1).gather(1, index), parents, symbols.flatten(1).gather(1, index)

    def _cover(self, weights: Tensor | Sparse | None, parents: Tensor) -> Tensor | None:
        if self.beam.coverage is None or weights is None:
            return None
        return reorder(self.beam.coverage + dense(weights)[..., : self.beam.coverage.shape[-1]], parents)

    def _leave(self, leaving: Tensor, finished: Tensor | None, time: int) -> None:
        """Hypotheses (rows, K) whose last symbol was that of step `time`; those that finished, by default none."""
        rows, places = leaving.nonzero().unbind(1)
        if not rows.numel():
            return
        beam, totals = self.beam, self.beam.totals[rows, places]
        coverage = None if beam.coverage is None else beam.coverage[rows, places]
        words = None if beam.words is None else beam.words[rows]
        scores = self.ranking.score(totals, torch.full_like(totals, time + 1), coverage, words)
        done = torch.zeros_like(rows, dtype=torch.bool) if finished is None else finished[rows, places]
        self.ends.append(Ends(beam.origin[rows], places, torch.full_like(rows, time), totals, scores, done))
        if finished is not None:
            ended = torch.full_like(beam.totals, -torch.inf)
            ended[rows, places] = scores.masked_fill(~done, -torch.inf)
            best = torch.cat([beam.best, ended], dim=1).topk(self.n_best, dim=1).values
            self.beam = beam._replace(best=best)

    def _going(self) -> Tensor:
        """(rows) bool: sentences in which an open hypothesis could still be among the n best."""
        beam = self.beam
        bound = self.ranking.bound(beam.totals.amax(1), beam.rules.max_lengths)
        going = beam.totals.isfinite().any(1) & (bound > beam.best[:, -1])
        self.beam = beam._replace(totals=beam.totals.masked_fill(~going[:, None], -torch.inf))
        return going


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest along the last axis, with their places; a single one is the first of equals, as in greedy."""
    if count == 1:
        return values.max(-1, keepdim=True)
    return values.topk(count, dim=-1)


def _longer(history: Tensor | None, parents: Tensor, tokens: Tensor) -> Tensor | None:
    return None if history is None else torch.cat([reorder(history, parents), tokens.unsqueeze(-1)], dim=-1)
