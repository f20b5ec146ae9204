"""Scopes for long sources: how much of the source a step looks at does not grow with it, or grows slower."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from heedful.attention.memory import Memory, Window
from heedful.attention.scopes import Scope, around, named, narrow, scopes
from heedful.attention.scores import at_least_one
from heedful.attention.weights import Weights, Windowed, dense
from heedful.errors import RecipeError, SizeError


@scopes.register("window")
class Truncated(Scope):
    """Positions in [p_t - w, p_t + w] answer, w words on either side of a centre that nothing has to learn.

    ``around="diagonal"``: p_t = slope * t, t from 1, for texts that are read from left to right at an even pace; with
    slope 1 it is `local_m`. ``around="last_peak"``: p_t is the word with the largest weight of the step before, so that
    the window follows attention wherever it goes, w words a step at most; the first step looks at words 1 to 2 w + 1,
    and a step without any weight leaves p_t where it was. Steps then come one after the other, also in training.
    (`local_p` is a window around a learned position.) What lies outside the sentence is ignored; a step whose centre is
    more than w behind the last word has an empty window: weights and context are 0.

    Args:
        width: w.
        around: "diagonal" or "last_peak".
        slope: source words a step on the diagonal.

    Raises:
        RecipeError: there is no such centre, or a slope is given for what has none.
        SizeError: the slope is not above 0, or w is below 1.
    """

    content_based = False
    windowed = True

    def __init__(self, *, width: int = 10, around: str = "diagonal", slope: float = 1.0) -> None:
        super().__init__()
        if around not in ("diagonal", "last_peak"):
            raise RecipeError(f"a window is around the 'diagonal' or the 'last_peak', got {around!r}")
        if around == "last_peak" and slope != 1.0:
            raise RecipeError(f"a window around the last peak has no diagonal, so no slope either; got slope {slope}")
        self.width = at_least_one("width", width, width)
        self.slope = _above_zero(slope)
        self.around = around
        self.sequential = around == "last_peak"

    def forward(self, query: Tensor, memory: Memory, steps: Tensor, *carry: Tensor) -> Window:
        centre = carry[0] if carry else self.centre(steps).expand(query.shape[:2])  # p_t
        return around(memory, centre.unsqueeze(-1), self.width)

    def centre(self, steps: Tensor) -> Tensor:
        """p_t on the diagonal."""
        return self.slope * (steps + 1)

    def begin(self, memory: Memory) -> Tensor:
        return memory.lengths.new_full((len(memory.lengths), 1), self.width + 1)

    def remember(self, carry: Tensor, weights: Weights, memory: Memory) -> Tensor:
        values = weights.values if isinstance(weights, Windowed) else dense(weights)
        most, column = values.detach().max(-1, keepdim=True)  # (B, K, 1)
        if isinstance(weights, Windowed):
            column = weights.columns.gather(2, column)
        places = memory.positions.gather(1, column.flatten(1))
        return torch.where(most.squeeze(-1) > 0, places, carry.expand_as(places))


@scopes.register("block")
class Block(Scope):
    """The source is cut into blocks of `width` words; a step sees the block that p_t is in, and its neighbours.

    p_t = slope * t, rounded, t from 1, is the place on the diagonal. Words (b - n) w + 1 to (b + n + 1) w answer,
    b = floor((p_t - 1) / w): T x (2 n + 1) w scores. Blocks are those of Qiu et al. 2020, "Blockwise self-attention",
    which permutes them from head to head, and of Luong's local window, which has no borders. Differs from the paper in
    that source and target are two sequences, joined by the diagonal.

    Args:
        width: w, words a block.
        neighbours: n, blocks on either side.
        slope: source words a step on the diagonal.

    Raises:
        SizeError: a number is out of its range.
    """

    content_based = False
    windowed = True

    def __init__(self, *, width: int = 16, neighbours: int = 1, slope: float = 1.0) -> None:
        super().__init__()
        self.width = at_least_one("width", width, width)
        if neighbours < 0:
            raise SizeError(f"neighbours must be 0 or more, got {neighbours}")
        self.neighbours = neighbours
        self.slope = _above_zero(slope)

    def centre(self, steps: Tensor) -> Tensor:
        """p_t, a whole number."""
        return _diagonal(steps, self.slope)

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        place = self.centre(steps).expand(query.shape[:2]).unsqueeze(-1)  # p_t
        block = (place - 1) // self.width  # b
        positions = memory.positions[:, None, :]
        count = (2 * self.neighbours + 1) * self.width
        if not narrow(memory, count):
            near = ((positions - 1) // self.width - block).abs() <= self.neighbours
            return Window((positions > 0) & near)
        first = (block - self.neighbours) * self.width + 1
        return named(memory, first + torch.arange(count, device=place.device))


@scopes.register("strided")
class Strided(Scope):
    """Words in [p_t - w, p_t + w] answer, and of the others every n-th one, counted from p_t.

    p_t = slope * t, rounded, t from 1, is the step's place on the diagonal; word j answers if |j - p_t| <= w or
    j - p_t is divisible by n. After Child et al. 2019, "Generating long sequences with sparse transformers", section
    4.2: there the two halves are heads of their own and look back only; here one head has both, and looks at a source
    ahead too. T x (2 w + 1 + S / n) scores: with n about the root of S that is T x root of S.

    Args:
        width: w.
        stride: n.
        slope: source words a step on the diagonal.

    Raises:
        SizeError: a number is out of its range.
    """

    content_based = False
    windowed = True

    def __init__(self, *, width: int = 10, stride: int = 64, slope: float = 1.0) -> None:
        super().__init__()
        self.width = at_least_one("width", width, width)
        self.stride = at_least_one("stride", stride, stride)
        self.slope = _above_zero(slope)

    def centre(self, steps: Tensor) -> Tensor:
        """p_t, a whole number."""
        return _diagonal(steps, self.slope)

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        place = self.centre(steps).expand(query.shape[:2]).unsqueeze(-1)  # p_t
        positions = memory.positions[:, None, :]
        local = 2 * self.width + 1
        last = positions.shape[2] if memory.places is None else memory.places.shape[1] - 1
        far = math.ceil(last / self.stride)
        if not narrow(memory, local + far):
            away = positions - place
            return Window((positions > 0) & ((away.abs() <= self.width) | (away % self.stride == 0)))
        near = place - self.width + torch.arange(local, device=place.device)
        wanted = (place - 1) % self.stride + 1 + self.stride * torch.arange(far, device=place.device)
        wanted = torch.where((wanted - place).abs() <= self.width, 0, wanted)  # which are named already
        return named(memory, torch.cat([near, wanted], dim=-1))


def _diagonal(steps: Tensor, slope: float) -> Tensor:
    """p_t, a whole number."""
    return steps + 1 if slope == 1.0 else (slope * (steps + 1) + 0.5).floor().long()


def _above_zero(slope: float) -> float:
    if not 0 < slope < math.inf:
        raise SizeError(f"slope must be above 0, got {slope}")
    return slope
