"""The log of a run: one CSV row per validation; TensorBoard too where it is asked for."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from heedful.errors import RunError
from heedful.files import write_atomically
from heedful.runs import LOG
from heedful.training.events import Validated

COLUMNS = ("updates", "epoch", "seconds", "learning_rate", "train_loss", "dev_loss")


class Log:
    """Writes ``log.csv``; rows behind `updates` are dropped when a run is taken up again.

    Args:
        folder: of the run.
        updates: where the run stands.
        tensorboard: also write TensorBoard's event files into ``FOLDER/tensorboard``.

    Raises:
        RunError: the log that is there was edited.
    """

    def __init__(self, folder: Path, *, updates: int, tensorboard: bool) -> None:
        self.path = folder / LOG
        self.rows: list[dict[str, Any]] = []
        if self.path.is_file():
            try:
                with open(self.path, encoding="utf-8", newline="") as file:
                    self.rows = [row for row in csv.DictReader(file) if int(row["updates"]) <= updates]
            except (KeyError, TypeError, ValueError) as error:
                raise RunError(f"{self.path}: expected the log as it was written, got {error!r}") from None
        self.board = _board(folder) if tensorboard else None

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
        scores = {name: round(score, 3) for name, score in validated.scores.items()}
        self.rows.append({**dict(zip(COLUMNS, values, strict=True)), **scores, "best": int(validated.best)})
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.rows[-1]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_atomically(self.path, text.getvalue())
        if self.board is not None:
            for name, value in self.rows[-1].items():
                self.board.add_scalar(name, float(value), validated.updates)
            self.board.flush()

    def close(self) -> None:
        """End TensorBoard's file."""
        if self.board is not None:
            self.board.close()


def _board(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))
