"""Products in a loop over steps, whose gradients need not be."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Factor:
    """A matrix M that each step of a loop multiplies by, y_t = x_t M, with one product for its gradient.

    Left to itself, PyTorch computes each step's share of it, x_t' dy_t, in a product of its own, and adds it to the
    others': a pass over a matrix of M's size for every step. Here each y_t is tied to row t of an anchor instead, whose
    gradient are all dy_t side by side when the loop has been gone through backwards; and M's is X' dY.

    Raises:
        RuntimeError: in a backward pass that is to be differentiated again.

    Args:
        matrix: M (K, N), or (B, K, N), one for each sentence.
        batch: B.
        steps: T, how often it is called at most.
    """

    def __init__(self, matrix: Tensor, *, batch: int, steps: int) -> None:
        self._matrix = matrix
        self._inputs: list[Tensor] = []  # x_1 .. x_T
        self._anchors = None
        if matrix.requires_grad and torch.is_grad_enabled() and not torch.compiler.is_compiling():
            self._matrix = matrix.detach()
            anchor: Tensor = _Anchor.apply(matrix, self._inputs, batch, steps)  # pyright: ignore[reportAssignmentType]
            self._anchors = iter(anchor.split(1, dim=1))

    def __call__(self, inputs: Tensor) -> Tensor:
        """The next step: (B, 1, K) -> (B, 1, N)."""
        matrix = self._matrix
        if self._anchors is None:
            return inputs @ matrix
        if torch.is_autocast_enabled(inputs.device.type):
            lower = torch.get_autocast_dtype(inputs.device.type)
            inputs, matrix = inputs.to(lower), matrix.to(lower)
        self._inputs.append(inputs.detach())  # not what it came from: that refers to the anchor
        return _Product.apply(inputs, matrix, next(self._anchors))  # pyright: ignore[reportReturnType]


class _Product(torch.autograd.Function):
    """x M, by which the anchor is of no effect, but gets the gradient."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, matrix: Tensor, anchor: Tensor) -> Tensor:
        ctx.save_for_backward(matrix)
        ctx.anchor_type = anchor.dtype
        return inputs @ matrix

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, Tensor]:  # pyright: ignore
        if torch.is_grad_enabled():  # create_graph=True; PyTorch would not notice that the matrix has been left out
            raise RuntimeError("a loop over decoding steps cannot be differentiated twice (create_graph=True)")
        (matrix,) = ctx.saved_tensors
        return grad @ matrix.mT, None, grad.to(ctx.anchor_type)


class _Anchor(torch.autograd.Function):
    """(B, T, N) of no content, with all y_t's gradients."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, inputs: list[Tensor], batch: int, steps: int) -> Tensor:
        ctx.inputs, ctx.batched = inputs, matrix.dim() == 3
        return matrix.new_zeros(()).expand(batch, steps, matrix.shape[-1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # pyright: ignore
        inputs = torch.cat(ctx.inputs, dim=1).to(grad.dtype)
        grad = grad[:, : inputs.shape[1]]
        if not ctx.batched:
            inputs, grad = inputs.flatten(0, 1), grad.flatten(0, 1)
        return inputs.mT @ grad, None, None, None
