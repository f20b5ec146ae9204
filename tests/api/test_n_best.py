"""Several answers to one source: all different, best first; those that are drawn may repeat."""

from __future__ import annotations

import pytest
import torch

from heedful.answers import Prediction, different
from heedful.data.batches import Example, collate
from heedful.data.pairs import Pair
from heedful.data.vocabulary import Vocabulary
from heedful.errors import RunError
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe
from search.models import CONFIGURATIONS

from .models import LINES, codec_of, model_for, predictor_of, texts_of


def answer(text: str, score: float) -> Prediction:
    return Prediction(text, (), score, score, (), None, True)


def test_the_first_of_each_text_is_kept_where_it_stands():
    given = [answer("a", -1), answer("b", -2), answer("a", -3), answer("c", -4), answer("b", -5)]
    assert different(given) == [given[0], given[1], given[3]]
    assert different([]) == []


@pytest.fixture(scope="module")
def pieces() -> Predictor:
    """Its pieces are bytes, and "ab", "abab"; all but a, b and those are made improbable: one text, many spellings."""
    codec = codec_of(target="abababab", target_tokens=("bpe", {"vocabulary_size": 258}))
    model = model_for(codec, fusion="early", seed=1)
    likely = codec.target_vocabulary.ids(["a", "b", "ab", "abab"])
    assert Vocabulary.UNKNOWN not in likely
    with torch.no_grad():
        model.decoder.output.weight.mul_(0.2)
        model.decoder.output.bias.fill_(-30.0)
        model.decoder.output.bias[likely] = 0.0
        model.decoder.output.bias[Vocabulary.END] = -1.0
    return Predictor(model, codec, PredictRecipe(max_length=4))


def test_different_tokens_that_spell_the_same_are_one_answer(pieces):
    """The first of its spellings, in its place: the one with the best score."""
    predictor = pieces.with_options({"beam": 99}, n_best=60)
    repeated = 0
    for line, answers in zip(LINES, predictor.predict(LINES, n_best=60), strict=True):
        batch = collate([Example(pieces.codec.encode_source(line.source), None, 0)])
        (found,) = predictor.decoding.search(pieces.model, batch.sources[0], [1], n_best=60, with_weights=False)
        spelled = [(pieces.codec.decode_target(hypothesis.tokens), hypothesis.score) for hypothesis in found]
        best: dict[str, float] = {}
        for text, score in spelled:
            best[text] = max(score, best.get(text, -99.0))
        assert {answer.text: answer.score for answer in answers} == pytest.approx(best, abs=1e-4)
        scores = [answer.score for answer in answers]
        assert scores == sorted(scores, reverse=True)
        repeated += len(spelled) - len(best)
    assert repeated > 30


@pytest.mark.parametrize("n_best", [2, 5])
def test_all_different_best_first_and_the_best_is_the_best(n_best):
    for number in (4, 9):
        predictor = predictor_of(number).with_options({"beam": 5})
        single = predictor.predict(LINES)
        for answers, (best,) in zip(predictor.predict(LINES, n_best=n_best), single, strict=True):
            assert 1 <= len(answers) <= n_best
            assert len(set(texts_of(answers))) == len(answers)
            assert (answers[0].text, answers[0].score) == (best.text, best.score)
            scores = [answer.score for answer in answers]
            assert scores == sorted(scores, reverse=True)


def test_fewer_where_fewer_exist():
    """Of at most one letter, and only A or B: "", "A" and "B", however wide the beam."""
    predictor = predictor_of(4)
    others = list("CDEFGHIJK")
    for most, expected in ((1, {""}), (2, {"", "A", "B"})):
        options = {"beam": 50, "max_length": most, "banned": others, "unknown": "avoid"}
        for answers in predictor.with_options(options, n_best=9).predict(LINES, n_best=9):
            assert set(texts_of(answers)) == expected
            assert len(answers) == len(expected)
            assert all(found.finished for found in answers)


