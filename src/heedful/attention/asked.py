"""A memory in a loop over steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from heedful.attention.factor import Factor
from heedful.attention.memory import Attended, Memory
from heedful.attention.reading import few

if TYPE_CHECKING:
    from heedful.attention.attention import Attention


class Asked:
    """A memory that a loop asks step by step: what all steps multiply by is taken once, with its gradient."""

    def __init__(self, attention: Attention, memory: Memory, steps: int) -> None:
        self.attention, self.memory = attention, memory
        weight, batch = attention.score.query_weight(), memory.mask.shape[0]
        self._query_factor = None if weight is None else Factor(weight, batch=batch, steps=steps)
        self._values_factor = Factor(memory.values, batch=batch, steps=steps)
        with torch.autocast(memory.mask.device.type, enabled=False):  # see `summed`
            self._sums_factor = None if memory.sums is None else Factor(memory.sums, batch=batch, steps=steps)
        self.at = few(memory, narrow=attention._narrow())

    def queries(self, query: Tensor) -> Tensor:
        return query if self._query_factor is None else self._query_factor(query)

    def context(self, weights: Tensor) -> Tensor:
        return self._values_factor(weights)

    def sums(self, features: Tensor) -> Tensor:
        assert self._sums_factor is not None
        return self._sums_factor(features)

    def __call__(self, query: Tensor, *, steps: Tensor, carry: Any = None) -> Attended:
        """The answers to the next queries, (B, 1, Q); `steps` and `carry` as in `Attention.forward`."""
        return self.attention._answer(self, query, steps, carry)
