"""Functions on nested NamedTuples of tensors, which is what states and memories are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

Tree = TypeVar("Tree")


def map_tensors(function: Callable[[Tensor], Tensor], tree: Tree) -> Tree:
    """`function` of every tensor in a nest of tuples and NamedTuples; None stays None."""
    if isinstance(tree, Tensor):
        return function(tree)  # pyright: ignore[reportReturnType]
    if isinstance(tree, tuple):
        parts = (map_tensors(function, part) for part in tree)
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)  # pyright: ignore
    return tree
