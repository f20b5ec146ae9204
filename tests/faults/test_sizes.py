"""Sizes that a reshape, a squeeze or an equal sign had not thought of."""

from __future__ import annotations

import pytest
import torch

import heedful
from grid import in_turn
from heedful.attention import dense
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.vocabulary import Vocabulary
from heedful.errors import SizeError
from heedful.model import build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe
from model.cases import (
    ATTENTIONS,
    CELLS,
    FUSIONS,
    batch_of,
    close,
    make,
    name_of,
    random_batch,
    rows_of,
    soft,
    unrolled,
)
from training.cases import Recorder, train_tiny, write_pairs

from .conftest import easy_words

fusions = pytest.mark.parametrize("fusion", list(FUSIONS))


def test_sixty_five_lines_and_one_line_in_batches_of_64(copier, cli, tmp_path):
    """The last batch has one line: it keeps its axis."""
    words = easy_words(65, seed=21)
    loaded = heedful.load(copier)
    for beam in (1, 5):
        found = loaded.predict(words, batch_size=64, beam=beam)
        assert [answer.text for answer in found] == words
        assert [answer.text for answer in loaded.predict(words[:1], batch_size=64, beam=beam)] == words[:1]
    path = write_pairs(tmp_path / "words.tsv", ((word, word) for word in words))
    done = cli("align", copier, path, "--batch-size", 64)
    assert [line.count(b"-") for line in done.lines] == [len(word) for word in words]
    assert heedful.evaluate(loaded, path, batch_size=64).sequence_error == 0


@pytest.mark.parametrize("count", [65, 1])
def test_training_on_sixty_five_pairs_and_on_one(count, tmp_path):
    """Pairs of one size, and room for 64 of them in a batch: the last has one."""
    words = [f"{n:03}" for n in range(count)]
    path = write_pairs(tmp_path / "pairs.tsv", ((word, word) for word in words))
    recorder = Recorder()
    settings = {"data.target_tokens": "characters", "train.batch_tokens": 64 * 8, "train.epochs": 2}
    folder = train_tiny(path, tmp_path / "run", dev=path, set={**settings, "train.updates": "none"}, reporter=recorder)
    batches = 2 if count == 65 else 1
    assert len(recorder.updates) == 2 * batches
    assert sorted(update.tokens for update in recorder.updates) == sorted([4, 4 * (count - 1)][:batches] * 2)
    assert len(heedful.load(folder).predict(words)) == count


def test_a_fixed_width_of_twenty_where_the_longest_has_twelve():
    """Unpacked states are as wide as the mask, and the same as without the padding."""
    for cell in CELLS:
        for layers, bidirectional in ((1, False), (1, True), (2, True)):
            model = make(fusion="early", cell=cell, encoder_layers=layers, bidirectional=bidirectional)
            rows, targets = rows_of((12, 5), 29, seed=1), rows_of((3, 4), 23, seed=2)
            wide, narrow = batch_of(rows, targets, extra_source=8), batch_of(rows, targets)
            encoded = model.encode(wide.sources[0])
            assert encoded.values.shape[:2] == encoded.mask.shape == (2, 20)
            (logs, weights), (wanted, others) = model.force(wide), model.force(narrow)
            close(logs, wanted)
            assert weights.shape == (2, 4, 20)
            close(weights[..., :12], others)
            assert weights[..., 12:].eq(0).all()


UNEQUAL = {
    "source_vocabulary_size": 29,
    "target_vocabulary_size": 23,
    "embedding_size": 24,
    "encoder_size": 64,
    "bidirectional": True,
    "decoder_size": 100,
}


@pytest.mark.parametrize("fusion", ["early", "late"])
@pytest.mark.parametrize("score", [{"name": "additive", "attention_size": 32}, "general"])
def test_sizes_that_all_differ(score, fusion):
    model = build(**UNEQUAL, score=score, fusion=fusion)
    logits, steps = unrolled(model, random_batch())
    assert logits.shape == (3, 6, 23)
    assert (steps.contexts.shape, steps.states.shape) == ((3, 6, 128), (3, 6, 100))
    loss = model(random_batch()).total
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_the_dot_product_of_unequal_sizes_is_refused_with_both(score):
    with pytest.raises(SizeError, match="query_size 100 and value_size 128"):
        build(**UNEQUAL, score=score)


@pytest.mark.parametrize(("fusion", "options"), in_turn(["early", "late", "late_feeding"], ATTENTIONS), ids=name_of)
def test_weights_are_there_in_training_and_afterwards(fusion, options):
    """No flag has to be set, and no mode loses them: step by step, all at once, with and without gradients."""
    model, batch = soft(make(**FUSIONS[fusion], **options)), random_batch()
    found = []
    for training in (True, False):
        model.train(training)
        found.append(unrolled(model, batch)[1].weights)
        with torch.inference_mode():
            found.append(model.force(batch)[1].clone())
        memory, state = model.begin(batch.sources[0])
        _, weights, _ = model.step(torch.full((3, 1), Vocabulary.START), memory, state)
        close(dense(weights), found[0][:, :1])
    for other in found[1:]:
        close(other, found[0])


def predictor(fusion: str, *, end: float, beam: int, **limits: float) -> Predictor:
    """A model with random weights whose end symbol is as probable as `end` says."""
    codec = Codec.build([Pair("abcdefghijk", "abcdefghijklm", (), 1)], target_tokens=("characters", {}))
    model = make(
        **FUSIONS[fusion],
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
    )
    with torch.no_grad():
        model.decoder.output.bias[Vocabulary.END] += end
    return Predictor(model, codec, PredictRecipe(beam=beam, **limits))


SOURCES = [Pair(text, None, (), line) for line, text in enumerate(["abc", "k", "", "abcdefghijk"], start=1)]


@pytest.mark.parametrize("beam", [1, 5])
@fusions
def test_an_immediate_end(fusion, beam):
    answers = predictor(fusion, end=99.0, beam=beam).predict(SOURCES)
    for (answer, *_), source in zip(answers, SOURCES, strict=True):
        assert (answer.text, answer.tokens, answer.finished) == ("", (), True)
        assert len(answer.token_scores) == bool(source.source)
        assert answer.score == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("beam", [1, 5])
@fusions
def test_at_most_one_symbol(fusion, beam):
    """The end at once, or one letter and a flag that says that it was cut."""
    for end, length in ((99.0, 0), (-99.0, 1)):
        shortest = predictor(fusion, end=end, beam=beam, max_length_ratio=1e-9, max_length_extra=1)
        answers = shortest.predict(SOURCES, with_alignment=True)
        for (answer, *_), source in zip(answers, SOURCES, strict=True):
            blank = not source.source
            assert len(answer.tokens) == (0 if blank else length)
            assert answer.finished is (blank or length == 0)
            if answer.alignment is not None:
                assert answer.alignment.weights.shape == (1, len(source.source) + 1)
