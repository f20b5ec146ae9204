"""Reading recipes: a built-in name or a TOML file, with settings on top; every mistake named."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import BaseModel, ValidationError

from heedful.errors import RecipeError, excerpt, nearest
from heedful.files import write_atomically
from heedful.recipes.schema import PartRecipe, Recipe

Settings = Mapping[str, Any] | Sequence[str]
"""``{"train.epochs": 5}`` or ``["train.epochs=5"]``."""


def built_in() -> dict[str, str]:
    """The built-in recipes: name -> TOML text, with its comments."""
    folder = resources.files("heedful.recipes") / "builtin"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda f: f.name)
    return {file.name.removesuffix(".toml"): file.read_text("utf-8") for file in files}


def load(recipe: str | os.PathLike[str] | Recipe, set: Settings = ()) -> Recipe:
    """A recipe by built-in name, from a TOML file, or as it is, with `set` laid over it.

    Raises:
        RecipeError: no such recipe, invalid TOML, an unknown key (names the nearest), or a value that does not fit.
    """
    if isinstance(recipe, Recipe):
        return parse(_plain(recipe), "recipe", set)
    name = os.fspath(recipe)
    if os.path.isfile(name):
        try:
            text = Path(name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RecipeError(f"{name}: cannot be read as UTF-8 text: {error}") from None
    elif name in (known := built_in()):
        text = known[name]
    else:
        raise RecipeError(f"no such file, nor built-in recipe: {name!r}{nearest(name, known)}")
    try:
        values = _toml(text)
    except ValueError as error:
        raise RecipeError(f"{name}: not valid TOML: {error}") from None
    return parse(values, name, set)


def parse(values: Mapping[str, Any], name: str, set: Settings = ()) -> Recipe:
    """A recipe from nested tables; `name` is what errors call it."""
    values = _copied(values)
    for key, value in _settings(set):
        _put(values, key, value)
    try:
        recipe = Recipe.model_validate(values)
    except ValidationError as error:
        raise RecipeError(f"{name}: {explain(error)}") from None
    _check_text(recipe, name)
    return recipe


def copy(name: str, to: str | os.PathLike[str]) -> Path:
    """Write the built-in recipe `name`, comments and all, to the file `to`, for the user to edit.

    Raises:
        RecipeError: no such recipe, or `to` exists.
    """
    known = built_in()
    if name not in known:
        raise RecipeError(f"no built-in recipe {name!r}{nearest(name, known)}")
    path = Path(to)
    if path.is_dir():
        path = path / f"{name}.toml"
    if path.exists():
        raise RecipeError(f"{path}: exists already; name another file, or remove it")
    write_atomically(path, known[name])
    return path


def as_toml(recipe: Recipe) -> str:
    """Every key of `recipe` with its value, ready to be read again."""
    return tomli_w.dumps(_plain(recipe))


def _check_text(recipe: Recipe, name: str) -> None:
    """A recipe is written into its run's folder: refuse one that cannot be."""
    try:
        as_toml(recipe).encode("utf-8")
    except UnicodeEncodeError as error:
        line = error.object[error.object.rfind("\n", 0, error.start) + 1 :].partition("\n")[0]
        raise RecipeError(f"{name}: expected text that UTF-8 can write, got half a surrogate pair: {line}") from None


def _plain(recipe: BaseModel) -> dict[str, Any]:
    """Nested tables; a part without options as its bare name; None as the word that TOML can hold."""
    return _worded(recipe.model_dump())


def _worded(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"name"}:
            return value["name"]
        return {key: _worded(item) for key, item in value.items()}
    return "none" if value is None else value


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, Mapping) else value for key, value in values.items()}


def _settings(settings: Settings) -> list[tuple[str, Any]]:
    if isinstance(settings, Mapping):
        return list(settings.items())
    pairs = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise RecipeError(f"a setting is KEY=VALUE, for instance train.epochs=5; got {setting!r}")
        pairs.append((key.strip(), toml_value(text.strip())))
    return pairs


def toml_value(text: str) -> Any:
    """A TOML value, or the text itself: ``general`` needs no quotes."""
    try:
        values = _toml(f"value = {text}")
    except ValueError:
        return text
    return values["value"] if len(values) == 1 else text  # of several lines, none is dropped in silence


def _toml(text: str) -> dict[str, Any]:
    """The tables of `text`.

    Raises:
        ValueError: it is not TOML, or has numbers too long or lists too deep to be read.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("lists or tables stand too deep in one another") from None


def _put(values: dict[str, Any], key: str, value: Any) -> None:
    *tables, last = key.split(".")
    if len(tables) < 1:
        raise RecipeError(f"a setting names its table, for instance train.epochs; got {key!r}")
    for depth, name in enumerate(tables, start=1):
        inner = values.setdefault(name, _default_part(tables[:depth]))
        if isinstance(inner, str):  # a part given by its bare name gets an option
            inner = values[name] = {"name": inner}
        if not isinstance(inner, dict):
            raise RecipeError(f"{key!r}: {name!r} is a value, not a table")
        values = inner
    values[last] = value


def _default_part(path: list[str]) -> dict[str, Any]:
    """``["model", "score"]`` -> the score that a recipe has where it names none; nothing for other paths."""
    if len(path) != 2 or path[0] not in Recipe.model_fields:
        return {}
    field = Recipe.model_fields[path[0]].annotation.model_fields.get(path[1])  # pyright: ignore
    return {"name": field.default} if field is not None and field.annotation is PartRecipe else {}


def explain(error: ValidationError) -> str:
    """The first mistake, in our words."""
    first = error.errors()[0]
    # Where a value may be of several types, pydantic ends the path in the type that it tried.
    types = ("constrained-int", "constrained-float", "str")
    path = [str(part) for place, part in enumerate(first["loc"]) if place < 2 or part not in types]
    key = ".".join(path)
    if first["type"] == "extra_forbidden":
        known = Recipe.model_fields if len(path) == 1 else Recipe.model_fields[path[0]].annotation.model_fields  # pyright: ignore
        return f"unknown key {key!r}{nearest(path[-1], known)}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        return f"{key!r} is missing" + ("; a budget is needed: train.epochs" if key == "train" else "")
    got = "" if isinstance(first["input"], dict) else f", got {excerpt(first['input'])}"
    # A mistake in several keys together has no key of its own.
    return f"{key!r}: {message[0].lower()}{message[1:]}{got}" if key else message
