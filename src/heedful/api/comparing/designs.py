"""What is compared: recipes, and short designs that differ from one base recipe in the part that they name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from heedful.comparison import Dimensions
from heedful.data.pairs import Pair
from heedful.errors import HeedfulError, RecipeError, nearest
from heedful.predictor import Predictor
from heedful.recipes import Recipe, built_in, load
from heedful.recipes.load import Settings
from heedful.recipes.schema import PartRecipe
from heedful.runs import make_model
from heedful.series import is_name
from heedful.training.train import make_codec
from heedful.training.validate import greedy_predictor

Recipes = Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str] | Recipe]
"""Short designs, built-in recipes and TOML files, called what they are called; or each with a name of its own."""


class Short(NamedTuple):
    """A design of the table."""

    title: str
    fusion: str
    feeding: bool = False
    score: str | None = None
    local: bool = False


SHORT: Mapping[str, Short] = MappingProxyType(
    {
        "fixed": Short("a fixed vector: no attention", "none"),
        "early": Short("ask, then step: additive (as Bahdanau et al.)", "early", score="additive"),
        "late_dot": Short("step, then ask: dot (as Luong et al.)", "late", score="dot"),
        "late_general": Short("step, then ask: general", "late", score="general"),
        "late_concat": Short("step, then ask: concat", "late", score="concat"),
        "late_dot_feeding": Short("dot, and h~ is fed to the next step", "late", True, "dot"),
        "late_general_feeding": Short("general, and h~ is fed to the next step", "late", True, "general"),
        "late_concat_feeding": Short("concat, and h~ is fed to the next step", "late", True, "concat"),
        "late_local_p": Short("general, in a window that the model places", "late", score="general", local=True),
    }
)
"""The designs that are compared by default: all the same but for fusion, score, scope and, with them, the readout."""

WINDOWS = MappingProxyType({"characters": 3, "graphemes": 3})
"""D of local_p, to each side, by the kind of source tokens."""
PAPERS_WINDOW = 10
"""Of others; nearly all of a word would be in it."""


class Chosen(NamedTuple):
    """One of those that are compared."""

    name: str
    title: str
    recipe: Recipe


TAKEN = frozenset({"data", "comparison.json", "report.html", "report.md"})
"""In the folder of a comparison, beside the designs."""


def choose(recipes: Recipes | None, *, base: str | os.PathLike[str] | Recipe, set: Settings = ()) -> list[Chosen]:
    """Recipes by name; all of them read the data in the same way.

    Args:
        recipes: by default all of `SHORT`.
        base: what the short designs are variants of.
        set: laid over each.

    Raises:
        RecipeError: there is none of that name, one twice, a mistake in one, or they read the data differently.
    """
    if isinstance(recipes, str) or (recipes is not None and not recipes):
        raise RecipeError(f"recipes: expected a list of names, got {recipes!r}")
    base = load(base, set)
    named = recipes if isinstance(recipes, Mapping) else {}
    chosen = [_chosen(name, recipe, base, set) for name, recipe in named.items()]
    if not named:
        chosen = [_chosen(None, recipe, base, set) for recipe in (recipes or SHORT)]
    _check_names(chosen)
    for each in chosen[1:]:
        _check_reading(chosen[0], each)
    return chosen


def _check_names(chosen: Sequence[Chosen]) -> None:
    """They are folders' names too."""
    names = [each.name for each in chosen]
    for name, title, _ in ((each.name, each.title, each.recipe) for each in chosen):
        if names.count(name) > 1:
            raise RecipeError(f"recipes: expected different names, got {name!r} twice")
        if not is_name(name):
            raise RecipeError(
                f"{title}: expected a name of letters, digits and any of _ . + -, got {name!r}; rename the file, or in "
                "Python give recipes={'a_name': ...}"
            )
        if name.partition("/")[0] in TAKEN or any(other.startswith(f"{name}/") for other in names):
            raise RecipeError(f"recipes: {name!r} is where something else is put; give it another name")


def _chosen(name: str | None, recipe: str | os.PathLike[str] | Recipe, base: Recipe, set: Settings) -> Chosen:
    if isinstance(recipe, Recipe):
        return Chosen(str(name), "a recipe", load(recipe, set))
    if not isinstance(recipe, str | os.PathLike):
        raise RecipeError(f"recipes: expected names or files of recipes, got {recipe!r}")
    text = os.fspath(recipe)
    if text in SHORT:
        return Chosen(name or text, SHORT[text].title, load(base, short_settings(SHORT[text], base)))
    if os.path.isfile(text):
        return Chosen(name or Path(text).stem, f"the recipe {text}", load(text, set))
    known = built_in()
    if text not in known:
        raise RecipeError(f"no such file, design or built-in recipe: {text!r}{nearest(text, [*SHORT, *known])}")
    return Chosen(name or text, known[text].splitlines()[0].lstrip("# "), load(text, set))


