"""v . tanh(query + key) without a tanh, and without keeping its (B, T, S, A) terms for the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from heedful.attention.products import plain_only

PIECE = 1 << 20
"""How many terms are in memory at once, unless those of a single query are more."""


def plain_additive_scores(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """v . tanh(query + key), as it is written in the papers: (B, T, A), (B, S, A), (A) -> (B, T, S)."""
    return torch.tanh(queries[:, :, None, :] + keys[:, None, :, :]) @ v


def additive_scores(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """The same numbers as `plain_additive_scores`, in less time and memory.

    tanh(x) = 2 sigmoid(2x) - 1, so v . tanh(q + k) = 2 v . sigmoid(2q + 2k) - sum_d v_d, and PyTorch's sigmoid takes a
    tenth of the time of its tanh. The terms, B x T x S x A of them, are computed a `PIECE` at a time, and again in the
    backward pass: what is kept for it are queries, keys and v. In single precision scores differ from those of the
    plain formula in double precision by at most 2e-7 sum_d |v_d|, however large queries and keys are. Half precision is
    computed in single precision; under autocast, scores are of single precision too. While a model is compiled,
    exported, traced or transformed (`torch.func`), it is the plain formula, which does not depend on sizes.

    Raises:
        RuntimeError: in the backward pass of the backward pass; `plain_additive_scores` can be differentiated twice.
    """
    if plain_only():
        return plain_additive_scores(queries, keys, v)
    dtype = torch.promote_types(torch.promote_types(queries.dtype, keys.dtype), v.dtype)
    wide = torch.promote_types(dtype, torch.float32)
    scores: Tensor = _Additive.apply(queries.to(wide), keys.to(wide), v.to(wide))  # pyright: ignore[reportAssignmentType]
    return scores.to(dtype)


class _Additive(torch.autograd.Function):
    """All operands are of one type, single or double precision."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, v)
        with torch.autocast(queries.device.type, enabled=False):
            sums = [_sigmoids(some, keys) @ v for some in _pieces(queries, keys)]
            return 2 * _joined(sums) - v.sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # pyright: ignore
        if torch.is_grad_enabled():  # create_graph=True; PyTorch would let it pass where `grad` is a constant
            raise RuntimeError(
                "additive scores cannot be differentiated twice (create_graph=True); plain_additive_scores can"
            )
        queries, keys, v = ctx.saved_tensors
        with torch.autocast(queries.device.type, enabled=False):
            of_queries, of_keys, of_v = [], None, -grad.sum()
            for some, its in zip(_pieces(queries, keys), _pieces(grad, keys), strict=True):
                sigmoids = _sigmoids(some, keys)  # r (B, t, S, A)
                of_v = of_v + 2 * (its.reshape(-1) @ sigmoids.flatten(0, 2))  # d tanh = 2 dr
                slopes = torch.addcmul(4 * v, sigmoids, v, value=-4).mul_(sigmoids)  # v (1 - tanh^2) = 4 v (1 - r) r
                of_queries.append((its.unsqueeze(2) @ slopes).squeeze(2))
                terms = slopes.mul_(its.unsqueeze(-1))
                terms = terms.squeeze(1) if terms.shape[1] == 1 else terms.sum(1)
                of_keys = terms if of_keys is None else of_keys.add_(terms)
        assert of_keys is not None
        return _joined(of_queries), of_keys, of_v


def _sigmoids(queries: Tensor, keys: Tensor) -> Tensor:
    """sigmoid(2q + 2k), (B, T, S, A)."""
    return torch.add(2 * queries.unsqueeze(2), keys.unsqueeze(1), alpha=2).sigmoid_()


def _pieces(queries: Tensor, keys: Tensor) -> Iterator[Tensor]:
    """Queries (B, T, .), as many steps at a time as make a piece."""
    yield from queries.split(max(1, PIECE // max(1, keys.numel())), dim=1)


def _joined(pieces: list[Tensor]) -> Tensor:
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, dim=1)
