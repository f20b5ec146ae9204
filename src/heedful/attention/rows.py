"""Rows of tables that are taken again and again, with one tensor for all gradients of a table."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from heedful.attention.products import plain_only

_Sums = dict[int, list[Tensor | None]]
"""The gradients of all tables so far, for each backward pass that is under way."""


class Rows:
    """The rows of tables (B, S, N), N of each its own, for windows that overlap.

    Left to itself, PyTorch makes a gradient of the size of the whole table for every window that is taken, and adds
    these up: over T windows that is T x S work, however small they are. Here there is one tensor for each table, to
    which every take adds its rows when the backward pass comes by it; the anchor, which is the last to be come by,
    hands them on.

    Args:
        tables: each (B, S, N).

    Raises:
        RuntimeError: in a backward pass that is to be differentiated again.
    """

    def __init__(self, *tables: Tensor) -> None:
        self._size = tables[0].shape[1]
        flats = [table.flatten(0, 1) for table in tables]
        self._anchor, self._sums = None, {}
        if any(table.requires_grad for table in tables) and torch.is_grad_enabled() and not plain_only():
            self._anchor: Tensor | None = _Anchor.apply(self._sums, *flats)  # pyright: ignore
            flats = [flat.detach() for flat in flats]
        self._tables, self._again = ([_Table(flat) for flat in flats] for _ in range(2))

    def __call__(self, columns: Tensor) -> Taken:
        """columns (B, T, W) int64 -> the rows there, of each table."""
        offsets = torch.arange(len(columns), device=columns.device) * self._size
        index = (columns + offsets[:, None, None]).flatten()
        if self._anchor is not None:
            rows = _Take.apply(self._sums, self._anchor, index, *self._tables)  # pyright: ignore
        else:
            rows = [table.take(index) for table in self._tables]
        return Taken(self._again, index, rows, columns.shape[2])


class Taken:
    """Rows of some windows.

    Attributes:
        rows: of each table (B * T, W, N).
        index: which they are, (B * T * W), in the tables as (B * S, N).

    Args:
        again: tables to take them from once more. They are others than those that `rows` were taken from, whose room
            need not be there any more by then.
    """

    def __init__(self, again: Sequence[_Table], index: Tensor, rows: Sequence[Tensor], width: int) -> None:
        self.rows = [part.unflatten(0, (-1, width)) for part in rows]
        self.index = index
        self._from = {part.untyped_storage().data_ptr(): table for part, table in zip(rows, again, strict=True)}

    def once_more(self) -> saved_tensors_hooks:
        """While it is entered (`with`), what is kept for the backward pass of these rows is not they but their index:
        they are taken once more there. Windows of a whole training would be W times the source."""
        known, index = self._from, self.index  # and nothing more: what packs is kept too

        def pack(tensor: Tensor) -> Any:
            table = known.get(tensor.untyped_storage().data_ptr())
            return tensor if table is None else (table, index, tensor.shape, tensor.stride(), tensor.storage_offset())

        return saved_tensors_hooks(pack, _unpacked)


def _unpacked(packed: Any) -> Tensor:
    if isinstance(packed, Tensor):
        return packed
    table, index, *view = packed
    return table.take(index).as_strided(*view)


class _Table:
    """A table (M, N) whose rows are taken: written where those before were, if nobody has these any more.

    Of what is large and comes and goes beside small things that stay, the heap keeps too much (5 GB for 10,000 windows
    of 120 positions, of which 0.5 were in use).
    """

    def __init__(self, flat: Tensor) -> None:
        self.flat, self._room = flat, flat[:0]
        self._lock = Lock()  # several threads may go backwards through one graph

    def take(self, index: Tensor) -> Tensor:
        """The rows at `index` (K): (K, N)."""
        if torch.is_grad_enabled():  # the queries may need gradients, or a table that was given where none did
            return self.flat.index_select(0, index)
        with self._lock:
            if len(self._room) < len(index) or not _free(self._room):
                self._room = self.flat.new_empty(len(index), self.flat.shape[1])
            rows = self._room[: len(index)]
        return torch.index_select(self.flat, 0, index, out=rows)


def _free(room: Tensor) -> bool:
    """Whether it may be written to: by no other tensor is it held, such as a view that is kept for a backward pass."""
    storage = room.untyped_storage()
    holders = torch._C._storage_Use_Count(storage._cdata)  # pyright: ignore
    return holders <= 2 and room.is_inference() == torch.is_inference_mode_enabled()  # `room` and `storage` are two


class _Anchor(torch.autograd.Function):
    """Of no content: what the takes of some tables hang on."""

    @staticmethod
    def forward(ctx: Any, sums: _Sums, *flats: Tensor) -> Tensor:
        ctx.sums, ctx.count = sums, len(flats)
        ctx.set_materialize_grads(False)
        return flats[0].new_zeros(())

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore
        return None, *ctx.sums.pop(torch._C._current_graph_task_id(), [None] * ctx.count)


class _Take(torch.autograd.Function):
    """Rows (M, N) of tables (B * S, N)."""

    @staticmethod
    def forward(ctx: Any, sums: _Sums, anchor: Tensor, index: Tensor, *tables: _Table) -> tuple[Tensor, ...]:
        ctx.sums, ctx.shapes = sums, [table.flat.shape for table in tables]
        ctx.save_for_backward(index)
        ctx.set_materialize_grads(False)
        return tuple(table.take(index) for table in tables)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[None, ...]:  # pyright: ignore
        if torch.is_grad_enabled():
            raise RuntimeError("windows of a source cannot be differentiated twice (create_graph=True)")
        (index,) = ctx.saved_tensors
        sums = ctx.sums.setdefault(torch._C._current_graph_task_id(), [None] * len(grads))
        for place, (grad, shape) in enumerate(zip(grads, ctx.shapes, strict=True)):
            if grad is not None:
                if sums[place] is None:
                    sums[place] = grad.new_zeros(shape)
                sums[place].index_add_(0, index, grad)
        return (None,) * (3 + len(grads))
