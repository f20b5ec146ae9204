"""The loss of real target tokens from their features, without all of their logits at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from heedful.attention.products import linear, lowered, quick, weight_gradient
from heedful.data.vocabulary import Vocabulary

BLOCK_ROWS = 512
"""Tokens whose logits are there at once: a matrix product of more is no faster."""

LARGE = 1 << 22
"""Logits from which on blocks are used; with fewer, they gain neither time nor memory that counts."""


class Loss(NamedTuple):
    """Summed over the real target tokens of a batch, the end symbol among them."""

    total: Tensor  # nats, with label smoothing and guided attention if asked for
    plain: Tensor  # nats, without it
    tokens: Tensor  # how many


def cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, wanted: Tensor, *, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The cross-entropy of softmax(W f + b) with smoothed targets, and with plain ones, each summed over the rows.

    Both are `plain_cross_entropy`'s. Where the logits are many, they are computed `BLOCK_ROWS` rows at a time, and each
    block's gradient with them, of which only the factor that comes from above is not known yet: so no product is
    computed twice, and no more than a block is held.

    Args:
        features: (N, F), one row a token.
        weight: W (Y, F).
        bias: b (Y), or None.
        wanted: (N) int64, the tokens.
        label_smoothing: share of the probability that is spread evenly over what can be written: all symbols but
            padding and the start symbol.

    Returns:
        (total, plain) in nats, at least in single precision; `plain` carries no gradient.

    Raises:
        RuntimeError: in a backward pass that is to be differentiated again, where the logits are many.
    """
    logits = features.shape[0] * weight.shape[0]
    # A compiler needs plain operations.
    if torch.compiler.is_compiling() or logits < LARGE:
        return plain_cross_entropy(features, weight, bias, wanted, label_smoothing=label_smoothing)
    features, weight, bias = lowered(features), lowered(weight), None if bias is None else lowered(bias)
    if features.dtype == torch.float16:  # too few digits for gradients that the loss scale has not made larger
        return plain_cross_entropy(features, weight, bias, wanted, label_smoothing=label_smoothing)
    return _InBlocks.apply(features, weight, bias, wanted, label_smoothing, torch.is_grad_enabled())  # pyright: ignore


def plain_cross_entropy(
    features: Tensor, weight: Tensor, bias: Tensor | None, wanted: Tensor, *, label_smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """As `cross_entropy`, from all logits at once: what the blocks are measured against."""
    logs = torch.log_softmax(wide(linear(features, weight, bias)), dim=-1)
    total = plain = functional.nll_loss(logs, wanted, reduction="sum")
    if label_smoothing > 0:
        even = -logs[:, Vocabulary.END :].mean(-1).sum()  # the ids below are never an answer
        total = (1 - label_smoothing) * plain + label_smoothing * even
    return total, plain.detach()


def wide(logits: Tensor) -> Tensor:
    """At least single precision, for the softmax."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _InBlocks(torch.autograd.Function):
    """Cross-entropy whose gradient is computed forwards, block by block: p - q for each row of logits, where q is
    1 - label_smoothing at the wanted token and label_smoothing evenly over what can be written."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        wanted: Tensor,
        label_smoothing: float,
        differentiate: bool,
    ) -> tuple[Tensor, Tensor]:
        inputs = (features, weight, bias)
        # Each starts at 0 and gets a block's share; weight and bias in single precision, since they are summed.
        gradients = [
            torch.zeros_like(each, dtype=None if each is features else wide(each[:0]).dtype)
            if differentiate and each is not None and needed
            else None
            for each, needed in zip(inputs, ctx.needs_input_grad, strict=False)
        ]
        total, plain = (wide(features[:0]).new_zeros(()) for _ in range(2))
        share = label_smoothing / (weight.shape[0] - Vocabulary.END)
        turned = weight.T.contiguous() if gradients[0] is not None and quick(weight) else weight.T
        for start in range(0, features.shape[0], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            logs = torch.log_softmax(wide(linear(features[rows], weight, bias)), dim=-1)
            places = wanted[rows].unsqueeze(1)
            plain -= logs.gather(1, places).sum()
            if share > 0:
                total -= share * logs[:, Vocabulary.END :].sum()
            if any(each is not None for each in gradients):
                slope = logs.exp_()  # p
                slope[:, Vocabulary.END :] -= share
                slope.scatter_add_(1, places, slope.new_full(places.shape, label_smoothing - 1))  # p - q
                _add(gradients, slope, features[rows], turned, rows)
        total += (1 - label_smoothing) * plain
        ctx.save_for_backward(*(_as(gradient, each) for gradient, each in zip(gradients, inputs, strict=True)))
        ctx.mark_non_differentiable(plain)
        return total, plain

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # PyTorch's own way would let it pass where `upstream` is a constant
            raise RuntimeError("the loss of this many logits cannot be differentiated twice (create_graph=True)")
        scaled = (None if gradient is None else gradient * upstream[0] for gradient in ctx.saved_tensors)
        return (*scaled, None, None, None)


def _add(gradients: list[Tensor | None], slope: Tensor, features: Tensor, turned: Tensor, rows: slice) -> None:
    """To the gradients of features, weight and bias those of a block with this gradient of its logits; W' (F, Y)."""
    of_features, of_weight, of_bias = gradients
    if of_bias is not None:
        of_bias += slope.sum(0)
    slope = slope.to(turned.dtype)
    if of_features is not None:
        of_features[rows] = linear(slope, turned)
    if of_weight is not None:
        of_weight += weight_gradient(slope, features)


def _as(gradient: Tensor | None, like: Tensor | None) -> Tensor | None:
    return None if gradient is None or like is None else gradient.to(like.dtype)
