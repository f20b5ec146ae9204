"""Does padding get any weight, and does a sentence's answer depend on its neighbours?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from heedful.attention.interventions import Observed
from heedful.data.batches import Example, collate, shortened
from heedful.data.codec import Encoded
from heedful.data.vocabulary import Vocabulary
from heedful.diagnosis.subject import Subject
from heedful.predictor import to_device

LOOKED_AT = 16
"""Sentences, at even distances from the shortest to the longest, both of these among them."""


def padding(subject: Subject) -> dict[str, float]:
    """Some sentences, each forced alone, and all together beside one that is longer than any of them.

    - ``on_padding``: the largest share of a row's weight that positions behind a sentence's end symbol get: the weights
      as the model's attention makes them, nothing cut off. Must be 0.
    - ``beside_others``: by how much the log-probability of a target token changes at most, in nats, when its sentence
      is not alone. Must be no more than rounding.
    - ``other_answers``: the share of sentences whose greedy answer is another.
    """
    examples = sorted(subject.examples(), key=lambda example: len(example.source.ids))
    count = min(LOOKED_AT, len(examples))
    looked_at = [examples[round(place * (len(examples) - 1) / max(count - 1, 1))] for place in range(count)]
    together = [*looked_at, _longer(looked_at[-1])]
    logs, shares = _forced(subject, together)
    alone = [_forced(subject, [example])[0][0] for example in looked_at]
    differences = [float((own - its[: len(own)]).abs().max()) for own, its in zip(alone, logs, strict=False)]
    return {
        "on_padding": max(shares[: len(looked_at)]),
        "beside_others": max(differences),
        "other_answers": _other_answers(subject, looked_at, together),
    }


def _longer(example: Example) -> Example:
    """Twice the sources of `example`, and some: so that all others are padded."""
    second = None if example.second is None else _double(example.second)
    return replace(example, source=_double(example.source), second=second, index=-1)


def _double(source: Encoded) -> Encoded:
    ids, positions, labels, grid, segments = source
    if not isinstance(ids, list):
        double = np.concatenate([ids, ids, ids[:1]])
        return Encoded(double, range(1, len(double) + 1), labels, grid)
    words = [(token, label) for token, place, label in zip(ids, positions, labels, strict=True) if place]
    tags = [(token, label) for token, place, label in zip(ids[:-1], positions, labels, strict=False) if not place]
    double = [*tags, *words, *words]
    end = (ids[-1], labels[-1])
    return Encoded(
        [token for token, _ in (*double, end)],
        [*(0 for _ in tags), *range(1, 2 * len(words) + 1), 0],
        [label for _, label in (*double, end)],
        segments=None if segments is None else _twice(segments, positions),
    )


def _twice(segments: Sequence[int], positions: Sequence[int]) -> list[int]:
    """Those of the words again behind them, as further segments."""
    own = [segment for segment, place in zip(segments, positions, strict=True) if place]
    again = [segment + max(own, default=0) for segment in own]
    return [*(0 for place in positions[:-1] if not place), *own, *again, 0]


def _forced(subject: Subject, examples: Sequence[Example]) -> tuple[list[torch.Tensor], list[float]]:
    """Log-probabilities of each example's target tokens, and the largest share of a row of its weights on padding."""
    batch = to_device(collate(examples), next(subject.model.parameters()).device)
    seen: list[torch.Tensor] = []
    own = subject.model.attention
    assert own is not None
    model = subject.model.with_normaliser(Observed(own.normaliser, lambda *parts: seen.append(parts[-1])))
    with torch.inference_mode():
        logs, _ = model.force(batch)
        weights = torch.cat(seen, dim=1).unflatten(0, (-1, own.heads))  # (B, heads, T, S)
    lengths = [len(example.target or ()) for example in examples]
    sums = weights.abs().sum(-1)
    mask = shortened(batch.sources[0], subject.model.shortening).mask
    outside = (weights.abs() * ~mask[:, None, None, :]).sum(-1)
    shares = torch.where(sums > 0, outside / sums, 0.0).amax(1)
    return (
        [row[:length].cpu() for row, length in zip(logs, lengths, strict=True)],
        [float(row[:length].max()) for row, length in zip(shares, lengths, strict=True)],
    )


def _other_answers(subject: Subject, looked_at: Sequence[Example], together: Sequence[Example]) -> float:
    predictor = subject.predictor()
    device = next(subject.model.parameters()).device

    def answers(examples: Sequence[Example]) -> list[list[int]]:
        batch = to_device(collate([replace(each, target=None) for each in examples]), device)
        found = predictor.searched(batch, [1] * len(examples), n_best=1, with_weights=False)
        return [hypotheses[0].tokens if hypotheses else [Vocabulary.END] for hypotheses in found]

    beside = answers(together)[: len(looked_at)]
    alone = [answers([example])[0] for example in looked_at]
    return sum(own != its for own, its in zip(alone, beside, strict=True)) / len(alone)
