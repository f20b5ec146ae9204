"""Ranges: how they are written, which a recipe allows, which there are by default."""

from __future__ import annotations

import pytest
import torch

from heedful.errors import RecipeError
from heedful.model import build
from heedful.recipes import built_in, load
from heedful.tuning import Choices, Interval
from heedful.tuning.space import check_fit, default_space, own_values, parse_ranges

TINY = load("tiny")


def fits(recipe):
    """Whether a model can be built."""
    settings = {key: dict(v) if isinstance(v, dict) else v for key, v in recipe.model.model_dump().items()}
    features = recipe.data.source_features is not None
    source = {"source_features_size" if features else "source_vocabulary_size": 13}
    with torch.device("meta"):
        build(**source, target_vocabulary_size=17, **{**settings, "initialisation": None})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train.learning_rate=0.001..0.1:log", Interval(0.001, 0.1, log=True)),
        ("train.learning_rate = 1e-3..1", Interval(0.001, 1.0)),
        ("model.encoder_layers=1..3", Interval(1, 3)),
        ("model.encoder_size=16..64:log", Interval(16, 64, log=True)),
        ("model.score=dot,general", Choices(("dot", "general"))),
        ("model.embedding_size=64, 16,32", Choices((16, 32, 64))),
        ("model.bidirectional=true,false", Choices((True, False))),
        ("train.patience=none,3", Choices(("none", 3))),
        ('model.scope={name="window",window=3},"global"', Choices(({"name": "window", "window": 3}, "global"))),
    ],
)
def test_as_they_are_written(text, expected):
    """And as `str` writes them again."""
    (found,) = parse_ranges([text], TINY).values()
    assert found == expected
    assert all(type(a) is type(b) for a, b in zip(found.probes(), expected.probes(), strict=True))
    if "{" not in text:
        assert parse_ranges([f"{text.partition('=')[0].strip()}={found}"], TINY).popitem()[1] == expected
    key, _, value = text.partition("=")
    assert parse_ranges({key.strip(): value.strip()}, TINY) == parse_ranges([text], TINY)


def test_from_python():
    ranges = {"model.dropout": Interval(0.1, 0.2), "model.score": ["dot", {"name": "additive", "attention_size": 3}]}
    assert [*parse_ranges(ranges, TINY)] == [*ranges]


BAD = {
    "no range": ("train.learning_rate", "a range is KEY=LOW..HIGH, KEY=LOW..HIGH:log or KEY=a,b,c"),
    "no table": ("learning_rate=1..2", "a setting names its table"),
    "unknown key": ("train.learning_rat=1..2", "unknown key 'train.learning_rat'; did you mean 'learning_rate'?"),
    "unknown table": ("trian.epochs=1..2", "unknown key 'trian'; did you mean 'train'?"),
    "one value": ("model.dropout=0.2", "expected two values at the least, got ['0.2']; a setting fixes one"),
    "nothing": ("model.dropout=", "expected two values at the least"),
    "twice": ("model.score=dot,general,dot", "dot is given twice"),
    "turned round": ("model.dropout=0.5..0.1", "expected the lower end first, got 0.5..0.1"),
    "a point": ("model.dropout=0.1..0.1", "expected the lower end first"),
    "no number": ("model.dropout=a..b", "expected LOW..HIGH or LOW..HIGH:log with two numbers, got 'a..b'"),
    "half a number": ("model.dropout=0.1..-", "expected numbers on both sides of .., got '-'"),
    "another scale": ("model.dropout=0.1..0.5:lin", "expected LOW..HIGH or LOW..HIGH:log with two numbers"),
    "log of none": ("model.dropout=0..0.5:log", "a logarithm needs numbers above 0"),
    "too much": ("model.dropout=0.1..1.5", "'model.dropout': input should be less than 1, got 1.5"),
    "not whole": ("model.encoder_layers=1.0..3.0", "'model.encoder_layers': input should be a valid integer"),
    "another type": ("model.bidirectional=0,1", "'model.bidirectional': input should be a valid boolean"),
    "budget": ("train.updates=10..20", "cannot be searched: it is the budget of a trial"),
    "seed": ("train.seed=1,2", "the best of several seeds is luck"),
    "metric": ("train.metric=bleu,chrf", "errors that are measured in two ways cannot be compared"),
    "beam": ("predict.beam=1,5", "trials are validated by greedy decoding"),
    "device": ("train.device=auto,cpu", "it changes nothing that is learned"),
    "links": ("train.guided_attention=0.5,1.0", "it is of no effect without links"),
    "halvings": ("train.halvings=3,5", "train.schedule = 'linear' halves nothing"),
    "front": ("model.front=linear,pyramid", "a front is for data.source_features"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_ranges(kind):
    text, says = BAD[kind]
    with pytest.raises(RecipeError) as error:
        parse_ranges([text], TINY)
    assert says in str(error.value)


def test_ranges_that_do_not_go_together():
    with pytest.raises(RecipeError, match=r"range model.dropout: is given twice"):
        parse_ranges(["model.dropout=0.1,0.2", "model.dropout=0.3..0.4"], TINY)
    late = load("tiny", {"model.fusion": "late"})
    with pytest.raises(RecipeError, match=r"beside model.fusion.input_feeding, an option that not every value has"):
        parse_ranges(["model.fusion.input_feeding=true,false", "model.fusion=late,early"], late)
    none = load("tiny", {"model.fusion": "none"})
    for key in ("model.score=dot,general", "model.heads=1,2"):
        with pytest.raises(RecipeError, match=r"model.fusion = 'none' has no attention"):
            parse_ranges([key], none)
    assert parse_ranges(["model.fusion=none,early", "model.heads=1,2"], none)
    loss = load("tiny", {"train.metric": "loss"})
    with pytest.raises(RecipeError, match=r"range data.target_tokens: cannot be searched: with train.metric = 'loss'"):
        parse_ranges(["data.target_tokens=characters,whitespace"], loss)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model.heads=1,3", "range model.heads: 3 does not go with the recipe: "),
        ("model.scope=global,windw", "unknown scope 'windw'; did you mean 'window'?"),
        ("model.score=additive,dot", "range model.score: dot does not go with the recipe: "),
        ("model.encoder_layers=1..30", "encoder_layers must be from 1 to 16, got 30"),
        ("model.fusion.input_feeding=true,false", "fusion 'early' has no option 'input_feeding'"),
    ],
)
def test_ranges_that_do_not_fit(text, says):
    with pytest.raises(RecipeError) as error:
        check_fit(parse_ranges([text], TINY), TINY, fits)
    assert says in str(error.value)


