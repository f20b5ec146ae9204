"""The values of decoding: what a decoder carries from step to step, and what each step leaves behind.

Axes: B sentences, T steps (in training) or hypotheses of one step (in search), then the size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from heedful.attention import Weights, dense
from heedful.attention.weights import join_weights


class State(NamedTuple):
    """What the next step needs. Tensors are (B, K, ...), K hypotheses a sentence; in training K = 1."""

    layers: tuple[Any, ...]  # a state of each layer: hidden states, or what it keeps of all words before
    fed: Tensor | None  # (B, K, attentional size)  h~_{t-1}, under input feeding
    step: Tensor  # (B, K) int64, from 0
    carry: Any = None  # what attention remembers of earlier steps, where it does
    ahead: Ahead | None = None  # in a search, where it pays


@dataclass(frozen=True, eq=False)
class Ahead:
    """What all steps of a search share, whichever sentences and hypotheses are left: see `Decoder.begin`.

    It has no rows for them, and is not a tuple, so that search hands it on as it is.
    """

    shares: Tensor  # (Y, G)  W E y + b of every symbol y
    columns: Tensor | None = None  # (G, .)  what the first layer multiplies by what it reads beside E y; dense
    hidden: Tensor | None = None  # (A, H)  the columns of W_c for h_t; dense


class Steps(NamedTuple):
    """What T steps (or the T hypotheses of one step) leave behind, for the readout and for looking at."""

    embeddings: Tensor  # (B, T, E)  E y_{t-1}
    before: Tensor | None  # (B, T, H)  s_{t-1}, top layer; None without recurrence
    states: Tensor  # (B, T, H)  s_t, top layer
    contexts: Tensor  # (B, T, C)  c_t
    attentional: Tensor | None = None  # (B, T, .)  h~_t, late fusion only
    weighting: Weights | None = None  # alpha_t, in the form in which it was computed; None without attention

    @property
    def weights(self) -> Tensor | None:
        """alpha_t, (B, T, S); None without attention."""
        return dense(self.weighting)

    def select(self, mask: Tensor) -> Steps:
        """Only the steps where `mask` (B, T) is True, in one row: (N, ...). The weights are left out."""
        rows = mask.flatten().nonzero().squeeze(1)
        picked = (None if part is None else part.flatten(0, 1).index_select(0, rows) for part in self[:-1])
        return Steps(*picked)  # pyright: ignore[reportArgumentType]


def join(steps: list[Steps], embeddings: Tensor) -> Steps:
    """Steps of T = 1 one after the other; `embeddings` (B, T, E) are theirs."""
    _, _, *parts, weights = zip(*steps, strict=True)
    states, *rest = (None if part[0] is None else torch.cat(part, dim=1) for part in parts)
    joined = None if weights[0] is None else join_weights(weights)
    assert states is not None
    first = steps[0].before
    before = None if first is None else torch.cat([first, states[:, :-1]], dim=1)
    return Steps(embeddings, before, states, *rest, joined)  # pyright: ignore
