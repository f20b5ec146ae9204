"""Targets that are one label: one step, no end symbol, and the same tools."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heedful
from heedful.alignment import by_segments
from heedful.cli.show import scores_table
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.tokens import make_tokeniser, tokeniser_from_json
from heedful.errors import RecipeError, RunError, SizeError
from model.cases import FUSIONS
from training.cases import TINY, words, write_pairs

LABELS = ("yes", "no", "not at all")
SETTINGS = {**TINY, "data.target_tokens": "label", "train.updates": 20}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("labels") / "labels.tsv"
    path.write_text("".join(f"{word}\t{LABELS[len(word) % 3]}\n" for word in words(60)), "utf-8")
    return path


def trained(pairs, **settings):
    return heedful.load(
        heedful.train(pairs, out=pairs.parent / "run", recipe="tiny", set={**SETTINGS, **settings}, overwrite=True)
    )


@pytest.fixture(scope="module")
def run(pairs):
    return trained(pairs, **{"model.start": "zero"})


def test_a_label_is_one_token_and_has_no_end():
    tokeniser = make_tokeniser("label")
    assert tokeniser.split("not at all") == ["not at all"]
    assert tokeniser.split("") == []
    assert tokeniser.join(["not at all"]) == "not at all"
    assert type(tokeniser_from_json(tokeniser.to_json())) is type(tokeniser)
    codec = Codec.build([Pair("ab", "not at all", (), 1)], target_tokens=("label", {}))
    (label,) = codec.encode_target("not at all")
    assert codec.without_end([label]) == [label]
    assert codec.target_labels_of("not at all") == codec.target_labels([label]) == ["not at all"]
    assert codec.decode_target([label]) == "not at all"
    assert Codec.from_json(codec.to_json()).has_label
    assert not Codec.build([Pair("ab", "x", (), 1)]).has_label


def test_the_labels_of_a_source_share_its_probability(run):
    (found,) = run.predict(["abc"], n_best=3)
    assert sorted(one.text for one in found) == sorted(LABELS)
    assert all(one.finished and one.tokens == (one.text,) for one in found)
    assert all(one.score == one.log_probability == one.token_scores[0] for one in found)
    unknown = run.predict(["abc"], n_best=4)[0][-1]
    shares = [math.exp(one.score) for one in (*found, unknown)]
    assert shares == sorted(shares, reverse=True)
    assert 0.5 < sum(shares) < 1  # the rest is what is never written
    (greedy,), (drawn,) = run.predict(["abc"], beam=1), run.predict(["abc"], sampling_temperature=1.0)
    assert greedy.text == found[0].text
    assert drawn.finished


def test_one_row_says_which_words_decided(run, pairs):
    (answer,) = run.predict(["abc"])
    assert answer.alignment.source == ("a", "b", "c", "∎")
    assert answer.alignment.target == (answer.text,)
    assert answer.alignment.weights.shape == (1, 4)
    assert not answer.alignment.target_end
    assert list(answer.alignment.rows_about_words()) == [0]
    aligned = heedful.align(run, pairs)
    assert all(len(one.target) == 1 and len(one.links()) == 1 for one in aligned)
    assert {one.target[0] for one in heedful.align(run, pairs, words=True)} == set(LABELS)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_every_fusion_scores_a_label_as_search_does(pairs, tmp_path, fusion):
    if fusion == "none_start_only":
        pytest.skip("the same as none")
    settings = {f"model.{name}": value for name, value in FUSIONS[fusion].items()}
    run = trained(pairs, **settings, **{"train.updates": 1})
    (answer,) = run.predict(["abc"])
    path = tmp_path / "given.tsv"
    path.write_text(f"abc\t{answer.text}\n", "utf-8")
    (forced,) = heedful.score(run, path)
    assert forced.score == pytest.approx(answer.score, abs=1e-5)
    assert forced.tokens == answer.tokens
    assert len(forced.token_scores) == 1
    if answer.alignment is not None:
        np.testing.assert_allclose(forced.alignment.weights, answer.alignment.weights, atol=1e-5)


def test_the_other_verbs(run, pairs, tmp_path):
    scores = heedful.evaluate(run, pairs)
    assert scores.accuracy == 100 - scores.sequence_error
    right = sum(run.predict([word])[0].text == LABELS[len(word) % 3] for word in words(60))
    assert scores.accuracy == pytest.approx(100 * right / 60)
    table = scores_table(scores)
    assert table.splitlines()[0].startswith(f"accuracy        {scores.accuracy:7.2f} %  accuracy|lines:60|sources:60")
    assert "BLEU" not in table
    diagnosis = heedful.diagnose(run, pairs)
    assert 0 < diagnosis.measures["entropy"] <= 1
    assert 0 < diagnosis.measures["entropy_in_scope"] <= 1
    assert diagnosis.measures["on_padding"] == 0
    trace = heedful.trace(run, "abc")
    assert trace.agrees
    assert trace.target in ((label,) for label in LABELS)
    assert heedful.trace(run, "abc", "no").agrees
    heedful.look(run, pairs, out=tmp_path / "report.html")


def test_what_does_not_go_with_labels(run, pairs):
    for name, value in (("min_length", 2), ("max_length", 3), ("no_repeat_ngram", 1), ("prefix", "no")):
        with pytest.raises(RecipeError, match=f"{name} does not go with data.target_tokens = 'label'"):
            run.predict(["abc"], **{name: value})
    with pytest.raises(RecipeError, match=r"model.fusion.rows = 'input' does not go with data.target_tokens = 'label'"):
        trained(pairs, **{"model.fusion": {"name": "late", "rows": "input"}, "model.readout": "attentional"})


@pytest.mark.parametrize("score", ["general", "location"])
def test_a_question_of_zeros_is_none(pairs, score):
    """The one step of a label asks with what the start makes, if it asks first; asking later it has read a symbol."""
    with pytest.raises(RecipeError, match=r"model.score (General|Location) does not go with model.start = 'zero' and"):
        trained(pairs, **{"model.start": "zero", "model.score": score})
    trained(pairs, **{"model.score": score, "train.updates": 1})
    late = {"model.fusion": "late", "model.readout": "attentional"}
    trained(pairs, **{"model.start": "zero", "model.score": score, "train.updates": 1, **late})


def test_nor_is_it_one_of_segments(pairs):
    settings = {"model.start": "zero", "data.segments": {"name": "length", "tokens": 2}, "train.updates": 1}
    with pytest.raises(RecipeError, match=r"segments of model.scope = 'hierarchical', General does not go with"):
        trained(pairs, **settings, **{"model.scope": "hierarchical"})
    trained(pairs, **settings, **{"model.scope": {"name": "hierarchical", "score": "additive"}})
    trained(pairs, **settings, **{"data.target_tokens": "characters", "model.scope": "hierarchical"})


def test_which_sentence_decided_and_which_word(pairs, tmp_path):
    """Both levels are in the answers of every verb."""
    scope = {"name": "hierarchical", "score": "additive"}
    cut = {"data.segments": {"name": "length", "tokens": 2}, "model.encoder": "hierarchical", "model.scope": scope}
    run = trained(pairs, **cut, **{"model.start": "zero"})
    (answer,) = run.predict(["abcde"])
    assert answer.alignment.source_segments == (1, 1, 2, 2, 3, 0)
    segments = by_segments(answer.alignment)
    assert segments.source == ("1: a .. b", "2: c .. d", "3: e", "∎")
    np.testing.assert_allclose(segments.weights[0, :2], answer.alignment.weights[0, [[0, 2], [1, 3]]].sum(0), atol=1e-6)
    assert all(one.source_segments[0] == 1 for one in heedful.align(run, pairs))
    assert heedful.evaluate(run, pairs).accuracy > 0
    assert heedful.diagnose(run, pairs).measures["on_padding"] == 0
    assert heedful.trace(run, "abcde").agrees
    heedful.look(run, pairs, out=tmp_path / "report.html", line="1-3")


def test_labels_that_were_never_seen_are_told(run, pairs, tmp_path):
    """No answer can be right there; nor is what is normalised to a label that is known unknown."""
    path = tmp_path / "new.tsv"
    path.write_text("abc\tmaybe\nab\tnot at all\nb\tnot\tat all\n", "utf-8")
    told = []
    assert heedful.evaluate(run, path, message=told.append).sources == 3
    assert told == [
        "2 of 3 lines have a label that was never seen in training, so that no answer to them can be right: "
        "'maybe', 'not'"
    ]
    heedful.evaluate(run, pairs, message=told.append)
    assert len(told) == 1
    (known, _, _) = heedful.align(run, path)
    assert known.target == ("maybe",)


def test_labels_of_any_text(pairs, tmp_path):
    """Spaces stay, accents are normalised as everywhere."""
    path = tmp_path / "any.tsv"
    write_pairs(path, zip(words(6), ("a  b", "cafe\u0301") * 3, strict=True))
    run = heedful.load(heedful.train(path, out=tmp_path / "run", recipe="tiny", dev=path, set=SETTINGS))
    assert {one.text for one in run.predict(["abc"], n_best=2)[0]} == {"a  b", "caf\u00e9"}
    with pytest.raises(RecipeError, match="banned: the target vocabulary has no token 'a b'; did you mean 'a  b'"):
        run.predict(["abc"], banned=["a b"])


def test_rows_of_a_label_are_about_no_input(run, pairs):
    with pytest.raises(SizeError, match=r"convention 'input' does not go with data.target_tokens = 'label': the one"):
        heedful.align(run, pairs, convention="input")
    assert len(heedful.align(run, pairs, convention="predicted")[0].links()) == 1


def test_runs_of_different_shapes_are_no_ensemble(pairs, tmp_path):
    """What they read and write is told before their vocabularies, which differ too."""
    three = tmp_path / "three.tsv"
    rows = [line.split("\t") for line in pairs.read_text("utf-8").splitlines()]
    write_pairs(three, [(word, word, label) for word, label in rows])
    asked = {"data.second_source_column": 2, "data.target_column": 3, "model.second": "query"}
    others = [
        (pairs, {"data.target_tokens": "characters"}, "target_tokens = 'characters', .* with 'label'"),
        (pairs, {"data.segments": {"name": "length", "tokens": 3}}, "segments = {'name': 'length', .* with 'none'"),
        (three, asked, "target_column = 3, .* with 2"),
        (
            three,
            {**asked, "data.target_column": 2, "data.second_source_column": 3},
            "second_source_column = 3, .* 'none'",
        ),
    ]

    def made(path, out, **settings):
        return heedful.train(path, out=out, recipe="tiny", set={**SETTINGS, "train.updates": 1, **settings})

    own = made(pairs, tmp_path / "own")
    for number, (path, settings, message) in enumerate(others):
        other = made(path, tmp_path / str(number), **settings)
        with pytest.raises(RunError, match=rf"{number}: reads with data\.{message}; they cannot answer as one"):
            heedful.load([own, other])


def test_unknown_labels_are_not_replaced(run):
    with pytest.raises(RecipeError, match=r"unknown = 'replace' does not go with data.target_tokens = 'label'"):
        run.predict(["abc"], unknown="replace")
