"""Unknown words: left, avoided, or replaced by the source word that was attended to (Luong, Sutskever et al. 2015)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from heedful.answers import Answers, Prediction
from heedful.data.batches import Example
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.vocabulary import UNKNOWN_LABEL, Vocabulary
from heedful.ensemble import Ensemble
from heedful.errors import DataError, RecipeError
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe
from heedful.search import Hypothesis
from model.cases import FUSIONS

from .models import model_for

UNKNOWN = Vocabulary.UNKNOWN
SOURCE = "das Xyzzy von Frobozz"
PAIRS = [Pair("das von und zu mit", "the of and to with", ("FORMAL",), 1)]


def words(*, reverse_source: bool = False, tokens: str = "whitespace") -> Codec:
    return Codec.build(PAIRS, source_tokens=(tokens, {}), target_tokens=(tokens, {}), reverse_source=reverse_source)


def replaced(
    written: list[str | None],
    looked: list[dict[str, float]],
    *,
    convention: str = "predicted",
    finished: bool = True,
    reverse_source: bool = False,
    tags: tuple[str, ...] = (),
    dictionary: dict[str, str] | None = None,
) -> Prediction:
    """What becomes of an answer (None = the unknown symbol) whose step t looked at each source label so much."""
    codec = words(reverse_source=reverse_source)
    source = codec.encode_source(SOURCE, tags)
    weights = torch.tensor([[row.get(label, 0.0) for label in source.labels] for row in looked])
    ids = [UNKNOWN if word is None else codec.target_vocabulary.ids([word])[0] for word in written]
    assert len(looked) == len(ids) + finished
    answers = Answers(codec, convention, 1, True, dictionary or {})
    padded = torch.cat([weights, torch.full((len(looked), 3), 9.0)], dim=1)  # beside a longer sentence
    hypothesis = Hypothesis(ids, -1.0, -3.0, [-0.5] * len(looked), padded, finished)
    return answers.prediction(Example(source, None, 0), hypothesis, with_alignment=True)


DAS, XYZZY, VON, FROBOZZ, END = ({label: 1.0} for label in (*SOURCE.split(), "∎"))


def test_a_row_of_the_word_that_is_written():
    found = replaced(["the", None, "of", None], [DAS, XYZZY, VON, FROBOZZ, END])
    assert found.text == "the Xyzzy of Frobozz"
    assert found.tokens == ("the", "Xyzzy", "of", "Frobozz")
    assert found.alignment is not None
    assert found.alignment.target == ("the", "Xyzzy", "of", "Frobozz", "∎")
    assert (found.score, found.token_scores) == (-1.0, (-0.5,) * 5)  # of the unknown symbol, as before


def test_a_row_of_the_word_that_was_read_is_one_later():
    """Row t + 1, made when the word of step t has been read, is about it; the end symbol's row is of the last word."""
    found = replaced(["the", None, "of", None], [END, DAS, XYZZY, VON, FROBOZZ], convention="input")
    assert found.text == "the Xyzzy of Frobozz"


def test_of_an_answer_that_was_cut_the_last_word_has_no_row_of_its_own():
    for convention, last in (("predicted", "Frobozz"), ("input", UNKNOWN_LABEL)):
        found = replaced([None, None], [VON, FROBOZZ], convention=convention, finished=False)
        assert found.tokens == (("von" if convention == "predicted" else "Frobozz"), last)


@pytest.mark.parametrize("reverse_source", [False, True])
def test_the_largest_weight_of_a_word_counts_and_the_first_of_equals(reverse_source):
    """Tags and the end symbol are no words, however much they are looked at."""
    found = replaced(
        [None, None],
        [
            {"[FORMAL]": 0.5, "∎": 0.3, "das": 0.09, "Xyzzy": 0.11},
            {"[FORMAL]": 0.1, "∎": 0.5, "von": 0.25, "Frobozz": 0.15},
            END,
        ],
        tags=("FORMAL",),
        reverse_source=reverse_source,
    )
    assert found.text == "Xyzzy von"


def test_a_row_without_weight_on_words_leaves_the_word():
    found = replaced([None, None, None], [{"∎": 1.0}, {}, XYZZY, END])
    assert found.tokens == (UNKNOWN_LABEL, UNKNOWN_LABEL, "Xyzzy")
    assert found.text == f"{UNKNOWN_LABEL} {UNKNOWN_LABEL} Xyzzy"


def test_a_dictionary_translates_and_others_are_copied():
    found = replaced([None, None], [XYZZY, FROBOZZ, END], dictionary={"Xyzzy": "magic", "das": "that"})
    assert found.text == "magic Frobozz"


def test_known_words_stay_whatever_they_look_at():
    found = replaced(["the", None, "of"], [XYZZY, FROBOZZ, DAS, END], dictionary={"Xyzzy": "magic", "das": "that"})
    assert found.text == "the Frobozz of"


# Through a model that writes little else.


SENTENCES = [
    "das Xyzzy von Frobozz", "Plugh", "und Xyzzy mit zu Plover", "von und zu", "Plugh Plover Xyzzy Frobozz das mit",
]  # fmt: skip
LINES = [Pair(text, None, ("FORMAL",), line) for line, text in enumerate(SENTENCES, start=1)]
MODELS: dict[str, dict[str, Any]] = {
    "early": FUSIONS["early"],
    "predicted": {"fusion": {"name": "late", "input_feeding": True}, "readout": "attentional", "scope": "local_p"},
    "input": {"fusion": {"name": "late", "rows": "input"}, "readout": "attentional", "score": "general"},
}


