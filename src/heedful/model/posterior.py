"""Where a word came from, judged after it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from heedful.attention import Global, Memory, dense
from heedful.attention.normalisers import Normaliser
from heedful.tensors import map_tensors

if TYPE_CHECKING:
    from heedful.data.batches import Batch
    from heedful.model.model import Model


CANDIDATES = 8
"""Positions that are asked, those with the largest weights: others hardly ever are where a word came from."""


class OneEach(Normaliser):
    """Query k looks at one position, `positions` (B, K), and at nothing else, whatever is masked."""

    positions: Tensor

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.distribute(scores)

    def distribute(self, scores: Tensor) -> Tensor:
        positions = self.positions.repeat_interleave(len(scores) // len(self.positions), dim=0)  # the same in each head
        return torch.zeros_like(scores).scatter(-1, positions.unsqueeze(-1), 1.0)


def posterior(model: Model, batch: Batch, inputs: Tensor) -> Tensor:
    """p(a_t = j | y_1 .. y_t, x), (B, T, S), of the batch's targets.

    The weights alpha_tj say where the model looks before it knows the word that it is about to write. By Bayes' rule,
    with alpha_tj as the prior and, as the likelihood, what the word's probability is if position j alone is looked at:

        p(a_t = j | y_1 .. y_t, x) = alpha_tj p(y_t | y_1 .. y_{t-1}, c_t = h_j) / sum_k alpha_tk p(y_t | .., c_t = h_k)

    the posterior attention of Shankar and Sarawagi 2019, "Posterior attention models for sequence to sequence
    learning", read off a model that was trained as usual. The steps before t are the model's own. Row t is about y_t,
    whatever the weights' convention. The `CANDIDATES` positions with the largest weights are asked, all others are
    left at 0; rows sum to 1 over these, and one without any weight stays 0. It costs as much as a beam of that size.

    Args:
        inputs: (B, T), y_0 .. y_{T-1}.
    """
    assert batch.target is not None
    there = OneEach()
    each = model.with_normaliser(there)
    assert each.attention is not None
    # The prior has what a scope says; the copy looks at h_j alone, not at a share of it.
    each.attention.core.scope = Global()
    memory, state = model.begin(*batch.sources)
    assert isinstance(memory, Memory)
    width = memory.mask.shape[-1]
    count = min(CANDIDATES, width)

    def wide(tensor: Tensor) -> Tensor:  # a hypothesis for each candidate
        return tensor.expand(tensor.shape[0], count, *tensor.shape[2:])

    rows = []
    for word, target in zip(inputs.split(1, dim=1), batch.target.tokens.split(1, dim=1), strict=True):
        _, weights, after = model.step(word, memory, state)
        assert weights is not None
        weights = dense(weights)[..., :width]
        prior, there.positions = weights[:, 0].topk(count)  # (B, K)
        logs, *_ = each.step(wide(word), memory, map_tensors(wide, state))
        joint = prior.log() + logs.gather(2, wide(target).unsqueeze(-1)).squeeze(-1)
        most = joint.amax(-1, keepdim=True)
        joint = torch.where(most.isfinite(), joint - most, joint).exp()  # all -inf: a row without weight
        shares = joint / joint.sum(-1, keepdim=True).clamp(min=torch.finfo(joint.dtype).tiny)
        rows.append(torch.zeros_like(weights[:, 0]).scatter(-1, there.positions, shares.to(weights.dtype)))
        state = after
    return torch.stack(rows, dim=1)
