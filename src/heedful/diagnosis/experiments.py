"""Experiments on the model: does it need its attention, and what moves its scores?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from heedful.alignment.alignment import rows_about_words
from heedful.answers import Prediction
from heedful.attention import Memory
from heedful.attention.interventions import ArgMax, Observed, Shuffled, Uniform, partners
from heedful.data.batches import Batch, Example, in_order
from heedful.data.vocabulary import Vocabulary
from heedful.diagnosis.subject import Subject
from heedful.model import Model
from heedful.model.steps import State

_NOTHING = 1e-9
"""What counts as the weight of a position that has none, where its logarithm is asked for."""

MOST_CELLS = 1 << 18
"""Sentences x target x source positions of a batch whose gradients are taken; a longer sentence goes alone. For each of
these cells an additive score keeps as many numbers as it has hidden units."""


def gains(subject: Subject, forced: Sequence[Prediction]) -> dict[str, float]:
    """How much worse the loss is without the model's own weights, in nats per target token.

    - ``loss``: as it is, under teacher forcing.
    - ``gain_over_uniform``, ``gain_over_shuffled``, ``gain_over_argmax``: the loss with weights that are uniform,
      another sentence's (see `heedful.attention.interventions.partners`; NaN of one pair), the largest alone, less
      the loss as it is. Near 0: not needed.
    """
    assert subject.model.attention is not None
    loss = loss_of(forced)
    uniform, largest = (loss_of(subject.forced(each, with_alignment=False)) for each in (Uniform(), ArgMax()))
    own = subject.model.attention
    shuffled = subject.model.with_normaliser(Shuffled(own.normaliser, heads=own.heads))
    total, count = 0.0, 0
    with torch.inference_mode():
        for batch in _together(subject):
            logs = target_logs(shuffled, batch, *_begun(shuffled, batch))
            total, count = total - float(logs.sum()), count + len(logs)
    return {
        "loss": loss,
        "gain_over_uniform": uniform - loss,
        "gain_over_shuffled": total / count - loss if count else float("nan"),
        "gain_over_argmax": largest - loss,
    }


def _together(subject: Subject) -> Iterator[Batch]:
    """The pairs in batches of an even number, so that no sentence is alone, and none has another partner where the
    batches have another size; a last one goes with the batch before it. Nothing where there is one pair in all."""
    examples = subject.examples()
    groups = in_order(examples, max(2, subject.batch_size // 2 * 2))
    if len(groups[-1]) == 1:
        last = groups.pop()
        groups[-1:] = [group + last for group in groups[-1:]]
    return (batch for batch, _ in subject.batches(examples, groups))


def _begun(model: Model, batch: Batch) -> tuple[Memory, State]:
    memory, state = model.begin(*batch.sources)
    assert isinstance(memory, Memory)
    return memory, state


def gain_over_other_context(subject: Subject) -> float:
    """How much worse the loss is, in nats per target token, where contexts are made of another sentence's states.

    The weights are the sentence's own; the states under them are those of its partner: see
    `heedful.attention.interventions.partners`. Near 0: whatever attention brings is not needed, wherever it looks. NaN
    of one pair.
    """
    total, count = 0.0, 0
    with torch.inference_mode():
        for batch in _together(subject):
            memory, state = _begun(subject.model, batch)
            other = memory.with_values(memory.values[partners(len(memory.values))])
            own, its = (target_logs(subject.model, batch, each, state) for each in (memory, other))
            total, count = total + float((own - its).sum()), count + len(own)
    return total / count if count else float("nan")


def target_logs(model: Model, batch: Batch, memory: Memory, state: State) -> Tensor:
    """Log-probabilities (N) of the real target tokens of a batch, from a memory and a first state."""
    assert batch.target is not None
    tokens, mask = batch.target.tokens, batch.target.mask
    inputs = torch.cat([torch.full_like(tokens[:, :1], Vocabulary.START), tokens[:, :-1]], dim=1)
    steps = model.decoder.unroll(inputs, memory, state)
    logs = torch.log_softmax(model.decoder.logits(steps.select(mask)).float(), dim=-1)
    return logs.gather(1, tokens[mask].unsqueeze(-1)).squeeze(-1)


def loss_of(forced: Sequence[Prediction]) -> float:
    """Nats per target token, the end symbol counted."""
    scores = [score for prediction in forced for score in prediction.token_scores]
    return -float(np.mean(scores))


class _Observed(NamedTuple):
    scores: list[Tensor]  # each (B * heads, T or 1, S)
    masks: list[Tensor]
    weights: list[Tensor]

    def tell(self, scores: Tensor, mask: Tensor, weights: Tensor) -> None:
        self.scores.append(scores)
        self.masks.append(mask.expand_as(weights))
        self.weights.append(weights)


def inside(subject: Subject) -> dict[str, float]:
    """What is seen of scores and weights before a local scope multiplies them, and the gradients of the loss.

    Each head is looked at by itself, and the mean is over sentences and heads; norms are over all heads together.

    - ``entropy_in_scope``, ``from_uniform_in_scope``: as ``entropy`` and ``from_uniform`` of
      `heedful.alignment.measure`, over the positions that the scope lets answer.
    - ``query_effect``: how much the query moves the scores, in nats: with l_ts = e_ts / temperature less its mean over
      s (which falls out of the softmax), the root of the mean square of l_ts less its mean over t. 0 = the same row at
      every step. NaN with fewer than two rows, or where the scope never lets the same two positions answer.
    - ``gradient_scores``, ``gradient_weights``, ``gradient_context``, ``gradient_state``: the norm of the gradient of a
      sentence's loss with respect to the scores e_ts, the weights a_ts, the source states as contexts are made of them,
      and the decoder's first state; the mean over sentences. What comes from the source comes by one of three ways:
      the contexts, the first state, and the scores, which say where to look. gradient_state is 0 where the first state
      does not depend on the source (start "zero"): nothing comes that way.
    - ``context_share``: gradient_context / (gradient_context + gradient_state): of what is brought, not of where it is
      looked for. 1 where nothing comes by the first state, NaN where nothing comes by either.
    """
    sums: dict[str, list[float]] = {}
    examples = subject.examples()
    for batch, _ in subject.batches(examples, _small(examples, subject.batch_size)):
        for name, values in _of_batch(subject.model, batch, ended=not subject.codec.has_label).items():
            sums.setdefault(name, []).extend(value for value in values if not np.isnan(value))
    return {name: float(np.mean(values)) if values else float("nan") for name, values in sums.items()}


def _small(examples: Sequence[Example], batch_size: int) -> list[list[int]]:
    """As `in_order`, cut so that no batch of two or more has more than `MOST_CELLS`."""
    groups: list[list[int]] = []
    for group in in_order(examples, batch_size):
        groups.append([])
        target = 0
        for place in group:  # the longest source comes last
            target = max(target, len(examples[place].target or ()))
            if groups[-1] and (len(groups[-1]) + 1) * target * len(examples[place].source.ids) > MOST_CELLS:
                groups.append([])
                target = len(examples[place].target or ())
            groups[-1].append(place)
    return groups


def _of_batch(model: Model, batch: Batch, *, ended: bool = True) -> dict[str, list[float]]:
    assert model.attention is not None
    assert batch.target is not None
    seen = _Observed([], [], [])
    watched = model.with_normaliser(Observed(model.attention.normaliser, seen.tell))
    with torch.no_grad():
        memory, state = _begun(watched, batch)
    keys, values, *starts = (
        tensor.detach().clone().requires_grad_()  # apart, where they are the same
        for tensor in (memory.keys, memory.values, *(part for layer in state.layers for part in layer))
    )
    width = len(state.layers[0])
    layers = tuple(type(layer)(*starts[width * n : width * (n + 1)]) for n, layer in enumerate(state.layers))
    with torch.backends.cudnn.flags(enabled=False):  # cuDNN has no gradients of RNNs in evaluation mode
        chosen = target_logs(watched, batch, memory._replace(keys=keys, values=values), state._replace(layers=layers))
        # Sentences do not touch each other, so the gradient of the sum is each one's own.
        found = _gradients(-chosen.sum(), [*seen.scores, *seen.weights, values, *starts])
    calls = len(seen.scores)
    norms = {
        "gradient_scores": _norm(found[:calls], len(values)),
        "gradient_weights": _norm(found[calls : 2 * calls], len(values)),
        "gradient_context": _norm(found[2 * calls : 2 * calls + 1], len(values)),
        "gradient_state": _norm(found[2 * calls + 1 :], len(values)) * _starts_from_source(model, batch),
    }
    rows = _about_words(batch.target.mask.cpu(), model.row_convention, ended=ended)
    rows = rows.repeat_interleave(model.attention.heads, dim=0)
    weights, masks = torch.cat(seen.weights, 1).detach().cpu().double(), torch.cat(seen.masks, 1).cpu()
    scores = torch.cat(seen.scores, 1).detach().cpu().double() / model.attention.normaliser.temperature
    both = norms["gradient_context"] + norms["gradient_state"]
    return {
        **{name: norm.tolist() for name, norm in norms.items()},
        "context_share": (norms["gradient_context"] / both).tolist(),
        **_spread(weights, masks, rows),
        "query_effect": [_query_effect(*parts) for parts in zip(scores, masks, rows, strict=True)],
    }


def _gradients(loss: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """With respect to each; 0 for one that the loss does not depend on."""
    asked = [tensor for tensor in tensors if tensor.requires_grad]  # weights that a part makes of nothing do not
    found = iter(torch.autograd.grad(loss, asked, allow_unused=True))
    gradients = [next(found) if tensor.requires_grad else None for tensor in tensors]
    return [torch.zeros_like(own) if its is None else its for own, its in zip(tensors, gradients, strict=True)]


def _norm(gradients: Sequence[Tensor], sentences: int) -> Tensor:
    """(B): over all else."""
    each = (gradient.cpu().double().unflatten(0, (sentences, -1)).flatten(1) for gradient in gradients)
    return torch.stack([own.square().sum(1) for own in each]).sum(0).sqrt()


def _starts_from_source(model: Model, batch: Batch) -> bool:
    """Whether the decoder's first state is made of anything that the encoder knows."""
    if model.decoder.start is None:
        return False
    with torch.no_grad():
        encoded = model.started_from(*batch.sources)
    values = encoded.values.clone().requires_grad_()
    last = tuple(type(state)(*(part.clone().requires_grad_() for part in state)) for state in encoded.last)
    parts = [part for layer in model.decoder.start(encoded._replace(values=values, last=last)) for part in layer]
    known = [values, *(part for state in last for part in state)]
    asked = [part.sum() for part in parts if part.requires_grad]
    return bool(asked) and any(its is not None for its in torch.autograd.grad(asked, known, allow_unused=True))


