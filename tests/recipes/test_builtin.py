"""The built-in recipes: each can be read, built and trained, and those of the papers are the presets."""

from __future__ import annotations

import tomllib

import pytest
import torch

import heedful
from features.cases import manifest
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.model import bahdanau2015, build, encdec2014, luong2015
from heedful.recipes import Recipe, as_toml, built_in, load, parse
from heedful.runs import make_model
from heedful.training.train import make_codec
from training.cases import Recorder, spelling_pairs

SMALL = {
    "model.embedding_size": 8,
    "model.encoder_size": 8,
    "model.decoder_size": 8,
    "data.source_max_size": "none",
    "data.target_max_size": "none",
    "data.source_min_count": 1,
    "data.target_min_count": 1,
    "data.dev_share": 0.2,
    "train.epochs": "none",
    "train.minutes": "none",
    "train.updates": 2,
}


def shrunken(name: str) -> Recipe:
    """The recipe with small sizes; those of its parts are divided."""
    recipe = load(name, SMALL)
    values = recipe.model_dump()
    for part in ("score", "readout", "scope"):
        for option in ("attention_size", "readout_size"):
            if option in (values["model"][part] or {}):
                values["model"][part][option] = 6
    return Recipe.model_validate(values)


def codec() -> Codec:
    recipe = load("tiny")
    return make_codec([Pair("abc", "xyz", (), 1)], recipe.data)


OF_FEATURES = {"image", "speech"}


def test_there_are_ten():
    texts = {"bahdanau2015", "encdec2014", "g2p", "luong2015", "small", "tiny", "transformer", "translation"}
    assert set(built_in()) == texts | OF_FEATURES
    for text in built_in().values():
        assert text.startswith("# ")  # what `heedful recipes` shows


@pytest.mark.parametrize("name", sorted(OF_FEATURES))
def test_those_for_features_train_and_predict(name, tmp_path):
    kind = {"image": "image", "speech": "audio"}[name]
    rate = {"data.source_features.rate": 1000, "data.source_features.mel": 7}
    more = rate if kind == "audio" else {}
    pairs = manifest(tmp_path, kind)
    recipe = load(shrunken(name), {"data.target_tokens": "whitespace", **more})
    run = heedful.load(heedful.train(pairs, out=tmp_path / "run", recipe=recipe))
    assert run.recipe == recipe
    assert run.predict([str(tmp_path / "files" / f"{kind}-1-1.{'png' if kind == 'image' else 'wav'}")])[0].score < 0
    assert len(heedful.align(run, pairs)) == 24


@pytest.mark.parametrize("name", sorted(set(built_in()) - OF_FEATURES))
def test_each_trains_and_predicts(name, tmp_path):
    pairs = spelling_pairs(tmp_path / "pairs.tsv", 40)
    recorder = Recorder()
    folder = heedful.train(pairs, out=tmp_path / "run", recipe=shrunken(name), reporter=recorder)
    assert len(recorder.updates) == 2
    run = heedful.load(folder)
    assert run.recipe == shrunken(name)
    assert run.predict(["abc"], beam=2)[0].score < 0
    if name != "encdec2014":
        assert len(heedful.align(run, pairs)) == 40


@pytest.mark.parametrize("name", sorted(built_in()))
def test_each_is_read_and_written(name):
    recipe = load(name)
    again = parse(tomllib.loads(as_toml(recipe)), "again")
    assert again == recipe
    assert as_toml(again) == as_toml(recipe)
    assert load(recipe) == recipe


PRESETS = {"bahdanau2015": bahdanau2015, "encdec2014": encdec2014, "luong2015": luong2015}


def settings_of(model: torch.nn.Module) -> dict[str, dict[str, object]]:
    """The plain values that each module keeps: sizes, windows, temperatures."""
    return {
        name: {key: value for key, value in vars(module).items() if isinstance(value, int | float | str)}
        for name, module in model.named_modules()
    }


def shapes(model: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_papers_recipes_are_the_presets(name):
    """At full size, without memory: the same parameters, and modules of the same kinds with the same settings."""
    recipe = load(name)
    settings = {
        key: dict(value) if isinstance(value, dict) else value for key, value in recipe.model.model_dump().items()
    }
    sizes = {"source_vocabulary_size": 101, "target_vocabulary_size": 103}
    with torch.device("meta"):
        ours, theirs = build(**sizes, **settings), PRESETS[name](**sizes)
    assert shapes(ours) == shapes(theirs)
    assert repr(ours) == repr(theirs)  # cells, dropout: what a module says of itself
    assert settings_of(ours) == settings_of(theirs)
    assert ours.row_convention == theirs.row_convention


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_the_papers_recipes_start_as_the_presets(name):
    """Small, from the same seed: the same first weights, bit for bit, so the same initialisation."""
    recipe = shrunken(name)
    codec_ = codec()
    sizes = {
        "source_vocabulary_size": len(codec_.source_vocabulary),
        "target_vocabulary_size": len(codec_.target_vocabulary),
    }
    if name == "luong2015":
        sizes |= {"hidden_size": 8}
    else:
        sizes |= {"hidden_size": 8, "embedding_size": 8, "readout_size": 6}
        sizes |= {"attention_size": 6} if name == "bahdanau2015" else {}
    models = []
    for make in (lambda: make_model(recipe, codec_), lambda: PRESETS[name](**sizes)):
        torch.manual_seed(3)
        models.append(make())
    ours, theirs = (dict(model.named_parameters()) for model in models)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)


def test_what_the_papers_say_beside_the_model():
    bahdanau, luong = load("bahdanau2015"), load("luong2015")
    assert (bahdanau.train.optimiser, bahdanau.train.clip_norm, bahdanau.train.schedule) == (
        "adadelta",
        1.0,
        "constant",
    )
    assert (bahdanau.data.source_max_size, bahdanau.data.max_length) == (30_000, 50)
    assert (luong.data.source_max_size, luong.data.reverse_source) == (50_000, True)
    assert load("encdec2014").train == bahdanau.train
    assert load("encdec2014").data == bahdanau.data
