"""How a training went, from its log."""

from __future__ import annotations

import csv
from pathlib import Path

from heedful.comparison import Validation
from heedful.runs import LOG
from heedful.training.validate import SCORES


def curve_of(folder: Path) -> tuple[Validation, ...]:
    """All validations of the run in `folder`."""
    with open(folder / LOG, encoding="utf-8", newline="") as file:
        return tuple(
            Validation(
                updates=int(row["updates"]),
                minutes=float(row["seconds"]) / 60,
                scores={name: float(row[name]) for name in SCORES},
            )
            for row in csv.DictReader(file)
        )
