"""Runs that answer as one: loaded by their names, refused where they do not fit, and as reliable as a single one."""

from __future__ import annotations

import math
import shutil
from functools import cache
from pathlib import Path

import pytest
import torch

import heedful
from grid import in_turn
from heedful.ensemble import Ensemble
from heedful.errors import HeedfulError, RecipeError, RunError
from heedful.model import Model
from heedful.options import EnsembleAverage
from heedful.predictor import Predictor
from heedful.runs import load_tensors, save_tensors
from search.models import CONFIGURATIONS
from training.cases import spelling_pairs, train_tiny, words, write_pairs

from .models import LINES, SETTINGS, codec_of, model_for, same, texts_of, vary
from .test_every_model import WAYS, check_batches, check_forced

AVERAGES: tuple[EnsembleAverage, ...] = ("probabilities", "log_probabilities")
WORDS = words(20, seed=8, longest=9)


@pytest.fixture(scope="module")
def other(folder, tmp_path_factory) -> Path:
    """The run with other weights."""
    copy = Path(shutil.copytree(folder, tmp_path_factory.mktemp("other") / "run"))
    tensors, metadata = load_tensors(copy / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    moved = {name: value + 0.3 * torch.randn(value.shape, generator=generator) for name, value in tensors.items()}
    save_tensors(copy / "model.safetensors", moved, metadata)
    return copy


def answers(run, **options):
    return [(a.text, a.score, a.token_scores) for a in run.predict(WORDS, **options)]


@pytest.mark.parametrize("average", AVERAGES)
def test_a_run_twice_is_that_run(run, folder, average):
    twice = heedful.load(f"{folder},{folder}", ensemble_average=average)
    for one, wanted in zip(twice.predict(WORDS, n_best=3), run.predict(WORDS, n_best=3), strict=True):
        for found, expected in zip(one, wanted, strict=True):
            same(found, expected)


def test_names_with_commas_lists_and_functions_are_one(run, folder, other, pairs):
    both = heedful.load([folder, str(other)])
    assert answers(both) != answers(run)
    assert answers(heedful.load(f"{folder},{other}")) == answers(both)
    for form in ([folder, other], (str(folder), str(other)), f"{folder},{other}"):
        assert [(a.text, a.score, a.token_scores) for a in heedful.predict(form, WORDS)] == answers(both)
        assert heedful.evaluate(form, pairs) == heedful.evaluate(both, pairs)
        assert heedful.score(form, pairs) == heedful.score(both, pairs)
        assert heedful.align(form, pairs) == heedful.align(both, pairs)
    assert answers(heedful.load([folder])) == answers(run)
    assert both.recipe == run.recipe


def test_average_is_passed_on(folder, other, pairs):
    geometric = heedful.load([folder, other], ensemble_average="log_probabilities")
    assert answers(geometric) != answers(heedful.load([folder, other]))
    options = {"ensemble_average": "log_probabilities"}
    found = heedful.predict([folder, other], WORDS, **options)
    assert [(a.text, a.score, a.token_scores) for a in found] == answers(geometric)
    assert heedful.evaluate([folder, other], pairs, **options) == heedful.evaluate(geometric, pairs)
    assert heedful.score([folder, other], pairs, **options) == heedful.score(geometric, pairs)
    assert heedful.align([folder, other], pairs, **options) == heedful.align(geometric, pairs)
    with pytest.raises(HeedfulError, match="'median'"):
        heedful.load([folder, other], ensemble_average="median")  # type: ignore[arg-type]


def test_forced_scores_are_the_mean_of_theirs_by_hand(run, folder, other, pairs):
    """Of each token of each target: log((p + q) / 2)."""
    theirs = [heedful.score(each, pairs) for each in (run, other)]
    ours = heedful.score([folder, other], pairs)
    for found, one, two in zip(ours, *theirs, strict=True):
        tokens = zip(found.token_scores, one.token_scores, two.token_scores, strict=True)
        assert all(a == pytest.approx(math.log((math.exp(b) + math.exp(c)) / 2), abs=1e-5) for a, b, c in tokens)
        assert found.alignment.weights == pytest.approx((one.alignment.weights + two.alignment.weights) / 2, abs=1e-6)


def test_the_first_ones_settings_count(folder, other, tmp_path):
    greedy = Path(shutil.copytree(other, tmp_path / "greedy"))
    recipe = greedy / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("beam = 5", "beam = 1"))
    assert answers(heedful.load([greedy, folder])) == answers(heedful.load([other, folder]), beam=1)
    assert answers(heedful.load([folder, greedy])) == answers(heedful.load([folder, other]), beam=5)


def test_a_folder_with_a_comma_in_its_name(run, folder, tmp_path):
    name = Path(shutil.copytree(folder, tmp_path / "one,two"))
    assert answers(heedful.load(str(name))) == answers(run)
    assert answers(heedful.load([name, name])) == answers(heedful.load([folder, folder]))