ALL = {"train.learning_rate", "model.dropout", "train.label_smoothing", "train.batch_tokens"}
SIZES = {"model.embedding_size", "model.encoder_size", "model.decoder_size", "model.encoder_layers"}


@pytest.mark.parametrize("name", built_in())
def test_by_default(name):
    """Ranges that hold the recipe's own value, and of which every end makes a model."""
    recipe = load(name)
    space, left_out = default_space(recipe, fits, in_minutes=True)
    assert set(space) >= ALL
    assert {*space, *left_out} - {"model.fusion.input_feeding"} == ALL | SIZES
    own = own_values(space, recipe)
    assert all(own[key] in space[key] for key in space), own
    check_fit(space, recipe, fits)
    assert ("model.fusion.input_feeding" in space) == (recipe.model.fusion.name == "late")


@pytest.mark.parametrize(
    ("text", "inside", "at_end"),
    [
        ("train.learning_rate=0.0001..0.01:log", [0.00013, 0.001, 0.0079], [0.0001, 0.00012, 0.0081, 0.01]),
        ("model.dropout=0.0..0.5", [0.0, 0.01, 0.3, 0.47], [0.48, 0.5]),  # there is no less than none
        ("model.embedding_size=16,32,64", [32], [16, 64]),
        ("model.encoder_layers=1..3", [1, 2], [3]),
        ("model.score=dot,general", ["dot", "general"], []),
        ("train.label_smoothing=0.0,0.1", [0.0], [0.1]),
    ],
)
def test_ends(text, inside, at_end):
    """Beyond which something better may be."""
    (found,) = parse_ranges([text], TINY).values()
    assert [value for value in (*inside, *at_end) if found.at_end(value)] == at_end


def test_what_is_left_out():
    """The decoder's layers start at the encoder's last states, so neither can be changed alone."""
    space, left_out = default_space(load("luong2015"), fits, in_minutes=False)
    assert "train.batch_tokens" not in space
    assert "a larger batch is only more training" in left_out["train.batch_tokens"]
    assert left_out["model.encoder_size"].startswith("250 does not go with the recipe: ")


def test_the_recipes_own_words():
    """As it has them; where it has no word, what the part takes by itself."""
    space = {
        key: Choices((1, 2)) for key in ("model.fusion.input_feeding", "model.score", "model.scope", "model.start")
    }
    recipe = load("tiny", {"model.fusion": "late", "model.scope": {"name": "window", "window": 3}})
    expected = {"input_feeding": False, "score": "additive", "scope": {"name": "window", "window": 3}, "start": "none"}
    assert [*own_values(space, recipe).values()] == [*expected.values()]
