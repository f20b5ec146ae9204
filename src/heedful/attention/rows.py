"""Rows of a tensor that are taken again and again, with one tensor for all their gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from heedful.attention.products import plain_only


class Rows:
    """The rows of a table (B, S, N), for windows that overlap.

    Left to itself, PyTorch makes a gradient of the size of the whole table for every window that is taken, and adds
    these up: over T windows that is T x S work, however small they are. Here each take hands the table on to the next
    one, so that the backward pass comes by them one after the other, with one tensor to which each adds its rows.

    Args:
        table: (B, S, N).

    Raises:
        RuntimeError: in a backward pass that is to be differentiated again.
    """

    def __init__(self, table: Tensor) -> None:
        self._size = table.shape[1]
        self._flat = table.flatten(0, 1)

    def __call__(self, columns: Tensor) -> Tensor:
        """columns (B, T, W) int64 -> the rows there, (B * T, W, N)."""
        offsets = torch.arange(len(columns), device=columns.device) * self._size
        index = (columns + offsets[:, None, None]).flatten()
        if self._flat.requires_grad and torch.is_grad_enabled() and not plain_only():
            rows, self._flat = _Take.apply(self._flat, index)  # pyright: ignore[reportGeneralTypeIssues]
        else:
            rows = self._flat.index_select(0, index)
        return rows.unflatten(0, (-1, columns.shape[2]))


class _Take(torch.autograd.Function):
    """(B * S, N), (M) int64 -> its rows (M, N), and the table itself for the next take."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(index)
        ctx.set_materialize_grads(False)
        ctx.shape = flat.shape
        return flat.index_select(0, index), flat.view_as(flat)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, of_later: Tensor | None) -> tuple[Tensor | None, None]:  # pyright: ignore
        if torch.is_grad_enabled():
            raise RuntimeError("windows of a source cannot be differentiated twice (create_graph=True)")
        (index,) = ctx.saved_tensors
        if grad is None:
            return of_later, None
        sums = grad.new_zeros(ctx.shape) if of_later is None else of_later  # which nobody else has
        return sums.index_add_(0, index, grad), None