def test_what_is_drawn_may_come_twice_and_is_never_fewer():
    options = {"sampling_temperature": 1.0, "max_length": 2, "unknown": "avoid", "top_k": 3}
    predictor = predictor_of(4).with_options(options, n_best=50)
    for answers in predictor.predict(LINES, n_best=50):
        assert len(answers) == 50
        assert 1 <= len(set(texts_of(answers))) <= 10
        scores = [found.score for found in answers]
        assert scores == sorted(scores, reverse=True)


def test_draws_are_by_the_number_of_the_line():
    """Whatever the order and the company; the same text on two lines is drawn twice."""
    predictor = predictor_of(4).with_options({"sampling_temperature": 2.0})
    same = [Pair("abcabc", None, (), line) for line in range(1, 30)]
    whole = [best.text for best, *_ in predictor.predict(same)]
    assert len(set(whole)) > 5
    assert [best.text for best, *_ in predictor.predict(same[::-1])] == whole[::-1]
    assert [predictor.predict([pair])[0][0].text for pair in same[:9]] == whole[:9]
    other = predictor_of(4).with_options({"sampling_temperature": 2.0, "seed": 2})
    assert [best.text for best, *_ in other.predict(same)] != whole


def test_an_answer_that_cannot_be_is_an_error_that_names_the_line():
    """Weights that are no numbers: no answer, and no traceback of another library's."""
    codec = codec_of()
    model = model_for(codec, fusion="early")
    with torch.no_grad():
        model.decoder.output.bias.fill_(torch.nan)
    for options in ({"beam": 1}, {"beam": 3}, {"sampling_temperature": 1.0}):
        predictor = Predictor(model, codec, PredictRecipe(**options))
        with pytest.raises(
            RunError, match=r"line 7: no answer has a finite probability; are the run's weights damaged"
        ):
            predictor.predict([Pair("abc", None, (), 7)])


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"sampling_temperature": 1.0}], ids=str)
def test_rules_that_leave_nothing_give_an_unfinished_answer(options):
    """No symbol at all, or none after the prefix: what stands is the answer, cut, and no error."""
    nothing = {"banned": list("ABCDEFGHIJK"), "unknown": "avoid", "min_length": 4}
    for prefix in ("", "AB"):
        predictor = predictor_of(4).with_options({**options, **nothing, "prefix": prefix})
        for pairs in (LINES, LINES[:1]):
            for (found, *_), pair in zip(predictor.predict(pairs, with_alignment=True), pairs, strict=True):
                assert (found.text, found.finished, len(found.token_scores)) == (prefix, False, len(prefix))
                assert found.alignment is not None
                assert found.alignment.weights.shape == (len(prefix), len(pair.source) + 1)


def ending(bias: float) -> Predictor:
    """It wants to end at once, or never."""
    codec = codec_of()
    model = model_for(codec, seed=3, **CONFIGURATIONS[4])
    with torch.no_grad():
        model.decoder.output.bias[Vocabulary.END] += bias
    return Predictor(model, codec, PredictRecipe(max_length=5))


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 5}, {"sampling_temperature": 1.0}], ids=str)
def test_an_end_at_once_is_an_empty_answer(options):
    for most in (1, 5):
        predictor = ending(90.0).with_options({**options, "max_length": most})
        for batch_size in (1, 7):
            for line, (found, *_) in zip(
                LINES, predictor.predict(LINES, batch_size=batch_size, with_alignment=True), strict=True
            ):
                assert (found.text, found.tokens, found.finished) == ("", (), True)
                assert len(found.token_scores) == 1
                assert found.alignment is not None
                assert found.alignment.weights.shape == (1, len(line.source) + 1)


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 5}, {"sampling_temperature": 1.0}], ids=str)
@pytest.mark.parametrize("most", [1, 2, 5])
def test_what_never_ends_comes_back_unfinished(most, options):
    n_best = 1 if options == {"beam": 1} else 3
    predictor = ending(-90.0).with_options({**options, "max_length": most}, n_best=n_best)
    for line, answers in zip(LINES, predictor.predict(LINES, n_best=n_best, with_alignment=True), strict=True):
        assert len(answers) == n_best
        for found in answers:
            assert (found.finished, len(found.tokens), len(found.token_scores)) == (False, most, most)
            assert found.alignment is not None
            assert found.alignment.weights.shape == (most, len(line.source) + 1)
