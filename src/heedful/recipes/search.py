"""A recipe's search settings with those of one call laid over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from heedful.errors import RecipeError, nearest
from heedful.options import SearchOptions, option_types
from heedful.recipes.load import explain
from heedful.recipes.schema import PredictRecipe

_TEMPERATURES = {
    "sampling_temperature": "the distribution that answers are drawn from",
    "attention_temperature": "the attention weights",
}


def with_options(settings: PredictRecipe, options: Mapping[str, Any], *, known: type = SearchOptions) -> PredictRecipe:
    """`settings`, changed by those of the options that are not None; `known` has their names.

    A dictionary is no setting, but with one unknown tokens are replaced.

    Raises:
        RecipeError: an unknown option (names the nearest), a value that does not fit, or options that exclude
            each other.
    """
    names = option_types(known)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name == "temperature":
            own = [f"{each}, of {what}" for each, what in _TEMPERATURES.items() if each in names]
            raise RecipeError(
                f"there are two temperatures: {', and '.join(own)}; got temperature"
                if len(own) > 1
                else f"there is an {own[0]}; got temperature"
            )
        if name not in names:
            raise RecipeError(f"unknown option {name!r}{nearest(name, names)}")
    if given.get("beam", 1) != 1 and "sampling_temperature" in given:
        raise RecipeError("answers are either searched for with a beam or drawn at a sampling_temperature, got both")
    if "beam" in given and "sampling_temperature" not in given:
        given = {**given, "sampling_temperature": None, "top_k": given.get("top_k"), "top_p": given.get("top_p")}
    if given.pop("dictionary", None) is not None and given.setdefault("unknown", "replace") != "replace":
        raise RecipeError(f"a dictionary is for unknown tokens that are replaced, got unknown {given['unknown']!r}")
    if given.get("diversity_penalty") and (given.get("beam") == 1 or given.get("sampling_temperature") is not None):
        raise RecipeError("a diversity_penalty needs a beam of more than 1, and nothing drawn")
    try:
        return PredictRecipe.model_validate({**settings.model_dump(), **given})
    except ValidationError as error:
        raise RecipeError(explain(error)) from None
