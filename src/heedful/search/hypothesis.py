"""What search is given, and what it gives back."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from heedful.tensors import Sparse, map_tensors


class StepFunction(Protocol):
    """One decoding step of K hypotheses for each of B sentences.

    tokens (B, K) int64 are the last symbols; memory is a nest of tensors with B rows; state one of (B, K, ...).
    It returns log-probabilities (B, K, Y), weights (B, K, S) in any form or None, and the new state.
    """

    def __call__(self, tokens: Tensor, memory: Any, state: Any) -> tuple[Tensor, Tensor | Sparse | None, Any]: ...


class Hypothesis(NamedTuple):
    """One answer.

    `token_scores` are the log-probabilities of the single tokens in nats, the end symbol's among them if it was
    reached (`finished`); their sum is `log_probability`. `score` is what answers are ranked by: see `Ranking`.
    """

    tokens: list[int]  # without the end symbol
    score: float
    log_probability: float
    token_scores: list[float]
    weights: Tensor | None  # (T, S), T counts the end symbol
    finished: bool
    second_weights: Tensor | None = None  # (T, S') of a second source, which stands behind the first until it is split

    def split(self, width: int) -> Hypothesis:
        """The weights of the first `width` positions, and any behind as those of the second source."""
        if self.weights is None or self.weights.shape[1] <= width:
            return self
        return self._replace(weights=self.weights[:, :width], second_weights=self.weights[:, width:])


def reorder(state: Any, parents: Tensor) -> Any:
    """The state after hypotheses were chosen: row k of sentence b continues row ``parents[b, k]``."""
    rows = torch.arange(parents.shape[0], device=parents.device)[:, None]

    def continued(tensor: Tensor) -> Tensor:
        # Whole rows of one long list are copied several times faster than by two indices.
        places = parents + rows * tensor.shape[1]
        return tensor.flatten(0, 1).index_select(0, places.flatten()).unflatten(0, parents.shape)

    return map_tensors(continued, state)


def keep(tree: Any, sentences: Tensor) -> Any:
    """Only these sentences of a memory, a state, or anything else whose tensors have a row a sentence."""
    places = sentences.nonzero().squeeze(1)
    return map_tensors(lambda tensor: tensor.index_select(0, places), tree)
