"""What is asked for: which recipe, which ranges, on which data, with which budget; all of it checked before anything
is trained."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.split import split, spread
from heedful.errors import RecipeError, nearest
from heedful.model.initialise import initialisations
from heedful.recipes import Recipe, as_toml, load
from heedful.recipes.load import Settings
from heedful.runs import make_model
from heedful.training.reading import read
from heedful.training.train import digest, make_codec
from heedful.tuning import trials
from heedful.tuning.space import Ranges, Space, check_fit, default_space, parse_ranges

_BY_DEFAULT = 15
"""Trials in the whole budget, where nothing is said of theirs."""


@dataclass(frozen=True)
class Asked:
    """A search, before anything is trained."""

    pairs: str | os.PathLike[str]
    dev: str | os.PathLike[str] | None
    recipe: Recipe
    name: str  # of the recipe
    space: Space
    left_out: dict[str, str]  # keys that are searched by default, and why these are not
    updates: int | None  # of a trial
    trial_minutes: float | None
    seeds: int
    digests: dict[str, str]  # of the pairs as they were read, by what they are called in messages
    sizes: tuple[int, int]  # pairs to train on; development pairs that are looked at

    @property
    def maximise(self) -> bool:
        return self.recipe.train.metric in ("bleu", "chrf")

    def budget(self) -> dict[str, Any]:
        """Settings that give a trial its budget in place of the recipe's."""
        budget = {"train.epochs": None, "train.updates": self.updates, "train.minutes": self.trial_minutes}
        return {key: "none" if value is None else value for key, value in budget.items()}

    def identity(self) -> dict[str, Any]:
        """Whatever a trial follows from, by names for messages."""
        return {
            **self.digests,
            "updates": self.updates,
            "trial_minutes": self.trial_minutes,
            "seeds": self.seeds,
            **dict(_flat(tomllib.loads(as_toml(self.recipe)))),
            **{f"range {key}": str(found) for key, found in self.space.items()},
        }


def ask(
    pairs: str | os.PathLike[str],
    *,
    out: Path,
    recipe: str | os.PathLike[str] | Recipe | None,
    dev: str | os.PathLike[str] | None,
    minutes: float,
    updates: int | None,
    trial_minutes: float | None,
    seeds: int,
    ranges: Ranges,
    set: Settings,
) -> Asked:
    """Read the data and settle the ranges.

    Raises:
        DataError, RecipeError, SizeError, RunError: something cannot be read, or does not fit; nothing was written.
    """
    name = "the recipe given" if isinstance(recipe, Recipe) else os.fspath(recipe or "g2p")
    recipe = load(recipe or "g2p", set)
    explicit = parse_ranges(ranges, recipe)
    if updates is None and trial_minutes is None:
        updates, trial_minutes = _usual_budget(out, minutes)
    train_pairs, dev_pairs = _read(pairs, dev, recipe)
    fits = _Fits(train_pairs, recipe)
    fits(recipe)
    check_fit(explicit, recipe, fits)
    usual, left_out = default_space(recipe, fits, in_minutes=updates is None)
    fixed = {*explicit, *_keys(set)}
    space = {**_others(usual, fixed), **explicit}
    if not space:
        raise RecipeError("nothing to search: every range of the recipe is fixed by a setting, or does not fit")
    return Asked(
        pairs,
        dev,
        recipe,
        name,
        space,
        _others(left_out, fixed),
        updates,
        trial_minutes,
        seeds,
        {"pairs": digest(train_pairs)[:16], "development pairs": digest(dev_pairs)[:16]},
        (len(train_pairs), len(spread(dev_pairs, recipe.train.validation_size))),
    )


def _usual_budget(out: Path, minutes: float) -> tuple[int | None, float]:
    """A share of the whole; in a search that goes on, with other minutes perhaps, what its trials have."""
    asked, _ = trials.read(out)
    saved = None if asked is None else asked.get("trial_minutes")
    return None, saved if isinstance(saved, float) and saved > 0 else round(minutes / _BY_DEFAULT, 3)


def _read(
    pairs: str | os.PathLike[str], dev: str | os.PathLike[str] | None, recipe: Recipe
) -> tuple[Sequence[Pair], Sequence[Pair]]:
    corpus = read(pairs, recipe.data)
    if dev is None:
        return split(corpus.pairs, recipe.data.dev_share)
    features = corpus.pairs[0].features
    size = None if features is None else features.values.shape[1]
    return corpus.pairs, read(dev, recipe.data, features_size=size).pairs


class _Fits:
    """Whether a recipe's parts go together, and with the data: the model is built, but none of its weights."""

    def __init__(self, pairs: Sequence[Pair], recipe: Recipe) -> None:
        self._pairs, self._data = pairs, recipe.data
        self._codec = make_codec(pairs, recipe.data)

    def __call__(self, recipe: Recipe) -> None:
        import torch

        name = recipe.model.initialisation
        if name not in initialisations:
            raise RecipeError(f"unknown initialisation {name!r}{nearest(name, initialisations)}")
        codec: Codec = self._codec if recipe.data == self._data else make_codec(self._pairs, recipe.data)
        with torch.random.fork_rng(devices=[]), torch.device("meta"):
            make_model(recipe, codec, initialised=False)


def _keys(settings: Settings) -> list[str]:
    """What is set is set: it is not searched unless a range says so."""
    if isinstance(settings, Mapping):
        return list(settings)
    return [str(setting).partition("=")[0].strip() for setting in settings]


def _others(values: Mapping[str, Any], fixed: Collection[str]) -> dict[str, Any]:
    """Those of keys that nobody named, nor the part whose option they are."""
    return {
        key: value for key, value in values.items() if not any(key == one or key.startswith(f"{one}.") for one in fixed)
    }


def _flat(tables: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in tables.items():
        found += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return found
