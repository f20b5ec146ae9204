"""Scopes: which source positions may answer, and how near must they be?

Positions count words from 1, in the order of the sentence as it was written. The end symbol, tags and padding
have position 0: no local window ever holds them, and they do not count in a sentence's length S.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention.memory import Memory, Window
from heedful.attention.products import Linear
from heedful.attention.scores import at_least_one
from heedful.attention.weights import Weights
from heedful.registry import Registry

scopes: Registry[Scope] = Registry("scope")

CROSSING = 8
"""How many times as long as its windows a source must be for these to be named: a shorter one is quicker as a whole."""


class Scope(nn.Module, ABC):
    """Says for each query which positions may answer (a mask), and how much each counts (a prior)."""

    content_based = True  # a permutation of the source permutes the window
    sequential = False  # looks at what was attended to before: `forward` has a last argument more, its carry
    windowed = False  # names the columns of its window, or may do so
    everywhere = False  # every real position may always answer, and counts alike
    segmented = False  # its windows have groups; has a method `cut`

    @abstractmethod
    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        """query (B, T, Q); steps, int64 that broadcasts to (B, T): each query's place in the target, from 0."""

    def cut(self, memory: Memory, numbers: Tensor, compared: Tensor) -> Memory:
        """`memory` with the segments that `forward` will need; `numbers` (B, S) are those of `segments.numbered`,
        `compared` (B, S, V) what queries are compared with: the values, but in heads."""
        raise NotImplementedError

    def begin(self, memory: Memory) -> Any:
        """What a part that is `sequential` knows before the first step: tensors (B, 1, ...)."""
        raise NotImplementedError

    def remember(self, carry: Any, weights: Weights, memory: Memory) -> Any:
        """What it knows after a step with these weights: tensors (B, T, ...), T hypotheses of that step."""
        raise NotImplementedError


@scopes.register("global")
class Global(Scope):
    """Every real position may answer: Bahdanau et al. 2015; Luong et al. 2015, section 3.1."""

    everywhere = True

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        return Window(memory.mask[:, None, :])


@scopes.register("causal")
class Causal(Scope):
    """What has been written may answer: the mask of Vaswani et al. 2017, section 3.2.3. Positions j <= t.

    Both t and positions count from 1, so the first step looks at position 1 alone. It is meant for states of the target
    that ask each other; over a source, step t sees its first t words.
    """

    content_based = False

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        positions = memory.positions[:, None, :]
        return Window((positions > 0) & (positions <= steps.unsqueeze(-1) + 1))  # j <= t


@scopes.register("local_m")
class LocalM(Scope):
    """Monotonic local attention: Luong et al. 2015, section 3.2. p_t = t; positions in [p_t - D, p_t + D] answer.

    Both t and positions count from 1, so the first target word looks at words 1 to 1 + D. What lies outside the
    sentence is ignored; a step more than D behind the last word has an empty window: weights and context are 0.

    Args:
        window: D.
    """

    content_based = False
    windowed = True

    def __init__(self, *, window: int = 10) -> None:
        super().__init__()
        self.window = at_least_one("window", window, window)

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        centre = (steps + 1).expand(query.shape[:2]).unsqueeze(-1)  # p_t = t
        return around(memory, centre, self.window)


@scopes.register("local_p")
class LocalP(Scope):
    """Predictive local attention: Luong et al. 2015, section 3.2.

    p_t = S sigmoid(v_p . tanh(W_p s)), a real number in [0, S]; positions in [p_t - D, p_t + D] answer, and each
    weight is multiplied by exp(-(j - p_t)^2 / (2 sigma^2)), sigma = D / 2, without normalising again, so that
    rows sum to less than 1. W_p: (A, Q), v_p: (A). Positions j count from 1.

    Args:
        query_size: Q.
        attention_size: A, by default Q.
        window: D.
    """

    content_based = False
    windowed = True

    def __init__(self, query_size: int, *, attention_size: int | None = None, window: int = 10) -> None:
        super().__init__()
        self.window = at_least_one("window", window, window)
        attention_size = at_least_one("attention_size", attention_size, query_size)
        self.query_projection = Linear(query_size, attention_size, bias=False)  # W_p
        self.v = nn.Parameter(torch.empty(attention_size))  # v_p
        nn.init.uniform_(self.v, -(attention_size**-0.5), attention_size**-0.5)

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        predicted = torch.sigmoid(torch.tanh(self.query_projection(query)) @ self.v)  # (B, T)
        # bfloat16 cannot tell position 257 from 258: centres are float32 at least.
        predicted = predicted.to(torch.promote_types(predicted.dtype, torch.float32))
        length = memory.lengths.unsqueeze(1)  # S
        centre = (length * predicted).unsqueeze(-1)  # p_t
        window, positions = around(memory, centre, self.window), memory.positions[:, None, :]
        if window.columns is not None:
            positions = positions.gather(2, window.columns.flatten(1).unsqueeze(1)).view_as(window.columns)
        deviation = self.window / 2  # sigma
        prior = torch.exp(-((positions - centre) ** 2) / (2 * deviation**2))
        return window._replace(prior=prior.to(query.dtype))


def around(memory: Memory, centre: Tensor, window: int) -> Window:
    """The real words at most `window` away from `centre` (B, T, 1)."""
    positions, width = memory.positions[:, None, :], 2 * window + 1
    if not narrow(memory, width):
        return Window((positions > 0) & ((positions - centre).abs() <= window))
    wanted = centre - window  # of which whole numbers need no rounding
    wanted = (wanted.ceil().long() if wanted.is_floating_point() else wanted) + torch.arange(
        width, device=wanted.device
    )
    return named(memory, torch.where(wanted <= centre + window, wanted, 0) if centre.is_floating_point() else wanted)


def narrow(memory: Memory, width: int) -> bool:
    """Whether a window of so many words is to be named (`named`), rather than a mask over the whole source."""
    return memory.places is not None and CROSSING * width < memory.positions.shape[1]


def named(memory: Memory, wanted: Tensor) -> Window:
    """The words at these places (B, T, W), of which those outside of the sentence are no matter."""
    places = memory.places
    assert places is not None
    there = (wanted > 0) & (wanted < places.shape[1])
    columns = places.gather(1, torch.where(there, wanted, 0).flatten(1)).view_as(wanted)  # -1 where there is none
    return Window(columns >= 0, columns=columns.clamp(min=0))
