"""Where a training is: the numbers that a checkpoint holds beside the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass
class Progress:
    """Counts so far. A new training starts from the defaults."""

    epoch: int = 0  # whole epochs done
    batch: int = 0  # batches of the current epoch done
    batches: int = 0  # in the current epoch
    updates: int = 0
    learning_rate: float = 0.0  # of the last update
    seconds: float = 0.0  # spent, over all sittings
    validated_at: float = 0.0  # epochs at the last validation
    validated_updates: int = 0  # updates there
    best: float | None = None  # the metric at its best
    best_loss: float | None = None  # the development loss there, which decides between equal metrics
    best_updates: int = 0  # updates there: those of the weights in model.safetensors
    bad_validations: int = 0  # since then
    loss_total: float = 0.0  # since the last validation
    loss_tokens: int = 0

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Progress:
        """The inverse of `as_json`.

        Raises:
            KeyError, TypeError, ValueError: a value is missing, or none that it can have.
        """
        progress = cls(**{field.name: values[field.name] for field in fields(cls)})
        for name, value in values.items():
            first = getattr(cls, name)
            kinds = int if isinstance(first, int) else int | float
            number = isinstance(value, kinds) and not isinstance(value, bool) and 0 <= value < 2**53
            if not number and not (first is None and value is None):
                raise ValueError(f"{name} {value!r}")
        if progress.batch >= max(progress.batches, 1):
            raise ValueError(f"batch {progress.batch} of {progress.batches}")
        return progress
