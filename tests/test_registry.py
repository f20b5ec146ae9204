"""Parts by name: found, made with the options that they take, and refused with the nearest name."""

from __future__ import annotations

import re

import pytest

from heedful.errors import DataError, HeedfulError, RecipeError, SizeError, nearest
from heedful.registry import Registry, modules_of

fruits: Registry = Registry("fruit")


@fruits.register("apple")
class Apple:
    def __init__(
        self, basket: str, *, weight: int = 3, sweetness: float = 0.5, ripe: bool = False, sort: str | None = None
    ) -> None:
        self.basket, self.weight, self.sweetness, self.ripe, self.sort = basket, weight, sweetness, ripe, sort
        if weight < 0:
            raise RuntimeError("no such apple")
        if weight > 100:
            raise SizeError("an apple weighs at most 100")


@fruits.register("pear")
class Pear:
    """Takes nothing."""


def test_names_in_the_order_of_registration():
    assert fruits.names() == ["apple", "pear"]
    assert fruits["apple"] is Apple


def test_parts_that_another_process_has_to_import():
    vegetables: Registry = Registry("vegetable")
    vegetables.register("leek")(type("Leek", (), {"__module__": "heedful.vegetables"}))
    vegetables.register("cress")(type("Cress", (), {"__module__": "heedful_garden.cress"}))
    assert modules_of({"apple", "leek", "cress", "stone"}) == sorted(["heedful_garden.cress", __name__])
    assert modules_of({"leek"}) == []


def test_a_name_is_given_once():
    with pytest.raises(RecipeError, match="two parts are registered as fruit 'apple'"):
        fruits.register("apple")(Pear)
    assert fruits["apple"] is Apple


def test_options_and_context_meet():
    """The part gets of the context what it names, and no more; options of its own from the user."""
    apple = fruits.build("apple", {"weight": 5, "sort": "red"}, {"basket": "b", "cellar": "c"})
    assert (apple.basket, apple.weight, apple.sort) == ("b", 5, "red")
    assert isinstance(fruits.build("pear", {}, {"basket": "b"}), Pear)


def test_unknown_names_and_options():
    with pytest.raises(RecipeError, match=r"unknown fruit 'aple'; did you mean 'apple'\?"):
        fruits["aple"]
    with pytest.raises(RecipeError, match="unknown fruit 'zzz'; known are: apple, pear"):
        fruits.build("zzz", {}, {})
    with pytest.raises(RecipeError, match=r"fruit 'apple' has no option 'wieght'; did you mean 'weight'\?"):
        fruits.build("apple", {"wieght": 3}, {"basket": "b"})
    with pytest.raises(RecipeError, match="fruit 'pear' has no option 'weight'"):
        fruits.build("pear", {"weight": 3}, {})


def test_what_the_builder_knows_is_no_option():
    """A user cannot overrule the sizes that follow from the rest of the model."""
    with pytest.raises(RecipeError, match="fruit 'apple' has no option 'basket'"):
        fruits.build("apple", {"basket": "mine"}, {"basket": "b"})


def test_a_part_may_refuse_a_value():
    """In words of its own; what Python or PyTorch say of a value comes with the part's name before it."""
    with pytest.raises(RecipeError, match=r"fruit 'apple' cannot be made with \{'weight': -1\}: no such apple"):
        fruits.build("apple", {"weight": -1}, {"basket": "b"})
    with pytest.raises(SizeError, match="at most 100"):
        fruits.build("apple", {"weight": 101}, {"basket": "b"})


@pytest.mark.parametrize(
    ("option", "value", "fits"),
    [
        ("weight", 4, True),
        ("weight", "4", False),
        ("weight", 4.0, False),
        ("weight", True, False),
        ("weight", None, False),
        ("sweetness", 1, True),
        ("sweetness", 0.25, True),
        ("sweetness", "1", False),
        ("sweetness", False, False),
        ("ripe", True, True),
        ("ripe", "False", False),  # as text it would be taken for true
        ("ripe", 0, False),
        ("sort", "red", True),
        ("sort", None, True),
        ("sort", 3, False),
        ("sort", ["red"], False),
    ],
)
def test_options_are_of_their_kind(option, value, fits):
    """The docstring of `build` promises a RecipeError for a value that does not fit; parts need not look themselves."""
    if fits:
        assert getattr(fruits.build("apple", {option: value}, {"basket": "b"}), option) == value
    else:
        with pytest.raises(RecipeError, match=f"fruit 'apple'.*{option}.*{re.escape(repr(value))}"):
            fruits.build("apple", {option: value}, {"basket": "b"})


def test_every_part_can_be_asked_for_its_options():
    """Their annotations can be read at run time, by which options are told apart."""
    import inspect

    from heedful.attention import normalisers, scopes, scores
    from heedful.data import tokenisers
    from heedful.model import cells, fusions, readouts, starts

    for registry in (scores, scopes, normalisers, tokenisers, cells, fusions, readouts, starts):
        assert registry.names()
        for name in registry.names():
            parameters = inspect.signature(registry[name], eval_str=True).parameters
            assert all(parameter.annotation is not parameter.empty for parameter in parameters.values()), name


def test_nearest():
    assert nearest("epocs", ["epochs", "updates"]) == "; did you mean 'epochs'?"
    assert nearest("zzz", ["b", "a"]) == "; known are: a, b"
    assert nearest("zzz", []) == ""
    assert nearest("", ["b", "a"]) == "; known are: a, b"


def test_all_errors_are_one_family():
    """Who catches HeedfulError catches all that a user can cause; SizeError is a ValueError too."""
    from heedful import errors

    family = [
        value for value in vars(errors).values() if isinstance(value, type) and value.__module__ == errors.__name__
    ]
    assert len(family) == 7
    assert all(issubclass(member, HeedfulError) for member in family)
    assert issubclass(SizeError, ValueError)
    assert not issubclass(DataError, ValueError)
