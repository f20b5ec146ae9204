"""``heedful.tune``."""

from __future__ import annotations

import os
from pathlib import Path

from heedful.recipes import Recipe
from heedful.recipes.load import Settings
from heedful.tuning import Ranges, TuneReporter, Tuning, Unheard, ask, check_numbers, need_optuna
from heedful.tuning import tune as run_search


def tune(
    pairs: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    recipe: str | os.PathLike[str] | Recipe | None = None,
    dev: str | os.PathLike[str] | None = None,
    minutes: float = 30.0,
    trials: int | None = None,
    updates: int | None = None,
    trial_minutes: float | None = None,
    seeds: int = 1,
    range: Ranges = (),
    set: Settings = (),
    keep: bool = False,
    reporter: TuneReporter | None = None,
) -> Tuning:
    """Search a recipe's ranges for what does best on development pairs; ends in ``OUT/recipe.toml``.

    The first trial is the recipe itself, so that on these pairs the result is never worse. Settings are proposed by
    Optuna's tree-structured Parzen estimator, the first of them at random. A training is stopped early where its best
    validation so far is worse than the median of the complete trials at the same share of their budget.

    The same call goes on with a search that was interrupted; the trial that ran then begins anew. Each setting follows
    from the trials before it and from the recipe's ``train.seed`` alone: with `updates`, on one machine, a search that
    was interrupted has the same trials as one that was not. With minutes, what a trial reaches depends on the clock.

    Args:
        pairs: to train on, as in `heedful.train`.
        out: the folder of the search: ``recipe.toml``, ``trials.csv``, ``study.json``.
        recipe: what is tuned; as in `heedful.train`.
        dev: pairs to validate on; as in `heedful.train`.
        minutes: for all trials together, over all sittings. No trial is begun that would not end in time, as it seems.
        trials: at most so many.
        updates: the budget of a trial, in place of the recipe's; or
        trial_minutes: the same in minutes; by default a fifteenth of `minutes`.
        seeds: train each setting so often, and judge it by the mean.
        range: what to search, ``{"train.learning_rate": "0.0005..0.01:log", "model.score": ["dot", "general"]}`` or
            ``["model.dropout=0.1..0.5"]``; takes the place of the range by default of the same key, or adds one. Whole
            numbers on both sides of .. give whole numbers.
        set: settings that change the recipe, as in `heedful.train`; a key that is set is not searched by default.
        keep: keep the run of each trial, in ``OUT/trials``.
        reporter: told of every trial; by default nobody is.

    Raises:
        DataError: the pairs cannot be read.
        RecipeError: the recipe, a range or a number has a mistake.
        RunError: Optuna is not installed (``pip install 'heedful[tune]'``); or `out` holds another search, or cannot be
            written.
        TrainingError: no trial could be trained to its end.
    """
    check_numbers(minutes=minutes, trials=trials, updates=updates, trial_minutes=trial_minutes, seeds=seeds)
    need_optuna()
    asked = ask(
        pairs,
        out=Path(out),
        recipe=recipe,
        dev=dev,
        minutes=minutes,
        updates=updates,
        trial_minutes=trial_minutes,
        seeds=seeds,
        ranges=range,
        set=set,
    )
    return run_search(asked, out=Path(out), minutes=minutes, trials=trials, keep=keep, reporter=reporter or Unheard())
