"""The papers' initialisations."""

import math

import pytest
import torch
from torch import Tensor, nn

from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError
from heedful.model import GRU, LSTM, Model, PaperGRU, build
from heedful.model.initialise import initialisations, initialise

from .cases import CELLS, SIZES, close, random_batch, unrolled

WIDE = {"embedding_size": 53, "encoder_size": 43, "decoder_size": 47}


def new(initialisation: str, **options) -> Model:
    torch.manual_seed(0)
    return build(**{**SIZES, **WIDE, **options}, initialisation=initialisation)


def blocks(model: Model) -> list[Tensor]:
    """The square blocks of all recurrent matrices."""
    found: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, GRU | LSTM):
            found += module.rnn.weight_hh_l0.split(module.hidden_size)
        elif isinstance(module, PaperGRU):
            found += [*module.gates.weight.split(module.hidden_size), module.candidate.weight]
    return found


@pytest.mark.parametrize("name", ["default", "bahdanau"])
@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_matrices_are_orthogonal_block_by_block(name, cell):
    found = blocks(new(name, cell=cell, decoder_layers=2))
    assert len(found) == 4 * (4 if cell == "lstm" else 3)  # two directions and two decoder layers
    for block in found:
        close(block @ block.T, torch.eye(len(block)), tolerance=1e-5)
    assert len({block.sum().item() for block in found}) == len(found)  # each drawn by itself


@pytest.mark.parametrize("cell", CELLS)
def test_bahdanau_deviations(cell):
    model = new("bahdanau", cell=cell, readout="maxout", start="backward_first")
    score = model.decoder.fusion.attention.score
    alignment = {score.query_projection.weight, score.key_projection.weight}
    recurrent = {block.untyped_storage().data_ptr() for block in blocks(model)}
    normal = 0
    for name, parameter in model.named_parameters():
        if "bias" in name or parameter is score.v:
            assert not parameter.any(), name
        elif parameter.untyped_storage().data_ptr() not in recurrent:
            wanted = 0.001 if parameter in alignment else 0.01
            # Five standard errors of a deviation and of a mean.
            slack = 5 / math.sqrt(2 * parameter.numel())
            assert parameter.std().item() == pytest.approx(wanted, rel=slack), name
            assert abs(parameter.mean().item()) < 8 * wanted * slack, name
            normal += 1
    # Two embeddings, the inputs of three cells, W_a, U_a, W_s (an LSTM has two), the readout, the output.
    assert normal == 10 + (cell == "lstm")


def test_under_bahdanau_attention_starts_out_uniform():
    model = new("bahdanau", cell="paper_gru", start="backward_first", readout="maxout").eval()
    batch = random_batch((5, 2, 7))
    _, steps = unrolled(model, batch)
    for row, length in enumerate((5, 2, 7)):
        close(steps.weights[row, :, :length], torch.full((6, length), 1 / length), tolerance=1e-6)
    loss = model(batch)
    assert (loss.plain / loss.tokens).item() == pytest.approx(math.log(23), abs=1e-3)  # and words are, nearly


@pytest.mark.parametrize("cell", CELLS)
def test_uniform_is_within_a_tenth(cell):
    for name, parameter in new("uniform", cell=cell, fusion="late", score="concat").named_parameters():
        assert parameter.abs().max() <= 0.1, name
        assert parameter.numel() < 100 or parameter.max() > 0.09, name
        assert parameter.numel() < 100 or parameter.min() < -0.09, name
        assert parameter.std().item() == pytest.approx(0.2 / math.sqrt(12), rel=0.5), name


def test_default_embeddings():
    model = new("default")
    for embedding in (model.encoder.embedding, model.decoder.embedding):
        assert embedding.weight.std().item() == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("name", list(initialisations))
def test_a_zero_start_is_zero_and_no_other_row_is(name):
    weight = new(name, zero_start=True).decoder.embedding.weight
    assert not weight[Vocabulary.START].any()
    assert weight.any(dim=1).sum() == 22
    assert new(name).decoder.embedding.weight.any(dim=1).all()
    assert new(name, zero_start=True).encoder.embedding.weight.any(dim=1).all()


def test_an_unknown_name_is_refused():
    with pytest.raises(RecipeError, match=r"unknown initialisation 'unifrom'; did you mean 'uniform'\?"):
        initialise(nn.Linear(2, 3), "unifrom")


@pytest.mark.parametrize("name", list(initialisations))
def test_the_same_seed_gives_the_same_model(name):
    first, second = new(name).state_dict(), new(name).state_dict()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("initialisation", initialisations)
def test_the_bias_of_a_walk_stays_what_was_asked_for(initialisation):
    model = new(initialisation, fusion="early", normaliser={"name": "monotonic", "bias": -3.0})
    assert model.attention is not None
    assert model.attention.normaliser.bias.item() == -3.0


def test_learned_positions_begin_as_loud_as_sinusoids():
    encoder = new("default", encoder={"name": "self_attention", "positions": "learned"}, encoder_size=44).encoder
    learned = encoder.inputs.learned.weight
    assert learned.std().item() == pytest.approx(math.sqrt(0.5), rel=5 / math.sqrt(2 * learned.numel()))
