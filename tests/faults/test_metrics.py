"""Metrics that count padding, or what stands behind the end."""

from __future__ import annotations

import itertools

import pytest

import heedful
from heedful.data.pairs import read_pairs
from heedful.data.vocabulary import Vocabulary
from heedful.evaluation import evaluate_texts
from heedful.training.validate import Validator
from training.cases import spelled, train_tiny, words, write_pairs

PAD, START, END = Vocabulary.PAD, Vocabulary.START, Vocabulary.END


@pytest.mark.parametrize("junk", [[], [PAD] * 7, [END] * 3, [7, START, 9], [END, PAD, 5], [3]])
def test_what_stands_behind_the_end_is_not_read(run, pairs, junk):
    """Neither in the text nor in the metric; and an answer that was cut needs no end."""
    codec = heedful.load(run).codec
    corpus = read_pairs(str(pairs)).pairs[:20]
    outputs = [codec.decode_target([*codec.encode_target(pair.target), *junk]) for pair in corpus]
    assert outputs == [pair.target for pair in corpus]
    assert codec.decode_target(codec.encode_target("A B")[:-1]) == "A B"
    scores = evaluate_texts(
        [pair.source for pair in corpus], outputs, [pair.target for pair in corpus], target_split=str.split
    )
    assert (scores.sequence_error, scores.token_error, scores.sentences) == (0, 0, 20)


@pytest.fixture(scope="module")
def novice(pairs, tmp_path_factory):
    """A run that is wrong more often than right: every answer hangs by a thread."""
    return train_tiny(pairs, tmp_path_factory.mktemp("novice") / "run", set={"train.updates": 60})


@pytest.mark.parametrize("pads", [0, 5, 50])
def test_the_metric_does_not_depend_on_padding(novice, tmp_path, pads):
    """A line longer by so many letters pads all the others, in search and in forced decoding."""
    short = [word for word in words(40, seed=7) if len(word) == 4]
    lines = [*short, "abcd" + "ef" * (pads // 2) + "a" * (pads % 2)]
    path = write_pairs(tmp_path / "pairs.tsv", ((word, spelled(word)) for word in lines))
    loaded = heedful.load(novice)
    assert len(lines[-1]) == 4 + pads
    for beam in (1, 5):
        together, alone = (heedful.evaluate(loaded, path, beam=beam, batch_size=size) for size in (64, 1))
        assert together == alone
        assert alone.sequence_error > 50
    corpus = read_pairs(str(path)).pairs
    results = []
    for size in (64, 1):
        predict = loaded.recipe.predict.model_copy(update={"batch_size": size})
        recipe = loaded.recipe.model_copy(update={"predict": predict})
        results.append(Validator(loaded.codec, recipe, corpus)(loaded.predictor.model))
    (loss, scores), (wanted, expected) = results
    assert loss == pytest.approx(wanted, rel=1e-6)
    assert scores == expected
    for batch_size in (1, 64):
        forced = heedful.score(loaded, path, batch_size=batch_size)
        results.append([one.score for one in forced])
    assert results[-1] == pytest.approx(results[-2], abs=1e-6)


def test_the_training_loss_of_padded_pairs_is_that_of_each(run, tmp_path):
    """Nats a token over all pairs, in any batches: what the log calls dev_loss is what `score` sums up."""
    path = write_pairs(tmp_path / "pairs.tsv", ((word, spelled(word)) for word in words(13, seed=8)))
    loaded = heedful.load(run)
    predict = loaded.recipe.predict.model_copy(update={"batch_size": 3})
    recipe = loaded.recipe.model_copy(update={"predict": predict})
    loss, _ = Validator(loaded.codec, recipe, read_pairs(str(path)).pairs)(loaded.predictor.model)
    tokens = list(itertools.chain.from_iterable(one.token_scores for one in heedful.score(loaded, path, batch_size=1)))
    assert loss == pytest.approx(-sum(tokens) / len(tokens), rel=1e-5)
