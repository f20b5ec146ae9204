"""The encoder of segments: what a word knows of, and what recipes are refused."""

import numpy as np
import pytest
import torch
from torch import nn

from heedful.data.codec import Codec
from heedful.data.features import Features
from heedful.data.pairs import Pair
from heedful.errors import RecipeError
from heedful.model import HierarchicalEncoder, cells
from heedful.recipes import parse
from heedful.runs import make_model

from .cases import close, randomise

SEGMENTS = torch.tensor([[1, 1, 1, 2, 2, 0], [1, 1, 0, 0, 0, 0]])
MASK = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
PLACES = torch.tensor([[1, 2, 3, 4, 5, 0], [1, 2, 0, 0, 0, 0]])
TOKENS = torch.tensor([[5, 6, 7, 8, 9, 2], [7, 7, 2, 0, 0, 0]])


def new(cell="gru", layers=1, *, bidirectional=True) -> HierarchicalEncoder:
    made = HierarchicalEncoder(
        nn.Embedding(11, 3),
        embedding_size=3,
        cell=cells[cell],
        hidden_size=5,
        layers=layers,
        bidirectional=bidirectional,
    )
    randomise(made)
    return made.double().eval()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_is_two_recurrent_encoders(cell, layers, bidirectional):
    """Each segment by itself, then their means: word by word in a loop over segments."""
    encoder = new(cell, layers, bidirectional=bidirectional)
    found = encoder(TOKENS, MASK, PLACES, SEGMENTS)
    for row, numbers in enumerate(([1, 2, 0], [1, 0])):
        words = []
        for number in numbers:
            own = MASK[row] & (SEGMENTS[row] == number)
            vectors = encoder.embedding(TOKENS[row, own])[None]
            words.append(encoder.words(vectors, torch.ones(vectors.shape[:2], dtype=torch.bool), PLACES[:1]).values[0])
        means = torch.stack([states.mean(0) for states in words])[None]
        read = encoder.segments(means, torch.ones(1, len(numbers), dtype=torch.bool), PLACES[:1])
        expected = torch.cat([states + state for states, state in zip(words, read.values[0], strict=True)])
        close(found.values[row][MASK[row]], expected)
        for layer, state in enumerate(read.last):
            for part, wanted in zip(found.last[layer], state, strict=True):
                close(part[row], wanted[0])


def test_padding_and_other_sentences_change_nothing():
    encoder = new()
    found = encoder(TOKENS, MASK, PLACES, SEGMENTS)
    alone = encoder(TOKENS[1:, :3], MASK[1:, :3], PLACES[1:, :3], SEGMENTS[1:, :3])
    close(found.values[1:, :3], alone.values)
    close(found.last[0].hidden[1:], alone.last[0].hidden)
    assert not found.values[~MASK].isnan().any()


@pytest.mark.parametrize("cell", cells.names())
def test_a_source_of_nothing_is_finite_and_no_segments_are_one(cell):
    encoder = new(cell)
    nothing = encoder(TOKENS, torch.zeros_like(MASK), PLACES, SEGMENTS)
    assert nothing.values.isfinite().all()
    assert nothing.last[0].hidden.isfinite().all()
    close(encoder(TOKENS, MASK, PLACES).values, encoder(TOKENS, MASK, PLACES, torch.ones_like(SEGMENTS)).values)


@pytest.mark.parametrize(
    ("model", "part"), [({"scope": "hierarchical"}, "scope"), ({"encoder": "hierarchical"}, "encoder")]
)
def test_what_needs_segments_is_refused_without(model, part):
    recipe = {"model": {**model, "encoder_size": 8, "decoder_size": 8}, "train": {"updates": 1}}
    pairs = [Pair("a. b.", "c", (), 1)]
    with pytest.raises(RecipeError, match=f"{part} 'hierarchical' needs data.segments: say how sources are cut"):
        make_model(parse(recipe, "mine"), Codec.build(pairs))
    make_model(parse({**recipe, "data": {"segments": "marks"}}, "mine"), Codec.build(pairs, segments=("marks", {})))
    array = Features(np.ones((2, 3), dtype=np.float32))
    features = Codec.build([Pair("a.npy", "c", (), 1, array)], source_features={"name": "array"})
    with pytest.raises(RecipeError, match=f"{part} 'hierarchical' does not go with data.source_features: .* have none"):
        make_model(parse({**recipe, "data": {"source_features": "array"}}, "mine"), features)


def test_features_are_not_cut():
    data = {"source_features": "array", "segments": "marks"}
    with pytest.raises(RecipeError, match=r"data\.segments are of no use with data\.source_features"):
        parse({"data": data, "train": {"updates": 1}}, "mine")
