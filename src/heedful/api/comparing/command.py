"""The command that makes a comparison again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from heedful.api.comparing.data import Given
from heedful.api.comparing.designs import Recipes
from heedful.comparison import Budget
from heedful.recipes import Recipe
from heedful.recipes.load import Settings


def command_of(
    given: Given,
    budget: Budget,
    *,
    out: str | os.PathLike[str],
    recipes: Recipes | None,
    base: str | os.PathLike[str] | Recipe,
    jobs: int,
    set: Settings,
) -> str:
    """``heedful compare ...``; empty where recipes or settings were given as values of Python, which no command has."""
    if isinstance(recipes, Mapping) or isinstance(base, Recipe) or isinstance(set, Mapping):
        return ""
    options: list[tuple[str, object]] = [
        ("--base", os.fspath(base)),
        ("--dev", given.dev),
        ("--test", given.test),
        ("--links", given.links),
        ("--size", given.size),
        ("--updates", budget.updates),
        ("--minutes", budget.minutes),
        ("--jobs", jobs if jobs > 1 else None),
        *(("--set", one) for one in set),
    ]
    words = ["heedful", "compare", given.pairs, "--out", os.fspath(out)]
    if recipes is not None:
        words += ["--recipes", *[os.fspath(one) for one in recipes]]
    words += ["--seeds", *map(str, budget.seeds)]
    words += [word for name, value in options if value is not None for word in (name, _spelled(value))]
    return shlex.join(words)


def _spelled(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