def predictor(kind: str, *, reverse_source: bool = False, **settings: Any) -> Predictor:
    codec = words(reverse_source=reverse_source)
    model = model_for(codec, seed=2, **MODELS[kind])
    with torch.no_grad():
        model.decoder.output.bias[UNKNOWN] += 4.0
        model.decoder.output.bias[Vocabulary.END] -= 1.5
    return Predictor(model, codec, PredictRecipe(max_length=6, **settings))


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"sampling_temperature": 1.0}], ids=str)
@pytest.mark.parametrize("reverse_source", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_it_is_the_source_word_that_the_alignment_links(kind, reverse_source, options):
    """Alone and in a batch. The links are those of Pharaoh lines, which know which word a row belongs to."""
    leaving = predictor(kind, reverse_source=reverse_source, min_length=4, **options)
    replacing = leaving.with_options({"unknown": "replace"})
    count = 0
    plain, filled = (each.predict(LINES, with_alignment=True) for each in (leaving, replacing))
    for line, (before, *_), (after, *_) in zip(LINES, plain, filled, strict=True):
        assert before.alignment is not None
        source, links = line.source.split(), {target: source for source, target in before.alignment.links()}
        expected = [
            source[links[place]] if token == UNKNOWN_LABEL and place in links else token
            for place, token in enumerate(before.tokens)
        ]
        assert list(after.tokens) == expected == after.text.split()
        assert after.token_scores == before.token_scores
        assert replacing.predict([line])[0][0].text == after.text
        count += before.tokens.count(UNKNOWN_LABEL)
    assert count > 5


def test_leave_is_the_default_and_avoid_never_writes_it():
    usual, leaving, avoiding = (
        [best for best, *_ in predictor("early").with_options(options).predict(LINES)]
        for options in ({}, {"unknown": "leave"}, {"unknown": "avoid"})
    )
    assert usual == leaving
    assert any(UNKNOWN_LABEL in answer.text for answer in usual)
    assert not any(UNKNOWN_LABEL in answer.text for answer in avoiding)
    assert any(answer.text for answer in avoiding)
    for options in ({"beam": 1}, {"sampling_temperature": 1.0}):
        for found, *_ in predictor("early").with_options({"unknown": "avoid", **options}).predict(LINES):
            assert UNKNOWN_LABEL not in found.text


def test_a_dictionary_file(tmp_path):
    """The first translation of a word counts; words are brought into the run's Unicode form."""
    path = tmp_path / "words.tsv"
    path.write_text("Xyzzy\tcafe\u0301\nPlugh\tunder the house\nXyzzy\tother\n", encoding="utf-8")
    translated = {"Xyzzy": "caf\u00e9", "Plugh": "under the house"}
    usual = predictor("early", min_length=5)
    copied = usual.with_options({"unknown": "replace"}).predict(LINES)
    found = usual.with_options({"dictionary": str(path)}).predict(LINES)  # which says: replace
    seen = set()
    for (before, *_), (after, *_), (left, *_) in zip(copied, found, usual.predict(LINES), strict=True):
        words = [
            translated.get(word, word) if unknown == UNKNOWN_LABEL else word
            for word, unknown in zip(before.tokens, left.tokens, strict=True)
        ]
        assert after.text == " ".join(words)
        seen |= set(before.tokens)
    assert {"Xyzzy", "Plugh"} < seen
    for bad, message in (
        ("one column\n", "dictionary: .*words.tsv:1: expected a source token, a TAB and a target token"),
        (None, "dictionary: no such file"),
    ):
        path.unlink() if bad is None else path.write_text(bad, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            predictor("early").with_options({"dictionary": str(path)})


def test_a_dictionary_from_python():
    usual = predictor("early", min_length=5)
    copied, found = (usual.with_options(options).predict(LINES) for options in (
        {"unknown": "replace"}, {"dictionary": {"Xyzzy": "magic", "the": "a"}}
    ))  # fmt: skip
    for (before, *_), (after, *_) in zip(copied, found, strict=True):
        assert after.tokens == tuple("magic" if token == "Xyzzy" else token for token in before.tokens)
    assert any("magic" in after.tokens for after, *_ in found)


def test_a_model_without_attention_cannot_replace():
    codec = words()
    model = model_for(codec, **FUSIONS["none"])
    for of in (model, Ensemble([model, model])):
        with pytest.raises(RecipeError, match="cannot be replaced by a model without attention"):
            Predictor(of, codec, PredictRecipe(unknown="replace"))
        for unknown in ("leave", "avoid"):
            Predictor(of, codec, PredictRecipe(unknown=unknown)).predict(LINES)


def test_letters_are_replaced_by_letters():
    """A source letter that was never seen, in a model of characters; a space is one too."""
    codec = words(tokens="characters")
    model = model_for(codec, seed=2, fusion="early")
    with torch.no_grad():
        model.decoder.output.bias[UNKNOWN] += 9.0
    answers = Predictor(model, codec, PredictRecipe(unknown="replace", min_length=7, max_length=9)).predict(LINES)
    for line, (found, *_) in zip(LINES, answers, strict=True):
        assert set(found.text) <= set(line.source) | set("the of and to with")
        assert len(found.text) > 5
