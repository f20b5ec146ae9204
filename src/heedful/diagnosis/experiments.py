"""Experiments on the model: does it need its attention, and what moves its scores?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from heedful.answers import Prediction
from heedful.attention import Memory
from heedful.attention.interventions import ArgMax, Observed, Shuffled, Uniform
from heedful.data.batches import Batch
from heedful.data.vocabulary import Vocabulary
from heedful.diagnosis.subject import Subject
from heedful.model import Model
from heedful.model.steps import State

_NOTHING = 1e-9
"""What counts as the weight of a position that has none, where its logarithm is asked for."""


def gains(subject: Subject, forced: Sequence[Prediction]) -> dict[str, float]:
    """How much worse the loss is without the model's own weights, in nats per target token.

    - ``loss``: as it is, under teacher forcing.
    - ``gain_over_uniform``, ``gain_over_shuffled``, ``gain_over_argmax``: the loss with weights that are uniform,
      another sentence's of the same batch, the largest alone, less the loss as it is. Near 0: not needed.
    """
    assert subject.model.attention is not None
    own = subject.model.attention.normaliser
    loss = loss_of(forced)
    others = {"uniform": Uniform(), "shuffled": Shuffled(own), "argmax": ArgMax()}
    return {"loss": loss} | {
        f"gain_over_{name}": loss_of(subject.forced(normaliser)) - loss for name, normaliser in others.items()
    }


def gain_over_other_context(subject: Subject) -> float:
    """How much worse the loss is, in nats per target token, where contexts are made of another sentence's states.

    The weights are the sentence's own; the states under them are those of sentence b + 1 of the batch. Near 0: whatever
    attention brings is not needed, wherever it looks. NaN where no batch has two sentences.
    """
    total, count = 0.0, 0
    with torch.inference_mode():
        for batch, members in subject.batches(subject.examples()):
            if len(members) > 1:
                memory, state = subject.model.begin(batch.sources[0])
                assert isinstance(memory, Memory)
                other = memory._replace(values=memory.values.roll(-1, dims=0))
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
    scores: list[Tensor]  # each (B, T or 1, S)
    masks: list[Tensor]
    weights: list[Tensor]

    def tell(self, scores: Tensor, mask: Tensor, weights: Tensor) -> None:
        self.scores.append(scores)
        self.masks.append(mask.expand_as(weights))
        self.weights.append(weights)


def inside(subject: Subject) -> dict[str, float]:
    """What is seen of scores and weights before a local scope multiplies them, and the gradients of the loss.

    - ``entropy_in_scope``, ``from_uniform_in_scope``: as ``entropy`` and ``from_uniform`` of
      `heedful.alignment.measure`, over the positions that the scope lets answer.
    - ``query_effect``: how much the query moves the scores, in nats: with l_ts = e_ts / temperature less its mean over
      s (which falls out of the softmax), the root of the mean square of l_ts less its mean over t. 0 = the same row at
      every step. NaN with fewer than two rows, or where the scope never lets the same two positions answer.
    - ``gradient_scores``, ``gradient_weights``, ``gradient_context``, ``gradient_state``: the norm of the gradient of a
      sentence's loss with respect to the scores e_ts, the weights a_ts, the source states as contexts are made of them,
      and the decoder's first state, which is the only other way from the source; the mean over sentences.
    - ``context_share``: gradient_context / (gradient_context + gradient_state).
    """
    sums: dict[str, list[float]] = {}
    for batch, _ in subject.batches(subject.examples()):
        for name, values in _of_batch(subject.model, batch).items():
            sums.setdefault(name, []).extend(value for value in values if not np.isnan(value))
    return {name: float(np.mean(values)) if values else float("nan") for name, values in sums.items()}


def _of_batch(model: Model, batch: Batch) -> dict[str, list[float]]:
    assert model.attention is not None
    assert batch.target is not None
    seen = _Observed([], [], [])
    watched = model.with_normaliser(Observed(model.attention.normaliser, seen.tell))
    with torch.no_grad():
        memory, state = watched.begin(batch.sources[0])
    assert isinstance(memory, Memory)
    keys, values, *starts = (
        tensor.detach().clone().requires_grad_()  # apart, where they are the same
        for tensor in (memory.keys, memory.values, *(part for layer in state.layers for part in layer))
    )
    width = len(state.layers[0])
    layers = tuple(type(layer)(*starts[width * n : width * (n + 1)]) for n, layer in enumerate(state.layers))
    chosen = target_logs(watched, batch, memory._replace(keys=keys, values=values), state._replace(layers=layers))
    # Sentences do not touch each other, so the gradient of the sum is each one's own.
    found = _gradients(-chosen.sum(), [*seen.scores, *seen.weights, values, *starts])
    calls = len(seen.scores)
    norms = {
        "gradient_scores": _norm(found[:calls]),
        "gradient_weights": _norm(found[calls : 2 * calls]),
        "gradient_context": _norm(found[2 * calls : 2 * calls + 1]),
        "gradient_state": _norm(found[2 * calls + 1 :]),
    }
    rows = _rows_about_words(batch.target.mask.cpu(), model.row_convention)
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


def _norm(gradients: Sequence[Tensor]) -> Tensor:
    """(B): over all else."""
    return torch.stack([gradient.cpu().double().flatten(1).square().sum(1) for gradient in gradients]).sum(0).sqrt()


def _rows_about_words(mask: Tensor, convention: str) -> Tensor:
    """Target mask (B, T) -> bool (B, T): the steps whose rows are about a word, see `Alignment.links`."""
    if convention == "input":
        return mask & (torch.arange(mask.shape[1]) > 0)
    return torch.nn.functional.pad(mask[:, 1:], (0, 1), value=False)


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
