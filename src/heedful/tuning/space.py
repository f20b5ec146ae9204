"""What is searched: ranges of a recipe's keys, as they are written, as a recipe allows them, and those by default."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from heedful.errors import RecipeError, SizeError, excerpt
from heedful.recipes import Recipe, load
from heedful.recipes.load import toml_value
from heedful.tuning.keys import check_key, own_value

Ranges = Mapping[str, Any] | Sequence[str]
"""``["train.learning_rate=0.0005..0.01:log", "model.score=dot,general"]``, or a mapping from keys to such texts or to
lists of values."""


_LEAST = (0, 1)
"""Ends of ranges beyond which there is nothing: no dropout, one layer."""


class Interval(NamedTuple):
    """All numbers from `low` to `high`, both included; whole ones where both are whole."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def __contains__(self, value: object) -> bool:
        number = isinstance(value, int if self.whole else int | float) and not isinstance(value, bool)
        return number and self.low <= value <= self.high  # pyright: ignore[reportOperatorIssue]

    def probes(self) -> tuple[Any, ...]:
        """Values that tell whether the others fit."""
        return self.low, self.high

    def at_end(self, value: Any) -> bool:
        """Whether it is so near to an end that better ones may be beyond it."""
        scale = math.log if self.log else float
        place = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return place > 0.95 or (place < 0.05 and self.low not in _LEAST)

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" + (":log" if self.log else "")


class Choices(NamedTuple):
    """Any of these values. Numbers are in order, and what is near in it is likely to do about as well."""

    values: tuple[Any, ...]

    @property
    def ordered(self) -> bool:
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)

    def __contains__(self, value: object) -> bool:
        return any(_same(value, one) for one in self.values)

    def place(self, value: object) -> int:
        """Which one it is."""
        return next(place for place, one in enumerate(self.values) if _same(value, one))

    def probes(self) -> tuple[Any, ...]:
        return self.values

    def at_end(self, value: Any) -> bool:
        least = () if self.values[0] in _LEAST else (self.values[0],)
        return self.ordered and value in (*least, self.values[-1])

    def __str__(self) -> str:
        return ",".join(written(value) for value in self.values)


Range = Interval | Choices
Space = Mapping[str, Range]
Fits = Callable[[Recipe], object]
"""Raises a RecipeError or SizeError where a model of a recipe cannot be built."""


