"""The papers' models at the papers' sizes: names and shapes of all parameters, without their memory."""

import pytest
import torch

from heedful.attention import Additive, Concat, Dot, General, Global, LocalM, LocalP, Location, Softmax
from heedful.errors import RecipeError
from heedful.model import (
    LSTM,
    Early,
    Late,
    Maxout,
    Model,
    NoAttention,
    PaperGRU,
    bahdanau2015,
    encdec2014,
    luong2015,
)
from heedful.model.readout import Attentional
from heedful.model.start import BackwardFirst, Last, LearnedLast

TINY = {"source_vocabulary_size": 29, "target_vocabulary_size": 23}


def shapes(model: Model) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def paper_gru(name: str, inputs: int) -> dict[str, tuple[int, ...]]:
    """W, W_z, W_r (and C, C_z, C_r) with their biases, U_z and U_r, U of a unit with n = 1000."""
    return {
        f"{name}.inputs.weight": (3000, inputs),
        f"{name}.inputs.bias": (3000,),
        f"{name}.gates.weight": (2000, 1000),
        f"{name}.candidate.weight": (1000, 1000),
    }


def lstm(name: str, inputs: int) -> dict[str, tuple[int, ...]]:
    return {
        f"{name}.rnn.weight_ih_l0": (4000, inputs),
        f"{name}.rnn.weight_hh_l0": (4000, 1000),
        f"{name}.rnn.bias_ih_l0": (4000,),
        f"{name}.rnn.bias_hh_l0": (4000,),
    }


# Bahdanau et al. 2015, appendix B: n = 1000, m = 620, l = 500, n' = 1000, 30,000 words a side.
BAHDANAU = {
    "encoder.embedding.weight": (30_000, 620),
    **paper_gru("encoder.forward_cells.0", 620),
    **paper_gru("encoder.backward_cells.0", 620),
    "decoder.start.projections.0.weight": (1000, 1000),  # W_s
    "decoder.start.projections.0.bias": (1000,),
    "decoder.embedding.weight": (30_000, 620),
    **paper_gru("decoder.fusion.stack.cells.0", 620 + 2000),
    "decoder.fusion.attention.score.query_projection.weight": (1000, 1000),  # W_a
    "decoder.fusion.attention.score.key_projection.weight": (1000, 2000),  # U_a
    "decoder.fusion.attention.score.v": (1000,),  # v_a
    "decoder.readout.projection.weight": (1000, 1000 + 620 + 2000),  # U_o, V_o, C_o
    "decoder.readout.projection.bias": (1000,),
    "decoder.output.weight": (30_000, 500),  # W_o
    "decoder.output.bias": (30_000,),
}
# Without attention: one direction, whose last state takes the context's place.
ENCDEC = {
    **{name: shape for name, shape in BAHDANAU.items() if "backward" not in name and "attention" not in name},
    **paper_gru("decoder.fusion.stack.cells.0", 620 + 1000),
    "decoder.readout.projection.weight": (1000, 1000 + 620 + 1000),
}
# Luong et al. 2015, section 4.1: four layers of 1000, embeddings as wide, 50,000 words a side; input feeding.
LUONG = {
    "encoder.embedding.weight": (50_000, 1000),
    "decoder.embedding.weight": (50_000, 1000),
    **lstm("encoder.forward_cells.0", 1000),
    **lstm("encoder.forward_cells.1", 1000),
    **lstm("encoder.forward_cells.2", 1000),
    **lstm("encoder.forward_cells.3", 1000),
    **lstm("decoder.fusion.stack.cells.0", 2000),
    **lstm("decoder.fusion.stack.cells.1", 1000),
    **lstm("decoder.fusion.stack.cells.2", 1000),
    **lstm("decoder.fusion.stack.cells.3", 1000),
    "decoder.fusion.attention.score.key_projection.weight": (1000, 1000),  # W_a
    "decoder.fusion.attention.scope.query_projection.weight": (1000, 1000),  # W_p
    "decoder.fusion.attention.scope.v": (1000,),  # v_p
    "decoder.fusion.combine.weight": (1000, 2000),  # W_c
    "decoder.output.weight": (50_000, 1000),  # W_s
}


