"""Functions on nested NamedTuples of tensors, which is what states and memories are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

import torch
from torch import Tensor

Tree = TypeVar("Tree")


class Sparse(Protocol):
    """Attention weights of which most are 0, or that have not been computed yet."""

    def dense(self) -> Tensor:
        """(B, T, S)."""
        ...

    def at(self, row: Tensor, place: Tensor) -> Sparse:
        """Of some sentences (N) one step (N) each: N sentences of one step."""
        ...


@overload
def dense(weights: Tensor | Sparse) -> Tensor: ...
@overload
def dense(weights: None) -> None: ...
@overload
def dense(weights: Tensor | Sparse | None) -> Tensor | None: ...
def dense(weights: Tensor | Sparse | None) -> Tensor | None:
    """Attention weights in any form as one tensor (B, T, S); None stays None."""
    return weights if weights is None or isinstance(weights, Tensor) else weights.dense()


def steps_of(weights: Any, row: Tensor, place: Tensor) -> Any:
    """Of attention weights in any form one step (N) of some sentences (N): N sentences of one step, in that form."""
    return weights[row, place].unsqueeze(1) if isinstance(weights, Tensor) else weights.at(row, place)


def precise(device: torch.device) -> torch.dtype:
    """The type to sum many numbers in: double precision, where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def map_tensors(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """`function` of every tensor in a nest of tuples and NamedTuples; None stays None."""
    if isinstance(tree, Tensor):
        return function(tree)  # pyright: ignore[reportReturnType]
    if isinstance(tree, tuple):
        parts = (map_tensors(function, part) for part in tree)
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)  # pyright: ignore
    return tree
