"""Reading answers back from what each step of a beam left behind: one pass over the steps for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from heedful.search.hypothesis import Hypothesis
from heedful.tensors import Sparse, dense, precise, steps_of


class Record(NamedTuple):
    """What one step leaves. `row` maps a sentence to its row, for sentences still there."""

    row: Tensor  # (B,)
    parents: Tensor  # (rows, K)
    tokens: Tensor  # (rows, K)
    logs: Tensor  # (rows, K)
    weights: Tensor | Sparse | None  # (rows, K before, S)


class Ends(NamedTuple):
    """Hypotheses that left the beam, one entry each."""

    sentence: Tensor
    place: Tensor  # in the beam, at the step whose symbol was its last
    time: Tensor  # of that step; -1 for an answer without any symbol
    total: Tensor  # log-probability
    score: Tensor
    finished: Tensor  # False: cut


def read_back(records: Sequence[Record], ends: Sequence[Ends], *, count: int, n_best: int) -> list[list[Hypothesis]]:
    """For each of `count` sentences its n best that ended, or where none did, its n best of those that were cut."""
    answers: list[list[Hypothesis]] = [[] for _ in range(count)]
    if not ends:
        return answers
    every = Ends(*(torch.cat(parts) for parts in zip(*ends, strict=True)))
    picked = Ends(*(part[_pick(every, count, n_best)] for part in every))
    for sentence, hypothesis in zip(picked.sentence.tolist(), _read(records, picked), strict=True):
        answers[sentence].append(hypothesis)
    return answers


def _pick(ends: Ends, count: int, n_best: int) -> Tensor:
    """Indices into `ends`: by sentence, the n best of those that may be returned."""
    some = torch.zeros(count, dtype=torch.bool, device=ends.score.device)
    some[ends.sentence[ends.finished]] = True
    eligible = (ends.finished | ~some[ends.sentence]).nonzero().squeeze(1)
    eligible = eligible[ends.score[eligible].argsort(descending=True, stable=True)]
    eligible = eligible[ends.sentence[eligible].argsort(stable=True)]
    sentence = ends.sentence[eligible]
    first = torch.searchsorted(sentence, sentence)  # where each sentence's entries start
    rank = torch.arange(sentence.numel(), device=sentence.device) - first
    return eligible[rank < n_best]


def _read(records: Sequence[Record], ends: Ends) -> list[Hypothesis]:
    """Follow the parents back from each end."""
    count, steps = ends.time.numel(), int(ends.time.max()) + 1 if ends.time.numel() else 0
    device = ends.time.device
    tokens = torch.zeros((count, steps), dtype=torch.int64, device=device)
    logs = torch.zeros((count, steps), dtype=precise(device), device=device)
    first = records[0].weights if records else None
    weights = None
    if first is not None:
        nobody = torch.zeros(0, dtype=torch.int64, device=device)
        one = dense(steps_of(first, nobody, nobody))
        weights = one.new_zeros(count, steps, one.shape[-1])
    place = ends.place.clone()
    for now in range(steps - 1, -1, -1):
        record = records[now]
        there = (ends.time >= now).nonzero().squeeze(1)
        row, at = record.row[ends.sentence[there]], place[there]
        tokens[there, now] = record.tokens[row, at]
        logs[there, now] = record.logs[row, at].to(logs.dtype)
        place[there] = record.parents[row, at]
        if record.weights is not None and weights is not None:
            weights[there, now] = dense(steps_of(record.weights, row, place[there])).squeeze(1)
    return _hypotheses(ends, tokens, logs, None if weights is None else weights.cpu())


def _hypotheses(ends: Ends, tokens: Tensor, logs: Tensor, weights: Tensor | None) -> list[Hypothesis]:
    rows = zip(
        tokens.tolist(),
        logs.tolist(),
        (ends.time + 1).tolist(),
        ends.finished.tolist(),
        ends.score.tolist(),
        ends.total.tolist(),
        strict=True,
    )
    return [
        Hypothesis(
            tokens=ids[: length - done],
            score=score,
            log_probability=total,
            token_scores=values[:length],
            weights=None if weights is None else weights[index, :length],
            finished=done,
        )
        for index, (ids, values, length, done, score, total) in enumerate(rows)
    ]