@pytest.mark.parametrize(
    ("preset", "expected", "count"),
    [
        (bahdanau2015, BAHDANAU, 80_442_000),
        (encdec2014, ENCDEC, 68_578_000),
        (luong2015, LUONG, 222_065_000),
    ],
)
def test_names_shapes_and_count_at_the_papers_sizes(preset, expected, count):
    with torch.device("meta"):
        model = preset()
    assert shapes(model) == expected
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_parts_of_bahdanau2015():
    model = bahdanau2015(**TINY, embedding_size=5, hidden_size=7, attention_size=17, readout_size=3)
    fusion, decoder = model.decoder.fusion, model.decoder
    assert (type(fusion), type(decoder.start), type(decoder.readout)) == (Early, BackwardFirst, Maxout)
    assert type(fusion.attention.score) is Additive
    assert type(fusion.attention.scope) is Global
    assert type(fusion.attention.normaliser) is Softmax
    assert fusion.attention.normaliser.temperature == 1.0
    assert {type(cell) for cell in (*model.encoder.forward_cells, *fusion.stack.cells)} == {PaperGRU}
    assert decoder.embedding.padding_idx == 1
    assert not decoder.embedding.weight[1].any()
    assert not fusion.attention.score.v.any()  # their initialisation
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.0}


def test_parts_of_encdec2014():
    model = encdec2014(**TINY, embedding_size=5, hidden_size=7, readout_size=3)
    decoder = model.decoder
    assert (type(decoder.fusion), type(decoder.start), type(decoder.readout)) == (
        NoAttention,
        LearnedLast,
        Maxout,
    )
    assert not model.encoder.bidirectional
    assert not decoder.embedding.weight[1].any()
    assert not decoder.output.bias.any()  # their initialisation
    assert decoder.output.weight.std() < 0.02


@pytest.mark.parametrize("score", ["dot", "general", "concat", "location"])
@pytest.mark.parametrize("scope", ["global", "local_m", "local_p"])
def test_parts_of_luong2015(score, scope):
    model = luong2015(**TINY, score=score, scope=scope, hidden_size=7, layers=2, window=3, input_feeding=False)
    fusion, decoder = model.decoder.fusion, model.decoder
    assert (type(fusion), type(decoder.start), type(decoder.readout)) == (Late, Last, Attentional)
    assert type(fusion.attention.score) is {
        "dot": Dot, "general": General, "concat": Concat, "location": Location
    }[score]  # fmt: skip
    assert type(fusion.attention.scope) is {"global": Global, "local_m": LocalM, "local_p": LocalP}[scope]
    assert getattr(fusion.attention.scope, "window", 3) == 3
    assert type(fusion.attention.normaliser) is Softmax
    assert {type(cell) for cell in (*model.encoder.forward_cells, *fusion.stack.cells)} == {LSTM}
    assert (fusion.input_feeding, fusion.gate, decoder.output.bias) == (False, None, None)
    assert model.row_convention == ("predicted" if score == "location" else "input")  # footnote 14
    assert max(parameter.abs().max().item() for parameter in model.parameters()) <= 0.1
    assert decoder.embedding.padding_idx is None


def test_defaults_of_luong2015_are_its_best_model():
    model = luong2015(**TINY, hidden_size=7, layers=1)
    fusion = model.decoder.fusion
    assert type(fusion.attention.score) is General
    assert type(fusion.attention.scope) is LocalP
    assert (fusion.attention.scope.window, fusion.input_feeding) == (10, True)
    dropouts = {module.p for module in (model.encoder.dropout, fusion.stack.dropout, model.decoder.dropout)}
    assert dropouts == {0.2}
    assert fusion.attention.dropout.p == 0.0


def test_luong2015_refuses_other_scores():
    with pytest.raises(RecipeError, match="luong2015 has no score 'additive'; known are: concat, dot, general"):
        luong2015(**TINY, hidden_size=7, layers=1, score="additive")
    with pytest.raises(RecipeError, match=r"luong2015 has no score 'genral'; did you mean 'general'\?"):
        luong2015(**TINY, hidden_size=7, layers=1, score="genral")
    with pytest.raises(RecipeError, match="unknown scope 'local_p2'"):
        luong2015(**TINY, hidden_size=7, layers=1, scope="local_p2")
