"""Names and options: what is known is built, what is not is refused and the nearest named."""

import re

import pytest
from torch import nn

from heedful.errors import HeedfulError, RecipeError, SizeError
from heedful.model import Model, build, cells
from heedful.model.build import split_spec

from .cases import SIZES, make, random_batch, unrolled


def new(**options) -> Model:
    return build(**{**SIZES, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "lsmt"}, "unknown cell 'lsmt'; did you mean 'lstm'?"),
        ({"start": "learned_lst"}, "unknown start 'learned_lst'; did you mean 'learned_last'?"),
        ({"fusion": "earli"}, "unknown fusion 'earli'; did you mean 'early'?"),
        ({"score": "aditive"}, "unknown score 'aditive'; did you mean 'additive'?"),
        ({"scope": "locl_m"}, "unknown scope 'locl_m'; did you mean 'local_m'?"),
        ({"normaliser": "sparsmax"}, "unknown normaliser 'sparsmax'; did you mean 'sparsemax'?"),
        ({"readout": "max_out"}, "unknown readout 'max_out'; did you mean 'maxout'?"),
        ({"initialisation": "bahdanu"}, "unknown initialisation 'bahdanu'; did you mean 'bahdanau'?"),
        ({"cell": "xyz"}, "unknown cell 'xyz'; known are: gru, lstm, paper_gru"),
        (
            {"score": {"name": "additive", "atention_size": 3}},
            "score 'additive' has no option 'atention_size'; did you mean 'attention_size'?",
        ),
        (
            {"scope": {"name": "local_m", "windw": 3}},
            "scope 'local_m' has no option 'windw'; did you mean 'window'?",
        ),
        (
            {"normaliser": {"name": "softmax", "temprature": 3.0}},
            "normaliser 'softmax' has no option 'temprature'; did you mean 'temperature'?",
        ),
        (
            {"fusion": {"name": "late", "input_feding": True}},
            "fusion 'late' has no option 'input_feding'; did you mean 'input_feeding'?",
        ),
        (
            {"readout": {"name": "maxout", "readout_siz": 3}},
            "readout 'maxout' has no option 'readout_siz'; did you mean 'readout_size'?",
        ),
        ({"score": {"name": "dot", "query_size": 3}}, "score 'dot' has no option 'query_size'"),
        ({"start": {"name": "zero", "hidden_size": 3}}, "start 'zero' has no option 'hidden_size'"),
        (
            {"fusion": {"name": "early", "input_feeding": True}},
            "fusion 'early' has no option 'input_feeding'",
        ),
        (
            {"score": {"attention_size": 3}},
            "a part is a name or a table with a name, got {'attention_size': 3}",
        ),
        ({"zero_start": True, "tied_embeddings": True}, "zero_start and tied_embeddings exclude each other"),
        (
            {"score": {"name": "additive", "attention_size": "x"}},
            "score 'additive': option 'attention_size' must be of type int | None, got 'x'",
        ),
        ({"decoder_layers": 5}, "decoder_layers must be from 1 to 4, got 5"),
        ({"decoder_layers": 0}, "decoder_layers must be from 1 to 4, got 0"),
        ({"encoder_layers": 0}, "encoder_layers must be from 1 to 16, got 0"),
        ({"encoder_layers": 17}, "encoder_layers must be from 1 to 16, got 17"),
        (
            {"fusion": {"name": "none", "every_step": False}, "start": "zero"},
            "sees the source in the decoder's first state alone, and start 'zero' makes that of nothing",
        ),
    ],
)
def test_what_is_not_known_is_refused(options, message):
    with pytest.raises(RecipeError, match=re.escape(message)):
        new(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "dot"}, "got query_size 11 and value_size 14; 'general' takes any sizes"),
        ({"score": "scaled_dot"}, "got query_size 11 and value_size 14"),
        ({"readout": "attentional"}, "only fusion 'late' has"),
        ({"readout": "attentional", "fusion": "none"}, "only fusion 'late' has"),
        ({"start": "mean"}, "the decoder's size 11, got 14"),
        ({"start": "last"}, "1 layers of 11 with hidden; got 1 layers of 14 with hidden"),
        ({"start": "backward_first", "bidirectional": False}, "needs an encoder that reads backward too"),
        ({"scope": {"name": "local_p", "window": 0}}, "window must be at least 1, got 0"),
        ({"score": {"name": "additive", "attention_size": 0}}, "attention_size must be at least 1, got 0"),
        ({"score": {"name": "location", "max_positions": -3}}, "max_positions must be at least 1, got -3"),
        ({"normaliser": {"name": "softmax", "temperature": 0.0}}, "temperature must be at least 1e-06, got 0.0"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_sizes(options, message):
    with pytest.raises(SizeError, match=re.escape(message)):
        new(**options)
    assert issubclass(SizeError, HeedfulError)


def test_a_spec_is_a_name_or_a_table_and_is_left_as_it_was():
    assert split_spec("dot") == ("dot", {})
    table = {"name": "local_m", "window": 5}
    assert split_spec(table) == ("local_m", {"window": 5})
    assert table == {"name": "local_m", "window": 5}


def test_options_arrive():
    model = new(
        fusion={"name": "late", "combine": "gate"},
        score={"name": "additive", "attention_size": 17, "bias": True},
        scope={"name": "local_m", "window": 3},
        normaliser={"name": "softmax", "temperature": 2.0},
        readout={"name": "maxout", "readout_size": 3},
        attention_dropout=0.3,
        dropout=0.1,
        output_bias=False,
        decoder_layers=2,
        encoder_layers=3,
    )
    fusion = model.decoder.fusion
    assert fusion.attention.score.key_projection.bias.shape == (17,)
    assert fusion.attention.scope.window == 3
    assert fusion.attention.normaliser.temperature == 2.0
    assert fusion.attention.dropout.p == 0.3
    assert (model.encoder.dropout.p, fusion.stack.dropout.p, model.decoder.dropout.p) == (0.1, 0.1, 0.1)
    assert fusion.gate.weight.shape == (11, 25)
    assert model.decoder.readout.feature_size == 3
    assert model.decoder.output.bias is None
    assert (len(fusion.stack.cells), len(model.encoder.forward_cells)) == (2, 3)
    assert model.decoder.embedding.padding_idx is None


def test_defaults():
    model = build(source_vocabulary_size=29, target_vocabulary_size=23)
    assert model.encoder.embedding.weight.shape == (29, 128)
    assert model.decoder.embedding.weight.shape == (23, 128)
    assert (model.encoder.value_size, model.decoder.fusion.stack.top.hidden_size) == (512, 256)
    assert model.row_convention == "predicted"
    assert {module.p for module in model.modules() if isinstance(module, nn.Dropout)} == {0.0}


@pytest.mark.parametrize("name", cells.names())
def test_the_cell_is_the_encoders_and_the_decoders(name):
    model = new(cell=name, bidirectional=True, decoder_layers=2)
    every = (*model.encoder.forward_cells, *model.encoder.backward_cells, *model.decoder.fusion.stack.cells)
    assert [type(cell) for cell in every] == [cells[name]] * 4


def test_sizes_may_all_differ():
    """Embedding 5, encoder 2 x 7, decoder 11, attention 17, readout 3."""
    for score in ({"name": "additive", "attention_size": 17}, "general"):
        model = make(score=score, readout={"name": "maxout", "readout_size": 3})
        assert unrolled(model, random_batch())[0].shape == (3, 6, 23)


def test_dropout_acts_in_training_only():
    model, batch = make(dropout=0.4, attention_dropout=0.4), random_batch()
    assert model(batch).total == model(batch).total
    model.train()
    assert model(batch).total != model(batch).total
