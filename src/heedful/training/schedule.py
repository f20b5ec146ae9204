"""Budgets and learning rates: a schedule follows the budget to its end, whatever the budget is counted in."""

from __future__ import annotations

import math

from heedful.recipes import TrainRecipe


def share_used(recipe: TrainRecipe, *, epochs: float, updates: int, seconds: float) -> float:
    """How much of the budget is used up, 0 to 1: that of the tightest of the limits that are set.

    Epochs are used up with the updates that there are to be at least, where these take longer.
    """
    shares = [
        used / limit
        for used, limit in (
            (updates, recipe.updates),
            (seconds / 60, recipe.minutes),
        )
        if limit is not None
    ]
    if recipe.epochs is not None:
        enough = updates / recipe.least_updates if recipe.least_updates else 1.0
        shares.append(min(epochs / recipe.epochs, enough))
    return min(1.0, max(shares))


def learning_rate(recipe: TrainRecipe, *, share: float, updates: int) -> float:
    """The rate for the next update.

    Schedules, as a factor at share p of the budget: constant 1; linear 1 - p; cosine (1 + cos(pi p)) / 2; halving: 1 up
    to `halving_start`, then halved `halvings` times at even distances, the first time at once (Luong et al. 2015: 10
    epochs, every epoch halved after 5). A warm-up rises linearly over the first `warmup_updates`.
    """
    factor = 1.0
    if recipe.schedule == "linear":
        factor = 1 - share
    elif recipe.schedule == "cosine":
        factor = (1 + math.cos(math.pi * share)) / 2
    elif recipe.schedule == "halving" and share >= recipe.halving_start:
        past = (share - recipe.halving_start) / (1 - recipe.halving_start)
        factor = 0.5 ** (1 + math.floor(past * recipe.halvings + 1e-9))
    if updates < recipe.warmup_updates:
        factor *= (updates + 1) / recipe.warmup_updates
    return recipe.learning_rate * factor