def test_what_does_not_fit_is_refused(folder, tmp_path):
    other_letters = write_pairs(tmp_path / "pairs.tsv", (("xyz" + word, "X Y Z " + word.upper()) for word in WORDS))
    strange = train_tiny(other_letters, tmp_path / "strange", set={"train.updates": 1, "train.validate_every": 9.0})
    with pytest.raises(RunError, match=r"strange: has other vocabularies than .*run; they cannot answer as"):
        heedful.load([folder, strange])
    with pytest.raises(RunError, match=r"strange: has other vocabularies"):
        heedful.load(f"{folder},{strange}")
    with pytest.raises(RunError, match="nowhere: no such run folder"):
        heedful.load([folder, tmp_path / "nowhere"])
    with pytest.raises(RunError, match="expected a run folder, or several with commas between them, got"):
        heedful.load([])
    for empty in ("", f"{folder},", f",{folder}", [folder, ""]):
        with pytest.raises(RunError, match="expected a run folder, or several with commas between them, got"):
            heedful.load(empty)


def test_a_source_read_backwards_by_one_of_them_is_refused(folder, tmp_path):
    pairs = spelling_pairs(tmp_path / "words.tsv")
    backwards = train_tiny(pairs, tmp_path / "back", set={"data.reverse_source": True, "train.updates": 1})
    with pytest.raises(RunError, match="back: has other vocabularies"):
        heedful.load([folder, backwards])


@pytest.mark.parametrize(
    ("key", "value"),
    [("source_column", '"word"'), ("tag_columns", "[3]"), ("tag_separator", '"+"'), ("normalisation", '"NFD"')],
)
def test_runs_that_read_otherwise_are_refused(folder, tmp_path, key, value):
    """The same vocabularies, but other columns or another Unicode form of the texts."""
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    recipe = copy / "recipe.toml"
    lines = recipe.read_text().splitlines()
    (place,) = [place for place, line in enumerate(lines) if line.startswith(f"{key} = ")]
    lines[place] = f"{key} = {value}"
    recipe.write_text("\n".join(lines) + "\n")
    with pytest.raises(RunError, match=rf"copy: reads with data\.{key} = .*; they cannot answer as one"):
        heedful.load([folder, copy])


def test_settings_of_training_may_differ(run, folder, tmp_path):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    recipe = copy / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("dev_share = 0.2", "dev_share = 0.3"))
    assert texts_of(heedful.load([folder, copy]).predict(WORDS)) == texts_of(run.predict(WORDS))


def test_the_signature_names_the_ensemble(run, folder, pairs):
    single = heedful.evaluate(run, pairs).signature
    for average in AVERAGES:
        signature = heedful.evaluate([folder, folder], pairs, ensemble_average=average).signature
        assert f"|ensemble:2|average:{average}" in signature
        assert signature.replace(f"|ensemble:2|average:{average}", "") == single


# Random models of other kinds, behind one predictor.

KINDS = {
    "early and late": (4, 9),
    "none and early": (1, 3),
    "none, early and late": (0, 5, 14),
    "none and none": (1, 2),
}


@cache
def members_of(name: str) -> tuple[Model, ...]:
    """The first, by seed, whose answers together differ."""
    codec = codec_of()
    for seed in range(50):
        models = tuple(model_for(codec, seed=seed, **CONFIGURATIONS[number]) for number in KINDS[name])
        predictors = [Predictor(Ensemble(models, average=average), codec, SETTINGS) for average in AVERAGES]
        if all(vary(predictor, beam, 5) for predictor in predictors for beam in (1, 5)):
            return models
    raise AssertionError("no models with answers that differ")


def ensemble_of(name: str, average: EnsembleAverage = "probabilities") -> Predictor:
    return Predictor(Ensemble(members_of(name), average=average), codec_of(), SETTINGS)


@pytest.mark.parametrize(("name", "average"), in_turn(KINDS, AVERAGES))
def test_batches_and_forced_scores(name, average):
    predictor = ensemble_of(name, average)
    ways = [{"beam": 1}, {"n_best": 5}, *WAYS.values()]
    for way in ways[1:3]:
        check_batches(predictor, way, sizes=(7,))
    assert sum(check_forced(predictor, way) for way in ways) > 100


def test_a_member_without_attention_changes_no_weights():
    """Of "none" and "early" they are early's, along the answers that both give together."""
    predictor = ensemble_of("none and early")
    early = Predictor(members_of("none and early")[1], codec_of(), SETTINGS)
    found = [best for best, *_ in predictor.predict(LINES, with_alignment=True)]
    assert len(set(texts_of(found))) > 2
    pairs = [line._replace(target=best.text) for line, best in zip(LINES, found, strict=True)]
    for best, forced in zip(found, early.force(pairs), strict=True):
        length = len(best.tokens)
        assert best.alignment.weights[:length] == pytest.approx(forced.alignment.weights[:length], abs=1e-5)


def test_what_needs_attention_is_refused_only_where_none_has_any():
    for option in ({"coverage_penalty": 0.2}, {"attention_temperature": 0.5}, {"unknown": "replace"}):
        ensemble_of("none and early").with_options(option)
        with pytest.raises(RecipeError, match="without attention"):
            ensemble_of("none and none").with_options(option)