def _about_words(mask: Tensor, convention: str, *, ended: bool = True) -> Tensor:
    """Target mask (B, T) -> bool (B, T): the steps whose rows are about a word; `ended`: the last writes an end."""
    found = torch.zeros_like(mask)
    for row, steps in zip(found, mask.sum(1).tolist(), strict=True):
        about = rows_about_words(steps, convention, target_end=ended)
        row[about.start : about.stop] = True
    return found


def _spread(weights: Tensor, masks: Tensor, rows: Tensor) -> dict[str, list[float]]:
    """A mean for each sentence, over the rows with two positions or more in scope; NaN of none."""
    counts = masks.sum(-1)
    inside = weights * masks
    shares = inside / inside.sum(-1, keepdim=True)
    entropies = -(shares * shares.clamp(min=_NOTHING).log()).sum(-1) / counts.clamp(min=2).log()
    distances = ((shares - masks / counts.unsqueeze(-1)).abs() * masks).sum(-1) / 2
    counted = rows & (counts > 1) & (inside.sum(-1) > 0)
    found = {"entropy_in_scope": entropies, "from_uniform_in_scope": distances}
    return {
        name: [float(row[there].mean()) for row, there in zip(values, counted, strict=True)]
        for name, values in found.items()
    }


def _query_effect(scores: Tensor, mask: Tensor, rows: Tensor) -> float:
    """Of one sentence."""
    scores, mask = scores[rows], mask[rows]
    common = mask.all(0)
    if len(scores) < 2 or int(common.sum()) < 2:
        return float("nan")
    scores = scores[:, common]
    centred = scores - scores.mean(-1, keepdim=True)
    return float((centred - centred.mean(0)).square().mean().sqrt())
