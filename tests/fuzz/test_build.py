"""Any recipe that is valid either makes a model that can be trained and asked, or is refused in one line."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints

import pytest
import torch
from hypothesis import strategies as st

from fuzz.strategies import mostly
from fuzz.watch import fuzz, message_of
from heedful.attention import normalisers, scopes, scores
from heedful.data import Pair
from heedful.data.batches import Example, collate
from heedful.errors import RecipeError, SizeError
from heedful.model import build
from heedful.model.cells import cells
from heedful.model.fusion import fusions
from heedful.model.initialise import initialisations
from heedful.model.readout import readouts
from heedful.model.start import starts
from heedful.recipes import parse
from heedful.runs import make_model
from heedful.training.train import encode, make_codec

PARTS = {
    "score": scores,
    "scope": scopes,
    "normaliser": normalisers,
    "fusion": fusions,
    "start": starts,
    "readout": readouts,
}

SIZES = ("embedding_size", "encoder_size", "decoder_size")

# As a size: small, or so large that nobody has the memory. What is between is not tried.
large = st.sampled_from([2**40, 2**62, 2**63, 10**40])
sizes = mostly(st.integers(1, 9), st.sampled_from([0, -1]), large)
words = st.sampled_from(["", "none", "concat", "gate", "input", "predicted", "x", "1"])
fractions = st.one_of(st.sampled_from([1e-300, 1e300, 1.5]), st.floats())
option_values = st.one_of(st.integers(-1, 9), large, fractions, st.booleans(), words)


def fitting(kind: Any) -> st.SearchStrategy[Any]:
    """Values of the kind that an option has, though not always ones that make sense."""
    for known, fit in ((bool, st.booleans()), (int, st.one_of(st.integers(-1, 9), large)), (str, words)):
        if kind is known or known in get_args(kind):
            return fit
    return fractions


def part(registry) -> st.SearchStrategy[Any]:
    """A member by its name, with options of its own or of others; or a name that is none."""
    options: dict[str, dict[str, Any]] = {}
    for name in registry.names():
        kinds = get_type_hints(registry[name].__init__)
        own = inspect.signature(registry[name]).parameters.values()
        options[name] = {one.name: kinds[one.name] for one in own if one.default != one.empty}
    anybodys = sorted({"x", "query_size", "layers"}.union(*options.values()))

    def given(name: str) -> st.SearchStrategy[Any]:
        wrong = st.tuples(st.sampled_from(anybodys), option_values)
        own = [st.tuples(st.just(key), fitting(kind)) for key, kind in options[name].items()]
        chosen = st.lists(mostly(st.one_of(own), wrong) if own else wrong, max_size=2)
        return chosen.map(lambda pairs: {**dict(pairs), "name": name})

    return mostly(st.sampled_from(registry.names()).flatmap(given), st.sampled_from(["none", "x", ""]))


# What fits together whatever the sizes; then one or two things are changed.
plain = st.fixed_dictionaries(
    {name: st.sampled_from([3, 5, 5, 10]) for name in SIZES},
    optional={
        "cell": st.sampled_from(cells.names()),
        "bidirectional": st.booleans(),
        "decoder_layers": st.integers(1, 3),
        "fusion": st.sampled_from(["early", "late"]),
        "score": st.sampled_from(["additive", "general", "concat", "location"]),
        "scope": st.sampled_from(scopes.names()),
        "normaliser": st.sampled_from(normalisers.names()),
        "start": st.sampled_from(["learned_last", "learned_mean", "zero"]),
        "readout": st.sampled_from(["state_context", "maxout"]),
        "dropout": st.sampled_from([0.0, 0.5, 0.999999]),
    },
)
changes = st.one_of(
    *(st.tuples(st.just(name), part(registry)) for name, registry in PARTS.items()),
    st.tuples(st.sampled_from([*SIZES, "encoder_layers", "decoder_layers"]), sizes),
    st.tuples(st.sampled_from(["output_bias", "tied_embeddings", "zero_start"]), st.booleans()),
    st.tuples(st.just("initialisation"), st.sampled_from([*initialisations, "x"])),
    st.tuples(st.just("attention_dropout"), st.sampled_from([0.0, 0.5, 0.999999])),
)
models = st.tuples(plain, st.lists(changes, min_size=1, max_size=2)).map(lambda drawn: {**drawn[0], **dict(drawn[1])})


@pytest.fixture(scope="module")
def pairs():
    return [Pair("abc", "A B C", (), 1), Pair("d", "D", (), 2)]


def refused_or_works(values: dict[str, Any], pairs) -> None:
    try:
        recipe = parse({"model": values, "train": {"updates": 1}, "data": {"target_tokens": "whitespace"}}, "recipe")
        codec = make_codec(pairs, recipe.data)
        model = make_model(recipe, codec)
    except (RecipeError, SizeError) as error:
        message_of(error)
        return
    examples: list[Example] = encode(pairs, codec)
    loss = model(collate(examples), label_smoothing=0.1, own_words=0.0)
    loss.total.backward()
    model.eval()
    with torch.inference_mode():
        logs, _ = model.force(collate(examples))
    assert not torch.isnan(logs).any()


@fuzz(short=50, slow=2000, values=models)
def test_models(pairs, values):
    refused_or_works(values, pairs)


@fuzz(
    short=20,
    slow=300,
    name=st.sampled_from([*SIZES, "source_vocabulary_size", "target_vocabulary_size", "encoder_layers"]),
    size=sizes,
    cell=st.sampled_from(cells.names()),
    bidirectional=st.booleans(),
)
def test_sizes_that_no_recipe_checked(name, size, **more):
    """Also from Python, what no memory can hold is told as what it is."""
    vocabularies = {"source_vocabulary_size": 11, "target_vocabulary_size": 13}
    values = {**vocabularies, "embedding_size": 3, "encoder_size": 5, "decoder_size": 7, **more}
    try:
        build(**{**values, name: size})
    except (RecipeError, SizeError) as error:
        message_of(error)
