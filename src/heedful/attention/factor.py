"""Products in a loop over steps, whose gradients need not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from heedful.attention.products import FEWEST, linear, lowered, plain_only, product, quick, weight_gradient
from heedful.errors import SizeError


class Factor:
    """What each step of a loop multiplies by, with one product for its gradient.

    Left to itself, PyTorch computes each step's share of the gradient in a product of its own, and adds it to the
    others': a pass over a whole matrix for every step. Here each y_t is tied to row t of an anchor instead, whose
    gradient are all dy_t side by side when the loop has been gone through backwards; and the matrix's is one product.

    Args:
        weight: W (N, K), for y_t = W x_t + b; or (B, K, N), a matrix M for each sentence, for y_t = x_t M.
        bias: b (N), or None.
        batch: B.
        steps: T, how often it is called at most.

    Raises:
        SizeError: called more often, or with more than one step.
        RuntimeError: in a backward pass that is to be differentiated again.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, *, batch: int, steps: int) -> None:
        self._weight, self._bias = weight, bias
        self._multiply: Callable[..., Tensor] = _batched if weight.dim() == 3 else linear
        self._inputs: list[Tensor] = []  # x_1 .. x_T
        self._anchors = None
        if weight.requires_grad and torch.is_grad_enabled() and not plain_only():
            anchor: Tensor = _Anchor.apply(weight, bias, self._inputs, batch, steps)  # pyright: ignore
            self._anchors = iter(anchor.split(1, dim=1))
            # Once in the type of the products and dense, for all steps; the other way round for their gradients.
            self._weight = lowered(weight.detach()).contiguous()
            self._turned = self._weight.mT.contiguous() if weight.dim() == 2 else self._weight.mT
            self._bias = None if bias is None else lowered(bias.detach())
            if weight.dim() == 2:
                quickly = batch >= FEWEST and quick(self._weight, self._bias)
                self._multiply = product if quickly else functional.linear

    def __call__(self, inputs: Tensor) -> Tensor:
        """The next step: (B, 1, K) -> (B, 1, N)."""
        if self._anchors is None:
            return self._multiply(inputs, self._weight, self._bias)
        anchor = next(self._anchors, None)
        if anchor is None or inputs.shape[1] != 1:
            raise SizeError(f"a loop takes one step at a time, as many as it was made for; got {tuple(inputs.shape)}")
        inputs = inputs.to(self._weight.dtype)
        self._inputs.append(inputs.detach())  # not what it came from: that refers to the anchor
        return _Product.apply(self._multiply, inputs, self._weight, self._turned, self._bias, anchor)  # pyright: ignore


def _batched(inputs: Tensor, matrix: Tensor, _: None) -> Tensor:
    return inputs @ matrix


class _Product(torch.autograd.Function):
    """W x + b, by which the anchor is of no effect, but gets the gradient."""

    @staticmethod
    def forward(
        ctx: Any,
        multiply: Callable[..., Tensor],
        inputs: Tensor,
        weight: Tensor,
        turned: Tensor,
        bias: Tensor | None,
        anchor: Tensor,
    ) -> Tensor:
        ctx.save_for_backward(turned, inputs)  # the inputs so that PyTorch notices if they are changed
        ctx.multiply, ctx.anchor_type = multiply, anchor.dtype
        return multiply(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None, None, None, Tensor]:  # pyright: ignore
        if torch.is_grad_enabled():  # create_graph=True; PyTorch would not notice that the matrix has been left out
            raise RuntimeError("a loop over decoding steps cannot be differentiated twice (create_graph=True)")
        turned, _ = ctx.saved_tensors
        return None, ctx.multiply(grad, turned, None), None, None, None, grad.to(ctx.anchor_type)


class _Anchor(torch.autograd.Function):
    """(B, T, N) of no content, with all y_t's gradients."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, inputs: list[Tensor], batch: int, steps: int) -> Tensor:
        ctx.inputs, ctx.batched, ctx.biased = inputs, weight.dim() == 3, bias is not None
        size = weight.shape[-1] if ctx.batched else weight.shape[0]
        return weight.new_zeros(()).expand(batch, steps, size)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        inputs = torch.cat(ctx.inputs, dim=1).to(grad.dtype)
        grad = grad[:, : inputs.shape[1]]
        if ctx.batched:
            return inputs.mT @ grad, None, None, None, None
        of_bias = grad.sum((0, 1)) if ctx.biased else None
        return weight_gradient(grad, inputs), of_bias, None, None, None
