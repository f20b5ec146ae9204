"""``heedful.compare``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from heedful.api.comparing.command import command_of
from heedful.api.comparing.data import Given, split_data
from heedful.api.comparing.designs import Chosen, Recipes, check_designs, choose
from heedful.api.comparing.result import Comparing, machine_of
from heedful.api.links import check_path
from heedful.comparison import Budget, Comparison
from heedful.comparison.report import write_report
from heedful.comparison.results import FILE
from heedful.errors import DataError, RecipeError
from heedful.notes import Message
from heedful.predictor import check_count
from heedful.recipes import Recipe
from heedful.recipes.load import Settings
from heedful.series import Trial, Watcher, make_trial, run_series

MINUTES = 2.0
"""Of each run, where no budget is given: nine designs by three seeds are then an hour."""


def compare(
    pairs: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    recipes: Recipes | None = None,
    base: str | os.PathLike[str] | Recipe = "g2p",
    dev: str | os.PathLike[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    links: str | os.PathLike[str] | None = None,
    size: int | None = None,
    seeds: Sequence[int] = (1, 2, 3),
    updates: int | None = None,
    minutes: float | None = None,
    jobs: int = 1,
    set: Settings = (),
    watcher: Watcher | None = None,
    message: Message | None = None,
) -> Comparison:
    """Train several designs with the same budget and several seeds, and say which is better, and whether that is real.

    Called again with the same arguments it goes on where it was stopped: what is trained, answered and measured is
    not done again. Each training is a run of its own, ``OUT/NAME/seed-N``; the result is ``OUT/comparison.json``, and
    for people ``OUT/report.html`` and ``OUT/report.md``.

    Args:
        pairs: as in `heedful.train`.
        out: the folder for everything.
        recipes: names of short designs (``"fixed"``, ``"early"``, ``"late_dot"``, ...: see docs/compare.md), built-in
            recipes, and TOML files; or a mapping that gives each a name. By default all short designs.
        base: the recipe of which short designs are variants: they differ from it in the part that they name.
        dev: pairs to validate on, as in `heedful.train`; by default held out of `pairs`, or a built-in corpus' own.
        test: pairs that decide, which no training sees; likewise.
        links: gold links for the alignment error rate, a line for each of `test`; of `pairs`, where test is held out.
        size: train on so many of the pairs only, evenly spread.
        seeds: of each design's trainings.
        updates: the budget of each training.
        minutes: or so many minutes; by default 2.
        jobs: trainings at once, each with one thread. Speeds are measured alone, when all are over.
        set: settings that change every recipe, as in `heedful.train`.
        watcher: told of every training.
        message: called with what is being done.

    Raises:
        DataError: pairs or links cannot be read, or are too few.
        RecipeError: a design has a mistake or does not fit; all are tried before any training begins.
        RunError: `out` holds other trainings, or cannot be written.
        TrainingError: memory does not suffice.
    """
    _check_paths(pairs, out, base, dev=dev, test=test, links=links)
    seeds = _seeds(seeds)
    chosen = choose(recipes, base=base, set=_without_budget(set))
    given = Given(os.fspath(pairs), _path(dev), _path(test), _path(links), size)
    budget = _budget(updates, minutes, seeds)
    _trials(chosen, budget, "", "")  # a budget or seed that is none is told before anything is read
    tell, out = message or (lambda text: None), Path(out)
    check_count("jobs", jobs)
    split = split_data(given, chosen[0].recipe.data, out, check=lambda pairs: check_designs(chosen, pairs))
    tell(
        f"{len(chosen)} designs, seeds {', '.join(map(str, seeds))}; {split.size('train'):,} pairs to train on, "
        f"{split.size('dev'):,} for development, {split.size('test'):,} to decide"
    )
    trials = _trials(chosen, budget, split.train, split.dev)
    if budget.minutes is not None:
        minutes = -(-len(trials) // jobs) * budget.minutes
        tell(f"{len(trials)} trainings of {budget.minutes:g} minutes: {minutes:,.0f} minutes if none has been done")
    finished = run_series(trials, out=out, jobs=jobs, watcher=watcher)
    comparison = Comparing(given, budget, chosen, split, out, machine_of(jobs), tell).result(trials, finished)
    command = command_of(given, budget, out=out, recipes=recipes, base=base, jobs=jobs, set=set)
    comparison = comparison.model_copy(update={"command": command})
    comparison.save(out / FILE)
    write_report(comparison, out)
    return comparison


def _check_paths(pairs: object, out: object, base: object, **others: object) -> None:
    check_path(pairs, "pairs", "a file of pairs or the name of a built-in corpus")
    check_path(out, "out", "a folder")
    if not isinstance(base, Recipe):
        check_path(base, "base", "a recipe")
    for name, given in others.items():
        if given is not None:
            check_path(given, name, "a file")


def _path(given: str | os.PathLike[str] | None) -> str | None:
    return None if given is None else os.fspath(given)


def _budget(updates: int | None, minutes: float | None, seeds: tuple[int, ...]) -> Budget:
    if updates is None and minutes is None:
        minutes = MINUTES
    return Budget.model_construct(updates=updates, minutes=minutes, seeds=seeds)  # checked as a recipe's budget is


def _seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    several = tuple(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else ()
    if not several or not all(isinstance(seed, int) for seed in several):
        raise DataError(f"seeds: expected a list of whole numbers, got {seeds!r}")
    if len({*several}) < len(several):
        raise DataError(f"seeds: expected different numbers, got {[*several]}")
    return several


def _without_budget(settings: Settings) -> Settings:
    """What all have the same, or what differs by trial, is not for `set`."""
    keys = list(settings) if isinstance(settings, dict) else [str(one).partition("=")[0].strip() for one in settings]
    for key, instead in (
        *((f"train.{budget}", "updates or minutes") for budget in ("epochs", "updates", "minutes")),
        ("train.seed", "seeds"),
    ):
        if key in keys:
            raise RecipeError(f"{key} is the same for all designs: give {instead} instead of setting it")
    return settings


def _trials(chosen: Sequence[Chosen], budget: Budget, pairs: str, dev: str) -> list[Trial]:
    """All designs with the first seed, then all with the next: what is there early can be looked at."""
    return [
        make_trial(
            each.name,
            each.recipe,
            pairs=pairs,
            dev=dev,
            seed=seed,
            updates=budget.updates,
            minutes=budget.minutes,
        )
        for seed in budget.seeds
        for each in chosen
    ]
