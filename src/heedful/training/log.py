"""The log of a run: one CSV row per validation; TensorBoard too where it is asked for."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from heedful.diagnosis import HEALTH
from heedful.errors import RunError
from heedful.files import write_atomically
from heedful.runs import LOG
from heedful.training.events import Validated
from heedful.training.validate import SCORES

COLUMNS = (
    *("updates", "epoch", "seconds", "learning_rate", "train_loss", "dev_loss"),
    *SCORES,
    "best",
    *(f"attention_{name}" for name in HEALTH),
)


class Log:
    """Writes ``log.csv``.

    A row is written before the checkpoint of its validation, so a process that is killed in between leaves one too
    many: `cut` takes rows away that the checkpoint knows nothing of.

    Args:
        folder: of the run.
        tensorboard: also write TensorBoard's event files into ``FOLDER/tensorboard``.

    Raises:
        RunError: the log that is there was edited.
    """

    def __init__(self, folder: Path, *, tensorboard: bool) -> None:
        self.path = folder / LOG
        self.rows: list[list[Any]] = self._read() if self.path.is_file() else []
        self._wants_board, self._board = tensorboard, None

    def _read(self) -> list[list[Any]]:
        try:
            with open(self.path, encoding="utf-8", newline="") as file:
                lines = list(csv.reader(file))
            if lines[:1] != [list(COLUMNS)] or any(len(line) != len(COLUMNS) for line in lines):
                raise ValueError(f"other columns: {lines[:1]}")
            for updates, *_ in lines[1:]:
                int(updates)
        except (OSError, ValueError, csv.Error) as error:
            raise RunError(f"{self.path}: expected the log as it was written, got {error}") from None
        return lines[1:]

    def cut(self, updates: int) -> None:
        """Keep the rows up to that many updates."""
        kept = [row for row in self.rows if int(row[0]) <= updates]
        if len(kept) < len(self.rows):
            self.rows = kept
            self._save()

    def write(self, validated: Validated, learning_rate: float) -> None:
        """Add one row."""
        values = (
            validated.updates,
            round(validated.epoch, 3),
            round(validated.seconds, 1),
            float(f"{learning_rate:.4g}"),
            round(validated.train_loss, 4),
            round(validated.dev_loss, 4),
        )
        scores = (round(validated.scores[name], 3) for name in SCORES)
        health = (_number(validated.health.get(name, math.nan)) for name in HEALTH)
        self.rows.append([*values, *scores, int(validated.best), *health])
        self._save()
        if self._wants_board:
            board = self._board = self._board or _board(self.path.parent)
            for name, value in zip(COLUMNS, self.rows[-1], strict=True):
                if value != "":
                    board.add_scalar(name, float(value), validated.updates)
            board.flush()

    def _save(self) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *self.rows])
        write_atomically(self.path, text.getvalue())

    def close(self) -> None:
        """End TensorBoard's file."""
        if self._board is not None:
            self._board.close()


def _number(value: float) -> float | str:
    """What is not known is an empty cell."""
    return "" if math.isnan(value) else round(value, 4)


def _board(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))
