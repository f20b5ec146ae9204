"""The papers' presets against the papers' equations, written as loops."""

import pytest

from heedful.data.vocabulary import Vocabulary
from heedful.model import bahdanau2015, encdec2014, luong2015
from oracles import bahdanau2015 as bahdanau
from oracles import luong2015 as luong

from . import letters
from .compare import SOURCE_WORDS, TARGET_WORDS, compare, drawn

WORDS = {"source_vocabulary_size": SOURCE_WORDS, "target_vocabulary_size": TARGET_WORDS}


def assert_all_learn(gradients):
    """No parameter is left unread, or the comparison would not see it."""
    assert [name for name, gradient in gradients.items() if not gradient.any()] == []


def test_bahdanau2015():
    model = drawn(bahdanau2015(**WORDS, embedding_size=3, hidden_size=5, attention_size=7, readout_size=2))
    p = letters.of_early_decoder(model.decoder)

    def oracle(sentence):
        encoder = letters.of_paper_encoder(model.encoder)
        h, h_bwd_1 = bahdanau.encode(encoder, sentence.x)
        s_0 = bahdanau.initial(letters.of_start(model.decoder.start), h_bwd_1)
        return bahdanau.decode(p, h, s_0, sentence.y, positions=sentence.positions)

    gradients = compare(model, oracle, reverse=False)
    assert_all_learn(gradients)
    assert not gradients["decoder.embedding.weight"][Vocabulary.START].any()


def test_encdec2014():
    model = drawn(encdec2014(**WORDS, embedding_size=3, hidden_size=5, readout_size=7))
    p = letters.of_early_decoder(model.decoder)

    def oracle(sentence):
        h_Tx = bahdanau.encode_encdec(letters.of_paper_encoder(model.encoder), sentence.x)
        s_0 = bahdanau.initial(letters.of_start(model.decoder.start), h_Tx)
        return bahdanau.decode_encdec(p, h_Tx, s_0, sentence.y)

    assert_all_learn(compare(model, oracle, reverse=False))


@pytest.mark.parametrize("input_feeding", [True, False])
@pytest.mark.parametrize("scope", ["global", "local_m", "local_p"])
@pytest.mark.parametrize("score", ["dot", "general", "concat", "location"])
def test_luong2015(score, scope, input_feeding):
    options = {"score": score, "scope": scope, "input_feeding": input_feeding}
    model = drawn(luong2015(**options, **WORDS, hidden_size=5, layers=2, window=2))
    assert model.decoder.output.bias is None  # the paper's softmax(W_s h~) has none
    p = letters.of_late_decoder(model.decoder)

    def oracle(sentence):
        h, last = luong.encode(letters.of_encoder(model.encoder), sentence.x, layers=2)
        return luong.decode(p, h, last, sentence.y, y_0=Vocabulary.START, positions=sentence.positions, D=2, **options)

    assert_all_learn(compare(model, oracle, reverse=True))


def test_luong2015_as_published_has_four_layers_and_their_best_parts():
    model = drawn(luong2015(**WORDS, hidden_size=3))
    p = letters.of_late_decoder(model.decoder)

    def oracle(sentence):
        h, last = luong.encode(letters.of_encoder(model.encoder), sentence.x, layers=4)
        return luong.decode(
            p, h, last, sentence.y, y_0=Vocabulary.START, positions=sentence.positions,
            score="general", scope="local_p", input_feeding=True, D=10,
        )  # fmt: skip

    assert_all_learn(compare(model, oracle, reverse=True))
