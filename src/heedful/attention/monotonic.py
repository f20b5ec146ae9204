"""Monotonic attention: a walk over the source that stops once a step, and never goes back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.attention.memory import Memory
from heedful.attention.normalisers import Normaliser, normalisers
from heedful.attention.scores import at_least_one
from heedful.attention.weights import Windowed
from heedful.errors import RecipeError

Rate = Callable[[Tensor, Tensor], Tensor]
"""(queries (N) int64, of B * T; columns (N, W)) -> the scores of these columns (N, W)."""


@normalisers.register("monotonic")
class Monotonic(Normaliser):
    """Stop at one place, not before the last one: Raffel et al. 2017, "Online and Linear-Time Attention by Enforcing
    Monotonic Alignments", section 2; with `chunk` > 1 look back from it: MoChA, Chiu and Raffel 2018, section 2.3.

    Step i walks on from where step i - 1 stopped, and stops at place j with probability p_ij = sigmoid(e_ij + r). In
    training weights are the probabilities of each stop, over all walks:

        q_ij = (1 - p_i,j-1) q_i,j-1 + alpha_i-1,j;  alpha_ij = p_ij q_ij;  alpha_0 = (1, 0, 0, ...)

    and normal noise is added to e_ij + r, which teaches the model scores far from 0. In evaluation the walk is taken:
    it stops at the first j, from the last stop on, with e_ij + r > 0 (p > 1/2), and alpha_ij = 1 there. Only places
    that are come by are scored, at most S + T of them in a sentence. A walk that has passed the last place has ended:
    that row and all later ones are 0 (in training what went past the end is lost likewise; rows sum to 1 or less).
    In a chunk of w places that ends at the stop k, beta_ij = alpha_ik exp(e_ij) / sum over the chunk of exp(e_il),
    summed over all k; S + w T scores.

    Places are those of the sentence as it was written. What has none comes behind the last word, in the order of the
    source: tags, then the end symbol, so that a model may stop there when all is written. Places that scope or score
    rule out are passed by, and a scope's prior is multiplied in without a loss to later steps. A temperature divides
    e + r before the sigmoid, and e in a chunk; where the walk stops does not depend on it.

    Differs from the papers in that any score will do: theirs is additive with v_a of a learned length, 1 / sqrt(A) at
    first, and MoChA has a second one for the chunk, where this takes the same for both. Algorithm 1 leaves open where
    to begin behind a step that has found no stop; from the last stop again, as is often done, could take S T scores.

    Args:
        bias: r at first. The papers have from -1 to -5; -2 for translation.
        noise: standard deviation of the noise.
        chunk: w.
        soft: take the weights of training in evaluation too, without noise: O(S T).
        temperature: as for all.

    Raises:
        RecipeError: bias or noise is not a number, or noise is below 0.
        SizeError: chunk is below 1.
    """

    content_based = False
    sequential = True
    partial = True

    def __init__(
        self, *, bias: float = -2.0, noise: float = 1.0, chunk: int = 1, soft: bool = False, temperature: float = 1.0
    ) -> None:
        super().__init__(temperature=temperature)
        if not (math.isfinite(bias) and math.isfinite(noise) and noise >= 0):
            raise RecipeError(
                f"normaliser 'monotonic' takes a bias and, from 0, the deviation of noise, got {bias} and {noise}"
            )
        self.initial_bias, self.noise, self.soft = bias, noise, soft
        self.chunk = at_least_one("chunk", chunk, chunk)
        self.bias = nn.Parameter(torch.tensor(float(bias)))  # r

    @property
    def walks(self) -> bool:
        return not (self.training or self.soft)

    def begin(self, memory: Memory) -> Tensor:
        """alpha_0 (B, 1, S) in the order of the sentence; where it walks, the place of the last stop (B, 1), from 0."""
        batch, size = memory.mask.shape
        if self.walks:
            return memory.positions.new_zeros(batch, 1)
        dtype = torch.promote_types(memory.values.dtype, torch.float32)
        first = torch.arange(size, device=memory.mask.device) == 0
        return first.to(dtype).expand(batch, 1, size)

    def forward(self, scores: Tensor, mask: Tensor, memory: Memory, carry: Tensor) -> tuple[Tensor, Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """scores (B, T, S), mask bool that broadcasts to it, T steps that each follow on the same row of `carry`
        (B, T, ...) -> weights (B, T, S), exactly 0 where masked, and what the steps behind them are given."""
        assert memory.order is not None
        order = memory.order.unsqueeze(1).expand(scores.shape)
        mask = mask.expand(scores.shape).gather(-1, order)
        ranked = _finite(scores.gather(-1, order), mask)
        weights, carry = self._walked(ranked, mask, carry) if self.walks else self._expected(ranked, mask, carry)
        if self.chunk > 1:
            weights = self._spread(weights, ranked, mask)
        return torch.zeros_like(weights).scatter(-1, order, weights).to(scores.dtype), carry

    def _expected(self, scores: Tensor, mask: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """In the order of the sentence: alpha_i of alpha_i-1."""
        energies = scores + self.bias
        if self.training and self.noise:
            energies = energies + self.noise * torch.randn_like(energies)
        energies = energies / self.temperature
        stops = torch.where(mask, torch.sigmoid(energies), 0.0)  # p_ij
        stays = torch.where(mask, torch.sigmoid(-energies), 1.0)  # 1 - p_ij
        alpha = stops * _recurrence(stays, before)  # p_ij q_ij
        return alpha, alpha

    def _walked(self, scores: Tensor, mask: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(scores.shape[-1], device=scores.device)
        stops = mask & (scores + self.bias > 0) & (places >= last.unsqueeze(-1))
        ended = torch.full_like(last, scores.shape[-1])
        stop = torch.where(stops.any(-1), stops.to(torch.uint8).argmax(-1), ended)
        return (places == stop.unsqueeze(-1)).to(scores.dtype), stop

    def _spread(self, alpha: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
        """beta_ij, in the order of the sentence."""
        width = min(self.chunk, scores.shape[-1])
        chunks, open_ = (functional.pad(part, (width - 1, 0)).unfold(-1, width, 1) for part in (scores, mask))
        shares = alpha.unsqueeze(-1) * super().forward(chunks, open_)  # (B, T, S, w): stop, place in its chunk
        behind = [functional.pad(shares[..., n:, width - 1 - n], (0, n)) for n in range(width)]  # n before the stop
        return torch.stack(behind).sum(0)

    def distribute(self, scores: Tensor) -> Tensor:
        """Within a chunk."""
        return torch.softmax(scores, dim=-1)

    def walk(self, rate: Rate, mask: Tensor, memory: Memory, carry: Tensor) -> tuple[Windowed, Tensor]:
        """What `forward` gives in evaluation, for scores that are asked for one place after the other.

        Args:
            rate: gives them.
            mask: (B, T or 1, S).
            memory: of B sentences.
            carry: the place of the last stop, (B, T).
        """
        assert memory.order is not None
        batch, count = carry.shape
        size = mask.shape[-1]
        order, mask = memory.order.repeat_interleave(count, 0), mask.expand(batch, count, size).flatten(0, 1)
        lengths, stop = memory.mask.sum(1).repeat_interleave(count), carry.flatten().clone()
        going = (stop < lengths).nonzero().squeeze(1)
        while going.numel():
            columns = order[going, stop[going]].unsqueeze(1)
            asked = mask[going].gather(1, columns).squeeze(1)
            stops = torch.zeros_like(asked)
            stops[asked] = _finite(rate(going[asked], columns[asked]))[:, 0] + self.bias > 0
            going = going[~stops]
            stop[going] += 1
            going = going[stop[going] < lengths[going]]
        width = min(self.chunk, size)
        places = stop.unsqueeze(1) + torch.arange(1 - width, 1, device=stop.device)
        columns = order.gather(1, places.clamp(0, size - 1))
        stopped = stop < lengths
        open_ = mask.gather(1, columns) & (places >= 0) & stopped.unsqueeze(1)
        values = memory.values.new_zeros(columns.shape)
        if width == 1:
            values = open_.to(values.dtype)
        elif stopped.any():
            rated = rate(stopped.nonzero().squeeze(1), columns[stopped])
            values[stopped] = super().forward(rated, open_[stopped]).to(values.dtype)
        stop = torch.where(stopped, stop, size)
        columns, values, stop = (part.unflatten(0, (batch, count)) for part in (columns, values, stop))
        return Windowed(columns, values, size), stop


def _finite(scores: Tensor, mask: Any = None) -> Tensor:
    """In single precision at least; 0 where masked, and what overflowed is the largest number there is."""
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    limits = torch.finfo(wide.dtype)
    clamped = wide.clamp(limits.min, limits.max)
    return clamped if mask is None else torch.where(mask, clamped, 0.0)


def _recurrence(stays: Tensor, arrives: Tensor) -> Tensor:
    """q_j = stays_j-1 q_j-1 + arrives_j, along the last axis.

    By doubling: after n rounds q_j has what arrived at its 2^n nearest places, so log2 S rounds do, each one product
    and one sum of numbers from 0 to 1. The closed form of the paper, prod (1 - p) cumsum(alpha / prod (1 - p)), divides
    by products that may be 0.
    """
    passes = functional.pad(stays[..., :-1], (1, 0))
    mass, gap = arrives, 1
    while gap < stays.shape[-1]:
        mass = mass + passes * functional.pad(mass[..., :-gap], (gap, 0))
        passes = passes * functional.pad(passes[..., :-gap], (gap, 0))
        gap *= 2
    return mass
