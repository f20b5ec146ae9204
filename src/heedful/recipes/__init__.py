"""Recipes: one TOML file is one experiment. Names and numbers only; `heedful.model.build` makes objects of them."""

from heedful.recipes.load import as_toml, built_in, copy, load, parse
from heedful.recipes.schema import WIDEST, DataRecipe, ModelRecipe, PredictRecipe, Recipe, TrainRecipe
from heedful.recipes.search import with_options

__all__ = [
    "WIDEST",
    "DataRecipe",
    "ModelRecipe",
    "PredictRecipe",
    "Recipe",
    "TrainRecipe",
    "as_toml",
    "built_in",
    "copy",
    "load",
    "parse",
    "with_options",
]
