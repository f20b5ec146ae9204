"""Where a training is: the numbers that a checkpoint holds beside the tensors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Progress:
    """Counts so far. A new training starts from the defaults."""

    epoch: int = 0  # whole epochs done
    batch: int = 0  # batches of the current epoch done
    updates: int = 0
    seconds: float = 0.0  # spent, over all sittings
    validated_at: float = 0.0  # epochs at the last validation
    best: float | None = None  # the metric at its best
    best_loss: float | None = None  # the development loss there, which decides between equal metrics
    bad_validations: int = 0  # since then
    loss_total: float = 0.0  # since the last validation
    loss_tokens: int = 0

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)