def short_settings(short: Short, base: Recipe) -> dict[str, Any]:
    """What a short design changes in `base`: the parts that it is about, and no size."""
    late = short.fusion == "late"
    readout = base.model.readout
    settings: dict[str, Any] = {
        "model.fusion": {"name": "late", "input_feeding": short.feeding} if late else short.fusion,
        # An attentional state has a readout of its own, which others cannot have.
        "model.readout": "none" if late or (readout is not None and readout.name == "attentional") else _plain(readout),
        "model.scope": {"name": "local_p", "window": _window(base)} if short.local else "global",
        "model.normaliser": "softmax",
    }
    if short.score is not None:
        size = (base.model.score.model_extra or {}).get("attention_size")
        sized = size is not None and short.score in ("additive", "concat")
        settings["model.score"] = {"name": short.score, "attention_size": size} if sized else short.score
    return settings


def _plain(part: PartRecipe | None) -> Any:
    return "none" if part is None else part.model_dump()


def _window(base: Recipe) -> int:
    return WINDOWS.get(base.data.source_tokens.name, PAPERS_WINDOW)


_READING = (
    "source_column", "target_column", "second_source_column", "tag_columns", "tag_separator", "normalisation",
    "bad_lines", "source_features", "dev_share",
)  # fmt: skip
"""What of [data] must be the same, for all to be asked the same."""


def _check_reading(first: Chosen, other: Chosen) -> None:
    for key in _READING:
        own, its = getattr(first.recipe.data, key), getattr(other.recipe.data, key)
        if own != its:
            raise RecipeError(
                f"{other.name}: reads with data.{key} = {its!r}, {first.name} with {own!r}; what is compared must be "
                "asked the same: set it for all"
            )


def check_designs(chosen: Sequence[Chosen], pairs: Sequence[Pair]) -> None:
    """Build every model once, so that what does not fit is told before any training.

    Raises:
        HeedfulError: what a training of it would raise; it names the design.
    """
    import torch

    codecs: dict[str, Any] = {}
    for each in chosen:
        try:
            key = each.recipe.data.model_dump_json()
            codec = codecs.get(key) or make_codec(pairs, each.recipe.data)
            codecs[key] = codec
            with torch.random.fork_rng(devices=[]):
                model = make_model(each.recipe, codec)
            greedy_predictor(model, codec, each.recipe)
            Predictor(model, codec, each.recipe.predict, normalisation=each.recipe.data.normalisation)
        except HeedfulError as error:
            raise type(error)(f"{each.name}: {error}") from None


def dimensions(recipe: Recipe) -> Dimensions:
    """A recipe's attention in words."""
    model = recipe.model
    fusion, options = model.fusion.name, model.fusion.model_extra or {}
    if fusion == "none":
        every = options.get("every_step", True)
        where = "the cell at every step, always the same vector" if every else "the first state alone"
        return Dimensions(order="no attention", score="-", scope="-", normaliser="-", context=where)
    order = {"early": "ask, then step (early)", "late": "step, then ask (late)"}.get(fusion, fusion)
    heads = f", {model.heads} heads" if model.heads > 1 else ""
    return Dimensions(
        order=order,
        score=_spelled(model.score) + heads,
        scope=_spelled(model.scope),
        normaliser=_spelled(model.normaliser),
        context=_context(fusion, options, recipe),
    )


def _context(fusion: str, options: Mapping[str, Any], recipe: Recipe) -> str:
    if fusion == "early":
        readout = recipe.model.readout
        outputs = readout is None or readout.name in ("maxout", "state_context")
        return "the cell's input" + (" and the readout" if outputs else "")
    if fusion == "late":
        joined = "a gate beside the state" if options.get("combine") == "gate" else "h~ = tanh(W [c; h])"
        fed = options.get("input_feeding", False)
        return f"{joined}, before the output" + (", and the next step's input" if fed else "")
    return "every layer"


def _spelled(part: PartRecipe) -> str:
    options = ", ".join(f"{key} {value}" for key, value in (part.model_extra or {}).items())
    return f"{part.name} ({options})" if options else part.name


def settings_that_differ(chosen: Sequence[Chosen]) -> list[dict[str, str]]:
    """For each design its values of all keys in which any two differ, as a recipe has them."""
    flat = [_flat(each.recipe) for each in chosen]
    keys = [key for key in flat[0] if len({one[key] for one in flat}) > 1]
    return [{key: one[key] for key in keys} for one in flat]


def _flat(recipe: Recipe) -> dict[str, str]:
    flat = {}
    for table, values in recipe:
        for key, value in values:
            spelled = _spelled(value) if isinstance(value, PartRecipe) else "none" if value is None else str(value)
            flat[f"{table}.{key}"] = spelled
    return flat
