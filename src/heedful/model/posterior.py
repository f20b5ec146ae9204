"""Where a word came from, judged after it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from heedful.attention.normalisers import Normaliser
from heedful.tensors import map_tensors

if TYPE_CHECKING:
    from heedful.data.batches import Batch
    from heedful.model.model import Model


class OneEach(Normaliser):
    """Query k looks at position k and at nothing else: (B, S, S) scores -> the identity, whatever is masked."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.distribute(scores)

    def distribute(self, scores: Tensor) -> Tensor:
        eye = torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device)
        return eye.expand_as(scores)


def posterior(model: Model, batch: Batch, inputs: Tensor) -> Tensor:
    """p(a_t = j | y_1 .. y_t, x), (B, T, S), of the batch's targets.

    The weights alpha_tj say where the model looks before it knows the word that it is about to write. By Bayes' rule,
    with alpha_tj as the prior and, as the likelihood, what the word's probability is if position j alone is looked at:

        p(a_t = j | y_1 .. y_t, x) = alpha_tj p(y_t | y_1 .. y_{t-1}, c_t = h_j) / sum_k alpha_tk p(y_t | .., c_t = h_k)

    the posterior attention of Shankar and Sarawagi 2019, "Posterior attention models for sequence to sequence
    learning", section 2, read off a model that was trained as usual. The steps before t are the model's own. Row t is
    about y_t, whatever the convention of the weights. Rows sum to 1; one without any weight stays 0.

    It costs as much as a beam as wide as the source is long.
    """
    assert batch.target is not None
    each = model.with_normaliser(OneEach())
    memory, state = model.begin(batch.sources[0])
    positions = batch.sources[0].tokens.shape[1]

    def wide(tensor: Tensor) -> Tensor:  # a hypothesis for each source position
        return tensor.expand(tensor.shape[0], positions, *tensor.shape[2:])

    rows = []
    for word, target in zip(inputs.split(1, dim=1), batch.target.tokens.split(1, dim=1), strict=True):
        logs, *_ = each.step(wide(word), memory, map_tensors(wide, state))
        likelihood = logs.gather(2, wide(target).unsqueeze(-1)).squeeze(-1)  # (B, S)
        _, weights, state = model.step(word, memory, state)
        assert weights is not None
        joint = weights[:, 0].log() + likelihood
        most = joint.amax(-1, keepdim=True)
        joint = torch.where(most.isfinite(), joint - most, joint).exp()  # all -inf: a row without weight
        rows.append(joint / joint.sum(-1, keepdim=True).clamp(min=torch.finfo(joint.dtype).tiny))
    return torch.stack(rows, dim=1)
