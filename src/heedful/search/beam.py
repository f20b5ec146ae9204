"""Beam search: batched over sentences and hypotheses, all on tensors.

At each step the K best continuations of a sentence's open hypotheses are kept. Those that end leave the beam for
good and take their place in it with them, so that at most `beam_size` hypotheses are ever finished and a beam of 1
is greedy search (as in Bahdanau et al.'s own code). A sentence is done when its places are used up, or when no open
hypothesis can overtake its n best: this never changes the answer, since a log-probability only falls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError
from heedful.search.hypothesis import (
    Hypothesis,
    StepFunction,
    keep,
    reorder,
    without_special,
    worth_leaving,
)


class _Record(NamedTuple):
    """What one step leaves for reading answers back. `row` maps a sentence to its row, for sentences still there."""

    row: Tensor  # (B,)
    parents: Tensor  # (rows, K)
    tokens: Tensor  # (rows, K)
    logs: Tensor  # (rows, K)
    weights: Tensor | None  # (rows, K before, S)


class _Ends(NamedTuple):
    """Hypotheses that left the beam, one entry each."""

    sentence: Tensor
    place: Tensor  # in the beam, at the step where it left
    time: Tensor
    total: Tensor  # log-probability
    finished: Tensor  # False: cut at the length limit


def beam(
    step: StepFunction,
    memory: Any,
    state: Any,
    *,
    beam_size: int,
    max_lengths: Tensor,
    n_best: int = 1,
    length_penalty: float = 1.0,
    with_weights: bool = False,
) -> list[list[Hypothesis]]:
    """The n best hypotheses of each sentence, best first, all different; fewer if fewer were found.

    Those that did not end within the limit are returned only for a sentence in which none did.

    Args:
        step: the step function.
        memory: as it takes it, for B sentences.
        state: its first state, (B, 1, ...).
        beam_size: K; may be wider than the vocabulary.
        max_lengths: (B) int64, the most symbols of each answer, the end symbol counted; at least 1.
        n_best: how many to return, at most K.
        length_penalty: hypotheses are ranked by log-probability / length ** length_penalty; 0 for none, 1 for the mean.
        with_weights: whether to keep the attention weights of every hypothesis.

    Raises:
        RecipeError: a size is below 1, n_best is above beam_size, or the length penalty is negative.
    """
    if beam_size < 1 or not 1 <= n_best <= beam_size:
        raise RecipeError(f"n_best must be from 1 to beam, got n_best {n_best} and beam {beam_size}")
    if length_penalty < 0:
        raise RecipeError(f"length_penalty must be 0 or more, got {length_penalty}")
    with torch.inference_mode():
        run = _Run(beam_size, max_lengths, n_best, length_penalty, with_weights)
        run.search(step, memory, state)
        return run.answers()


class _Run:
    """One search: the tensors that change from step to step, by sentence still going (rows) and place in the beam."""

    def __init__(
        self, beam_size: int, max_lengths: Tensor, n_best: int, length_penalty: float, with_weights: bool
    ) -> None:
        count, device = max_lengths.shape[0], max_lengths.device
        self.count, self.beam_size, self.n_best = count, beam_size, n_best
        self.length_penalty, self.with_weights = length_penalty, with_weights
        self.origin = torch.arange(count, device=device)  # the sentence in each row
        self.limits = max_lengths
        self.open = torch.full((count,), beam_size, device=device)  # places not yet taken by an end
        self.best = torch.full((count, n_best), -torch.inf, device=device)  # scores of the best ended ones
        self.totals = torch.zeros((count, 1), device=device)  # log-probability so far; -inf = closed
        self.tokens = torch.full((count, 1), Vocabulary.START, device=device)
        self.records: list[_Record] = []
        self.ends: list[_Ends] = []

    def search(self, step: StepFunction, memory: Any, state: Any) -> None:
        time = 0
        while self.origin.numel():
            logs, weights, state = step(self.tokens, memory, state)
            parents = self._advance(without_special(logs), weights if self.with_weights else None, time)
            state = reorder(state, parents)
            going = self._going()
            if worth_leaving(going):
                memory, state = keep(memory, going), keep(state, going)
                self._keep(going)
            time += 1

    def _advance(self, logs: Tensor, weights: Tensor | None, time: int) -> Tensor:
        """Choose the continuations, take out those that end; returns where each came from."""
        size = logs.shape[-1]
        candidates = (self.totals.unsqueeze(-1) + logs).flatten(1)
        totals, index = candidates.topk(min(self.beam_size, candidates.shape[1]), dim=1)
        parents, self.tokens = index // size, index % size
        rank = torch.arange(totals.shape[1], device=totals.device)
        valid = totals.isfinite() & (rank < self.open[:, None])
        finished = valid & (self.tokens == Vocabulary.END)
        leaving = valid & (finished | (self.limits[:, None] <= time + 1))
        self._end(leaving, finished, totals, time)
        self.open = self.open - finished.sum(1)
        self.totals = totals.masked_fill(~valid | leaving, -torch.inf)
        row = torch.full((self.count,), -1, device=totals.device)
        row[self.origin] = torch.arange(self.origin.numel(), device=totals.device)
        self.records.append(_Record(row, parents, self.tokens, logs.flatten(1).gather(1, index), weights))
        return parents

    def _end(self, leaving: Tensor, finished: Tensor, totals: Tensor, time: int) -> None:
        rows, places = leaving.nonzero().unbind(1)
        done = finished[rows, places]
        times = torch.full_like(rows, time)
        self.ends.append(_Ends(self.origin[rows], places, times, totals[rows, places], done))
        scores = (totals / (time + 1) ** self.length_penalty).masked_fill(~finished, -torch.inf)
        self.best = torch.cat([self.best, scores], dim=1).topk(self.n_best, dim=1).values

    def _going(self) -> Tensor:
        """(rows) bool: sentences in which an open hypothesis could still be among the n best."""
        # Future symbols can only lower the total; the longest length is the kindest divisor to a negative number.
        bound = self.totals.amax(1) / self.limits**self.length_penalty
        going = self.totals.isfinite().any(1) & (bound > self.best[:, -1])
        self.totals = self.totals.masked_fill(~going[:, None], -torch.inf)
        return going

    def _keep(self, going: Tensor) -> None:
        for name in ("origin", "limits", "open", "best", "totals", "tokens"):
            setattr(self, name, getattr(self, name)[going])

    def answers(self) -> list[list[Hypothesis]]:
        """Rank what left the beam and read the n best of each sentence back."""
        ends = _Ends(*(torch.cat(parts) for parts in zip(*self.ends, strict=True))) if self.ends else None
        answers: list[list[Hypothesis]] = [[] for _ in range(self.count)]
        if ends is None:
            return answers
        scores = ends.total / (ends.time + 1) ** self.length_penalty
        picked = self._pick(ends, scores)
        for sentence, hypothesis in zip(ends.sentence[picked].tolist(), self._read(ends, scores, picked), strict=True):
            answers[sentence].append(hypothesis)
        return answers

    def _pick(self, ends: _Ends, scores: Tensor) -> Tensor:
        """Indices into `ends`: by sentence, the n best that finished, or the n best of those cut if none did."""
        some = torch.zeros(self.count, dtype=torch.bool, device=scores.device)
        some[ends.sentence[ends.finished]] = True
        eligible = (ends.finished | ~some[ends.sentence]).nonzero().squeeze(1)
        eligible = eligible[scores[eligible].argsort(descending=True, stable=True)]
        eligible = eligible[ends.sentence[eligible].argsort(stable=True)]
        sentence = ends.sentence[eligible]
        first = torch.searchsorted(sentence, sentence)  # where each sentence's entries start
        rank = torch.arange(sentence.numel(), device=sentence.device) - first
        return eligible[rank < self.n_best]

    def _read(self, ends: _Ends, scores: Tensor, picked: Tensor) -> list[Hypothesis]:
        """Follow the parents back from each picked end: one pass over the steps for all of them."""
        sentence, place, time = ends.sentence[picked], ends.place[picked], ends.time[picked]
        steps = int(time.max()) + 1 if picked.numel() else 0
        tokens = torch.zeros((picked.numel(), steps), dtype=torch.int64, device=picked.device)
        logs = torch.zeros((picked.numel(), steps), device=picked.device)
        weights: Tensor | None = None
        for now in range(steps - 1, -1, -1):
            record = self.records[now]
            there = (time >= now).nonzero().squeeze(1)
            row, at = record.row[sentence[there]], place[there]
            tokens[there, now] = record.tokens[row, at]
            logs[there, now] = record.logs[row, at].to(logs.dtype)
            place[there] = record.parents[row, at]
            if record.weights is not None:
                if weights is None:
                    weights = record.weights.new_zeros(picked.numel(), steps, record.weights.shape[-1])
                weights[there, now] = record.weights[row, place[there]]
        weights = None if weights is None else weights.cpu()
        rows = zip(
            tokens.tolist(),
            logs.tolist(),
            time.tolist(),
            ends.finished[picked].tolist(),
            scores[picked].tolist(),
            ends.total[picked].tolist(),
            strict=True,
        )
        return [
            Hypothesis(
                tokens=ids[:last] if done else ids[: last + 1],
                score=score,
                log_probability=total,
                token_scores=values[: last + 1],
                weights=None if weights is None else weights[index, : last + 1],
                finished=done,
            )
            for index, (ids, values, last, done, score, total) in enumerate(rows)
        ]
