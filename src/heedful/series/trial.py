"""One training of a series: what it is, whether it has been done, and how it ended."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heedful.errors import DataError, RecipeError, RunError
from heedful.files import write_atomically
from heedful.recipes import Recipe, load
from heedful.recipes.load import Settings
from heedful.runs import CHECKPOINT, load_description, load_tensors
from heedful.training.progress import Progress

FINISHED = "finished.json"
"""In a run's folder, beside the files of every run: that its training is over, and which it was."""

_NAME = re.compile(r"\w[\w.+-]*(/\w[\w.+-]*)*")


@dataclass(frozen=True)
class Trial:
    """One training. `make_trial` makes it of what a person gives.

    Attributes:
        name: of what is tried: letters, digits, "_", ".", "+", "-"; "/" for folders within folders.
        recipe: all settings, budget and seed among them.
        pairs, dev, links: as in `heedful.train`.
    """

    name: str
    recipe: Recipe
    pairs: str
    dev: str | None = None
    links: str | None = None

    @property
    def seed(self) -> int:
        """Of the recipe."""
        return self.recipe.train.seed

    def __str__(self) -> str:
        return f"{self.name}, seed {self.seed}"


def is_name(name: object) -> bool:
    """Whether a trial may be called so."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def make_trial(
    name: str,
    recipe: str | os.PathLike[str] | Recipe,
    *,
    pairs: str | os.PathLike[str],
    dev: str | os.PathLike[str] | None = None,
    links: str | os.PathLike[str] | None = None,
    seed: int = 1,
    updates: int | None = None,
    minutes: float | None = None,
    set: Settings = (),
) -> Trial:
    """A trial.

    Args:
        name: see `Trial`.
        recipe: as in `heedful.train`; `set` is laid over it.
        pairs, dev, links: as there.
        seed: of the training.
        updates, minutes: the budget, in place of the recipe's; at most one of them. By default the recipe's.

    Raises:
        RecipeError: the recipe has a mistake, or both budgets are given.
        DataError: no such name can be had.
    """
    if not is_name(name):
        raise DataError(f"a trial's name: expected letters, digits and any of _ . + - /, got {name!r}")
    if updates is not None and minutes is not None:
        raise RecipeError(f"expected a budget of updates or of minutes, got both: {updates} and {minutes}")
    own: dict[str, Any] = {"train.seed": seed}
    if updates is not None or minutes is not None:
        given = {"epochs": None, "updates": updates, "minutes": minutes}
        own |= {f"train.{key}": "none" if value is None else value for key, value in given.items()}
    recipe = load(load(recipe, set), own)
    return Trial(name, recipe, *(None if file is None else os.fspath(file) for file in (pairs, dev, links)))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class Finished:
    """How a trial ended.

    Attributes:
        name, seed: of the trial.
        folder: the run.
        updates, epochs, minutes: what it used.
        best_updates: after how many updates it had the weights that are in the run.
        stopped: "budget", "patience", or the message of the error that ended it.
        parameters: of the model.
        already: it had been finished before.
    """

    name: str
    seed: int
    folder: Path
    updates: int
    epochs: float
    minutes: float
    best_updates: int
    stopped: str
    parameters: int
    already: bool = False


def folder_of(trial: Trial, out: str | os.PathLike[str]) -> Path:
    """Where a trial's run is: ``OUT/NAME/seed-N``."""
    return Path(out) / trial.name / f"seed-{trial.seed}"


def state_of(trial: Trial, out: str | os.PathLike[str]) -> Finished | bool:
    """How it ended; or, if it has not yet, whether there is something to go on with.

    Raises:
        RunError: in its folder is another training.
    """
    folder = folder_of(trial, out)
    if (folder / FINISHED).exists():
        return _read(trial, folder)
    if not (folder / CHECKPOINT).exists():
        return False
    _check_same(trial, folder)
    return True


_OTHER = (
    "{folder}: holds a training with another recipe, budget or data than asked for now; name another folder to put "
    "the runs in, or remove this one"
)


def _read(trial: Trial, folder: Path) -> Finished:
    try:
        value = json.loads((folder / FINISHED).read_text("utf-8"))
        data = value.pop("data")
        done = Finished(name=trial.name, seed=trial.seed, folder=folder, already=True, **value)
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise RunError(f"{folder / FINISHED}: expected it as it was written, got {error!r}") from None
    _check_same(trial, folder)
    if data != data_of(trial):
        raise RunError(_OTHER.format(folder=folder))
    return done


def _check_same(trial: Trial, folder: Path) -> None:
    """By what the recipes say: a key that is new since then counts as if it had been there, with its default."""
    if load_description(folder).recipe != trial.recipe:
        raise RunError(_OTHER.format(folder=folder))


def finish(trial: Trial, folder: Path, error: str | None = None) -> Finished:
    """Note down that a trial is over, and how it ended.

    Raises:
        RunError: there is no checkpoint, or the note cannot be written.
    """
    tensors, metadata = load_tensors(folder / CHECKPOINT)
    progress = Progress.from_json(metadata["progress"])
    patience = trial.recipe.train.patience
    waited = patience is not None and progress.bad_validations >= patience
    done = Finished(
        name=trial.name,
        seed=trial.seed,
        folder=folder,
        updates=progress.updates,
        epochs=round(progress.epoch + progress.batch / max(progress.batches, 1), 3),
        minutes=round(progress.seconds / 60, 3),
        best_updates=progress.best_updates,
        stopped=error or ("patience" if waited else "budget"),
        parameters=sum(tensor.numel() for key, tensor in tensors.items() if key.startswith("model.")),
    )
    kept = {key: value for key, value in asdict(done).items() if key not in ("name", "seed", "folder", "already")}
    write_atomically(folder / FINISHED, json.dumps({"data": data_of(trial), **kept}, indent=1) + "\n")
    return done


def data_of(trial: Trial) -> str:
    """A digest of its data: of what the files hold, where they are files."""
    total = hashlib.sha256()
    for location in (trial.pairs, trial.dev, trial.links):
        total.update(digest_of(location).encode("ascii"))
    return total.hexdigest()


def digest_of(location: str | None) -> str:
    """Of what the files of a location hold, wherever they are; of a built-in corpus its name."""
    total = hashlib.sha256()
    names = [location] if location is None or os.path.exists(location) else location.split(",")
    for name in names:
        held = Path(name).read_bytes() if name is not None and os.path.isfile(name) else repr(name).encode()
        total.update(hashlib.sha256(held).digest())
    return total.hexdigest()
