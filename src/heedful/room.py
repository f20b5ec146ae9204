"""Whether there is room in memory for a batch, and what to say where there is not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch

from heedful.errors import HeedfulError, MemoryShortage

SMALL = 1 << 28
"""Bytes that are not worth looking for, update after update."""


class Whole(NamedTuple):
    """How many tensors of attention weights over whole texts a model makes at least."""

    across: int = 0  # (B, T, S): targets ask the source
    source: int = 0  # (B, S, S): the source asks itself
    target: int = 0  # (B, T, T): targets ask themselves

    @property
    def narrower(self) -> str:
        """What to take instead, where these are too many; "" where there are none."""
        encoder = ["model.encoder = 'recurrent'"] if self.source else []
        fusion = ["a model.fusion other than 'transformer'"] if self.target else []
        scope = [
            "a model.scope that looks at a part of the source ('window', 'block', 'local_m') and a score and a "
            "normaliser that remember no earlier steps, or model.score = 'linear'"
        ]
        return ", and ".join([*encoder, *fusion, *(scope if self.across else [])])


class Asked(NamedTuple):
    """What attention is asked for at once."""

    sentences: int  # B
    steps: int  # T; 0 where nobody knows yet, as in a search
    positions: int  # S
    whole: Whole = Whole()

    @property
    def bytes(self) -> int:
        """At least so many, in single precision: scores and weights, or weights and their gradients."""
        across, source, target = self.whole
        weights = across * self.steps * self.positions + source * self.positions**2 + target * self.steps**2
        return 2 * 4 * self.sentences * weights

    def __str__(self) -> str:
        steps = f" x {self.steps:,} steps" if self.steps else ""
        return f"{self.sentences:,} sentences{steps} x {self.positions:,} positions"


@contextmanager
def room_for(
    what: str, asked: Asked, *, device: torch.device, remedy: str, error: type[HeedfulError] = MemoryShortage
) -> Iterator[None]:
    """Where memory does not suffice for what is done inside, one message that says for what.

    What cannot fit, since its attention weights alone are more than the machine has left, is refused before it starts:
    Linux promises more memory than there is, and ends a process that takes the promise at its word.

    Raises:
        HeedfulError: of the type `error`; memory does not suffice.
    """
    if asked.bytes > SMALL and asked.bytes > (room := available(device)):
        raise error(f"{_message(what, asked)}, and there are {_gigabytes(room)}; {remedy}")
    try:
        yield
    except (RuntimeError, MemoryError) as found:
        if not ran_out(found):
            raise
        raise error(f"{_message(what, asked)}; {remedy}") from None


def ran_out(error: Exception) -> bool:
    """Whether it says that there is no memory: GPUs and NumPy have classes for it, the CPU's allocator only says so."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in str(error)


def available(device: torch.device) -> float:
    """Bytes that this process can have at the most, those that it has among them; infinite where nobody tells."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    try:
        free, own = (_kilobytes(f"/proc/{name}") for name in ("meminfo", "self/status"))
        return 1024 * (free["MemAvailable"] + free["SwapFree"] + own["VmRSS"])
    except (OSError, KeyError):  # not Linux, which alone promises too much
        return math.inf


def _kilobytes(name: str) -> dict[str, int]:
    rows = (line.split() for line in Path(name).read_text("ascii", errors="replace").splitlines())
    return {row[0].rstrip(":"): int(row[1]) for row in rows if row[-1:] == ["kB"]}


def _message(what: str, asked: Asked) -> str:
    if not asked.bytes:
        return f"not enough memory for {what}, {asked}"
    return f"not enough memory for {what}: attention over {asked} needs at least {_gigabytes(asked.bytes)}"


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.2f} GB"
