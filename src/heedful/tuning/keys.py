"""Which keys of a recipe can be searched, and what a recipe says of one."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Collection
from typing import Any

from heedful.attention import normalisers, scopes, scores
from heedful.errors import RecipeError
from heedful.model import encoders, fusions, readouts
from heedful.recipes import Recipe, as_toml
from heedful.registry import Registry

_REGISTRIES: dict[str, Registry[Any]] = {
    "model.encoder": encoders,
    "model.fusion": fusions,
    "model.score": scores,
    "model.scope": scopes,
    "model.normaliser": normalisers,
    "model.readout": readouts,
}

_BUDGET = "it is the budget of a trial, which updates or trial_minutes gives"
_MEASURE = "errors that are measured in two ways cannot be compared; a setting (set) fixes it"
_NOTHING = "it changes nothing that is learned"
_NEVER = {
    **dict.fromkeys(("train.epochs", "train.least_updates", "train.updates", "train.minutes"), _BUDGET),
    **dict.fromkeys(
        (
            *("train.metric", "train.validation_size", "train.validate_every", "data.dev_share", "data.bad_lines"),
            *("data.source_column", "data.target_column", "data.second_source_column", "data.normalisation"),
        ),
        _MEASURE,
    ),
    **dict.fromkeys(("train.checkpoint_minutes", "train.keep", "train.device", "train.tensorboard"), _NOTHING),
    "train.seed": "the best of several seeds is luck; seeds trains each trial with several, and takes their mean",
    "train.guided_attention": "it is of no effect without links",
}


def check_key(key: str, keys: Collection[str], recipe: Recipe) -> None:
    """Refuse a key that cannot be searched, or that would be of no effect.

    Args:
        key: one that recipes have.
        keys: all that are searched.

    Raises:
        RecipeError: says why.
    """
    if why := _never(key, recipe) or _idle(key, keys, recipe):
        raise RecipeError(f"range {key}: cannot be searched: {why}")
    if inner := [other for other in keys if other.startswith(f"{key}.")]:
        raise RecipeError(f"range {key}: cannot be searched beside {inner[0]}, an option that not every value has")


def _never(key: str, recipe: Recipe) -> str | None:
    if key.startswith("predict."):
        return "trials are validated by greedy decoding, and [predict] is for afterwards; a setting (set) fixes it"
    if key.startswith("data.target_") and recipe.train.metric in ("token_error", "loss"):
        return f"with train.metric = {recipe.train.metric!r} {_MEASURE}"
    return _NEVER.get(key)


_OF_ATTENTION = ("model.score", "model.scope", "model.normaliser", "model.heads", "model.attention_dropout")


def _idle(key: str, keys: Collection[str], recipe: Recipe) -> str | None:
    without = recipe.model.fusion.name == "none" and "model.fusion" not in keys
    if without and ".".join(key.split(".")[:2]) in _OF_ATTENTION:
        return "model.fusion = 'none' has no attention"
    halves = recipe.train.schedule == "halving" or "train.schedule" in keys
    if key.startswith("train.halving") and not halves:
        return f"train.schedule = {recipe.train.schedule!r} halves nothing"
    if key.startswith("model.front") and recipe.data.source_features is None:
        return "a front is for data.source_features, and there are none"
    return None


def own_value(recipe: Recipe, key: str) -> Any:
    """What `recipe` says of `key`, as TOML has it; None where only the part itself knows."""
    table, name, *option = key.split(".")
    value = tomllib.loads(as_toml(recipe))[table][name]
    if not option:
        return value
    if isinstance(value, dict) and option[0] in value:
        return value[option[0]]
    part, registry = value["name"] if isinstance(value, dict) else value, _REGISTRIES.get(f"{table}.{name}")
    if registry is None:
        return None
    parameter = inspect.signature(registry[part]).parameters.get(option[0])
    return None if parameter is None or parameter.default is parameter.empty else parameter.default
