"""Pairs, tiny recipes and a reporter that remembers: what the tests of training, verbs and command line share."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import heedful

TINY: dict[str, Any] = {
    "data.dev_share": 0.2,
    "data.target_tokens": "whitespace",
    "model.embedding_size": 5,
    "model.encoder_size": 7,
    "model.decoder_size": 11,
    "train.batch_tokens": 150,
    "train.learning_rate": 0.02,
    "train.epochs": "none",
    "train.updates": 30,
}
"""Settings on top of the built-in recipe "tiny"."""

LETTERS = "abcdef"


def words(count: int, *, seed: int = 1, longest: int = 6) -> list[str]:
    """`count` different strings of letters."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices(LETTERS, k=rng.randint(1, longest)))] = None
    return list(found)


def spelled(word: str) -> str:
    """What `word` is to become: its letters, large and apart."""
    return " ".join(word.upper())


def write_pairs(path: Path, pairs: Iterable[tuple[str, ...]]) -> Path:
    """A TSV file of `pairs`, a tuple a line."""
    path.write_bytes("".join("\t".join(cells) + "\n" for cells in pairs).encode("utf-8"))
    return path


def spelling_pairs(path: Path, count: int = 60) -> Path:
    """A TSV file of words with their letters."""
    return write_pairs(path, ((word, spelled(word)) for word in words(count)))


def train_tiny(pairs: str | Path, out: Path, *, set: dict[str, Any] | None = None, **arguments: Any) -> Path:
    """`heedful.train` with a recipe that takes a fraction of a second."""
    return heedful.train(pairs, out=out, recipe="tiny", set={**TINY, **(set or {})}, **arguments)


def resume(pairs: str | Path, out: Path, **arguments: Any) -> Path:
    """Go on with the run in `out`."""
    return heedful.train(pairs, out=out, resume=True, **arguments)


class Recorder:
    """A reporter that keeps all that it is told, and calls `stop(recorder)` after each event."""

    def __init__(self, stop: Any = None) -> None:
        self.messages: list[str] = []
        self.updates: list[Any] = []
        self.looks: list[Any] = []
        self._stop = stop or (lambda recorder: None)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def update(self, update: Any) -> None:
        self.updates.append(update)
        self._stop(self)

    def validated(self, validated: Any) -> None:
        self.looks.append(validated)
        self._stop(self)

    def rates(self) -> dict[int, float]:
        """The learning rate of each update, by its number; of one that was done twice, the last."""
        return {update.updates: update.learning_rate for update in self.updates}


def rows(folder: Path) -> list[dict[str, str]]:
    """The rows of log.csv, without the time, which no two runs share."""
    with open(folder / "log.csv", encoding="utf-8", newline="") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def tensors_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors and metadata of a file of a run."""
    from heedful.runs import load_tensors

    return load_tensors(path)


def same_tensors(first: Path, second: Path) -> bool:
    """Whether two files hold the same tensors, bit for bit."""
    one, other = tensors_of(first)[0], tensors_of(second)[0]
    return one.keys() == other.keys() and all(
        value.dtype == other[name].dtype and value.numpy().tobytes() == other[name].numpy().tobytes()
        for name, value in one.items()
    )


def progress_of(folder: Path) -> dict[str, Any]:
    """Where the checkpoint of a run stands, without the time."""
    progress = tensors_of(folder / "checkpoint.safetensors")[1]["progress"]
    return {key: value for key, value in progress.items() if key != "seconds"}