def written(value: Any) -> str:
    """A value as one writes it in a setting."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse_ranges(ranges: Ranges, recipe: Recipe) -> dict[str, Range]:
    """Ranges by key, each of which the schema of recipes allows.

    Raises:
        RecipeError: not KEY=LOW..HIGH, KEY=LOW..HIGH:log or KEY=a,b,c; an unknown key (names the nearest), one that
            cannot be searched, or a value that the key cannot have.
    """
    given = list(ranges.items()) if isinstance(ranges, Mapping) else [_split(text) for text in ranges]
    space: dict[str, Range] = {}
    for key, value in given:
        if key in space:
            raise RecipeError(f"range {key}: is given twice")
        found = space[key] = _range(key, value)
        for probe in found.probes():
            _load(recipe, key, probe)
    for key in space:
        check_key(key, space, recipe)
    return space


def check_fit(space: Space, recipe: Recipe, fits: Fits) -> None:
    """Refuse a range of which a value does not go with the rest of the recipe.

    Raises:
        RecipeError: says which one, and why.
    """
    for key, found in space.items():
        if why := _misfit(key, found, recipe, fits):
            raise RecipeError(f"range {key}: {why}")


def _misfit(key: str, found: Range, recipe: Recipe, fits: Fits) -> str | None:
    for probe in found.probes():
        try:
            fits(_load(recipe, key, probe))
        except (RecipeError, SizeError) as error:
            return f"{written(probe)} does not go with the recipe: {error}"
    return None


def default_space(recipe: Recipe, fits: Fits, *, in_minutes: bool) -> tuple[dict[str, Range], dict[str, str]]:
    """The keys that matter, as far as the recipe's parts have them, around the recipe's own values.

    Args:
        in_minutes: whether trainings get equal time; with equal updates a larger batch is only more training.

    Returns:
        The ranges, and for each key that does not fit the reason.
    """
    space: dict[str, Range] = {}
    left_out: dict[str, str] = {}
    for key, found in _usual(recipe).items():
        if key == "train.batch_tokens" and not in_minutes:
            left_out[key] = "where updates are the budget of a trial, a larger batch is only more training"
        elif why := _misfit(key, found, recipe, fits):
            left_out[key] = why
        else:
            space[key] = found
    return space, left_out


_RATES = {"adam": (0.0003, 0.01), "adadelta": (0.1, 2.0), "sgd": (0.1, 3.0)}


def _usual(recipe: Recipe) -> dict[str, Range]:
    model, train = recipe.model, recipe.train
    low, high = _RATES[train.optimiser]
    usual: dict[str, Range] = {
        "train.learning_rate": Interval(min(low, train.learning_rate), max(high, train.learning_rate), log=True),
        "model.dropout": Interval(0.0, max(0.5, model.dropout)),
        "train.label_smoothing": _around(train.label_smoothing, 0.0, 0.05, 0.1, 0.2),
        "train.batch_tokens": _powers(train.batch_tokens),
        "model.embedding_size": _powers(model.embedding_size),
        "model.encoder_size": _powers(model.encoder_size),
        "model.decoder_size": _powers(model.decoder_size),
        "model.encoder_layers": _around(model.encoder_layers, 1, 2, 3),
    }
    if model.fusion.name == "late":
        usual["model.fusion.input_feeding"] = Choices((True, False))
    return usual


def _powers(value: int) -> Choices:
    """A quarter, half and twice of what the recipe says, where that leaves something."""
    return _around(value, *(size for size in (value // 4, value // 2, 2 * value) if size >= 4))


def _around(value: float, *others: float) -> Choices:
    return Choices(tuple(sorted({value, *others})))


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RecipeError(
            "a range is KEY=LOW..HIGH, KEY=LOW..HIGH:log or KEY=a,b,c, for instance model.dropout=0.1..0.5; "
            f"got {excerpt(text)}"
        )
    return key.strip(), value.strip()


_INTERVAL = re.compile(r"(?P<low>[-+0-9.eE_]+?)\.\.(?P<high>[-+0-9.eE_]+)(?P<log>:log)?")


def _range(key: str, value: Any) -> Range:
    if isinstance(value, Interval):
        return _interval(key, value.low, value.high, log=value.log)
    if isinstance(value, str):
        if match := _INTERVAL.fullmatch(value):
            low, high = toml_value(match["low"]), toml_value(match["high"])
            return _interval(key, low, high, log=match["log"] is not None)
        value = _values(key, value)
    if not isinstance(value, list | tuple):
        raise RecipeError(f"range {key}: expected LOW..HIGH, LOW..HIGH:log or a list of values, got {excerpt(value)}")
    return _choices(key, list(value))


def _interval(key: str, low: Any, high: Any, *, log: bool) -> Interval:
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
            raise RecipeError(f"range {key}: expected numbers on both sides of .., got {excerpt(end)}")
    if not low < high:
        raise RecipeError(f"range {key}: expected the lower end first, got {low}..{high}")
    if log and low <= 0:
        raise RecipeError(f"range {key}: a logarithm needs numbers above 0, got {low}..{high}:log")
    if isinstance(low, float) or isinstance(high, float):
        low, high = float(low), float(high)
    return Interval(low, high, log)


def _values(key: str, text: str) -> list[Any]:
    """``a,b`` as well as ``"a","b"`` and tables."""
    if ".." in text:
        raise RecipeError(f"range {key}: expected LOW..HIGH or LOW..HIGH:log with two numbers, got {text!r}")
    found = toml_value(f"[{text}]")
    return found if isinstance(found, list) else [toml_value(part.strip()) for part in text.split(",")]


def _choices(key: str, values: list[Any]) -> Choices:
    for place, value in enumerate(values):
        if any(_same(value, other) for other in values[:place]):
            raise RecipeError(f"range {key}: {written(value)} is given twice")
    if len(values) < 2:
        raise RecipeError(
            f"range {key}: expected two values at the least, got {[*map(written, values)]}; a setting fixes one "
            f"(set {key}=VALUE)"
        )
    found = Choices(tuple(values))
    return Choices(tuple(sorted(values))) if found.ordered else found


def _same(one: object, other: object) -> bool:
    """1 is not true."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _load(recipe: Recipe, key: str, value: Any) -> Recipe:
    try:
        return load(recipe, {key: value})
    except RecipeError as error:
        raise RecipeError(f"range {key}: {str(error).removeprefix('recipe: ')}") from None


def own_values(space: Space, recipe: Recipe) -> dict[str, Any]:
    """What the recipe itself says of the keys that are searched."""
    return {key: own_value(recipe, key) for key in space}
