"""Two memories, each asked by an attention of its own; their answers become one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from heedful.attention.attention import Attention
from heedful.attention.memory import Attended, Memory
from heedful.attention.multihead import MultiHead
from heedful.attention.products import Linear
from heedful.attention.weights import SideBySide
from heedful.errors import RecipeError, SizeError


class TwoAttentions(nn.Module):
    """One query, two memories: c = [c'; c''] or c = g * c' + (1 - g) * c'', where c' is the answer of the first memory
    and c'' that of the second.

    ``combine="concat"``: c is (V' + V''), the two side by side, as the decoder of Zoph and Knight 2016, "Multi-source
    neural translation", reads both contexts. ``combine="gate"``: g = sigmoid(W_g [c'; c''] + b_g) of size V, one share
    for each number. It differs from the paper in that the first state is made of the first source alone.

    It is asked as an `Attention` is. Its memory is the first one, with the second in `Memory.second`; weights of the
    two stand side by side, (B, T, S' + S''), and rows of each sum to 1.

    Args:
        first: asks the first memory.
        second: asks the second.
        combine: "concat" or "gate".

    Raises:
        RecipeError: there is no such way to combine.
        SizeError: a gate is to mix contexts of different sizes.
    """

    def __init__(self, first: Attention | MultiHead, second: Attention | MultiHead, *, combine: str = "concat") -> None:
        super().__init__()
        if combine not in ("concat", "gate"):
            raise RecipeError(f"two contexts are combined by 'concat' or 'gate', got {combine!r}")
        sizes = first.value_size, second.value_size
        if combine == "gate" and sizes[0] != sizes[1]:
            raise SizeError(f"a gate needs contexts of one size, got {sizes[0]} and {sizes[1]}; 'concat' takes any")
        self.first = first
        self.second = second
        self.value_size = sizes[0] if combine == "gate" else sum(sizes)
        self.gate = Linear(sum(sizes), sizes[0]) if combine == "gate" else None  # W_g, b_g

    heads = 1  # of the joined context, which is projected by none of them

    @property
    def content_based(self) -> bool:
        """As an attention's: of both."""
        return self.first.content_based and self.second.content_based

    @property
    def sequential(self) -> bool:
        """As an attention's: of either."""
        return self.first.sequential or self.second.sequential

    def prepare(
        self,
        values: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        *,
        segments: Tensor | None = None,
    ) -> Memory:
        """The first memory, which may have segments; `beside` puts the second into it."""
        return self.first.prepare(values, mask, positions, segments=segments)

    def beside(
        self, memory: Memory, values: Tensor, mask: Tensor | None = None, positions: Tensor | None = None
    ) -> Memory:
        """`memory` with the second one, made of source states as in `prepare`."""
        return memory._replace(second=self.second.prepare(values, mask, positions))

    def begin(self, memory: Memory) -> tuple[Any, Any] | None:
        """As `Attention.begin`, for both."""
        if not self.sequential:
            return None
        return self.first.begin(memory._replace(second=None)), self.second.begin(_second(memory))

    def forward(
        self, query: Tensor, memory: Memory, *, steps: Tensor | None = None, carry: tuple[Any, Any] | None = None
    ) -> Attended:
        """As `Attention.forward`."""
        of_first, of_second = carry or (None, None)
        return self._joined(
            self.first(query, memory._replace(second=None), steps=steps, carry=of_first),
            self.second(query, _second(memory), steps=steps, carry=of_second),
        )

    def one_by_one(
        self, query: Tensor, memory: Memory, *, steps: Tensor, carry: tuple[Any, Any] | None = None
    ) -> Attended:
        """As `Attention.one_by_one`."""
        of_first, of_second = carry or (None, None)
        return self._joined(
            self.first.one_by_one(query, memory._replace(second=None), steps=steps, carry=of_first),
            self.second.one_by_one(query, _second(memory), steps=steps, carry=of_second),
        )

    def asked(self, memory: Memory, *, steps: int) -> AskedBoth:
        """As `Attention.asked`."""
        return AskedBoth(self, memory, steps)

    def _joined(self, first: Attended, second: Attended) -> Attended:
        context = torch.cat([first.context, second.context], dim=-1)
        if self.gate is not None:
            share = torch.sigmoid(self.gate(context))  # g
            context = share * first.context + (1 - share) * second.context  # g c' + (1 - g) c''
        carry = (first.carry, second.carry) if self.sequential else None
        return Attended(context, SideBySide(first.weighting, second.weighting), carry)


class AskedBoth:
    """Two memories that a loop asks step by step: see `heedful.attention.attention.Asked`."""

    def __init__(self, attention: TwoAttentions, memory: Memory, steps: int) -> None:
        self.attention = attention
        self.first = attention.first.asked(memory._replace(second=None), steps=steps)
        self.second = attention.second.asked(_second(memory), steps=steps)

    def __call__(self, query: Tensor, *, steps: Tensor, carry: tuple[Any, Any] | None = None) -> Attended:
        of_first, of_second = carry or (None, None)
        return self.attention._joined(
            self.first(query, steps=steps, carry=of_first), self.second(query, steps=steps, carry=of_second)
        )


def _second(memory: Memory) -> Memory:
    if memory.second is None:
        raise SizeError("two attentions need two memories, got one; `beside` makes the second")
    return memory.second
