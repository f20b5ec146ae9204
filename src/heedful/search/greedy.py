"""Greedy search: the most probable symbol at every step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary
from heedful.search.hypothesis import Hypothesis, StepFunction, keep, without_special, worth_leaving


@torch.inference_mode()
def greedy(
    step: StepFunction,
    memory: Any,
    state: Any,
    *,
    max_lengths: Tensor,
    length_penalty: float = 1.0,
    with_weights: bool = False,
) -> list[Hypothesis]:
    """One hypothesis per sentence.

    Args:
        step: the step function.
        memory: as it takes it, for B sentences.
        state: its first state, (B, 1, ...).
        max_lengths: (B) int64, the most symbols of each answer, the end symbol counted.
        length_penalty: see `Hypothesis.score`.
        with_weights: whether to keep the attention weights.
    """
    count = max_lengths.shape[0]
    origin = torch.arange(count, device=max_lengths.device)
    tokens = torch.full((count, 1), Vocabulary.START, device=max_lengths.device)
    limit = int(max_lengths.max()) if count else 0
    chosen = torch.full((count, limit), Vocabulary.PAD, device=max_lengths.device)
    logs_of = torch.zeros((count, limit), device=max_lengths.device)
    rows: list[tuple[Tensor, Tensor]] = []
    lengths = max_lengths.clone()
    going = max_lengths > 0
    for time in range(limit):
        logs, weights, state = step(tokens, memory, state)
        best, tokens = without_special(logs).max(dim=-1)  # (B, 1) each
        active = origin[going]
        chosen[active, time] = tokens[going, 0]
        logs_of[active, time] = best[going, 0].to(logs_of.dtype)
        if with_weights and weights is not None:
            rows.append((origin, weights[:, 0]))
        ended = going & (tokens[:, 0] == Vocabulary.END)
        lengths[origin[ended]] = time + 1
        going = going & ~ended & (max_lengths[origin] > time + 1)
        if not bool(going.any()):
            break
        if worth_leaving(going):
            memory, state, tokens, origin = (keep(part, going) for part in (memory, state, tokens, origin))
            going = going[going]
    return _hypotheses(chosen, logs_of, lengths, rows, length_penalty)


def _hypotheses(
    chosen: Tensor, logs: Tensor, lengths: Tensor, rows: list[tuple[Tensor, Tensor]], length_penalty: float
) -> list[Hypothesis]:
    weights = _stack(rows, chosen.shape[0])
    found = []
    for index, (ids, scores, length) in enumerate(zip(chosen.tolist(), logs.tolist(), lengths.tolist(), strict=True)):
        ids, scores = ids[:length], scores[:length]
        finished = bool(ids) and ids[-1] == Vocabulary.END
        total = sum(scores)
        found.append(
            Hypothesis(
                tokens=ids[:-1] if finished else ids,
                score=total / max(length, 1) ** length_penalty,
                log_probability=total,
                token_scores=scores,
                weights=None if weights is None else weights[index, :length],
                finished=finished,
            )
        )
    return found


def _stack(rows: list[tuple[Tensor, Tensor]], count: int) -> Tensor | None:
    """Rows of each step, of the sentences that were there still -> (B, T, S) on the CPU, zero where there is none."""
    if not rows:
        return None
    stacked = rows[0][1].new_zeros(count, len(rows), rows[0][1].shape[-1])
    for time, (origin, weights) in enumerate(rows):
        stacked[origin, time] = weights
    return stacked.cpu()
