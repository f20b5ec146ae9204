"""A search as files: every trial that ended, in a folder that is whole at every moment."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from heedful.errors import RunError, excerpt
from heedful.files import remove_unfinished, write_atomically

STUDY, TABLE, RECIPE, TRIALS = "study.json", "trials.csv", "recipe.toml", "trials"
_STATES = ("complete", "pruned", "failed")


@dataclass(frozen=True)
class Trial:
    """One setting, trained; with several seeds, all of them together."""

    number: int  # 0 is the recipe itself
    state: Literal["complete", "pruned", "failed"]  # pruned: stopped early, since most others were better by then
    value: float | None  # the metric at its best; of several seeds the mean; of a pruned one at its best until then
    loss: float | None  # the development loss there, which decides between equals: early on every answer may be wrong
    seconds: float
    updates: int
    values: dict[str, Any]  # of the keys that are searched
    looks: dict[int, tuple[float, float]] = field(default_factory=dict)  # the same by tenths of the budget, best so far
    reason: str | None = None  # why it failed

    def as_json(self) -> dict[str, Any]:
        """Plain values; the inverse of `from_json`."""
        return {**self.__dict__, "looks": {str(tenth): list(look) for tenth, look in self.looks.items()}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Trial:
        """Raises AttributeError, KeyError, TypeError, ValueError: not as it was written."""
        looks = {int(tenth): (float(value), float(loss)) for tenth, (value, loss) in values["looks"].items()}
        trial = cls(**{**values, "looks": looks, "values": dict(values["values"])})
        sound = trial.state in _STATES and isinstance(trial.number, int) and isinstance(trial.updates, int)
        measured = [trial.seconds, trial.value, trial.loss]
        if trial.value is None and trial.loss is None and trial.state != "complete":
            del measured[1:]
        if not sound or not all(isinstance(number, int | float) for number in measured):
            raise ValueError(f"trial {excerpt(dict(values))}")
        return trial


def rank(value: float | None, loss: float | None, *, maximise: bool) -> float:
    """One number by which trials are sorted: the loss counts so little that it decides between equals only."""
    assert value is not None, "of a trial that was validated"
    assert loss is not None
    return value + (-1e-6 if maximise else 1e-6) * min(loss, 100.0)


def best_of(trials: Sequence[Trial], *, maximise: bool) -> Trial | None:
    """The best that was trained to its end; of equals the first, so the recipe itself where nothing beats it."""

    def cost(trial: Trial) -> float:
        number = rank(trial.value, trial.loss, maximise=maximise)
        return -number if maximise else number

    return min((trial for trial in trials if trial.state == "complete"), key=cost, default=None)


@dataclass(frozen=True)
class Study:
    """The folder of a search.

    Args:
        folder: of it.
        asked: what is searched on what, by names for messages; another search does not go into the same folder.
        trials: those that ended.
    """

    folder: Path
    asked: dict[str, Any]
    trials: list[Trial]

    @classmethod
    def open(cls, folder: Path, asked: Mapping[str, Any]) -> Study:
        """The search in `folder`, to go on with; or a new one, of which nothing is written yet.

        Raises:
            RunError: another search is there, or something else; or the file of the search is damaged.
        """
        if folder.exists() and not folder.is_dir():
            raise RunError(f"{folder}: expected a folder for the search, got a file")
        saved, trials = read(folder)
        if saved is None:
            if other := [name for name in (TABLE, RECIPE) if (folder / name).exists()]:
                raise RunError(f"{folder}: holds a {other[0]} that is of no search; name another folder")
            return cls(folder, dict(asked), [])
        for name in (*asked, *saved):
            if asked.get(name) != saved.get(name):
                raise RunError(
                    f"{folder}: holds another search: {name} {_shown(saved.get(name))} there, "
                    f"{_shown(asked.get(name))} now; name another folder, or remove that one"
                )
        return cls(folder, dict(asked), trials)

    def add(self, trial: Trial) -> None:
        """One more, on the disk before anything follows from it.

        Raises:
            RunError: it cannot be written.
        """
        self.trials.append(trial)
        remove_unfinished(self.folder, (STUDY, TABLE, RECIPE).__contains__)
        values = {"asked": self.asked, "trials": [trial.as_json() for trial in self.trials]}
        write_atomically(self.folder / STUDY, json.dumps(values, indent=1, ensure_ascii=True) + "\n")

    def write_table(self, metric: str) -> None:
        """All trials as CSV."""
        keys = list(self.trials[0].values)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["trial", "state", metric, "minutes", "updates", *keys, "reason"])
        for trial in self.trials:
            value = "" if trial.value is None else round(trial.value, 4)
            cells = ("" if trial.values[key] is None else _cell(trial.values[key]) for key in keys)
            minutes = round(trial.seconds / 60, 2)
            writer.writerow([trial.number, trial.state, value, minutes, trial.updates, *cells, trial.reason or ""])
        write_atomically(self.folder / TABLE, text.getvalue())


def read(folder: Path) -> tuple[dict[str, Any] | None, list[Trial]]:
    """What was asked in the search in `folder`, or None where there is no search; and its trials.

    Raises:
        RunError: the file of the search is damaged.
    """
    path = folder / STUDY
    if not path.is_file():
        return None, []
    try:
        values = json.loads(path.read_text("utf-8"))
        asked, trials = dict(values["asked"]), [Trial.from_json(trial) for trial in values["trials"]]
        if [trial.number for trial in trials] != [*range(len(trials))]:
            raise ValueError("trials are missing")
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{path}: expected a search as it was written, got {error!r}") from None
    return asked, trials


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool | dict) else value


def _shown(value: Any) -> str:
    return "none" if value is None else excerpt(value)
